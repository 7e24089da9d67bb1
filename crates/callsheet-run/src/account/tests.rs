//! Who may start a run, and what a failure means for the next one, by table.

use super::*;

const PERSON: Asker = Asker::Person { probe: false };
const PROBE: Asker = Asker::Person { probe: true };

fn failed(class: Class) -> Verdict {
    Verdict::failure(class)
}

fn standing(class: Class, until: Option<i64>) -> Standing {
    Standing {
        class,
        reason: None,
        until,
        since: 0,
        times: 1,
    }
}

/// Returns the answers to everybody who may ask: before and after the time of a standing, alone and beside another run.
fn answers(needed: Needed<'_>, standing: Option<&Standing>) -> String {
    let mut lines = String::new();
    for (name, asker) in [
        ("person", PERSON),
        ("probe", PROBE),
        ("worker", Asker::Worker),
    ] {
        let answer = |now, others| {
            let answer = admit(needed, standing, (asker, now, others));
            answer.map_or_else(|why| why, |()| "yes".to_owned())
        };
        let cases = [
            ("early, alone", answer(4_001, 0)),
            ("early, beside another", answer(4_001, 1)),
            ("late, alone", answer(10_000, 0)),
            ("late, beside another", answer(10_000, 1)),
        ];
        if cases.iter().all(|(_, answer)| *answer == cases[0].1) {
            lines.push_str(&format!("{name}: {}\n", cases[0].1));
            continue;
        }
        for (case, answer) in cases {
            lines.push_str(&format!("{name}, {case}: {answer}\n"));
        }
    }
    lines
}

#[test]
fn who_may_use_an_account() {
    let needed = Needed::Account("me");
    insta::assert_snapshot!(answers(needed, None), @"
    person: yes
    probe: yes
    worker: yes
    ");
    let parked = standing(Class::Quota, Some(10_000));
    insta::assert_snapshot!(answers(needed, Some(&parked)), @"
    person, early, alone: account `me` is parked for another 6 s (quota)
    person, early, beside another: account `me` is parked for another 6 s (quota)
    person, late, alone: yes
    person, late, beside another: account `me` was parked (quota), and another run is trying it
    probe, early, alone: yes
    probe, early, beside another: account `me` was parked (quota), and another run is trying it
    probe, late, alone: yes
    probe, late, beside another: account `me` was parked (quota), and another run is trying it
    worker, early, alone: account `me` is parked for another 6 s (quota)
    worker, early, beside another: account `me` is parked for another 6 s (quota)
    worker, late, alone: yes
    worker, late, beside another: account `me` was parked (quota), and another run is trying it
    ");
    let stopped = standing(Class::Auth, None);
    insta::assert_snapshot!(answers(needed, Some(&stopped)), @"
    person: account `me` is stopped (auth)
    probe, early, alone: yes
    probe, early, beside another: account `me` was parked (auth), and another run is trying it
    probe, late, alone: yes
    probe, late, beside another: account `me` was parked (auth), and another run is trying it
    worker: account `me` is stopped (auth)
    ");
}

#[test]
fn who_may_use_a_runner() {
    let needed = Needed::Runner("fast");
    insta::assert_snapshot!(answers(needed, None), @"
    person: yes
    probe: yes
    worker: yes
    ");
    let paused = standing(Class::Environment, Some(10_000));
    insta::assert_snapshot!(answers(needed, Some(&paused)), @"
    person: yes
    probe: yes
    worker, early, alone: runner `fast` is paused for another 6 s (environment)
    worker, early, beside another: runner `fast` is paused for another 6 s (environment)
    worker, late, alone: yes
    worker, late, beside another: runner `fast` was paused (environment), and another run is trying it
    ");
}

#[test]
fn a_parked_account_waits_until_its_window_starts_anew() {
    let parked = after(None, &failed(Class::Quota).until(Some(1_000)), 400_000).unwrap();
    assert_eq!(parked.until, Some(1_000_000));
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
    // A time that has passed is not a time to wait for.
    let past = after(None, &failed(Class::Quota).until(Some(1)), 5_000).unwrap();
    assert_eq!(past.until, Some(905_000));
}

#[test]
fn refused_credentials_stop_an_account_and_the_rest_leaves_it_alone() {
    let stopped = after(None, &failed(Class::Auth), 7).unwrap();
    assert_eq!((stopped.until, stopped.since), (None, 7));
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

#[test]
fn a_fault_of_the_machine_pauses_the_runner_longer_each_time() {
    for class in [Class::Environment, Class::Network] {
        let mut standing = None;
        let mut waits = Vec::new();
        for _ in 0..7 {
            standing = after_runner(standing.as_ref(), (&failed(class), None), 0);
            waits.push(standing.as_ref().unwrap().until.unwrap() / 1000);
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600]);
        let paused = standing.unwrap();
        assert_eq!((paused.class, paused.times), (class, 7));
        let open = after_runner(Some(&paused), (&Verdict::success(), None), 1);
        assert_eq!(open, None);
    }
    let verdict = failed(Class::Environment);
    let after = after_runner(None, (&verdict, Some("no program `x` in `PATH`")), 0).unwrap();
    assert_eq!(after.why(), "environment: no program `x` in `PATH`");
    insta::assert_snapshot!(note("fast", &after, 1), @"runner `fast` is paused for another 30 s (environment: no program `x` in `PATH`); this run tries it, and a success opens it again");
    insta::assert_snapshot!(note("fast", &after, 30_000), @"runner `fast` was paused (environment: no program `x` in `PATH`); this run tries it, and a success opens it again");
    let long = "ä".repeat(1000);
    let after = after_runner(None, (&verdict, Some(&long)), 0).unwrap();
    assert_eq!(after.reason.unwrap().chars().count(), 200);
}

/// An agent that heard from its provider, whatever it heard, shows that the machine works.
#[test]
fn what_is_no_fault_of_the_machine_opens_the_runner() {
    let paused = standing(Class::Network, Some(1));
    for class in [
        Class::Quota,
        Class::Overload,
        Class::Auth,
        Class::Context,
        Class::Request,
        Class::Budget,
        Class::Turns,
        Class::Denied,
        Class::Unknown,
    ] {
        let verdict = failed(class);
        let open = after_runner(Some(&paused), (&verdict, None), 9);
        assert_eq!(open, None, "{class:?}");
        assert_eq!(after_runner(None, (&verdict, None), 9), None, "{class:?}");
    }
    for class in [Class::Cancelled, Class::Incomplete] {
        let kept = after_runner(Some(&paused), (&failed(class), None), 9);
        assert_eq!(kept.as_ref(), Some(&paused), "{class:?}");
    }
}

#[test]
fn a_standing_of_an_earlier_version_is_read() {
    let text = r#"{"class":"quota","until":5,"since":1,"times":2}"#;
    let read: Standing = serde_json::from_str(text).unwrap();
    assert_eq!((read.until, read.reason.as_deref()), (Some(5), None));
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}
