use proptest::prelude::*;

use super::super::checks::CheckStatus;
use super::*;

use Approval::{Approved, Pending, Rejected};
use RunOutcome::{Cancelled, Completed, Failed};

/// Reads facts as the table below writes them: words of the task, and its runs behind bars, the oldest first.
fn facts(text: &str) -> TaskFacts {
    let mut parts = text.split('|').map(str::split_whitespace);
    let mut facts = TaskFacts::default();
    for word in parts.next().unwrap() {
        match word {
            "cancelled" => facts.cancelled = true,
            "blocked" => facts.blocked = true,
            _ => panic!("a word that the table does not have: {word}"),
        }
    }
    facts.runs = parts.map(run).collect();
    facts
}

fn run<'a>(words: impl Iterator<Item = &'a str>) -> RunFacts {
    let mut run = RunFacts::default();
    for word in words {
        let check = |status| CheckFact {
            required: true,
            status,
        };
        match word {
            "queued" => {}
            "running" => run.running = true,
            "completed" => run.outcome = Some(Completed),
            "failed" => run.outcome = Some(Failed),
            "stopped" => run.outcome = Some(Cancelled),
            "pass" => run.checks.push(check(CheckStatus::Passed)),
            "fail" => run.checks.push(check(CheckStatus::Failed)),
            "head-merged" => run.head_merged = true,
            "merged" => (run.head_merged, run.result_merged) = (true, true),
            "pending" => run.violations.push(Pending),
            "approved" => run.violations.push(Approved),
            "rejected" => run.violations.push(Rejected),
            _ => panic!("a word that the table does not have: {word}"),
        }
    }
    run
}

/// The rows of the table by their number, and what fits none of them; `pass` and `fail` are checks, `pending`, `approved`
/// and `rejected` violations.
const ROWS: &str = "
1  cancelled
1  cancelled blocked | running
1  cancelled | completed pass merged
1  cancelled | completed pending
2  blocked
2  blocked | running
2  blocked | completed pass
2  blocked | completed pass merged
3  | running
3  | completed pass pending | running
3  | failed | running
3  | completed pass merged | running
4  | completed pass approved pending
4  | completed pass pending | completed pass
4  | completed pass pending | completed pass merged
4  | completed pass rejected pending
4  | failed pending
4  | stopped pending
5  | completed pass approved rejected
5  | completed pass rejected | completed pass merged
6  | completed pass merged
6  | completed pass approved merged
6  | completed pass merged | failed fail
6  | completed pass merged | queued
6  | failed pass merged
7  | completed merged
7  | completed fail pass merged
7  | completed pass head-merged
7  | completed fail merged | completed pass
7  | failed head-merged
7  | stopped pass head-merged
8  | completed pass | completed fail
8  | failed fail
8  | completed fail | stopped
8  | completed fail | queued
9  | completed
9  | completed pass
9  | completed fail | completed pass
9  | completed fail | completed
9  | completed pass | failed
9  | completed | stopped
10
10 | queued
-- | failed
-- | failed | stopped
-- | failed pass
-- | stopped
-- | stopped | queued
";

