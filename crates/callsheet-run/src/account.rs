//! Accounts: who may start a run now, and what a failure means for the next one.
//!
//! Decisions over plain values; whoever calls stores them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Class, Consequence, Outcome, Verdict};

/// The setting of a project that holds the standing of its accounts.
pub const SETTING: &str = "accounts.standing";

/// How long an account waits after an overload whose end nobody told, at first and at most, in seconds.
const OVERLOAD_S: (i64, i64) = (30, 600);

/// The same after a used-up window.
const QUOTA_S: (i64, i64) = (900, 14_400);

/// The accounts that cannot be used as they are, by name.
pub type Standings = BTreeMap<String, Standing>;

/// Why an account cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Why.
    pub class: Class,
    /// Until when it waits, in milliseconds since 1970; nothing where it waits for a person.
    pub until: Option<i64>,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// How often in a row.
    pub times: u32,
}

/// Tells whether a run of an account may start; `others` is how many of the account run now.
///
/// An account that has waited long enough gets one probe: the next run starts only when the probe has shown that the
/// account works again. `probe` asks for it at once.
pub fn admit(
    account: &str,
    standing: Option<&Standing>,
    (now, others, probe): (i64, usize, bool),
) -> Result<(), String> {
    let Some(standing) = standing else {
        return Ok(());
    };
    let class = standing.class.as_str();
    match standing.until {
        None if !probe => Err(format!("account `{account}` is stopped ({class})")),
        Some(until) if until > now && !probe => {
            let wait = (until - now + 999) / 1000;
            Err(format!(
                "account `{account}` is parked for another {wait} s ({class})"
            ))
        }
        _ if others > 0 => Err(format!(
            "account `{account}` was parked ({class}), and another run is trying it"
        )),
        _ => Ok(()),
    }
}

/// Returns the standing of an account after a run.
pub fn after(standing: Option<&Standing>, verdict: &Verdict, now: i64) -> Option<Standing> {
    let (Outcome::Failed, Some(class)) = (verdict.outcome, verdict.class) else {
        return None;
    };
    let times = standing.map_or(0, |before| before.times) + 1;
    let entry = |until| {
        Some(Standing {
            class,
            until,
            since: now,
            times,
        })
    };
    match class.consequence() {
        Consequence::Park => {
            let told = verdict
                .resets_at
                .map(|seconds| seconds.saturating_mul(1000));
            let told = told.filter(|until| *until > now);
            entry(Some(told.unwrap_or_else(|| now + backoff(class, times))))
        }
        Consequence::StopAccount => entry(None),
        // The provider was not asked, or did not answer.
        Consequence::Pause | Consequence::Nothing => standing.cloned(),
        Consequence::Charge if class == Class::Incomplete => standing.cloned(),
        Consequence::Charge => None,
    }
}

/// Returns how long to wait, in milliseconds: twice as long each time.
fn backoff(class: Class, times: u32) -> i64 {
    let (first, most) = match class {
        Class::Quota => QUOTA_S,
        _ => OVERLOAD_S,
    };
    let doubled = first.saturating_mul(1_i64 << (times - 1).min(20));
    doubled.min(most) * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(class: Class) -> Verdict {
        Verdict::failure(class)
    }

    #[test]
    fn a_parked_account_waits_until_its_window_starts_anew_and_is_probed_once() {
        let parked = after(None, &failed(Class::Quota).until(Some(1_000)), 400_000).unwrap();
        assert_eq!(parked.until, Some(1_000_000));
        let refused = admit("me", Some(&parked), (400_001, 0, false)).unwrap_err();
        assert_eq!(refused, "account `me` is parked for another 600 s (quota)");
        admit("me", Some(&parked), (400_001, 0, true)).unwrap();
        admit("me", Some(&parked), (1_000_000, 0, false)).unwrap();
        let refused = admit("me", Some(&parked), (1_000_000, 1, false)).unwrap_err();
        assert_eq!(
            refused,
            "account `me` was parked (quota), and another run is trying it"
        );
        assert_eq!(after(Some(&parked), &Verdict::success(), 1_000_001), None);
    }

    #[test]
    fn an_overload_without_an_end_waits_longer_each_time() {
        let mut standing = None;
        let mut waits = Vec::new();
        for _ in 0..7 {
            standing = after(standing.as_ref(), &failed(Class::Overload), 0);
            waits.push(standing.as_ref().unwrap().until.unwrap() / 1000);
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600]);
        let quota = after(None, &failed(Class::Quota), 0).unwrap();
        assert_eq!(quota.until, Some(900_000));
        // A time that has passed is no time to wait for.
        let past = after(None, &failed(Class::Quota).until(Some(1)), 5_000).unwrap();
        assert_eq!(past.until, Some(905_000));
    }

    #[test]
    fn refused_credentials_stop_an_account_and_the_rest_leaves_it_alone() {
        let stopped = after(None, &failed(Class::Auth), 7).unwrap();
        assert_eq!(
            admit("me", Some(&stopped), (i64::MAX, 0, false)).unwrap_err(),
            "account `me` is stopped (auth)"
        );
        admit("me", Some(&stopped), (8, 0, true)).unwrap();
        for class in [
            Class::Context,
            Class::Request,
            Class::Budget,
            Class::Turns,
            Class::Denied,
            Class::Unknown,
        ] {
            assert_eq!(after(Some(&stopped), &failed(class), 9), None, "{class:?}");
        }
        for class in [
            Class::Environment,
            Class::Network,
            Class::Cancelled,
            Class::Incomplete,
        ] {
            let kept = after(Some(&stopped), &failed(class), 9);
            assert_eq!(kept.as_ref(), Some(&stopped), "{class:?}");
            assert_eq!(after(None, &failed(class), 9), None, "{class:?}");
        }
    }
}
