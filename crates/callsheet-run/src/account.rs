//! Accounts and runners: who may start a run now, and what a failure means for the next one.
//!
//! An account is what a provider counts by, so a provider that refuses closes it. A runner is what a machine starts, so a fault of
//! the machine pauses it. Decisions over plain values; whoever calls stores them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Class, Consequence, Outcome, Verdict};

#[cfg(test)]
mod tests;

/// The setting of a project that holds the standing of its accounts.
pub const SETTING: &str = "accounts.standing";

/// The setting of a project that holds the standing of its runners.
pub const RUNNERS: &str = "runners.standing";

/// How long an account waits after an overload whose end nobody told, and a runner after a fault of the machine: at first and at
/// most, in seconds.
const SHORT_S: (i64, i64) = (30, 600);

/// How long an account waits after a used-up window.
const QUOTA_S: (i64, i64) = (900, 14_400);

/// How much of a reason is kept.
const MOST_REASON: usize = 200;

/// The accounts or runners that cannot be used as they are, by name.
pub type Standings = BTreeMap<String, Standing>;

/// Why an account or a runner cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Why.
    pub class: Class,
    /// What happened, for people, where the class does not say it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Until when it waits, in milliseconds since 1970; nothing where it waits for a person.
    pub until: Option<i64>,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// How often in a row.
    pub times: u32,
}

impl Standing {
    /// Returns why, in a few words.
    pub fn why(&self) -> String {
        let class = self.class.as_str();
        match &self.reason {
            Some(reason) => format!("{class}: {reason}"),
            None => class.to_owned(),
        }
    }

    /// Returns how many seconds it has still to wait, if any.
    fn wait(&self, now: i64) -> Option<i64> {
        let until = self.until.filter(|until| *until > now)?;
        Some((until - now + 999) / 1000)
    }
}

/// Who asks for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Somebody who sees how it ends.
    Person {
        /// Whether an account that is parked or stopped is tried all the same.
        probe: bool,
    },
    /// A program that would start the next one by itself.
    Worker,
}

/// What a run needs, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed<'a> {
    /// An account.
    Account(&'a str),
    /// A runner.
    Runner(&'a str),
}

/// Tells whether a run may start that needs an account or a runner; `others` is how many runs use it now.
///
/// What has waited long enough gets one probe: the next run starts only when the probe has shown that it works again. A person
/// who starts a run by a runner that is paused is such a probe, whenever that is; a parked account is asked only if they say so.
pub fn admit(
    needed: Needed<'_>,
    standing: Option<&Standing>,
    (asker, now, others): (Asker, i64, usize),
) -> Result<(), String> {
    let Some(standing) = standing else {
        return Ok(());
    };
    let (what, closed, tries) = match (needed, asker) {
        (Needed::Runner(_), Asker::Person { .. }) => return Ok(()),
        (Needed::Runner(name), Asker::Worker) => (format!("runner `{name}`"), "paused", false),
        (Needed::Account(name), asker) => {
            let probe = asker == Asker::Person { probe: true };
            (format!("account `{name}`"), "parked", probe)
        }
    };
    let class = standing.class.as_str();
    match standing.wait(now) {
        _ if standing.until.is_none() && !tries => Err(format!("{what} is stopped ({class})")),
        Some(wait) if !tries => Err(format!("{what} is {closed} for another {wait} s ({class})")),
        _ if others > 0 => Err(format!(
            "{what} was {closed} ({class}), and another run is trying it"
        )),
        _ => Ok(()),
    }
}

/// Returns what a person should know who starts a run by a runner that is paused.
pub fn note(runner: &str, standing: &Standing, now: i64) -> String {
    let why = standing.why();
    let since = match standing.wait(now) {
        Some(wait) => format!("is paused for another {wait} s"),
        None => "was paused".to_owned(),
    };
    format!("runner `{runner}` {since} ({why}); this run tries it, and a success opens it again")
}

/// Returns the standing of an account after a run.
pub fn after(standing: Option<&Standing>, verdict: &Verdict, now: i64) -> Option<Standing> {
    let (Outcome::Failed, Some(class)) = (verdict.outcome, verdict.class) else {
        return None;
    };
    match class.consequence() {
        Consequence::Park => {
            let until = verdict
                .resets_at
                .map(|seconds| seconds.saturating_mul(1000));
            let until = until.filter(|until| *until > now);
            let mut parked = next(standing, class, now);
            parked.until = until.or(parked.until);
            Some(parked)
        }
        Consequence::StopAccount => Some(Standing {
            until: None,
            ..next(standing, class, now)
        }),
        // The provider was not asked, or did not answer.
        Consequence::Pause | Consequence::Nothing => standing.cloned(),
        Consequence::Charge if class == Class::Incomplete => standing.cloned(),
        Consequence::Charge => None,
    }
}

/// Returns the standing of a runner after a run; `reason` is what happened, for people.
pub fn after_runner(
    standing: Option<&Standing>,
    (verdict, reason): (&Verdict, Option<&str>),
    now: i64,
) -> Option<Standing> {
    let (Outcome::Failed, Some(class)) = (verdict.outcome, verdict.class) else {
        return None;
    };
    match class.consequence() {
        Consequence::Pause => Some(Standing {
            reason: reason.map(|reason| reason.chars().take(MOST_REASON).collect()),
            ..next(standing, class, now)
        }),
        // It ended before it could show anything.
        Consequence::Nothing => standing.cloned(),
        Consequence::Charge if class == Class::Incomplete => standing.cloned(),
        // The agent was there and heard from its provider, so the machine is not at fault.
        Consequence::Park | Consequence::StopAccount | Consequence::Charge => None,
    }
}

/// Returns the standing after one more failure, which waits twice as long each time.
fn next(standing: Option<&Standing>, class: Class, now: i64) -> Standing {
    let times = standing.map_or(0, |before| before.times) + 1;
    let (first, most) = match class {
        Class::Quota => QUOTA_S,
        _ => SHORT_S,
    };
    let doubled = first.saturating_mul(1_i64 << (times - 1).min(20));
    Standing {
        class,
        reason: None,
        until: Some(now + doubled.min(most) * 1000),
        since: now,
        times,
    }
}