#[test]
fn every_row_of_the_table() {
    let lines = ROWS.trim().lines().map(|row| {
        let Derived { status, reasons } = derive(&facts(&row[2..]));
        let reasons: Vec<&str> = reasons.into_iter().map(TaskReason::as_str).collect();
        let line = format!("{row:<56}{:<13}{}", status.as_str(), reasons.join(" "));
        line.trim_end().to_owned()
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
    1  cancelled                                            cancelled
    1  cancelled blocked | running                          cancelled
    1  cancelled | completed pass merged                    cancelled
    1  cancelled | completed pending                        cancelled
    2  blocked                                              blocked      blocked_by_dependencies
    2  blocked | running                                    blocked      blocked_by_dependencies
    2  blocked | completed pass                             blocked      blocked_by_dependencies merge_pending
    2  blocked | completed pass merged                      blocked      blocked_by_dependencies
    3  | running                                            running
    3  | completed pass pending | running                   running      scope_violation_pending merge_pending
    3  | failed | running                                   running      run_failed
    3  | completed pass merged | running                    running
    4  | completed pass approved pending                    needs_review scope_violation_pending merge_pending
    4  | completed pass pending | completed pass            needs_review scope_violation_pending merge_pending
    4  | completed pass pending | completed pass merged     needs_review scope_violation_pending
    4  | completed pass rejected pending                    needs_review scope_violation_pending scope_violation_rejected merge_pending
    4  | failed pending                                     needs_review scope_violation_pending run_failed
    4  | stopped pending                                    needs_review scope_violation_pending
    5  | completed pass approved rejected                   needs_review scope_violation_rejected merge_pending
    5  | completed pass rejected | completed pass merged    needs_review scope_violation_rejected
    6  | completed pass merged                              done
    6  | completed pass approved merged                     done
    6  | completed pass merged | failed fail                done         run_failed
    6  | completed pass merged | queued                     done
    6  | failed pass merged                                 done         run_failed
    7  | completed merged                                   needs_review dod_pending
    7  | completed fail pass merged                         needs_review dod_failed
    7  | completed pass head-merged                         needs_review merge_pending
    7  | completed fail merged | completed pass             needs_review dod_failed merge_pending
    7  | failed head-merged                                 needs_review dod_pending merge_pending run_failed
    7  | stopped pass head-merged                           needs_review merge_pending
    8  | completed pass | completed fail                    failed       dod_failed merge_pending
    8  | failed fail                                        failed       dod_failed run_failed
    8  | completed fail | stopped                           failed       dod_failed merge_pending
    8  | completed fail | queued                            failed       dod_failed merge_pending
    9  | completed                                          ready        dod_pending merge_pending
    9  | completed pass                                     ready        merge_pending
    9  | completed fail | completed pass                    ready        merge_pending
    9  | completed fail | completed                         ready        dod_pending merge_pending
    9  | completed pass | failed                            ready        merge_pending run_failed
    9  | completed | stopped                                ready        dod_pending merge_pending
    10                                                      open
    10 | queued                                             open
    -- | failed                                             failed       run_failed
    -- | failed | stopped                                   failed       run_failed
    -- | failed pass                                        failed       run_failed
    -- | stopped                                            open
    -- | stopped | queued                                   open
    ");
}

#[test]
fn words_are_those_of_the_wire() {
    for status in TaskStatus::ALL {
        assert_eq!(serde_json::json!(status), status.as_str());
    }
    for approval in [Pending, Approved, Rejected] {
        assert_eq!(serde_json::json!(approval), approval.as_str());
    }
    let derived = derive(&facts("| completed fail pending rejected"));
    assert_eq!(
        serde_json::to_string(&derived).unwrap(),
        r#"{"status":"needs_review","reasons":["scope_violation_pending","scope_violation_rejected","dod_failed","merge_pending"]}"#
    );
}

fn any_run() -> impl Strategy<Value = RunFacts> {
    let outcome = prop::sample::select(vec![None, Some(Completed), Some(Failed), Some(Cancelled)]);
    let status = prop::sample::select(vec![
        CheckStatus::Pending,
        CheckStatus::Passed,
        CheckStatus::Failed,
    ]);
    let check = (any::<bool>(), status);
    let check = check.prop_map(|(required, status)| CheckFact { required, status });
    let approval = prop::sample::select(vec![Pending, Approved, Rejected]);
    (
        any::<bool>(),
        outcome,
        prop::collection::vec(check, 0..3),
        prop::collection::vec(approval, 0..2),
        any::<[bool; 2]>(),
    )
        .prop_map(|(running, outcome, checks, violations, merged)| RunFacts {
            running: running && outcome.is_none(),
            outcome,
            checks,
            violations,
            head_merged: merged[0],
            result_merged: merged[1],
        })
}

fn any_task() -> impl Strategy<Value = TaskFacts> {
    let runs = prop::collection::vec(any_run(), 0..5);
    (prop::bool::weighted(0.1), prop::bool::weighted(0.2), runs).prop_map(
        |(cancelled, blocked, runs)| TaskFacts {
            cancelled,
            blocked,
            runs,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_task_has_a_status_and_the_reasons_that_explain_it(facts in any_task()) {
        let Derived { status, reasons } = derive(&facts);
        prop_assert!(reasons.is_sorted_by(|one, next| one < next), "{:?}", reasons);
        if facts.cancelled {
            prop_assert_eq!(status, TaskStatus::Cancelled);
        } else if facts.blocked {
            prop_assert_eq!(status, TaskStatus::Blocked);
        }
        match status {
            TaskStatus::Cancelled | TaskStatus::Open => prop_assert!(reasons.is_empty()),
            TaskStatus::Done => prop_assert!(reasons.iter().all(|reason| *reason == TaskReason::RunFailed)),
            TaskStatus::Running => {}
            TaskStatus::Ready | TaskStatus::Blocked | TaskStatus::NeedsReview | TaskStatus::Failed => {
                prop_assert!(!reasons.is_empty());
            }
        }
    }

    #[test]
    fn what_nobody_approved_is_never_done_or_ready(facts in any_task()) {
        let Derived { status, reasons } = derive(&facts);
        for (approval, reason) in [
            (Pending, TaskReason::ScopeViolationPending),
            (Rejected, TaskReason::ScopeViolationRejected),
        ] {
            let violated = facts.runs.iter().any(|run| run.violations.contains(&approval));
            if violated {
                prop_assert!(!matches!(status, TaskStatus::Done | TaskStatus::Ready));
            }
            prop_assert_eq!(reasons.contains(&reason), violated && !facts.cancelled);
        }
    }

    #[test]
    fn nothing_is_done_without_a_merged_result_whose_checks_passed(facts in any_task()) {
        if derive(&facts).status == TaskStatus::Done {
            let proven = |run: &RunFacts| {
                let mut required = run.checks.iter().filter(|check| check.required).peekable();
                run.result_merged
                    && required.peek().is_some()
                    && required.all(|check| check.status == CheckStatus::Passed)
            };
            prop_assert!(facts.runs.iter().any(proven));
        }
    }
}
