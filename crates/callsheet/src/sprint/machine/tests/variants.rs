//! Variants of a cycle: other statuses, stops, failures, limits, a person at the board.

use super::*;

const PAIR: [(&str, Status); 2] = [("1-1", Status::Backlog), ("1-2", Status::Backlog)];

/// Every phase that a story goes through in the foreground.
const PHASES: [Phase; 8] = [
    Phase::CreateStory,
    Phase::Discovery,
    Phase::StoryReview,
    Phase::TechSpec,
    Phase::TechSpecReview,
    Phase::DevStory,
    Phase::CodeReview,
    Phase::Commit,
];

fn agents(world: &World) -> Vec<&str> {
    let lines = world.trace.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(_, line)| line)
        .filter(|line| line.starts_with("sprint-"))
        .collect()
}

#[test]
fn a_story_is_routed_by_its_own_status() {
    let mut world = World::new(&[("1-1", Status::Review), ("1-2", Status::InProgress)]);
    world.run();
    assert_eq!(
        agents(&world),
        [
            "sprint-code-review [1-1] 1",
            "sprint-dev-story [1-2] 1",
            "sprint-code-review [1-2] 1",
            "sprint-commit [1-1,1-2] 1",
        ]
    );
    let mut world = World::new(&[("1-1", Status::ReadyForDev), ("1-2", Status::Backlog)]);
    world.run();
    assert_eq!(
        agents(&world),
        [
            "sprint-create-story [1-2] 1",
            "sprint-create-story-discovery [1-2] 1",
            "sprint-story-review [1-2] 1",
            "sprint-create-tech-spec [1-1,1-2] 1",
            "sprint-tech-spec-review [1-1,1-2] 1",
            "sprint-dev-story [1-1] 1",
            "sprint-code-review [1-1] 1",
            "sprint-dev-story [1-2] 1",
            "sprint-code-review [1-2] 1",
            "sprint-commit [1-1,1-2] 1",
        ]
    );
}

#[test]
fn only_stories_that_are_done_are_committed() {
    let blocked = said(Heard {
        blocked: true,
        ..Heard::default()
    });
    let one = vec![blocked.clone()];
    let mut world = World::new(&PAIR).agent(Phase::DevStory, one);
    let batch = world.run();
    assert_eq!(world.statuses(), "1-1 blocked, 1-2 done");
    assert_eq!(agents(&world).last(), Some(&"sprint-commit [1-2] 1"));
    assert!(!batch.is_fine());

    let both = vec![blocked.clone(), blocked];
    let mut world = World::new(&PAIR).agent(Phase::DevStory, both);
    world.run();
    assert_eq!(world.statuses(), "1-1 blocked, 1-2 blocked");
    assert!(
        !agents(&world)
            .iter()
            .any(|agent| agent.starts_with("sprint-commit"))
    );
    assert!(world.kinds("cleanup:complete").is_empty());
}

#[test]
fn a_phase_that_fails_is_tried_again_and_blocks_after_three_times() {
    for phase in PHASES {
        let mut once = World::new(&PAIR).agent(phase, vec![failed()]);
        let batch = once.run();
        assert_eq!(once.statuses(), "1-1 done, 1-2 done", "{phase:?}");
        assert!(batch.is_fine(), "{phase:?}");
        let again = agents(&once)
            .iter()
            .filter(|line| line.ends_with(" again"))
            .count();
        assert_eq!(again, 1, "{phase:?}\n{}", once.trace);

        let mut always = World::new(&PAIR).agent(phase, vec![failed(); 20]);
        let batch = always.run();
        let wanted = match phase {
            // The code is there; only its commit is not.
            Phase::Commit => "1-1 done, 1-2 done",
            _ => "1-1 blocked, 1-2 blocked",
        };
        assert_eq!(always.statuses(), wanted, "{phase:?}");
        assert!(!batch.is_fine(), "{phase:?}");
        assert_eq!(always.kinds("batch:end").len(), 1);
    }
}

#[test]
fn a_limit_is_waited_for_in_every_phase() {
    for phase in PHASES {
        let limited = AgentEnded {
            end: End::Limited {
                class: "quota".to_owned(),
                resets_at: Some(100),
            },
            ..said(Heard::default())
        };
        let mut world = World::new(&PAIR).agent(phase, vec![limited.clone(), limited]);
        let batch = world.run();
        assert_eq!(world.statuses(), "1-1 done, 1-2 done", "{phase:?}");
        assert!(batch.is_fine());
        assert_eq!(
            world.trace.matches("wait Some(100)").count(),
            2,
            "{phase:?}"
        );
        assert_eq!(world.kinds("batch:warning").len(), 2, "{phase:?}");
    }
}

#[test]
fn a_missing_program_ends_the_batch_and_changes_no_story() {
    for phase in PHASES {
        let missing = AgentEnded {
            end: End::Impossible {
                reason: "claude is not installed".to_owned(),
            },
            ..said(Heard::default())
        };
        let mut world = World::new(&PAIR).agent(phase, vec![missing]);
        let batch = world.run();
        assert_eq!(batch.status(), Some(BatchStatus::Error), "{phase:?}");
        assert_eq!(batch.failure(), Some("claude is not installed"));
        assert_eq!(world.kinds("error").len(), 1, "{phase:?}");
        assert_eq!(world.kinds("batch:end")[0].payload["status"], "error");
        assert!(!world.statuses().contains("blocked"), "{phase:?}");
    }
}

#[test]
fn a_stop_in_every_phase_is_taken_up_by_the_next_batch_without_repeating_anything() {
    for policy in [StopPolicy::Drain, StopPolicy::Cancel] {
        for phase in PHASES {
            let mut world = World::new(&PAIR);
            let mut is_stopped = false;
            let batch = world.run_with(|_, action| {
                let is_it = matches!(&action.todo, Todo::Agent(order) if order.phase == phase);
                if is_it && !is_stopped {
                    is_stopped = true;
                    return Some(Input::Stopped { policy });
                }
                let cut = is_stopped && policy == StopPolicy::Cancel;
                (cut && matches!(action.todo, Todo::Agent(_))).then(|| Input::AgentEnded {
                    action: action.id,
                    ended: AgentEnded {
                        end: End::Interrupted,
                        ..said(Heard::default())
                    },
                })
            });
            assert_eq!(batch.status(), Some(BatchStatus::Stopped), "{phase:?}");
            assert_eq!(world.kinds("batch:end").len(), 1);
            let carried: Vec<Cycle> = batch.open_cycles().cloned().collect();
            assert_eq!(carried.len(), 1);
            let first = std::mem::take(&mut world.trace);
            let json = serde_json::to_string(&carried).unwrap();
            let start = Input::Started {
                batch: "b2".to_owned(),
                rules: Rules::default(),
                carried: serde_json::from_str(&json).unwrap(),
            };
            let mut batch = world.feed(Batch::default(), start);
            while batch.status().is_none() {
                let action = batch.open().next().expect("something to do").clone();
                let input = world.answer(&action);
                batch = world.feed(batch, input);
            }
            assert_eq!(world.statuses(), "1-1 done, 1-2 done", "{phase:?}");
            // Nothing is done twice but what was cut off.
            let both = format!("{first}{}", world.trace);
            let mut agents: Vec<&str> = both
                .lines()
                .filter_map(|line| line.split_once(' '))
                .map(|(_, line)| line)
                .filter(|line| line.starts_with("sprint-"))
                .collect();
            let all = agents.len();
            agents.sort_unstable();
            agents.dedup();
            let twice = all - agents.len();
            let cut = match (policy, phase) {
                (StopPolicy::Drain, _) => 0,
                (StopPolicy::Cancel, Phase::CreateStory) => 2,
                (StopPolicy::Cancel, _) => 1,
            };
            assert_eq!(twice, cut, "{policy:?} {phase:?}\n{both}");
            assert_eq!(agents.len(), 10, "{both}");
        }
    }
}

/// Runs one story that waits for its review, and returns how it ended and how many reviews it had.
fn reviewed(reviews: &[(Severity, &str)], most: u32) -> (String, usize) {
    let ended = reviews.iter().map(|(found, print)| severity(*found, print));
    let mut world =
        World::new(&[("1-1", Status::Review)]).agent(Phase::CodeReview, ended.collect());
    world.rules.max_code_reviews = most;
    world.run();
    let reviews = world.trace.matches("sprint-code-review").count();
    (world.statuses(), reviews)
}

#[test]
fn the_review_loop_ends_as_its_table_says() {
    use Severity::{Critical, High, Low, Medium, Unknown, Zero};
    type Case<'a> = (&'a [(Severity, &'a str)], u32, &'a str, usize);
    let cases: [Case<'_>; 12] = [
        (&[(Zero, "")], 10, "done", 1),
        (&[(High, "a"), (Zero, "")], 10, "done", 2),
        // Small findings are enough at the third review, and not before.
        (&[(Low, "a"), (Low, "b"), (Low, "c")], 10, "done", 3),
        (
            &[(Critical, "a"), (High, "b"), (Medium, "c")],
            10,
            "done",
            3,
        ),
        // Serious ones never are.
        (
            &[(Low, "a"), (Low, "b"), (High, "c"), (Zero, "")],
            10,
            "done",
            4,
        ),
        (
            &[(Low, "a"), (Low, "b"), (Unknown, ""), (Zero, "")],
            10,
            "done",
            4,
        ),
        // Three equal reviews in a row block, at whatever severity; two do not.
        (&[(Low, "a"), (Low, "a"), (Low, "a")], 10, "blocked", 3),
        (
            &[(Unknown, ""), (Unknown, ""), (Unknown, "")],
            10,
            "blocked",
            3,
        ),
        (
            &[(High, "b"), (High, "a"), (High, "a"), (High, "a")],
            10,
            "blocked",
            4,
        ),
        (
            &[(High, "a"), (High, "a"), (High, "b"), (Zero, "")],
            10,
            "done",
            4,
        ),
        // The limit.
        (&[(High, "a"), (High, "b")], 2, "blocked", 2),
        (&[], 0, "blocked", 0),
    ];
    for (reviews, most, wanted, count) in cases {
        let found = reviewed(reviews, most);
        assert_eq!(found, (format!("1-1 {wanted}"), count), "{reviews:?}");
    }
}

#[test]
fn the_review_model_is_taken_from_the_second_review_on_or_always() {
    for (after, lines) in [
        (2, ["1", "2 review-model"]),
        (0, ["1 review-model", "2 review-model"]),
    ] {
        let reviews = vec![severity(Severity::High, "a")];
        let mut world = World::new(&[("1-1", Status::Review)]).agent(Phase::CodeReview, reviews);
        world.rules.review_model_after = after;
        world.run();
        let wanted = lines.map(|line| format!("sprint-code-review [1-1] {line}"));
        assert_eq!(agents(&world)[..2], wanted);
    }
}

#[test]
fn a_chain_reviews_twice_more_at_most_and_never_blocks() {
    for (critical, runs) in [(1, 0), (2, 1), (3, 2), (9, 2)] {
        let mut reviews = vec![severity(Severity::Critical, "a"); critical - 1];
        reviews.push(severity(Severity::Low, "a"));
        let mut world = World::new(&PAIR).agent(Phase::StoryReview, reviews);
        let batch = world.run();
        let chained = agents(&world)
            .iter()
            .filter(|line| line.ends_with(" background"))
            .count();
        assert_eq!(chained, runs, "{}", world.trace);
        assert_eq!(world.kinds("background:complete").len(), runs);
        let warned = usize::from(critical > 3);
        assert_eq!(world.kinds("batch:warning").len(), warned);
        assert!(batch.is_fine());
    }
    let reviews = vec![severity(Severity::Critical, "a"), failed()];
    let mut world = World::new(&PAIR).agent(Phase::StoryReview, reviews);
    assert!(world.run().is_fine());
    assert_eq!(world.kinds("background:error").len(), 1);
}

#[test]
fn a_stop_ends_what_runs_in_the_background() {
    let reviews = vec![severity(Severity::Critical, "a")];
    let mut world = World::new(&PAIR).agent(Phase::StoryReview, reviews);
    let mut is_stopped = false;
    world.run_with(|_, action| {
        let is_dev = matches!(&action.todo, Todo::Agent(order) if order.phase == Phase::DevStory);
        if is_dev && !is_stopped {
            is_stopped = true;
            let policy = StopPolicy::Drain;
            return Some(Input::Stopped { policy });
        }
        None
    });
    let chain = world
        .trace
        .lines()
        .find(|line| line.ends_with("background"));
    let id = chain.and_then(|line| line.split(' ').next()).unwrap();
    assert!(
        world.trace.contains(&format!(" cancel {id}\n")),
        "{}",
        world.trace
    );
    let last = world.events.last().unwrap();
    assert_eq!(last.kind, "batch:end");
    assert_eq!(last.payload["status"], "stopped");
}

#[test]
fn what_a_person_writes_on_the_board_counts() {
    // The partner is set to something else while the first story is developed.
    for (word, outcome) in [
        (Status::Blocked, "1-1 done, 1-2 blocked"),
        (Status::Done, "1-1 done, 1-2 done"),
        (Status::Review, "1-1 done, 1-2 done"),
    ] {
        let mut world = World::new(&[("1-1", Status::InProgress), ("1-2", Status::ReadyForDev)]);
        world.run_with(|world, action| {
            if matches!(&action.todo, Todo::Agent(order) if order.phase == Phase::DevStory && order.keys == ["1-1"]) {
                world.board[1].1 = word;
            }
            None
        });
        assert_eq!(world.statuses(), outcome);
        assert!(
            world.trace.contains("sprint-commit [1-1] 1"),
            "{}",
            world.trace
        );
        assert!(
            !world.trace.contains("sprint-dev-story [1-2]"),
            "{}",
            world.trace
        );
        assert_eq!(
            world.kinds("batch:warning")[0].payload["warning_type"],
            "board_changed"
        );
    }
}

#[test]
fn an_agent_does_not_finish_its_story_by_writing_so() {
    let mut world = World::new(&[("1-1", Status::InProgress)]);
    world.run_with(|world, action| {
        if matches!(&action.todo, Todo::Agent(order) if order.phase == Phase::DevStory) {
            world.board[0].1 = Status::Done;
        }
        None
    });
    assert!(
        world.trace.contains("sprint-code-review [1-1] 1"),
        "{}",
        world.trace
    );
    assert_eq!(world.statuses(), "1-1 done");
    let status = world.kinds("story:status");
    let words = |field: &str| -> Vec<&str> {
        status
            .iter()
            .filter_map(|event| event.payload[field].as_str())
            .collect()
    };
    assert_eq!(words("old_status"), ["done", "review"]);
    assert_eq!(words("new_status"), ["review", "done"]);
}

#[test]
fn the_context_is_made_refreshed_or_taken_as_it_is() {
    for (found, kinds) in [
        (
            ContextFound::Missing,
            ["context:create", "context:create", "context:copied"].as_slice(),
        ),
        (
            ContextFound::Expired,
            &[
                "context:refresh",
                "context:complete",
                "context:copied",
                "context:copied",
            ],
        ),
        (ContextFound::Fresh, &["context:fresh", "context:copied"]),
    ] {
        let mut world = World::new(&[("1-1", Status::Review), ("2-1", Status::Review)]);
        world.context = found;
        // The refresh ends during the first cycle.
        world.late = false;
        world.run();
        let seen: Vec<&str> = world
            .events
            .iter()
            .map(|event| event.kind.as_str())
            .filter(|kind| kind.starts_with("context:"))
            .collect();
        assert_eq!(seen, kinds);
    }
    let mut world = World::new(&[("1-1", Status::Review)])
        .agent(Phase::ProjectContext, vec![failed(), failed(), failed()]);
    world.context = ContextFound::Missing;
    assert!(world.run().is_fine(), "a sprint goes on without it");
    assert_eq!(world.kinds("context:error").len(), 1);
}

#[test]
fn a_violation_is_another_try_and_is_told() {
    let outside = AgentEnded {
        violations: vec!["secrets/key".to_owned()],
        run: Some("1m00000000000b".to_owned()),
        ..said(Heard::default())
    };
    let mut world =
        World::new(&[("1-1", Status::InProgress)]).agent(Phase::DevStory, vec![outside.clone()]);
    assert!(world.run().is_fine());
    assert_eq!(
        world.kinds("batch:warning")[0].payload["warning_type"],
        "scope"
    );
    assert_eq!(world.trace.matches("sprint-dev-story").count(), 2);
    let mut world =
        World::new(&[("1-1", Status::InProgress)]).agent(Phase::DevStory, vec![outside; 3]);
    let batch = world.run();
    let Some(Outcome::Blocked { reason }) = &batch.ended_cycles()[0].stories[0].outcome else {
        panic!("{}", world.trace);
    };
    assert_eq!(
        reason,
        "an agent failed 3 times in a row: it changed what it may not: secrets/key"
    );
}

#[test]
fn budgets_end_a_story_or_the_batch() {
    let dear = AgentEnded {
        spent: Spent {
            tokens: 1000,
            cost_usd: 2.5,
            wall_ms: 61_000,
        },
        ..said(Heard::default())
    };
    let story = |budget: Budget| {
        let mut world = World::new(&[("1-1", Status::InProgress), ("1-2", Status::Review)])
            .agent(Phase::DevStory, vec![dear.clone()]);
        world.rules.story_budget = budget;
        world.run();
        world.statuses()
    };
    let none = Budget::default();
    assert_eq!(story(none), "1-1 done, 1-2 done");
    for over in [
        Budget {
            tokens: Some(999),
            ..none
        },
        Budget {
            cost_usd: Some(2.4),
            ..none
        },
        Budget {
            wall_s: Some(60),
            ..none
        },
    ] {
        assert_eq!(story(over), "1-1 blocked, 1-2 done");
    }
    assert_eq!(
        story(Budget {
            tokens: Some(1000),
            ..none
        }),
        "1-1 done, 1-2 done"
    );
    let mut world = World::new(&[("1-1", Status::InProgress)]).agent(Phase::DevStory, vec![dear]);
    world.rules.batch_budget = Budget {
        tokens: Some(10),
        ..none
    };
    let batch = world.run();
    assert_eq!(batch.status(), Some(BatchStatus::Stopped));
    assert_eq!(
        world.kinds("batch:warning")[0].payload["warning_type"],
        "budget"
    );
    assert!(world.kinds("error").is_empty());
}

#[test]
fn a_wrong_commit_is_made_again_and_given_up_after_three_times() {
    for (bad, fine) in [(1, true), (2, true), (3, false)] {
        let mut world = World::new(&[("1-1", Status::Review)]);
        let mut left = bad;
        let batch = world.run_with(|_, action| {
            if left == 0 || !matches!(action.todo, Todo::VerifyCommit { .. }) {
                return None;
            }
            left -= 1;
            let problem = "notes.txt is not of these stories".to_owned();
            Some(Input::CommitVerified {
                action: action.id,
                verified: Verified::Bad { problem },
            })
        });
        assert_eq!(batch.is_fine(), fine);
        assert_eq!(world.kinds("batch:warning").len(), bad);
        assert_eq!(world.kinds("commit:verified").len(), usize::from(fine));
    }
}

#[test]
fn a_phase_beside_it_does_not_make_up_for_one_that_fails() {
    let mut world = World::new(&[("1-1", Status::Backlog)])
        .agent(Phase::CreateStory, vec![failed(), failed(), failed()]);
    world.run();
    assert_eq!(world.trace.matches("sprint-create-story [").count(), 3);
    assert_eq!(world.statuses(), "1-1 blocked");
}

#[test]
fn a_developer_who_is_never_complete_is_not_asked_for_ever() {
    let incomplete = || {
        said(Heard {
            complete: Some(false),
            ..Heard::default()
        })
    };
    let mut world = World::new(&[("1-1", Status::InProgress)])
        .agent(Phase::DevStory, (0..9).map(|_| incomplete()).collect());
    world.run();
    assert_eq!(world.trace.matches("sprint-dev-story").count(), 3);
    assert_eq!(world.statuses(), "1-1 blocked");
}

#[test]
fn a_review_in_the_background_that_a_crash_cut_off_is_made_again() {
    let mut world = World::new(&[("1-1", Status::Backlog)]).agent(
        Phase::StoryReview,
        vec![
            severity(Severity::Critical, "a"),
            AgentEnded::interrupted(),
            severity(Severity::Critical, "a"),
            severity(Severity::Zero, ""),
        ],
    );
    world.run();
    let reviews = world
        .trace
        .lines()
        .filter(|line| line.contains("background"));
    let reviews: Vec<&str> = reviews
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    assert_eq!(
        reviews,
        [
            "sprint-story-review [1-1] 2 review-model background",
            "sprint-story-review [1-1] 2 review-model background",
            "sprint-story-review [1-1] 3 review-model background",
        ]
    );
    assert_eq!(world.kinds("background:error").len(), 0);
}

fn limited() -> AgentEnded {
    AgentEnded::without_run(End::Limited {
        class: "quota".to_owned(),
        resets_at: Some(99),
    })
}

#[test]
fn a_limit_in_the_background_is_waited_for_beside_the_phases() {
    let mut world = World::new(&[("1-1", Status::Backlog)]).agent(
        Phase::StoryReview,
        vec![
            severity(Severity::Critical, "a"),
            limited(),
            severity(Severity::Zero, ""),
        ],
    );
    world.late = false;
    let batch = world.run();
    let reviews = world.trace.matches("sprint-story-review [1-1] 2").count();
    assert_eq!(reviews, 2, "{}", world.trace);
    assert_eq!(world.kinds("background:error").len(), 0);
    assert_eq!(batch.status(), Some(BatchStatus::AllDone));
}

#[test]
fn a_batch_does_not_last_for_a_limit_in_the_background_alone() {
    let mut world = World::new(&[("1-1", Status::Backlog)]).agent(
        Phase::StoryReview,
        vec![severity(Severity::Critical, "a"), limited()],
    );
    let batch = world.run();
    let end = world.trace.lines().last().unwrap_or_default();
    assert!(end.contains(" cancel "), "{}", world.trace);
    assert_eq!(world.kinds("background:error").len(), 1);
    assert_eq!(batch.status(), Some(BatchStatus::AllDone));
    assert!(batch.is_fine());
}
