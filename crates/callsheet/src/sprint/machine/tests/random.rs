//! What holds whatever happens.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::document;

/// What one answer may be like.
#[derive(Clone, Debug)]
struct Chance {
    /// Which of the open actions is answered.
    which: Index,
    /// How an agent ends.
    end: u8,
    severity: u8,
    print: u8,
    flag: bool,
    /// Whether somebody stops the batch instead.
    stop: u8,
}

fn chances() -> impl Strategy<Value = Vec<Chance>> {
    let one = (
        any::<Index>(),
        0_u8..12,
        0_u8..6,
        0_u8..3,
        any::<bool>(),
        0_u8..60,
    );
    let one = one.prop_map(|(which, end, severity, print, flag, stop)| Chance {
        which,
        end,
        severity,
        print,
        flag,
        stop,
    });
    prop::collection::vec(one, 400)
}

fn ended(chance: &Chance) -> AgentEnded {
    let all = [
        Severity::Zero,
        Severity::Low,
        Severity::Medium,
        Severity::High,
        Severity::Critical,
        Severity::Unknown,
    ];
    let mut ended = severity(all[usize::from(chance.severity)], &chance.print.to_string());
    ended.heard.blocked = chance.flag && chance.end == 1;
    ended.end = match chance.end {
        8 => failed().end,
        9 => End::Limited {
            class: "overload".to_owned(),
            resets_at: None,
        },
        10 => End::Interrupted,
        11 if chance.flag => End::Impossible {
            reason: "no".to_owned(),
        },
        _ => End::Completed,
    };
    ended
}

fn board() -> impl Strategy<Value = Vec<(String, Status)>> {
    let story = (1_u8..4, prop::sample::select(Status::ALL.to_vec()));
    prop::collection::vec(story, 0..7).prop_map(|stories| {
        let keys = stories.into_iter().enumerate();
        keys.map(|(at, (epic, status))| (format!("{epic}-{at}"), status))
            .collect()
    })
}

/// Runs a batch by chance; what is left over when chances run out goes well.
fn play(world: &mut World, chances: &[Chance]) -> Batch {
    let start = Input::Started {
        batch: "b1".to_owned(),
        rules: world.rules.clone(),
        carried: Vec::new(),
    };
    let mut batch = world.feed(Batch::default(), start);
    let mut chances = chances.iter();
    while batch.status().is_none() {
        let open: Vec<Action> = batch.open().cloned().collect();
        assert!(
            !open.is_empty(),
            "nothing happens any more\n{}",
            world.trace
        );
        let input = match chances.next() {
            Some(chance) if chance.stop == 0 => Input::Stopped {
                policy: StopPolicy::Cancel,
            },
            Some(chance) => {
                let action = chance.which.get(&open);
                match &action.todo {
                    Todo::Agent(_) => Input::AgentEnded {
                        action: action.id,
                        ended: ended(chance),
                    },
                    _ => world.answer(action),
                }
            }
            None => world.answer(&open[0]),
        };
        batch = world.feed(batch, input);
        assert!(world.journal.len() < 2000, "{}", world.trace);
    }
    batch
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_batch_ends_once_and_in_order(board in board(), chances in chances(), parallel in 1_u32..4) {
        let mut world = World::new(&[]);
        world.board = board;
        world.rules.parallel = parallel;
        world.rules.max_cycles = None;
        let batch = play(&mut world, &chances);

        // Exactly one end, and nothing after it.
        prop_assert_eq!(world.kinds("batch:end").len(), 1);
        prop_assert_eq!(&world.events.last().unwrap().kind, "batch:end");
        prop_assert_eq!(world.kinds("batch:start").len(), 1);
        // Every cycle that began is over, unless the batch was stopped.
        let (began, over) = (world.kinds("cycle:start").len(), world.kinds("cycle:end").len());
        let was_stopped = matches!(batch.status(), Some(BatchStatus::Stopped | BatchStatus::Error));
        prop_assert!(began == over || was_stopped);
        // A story only moves on, or is blocked.
        for event in world.kinds("story:status") {
            let word = |field: &str| Status::named(event.payload[field].as_str().unwrap()).unwrap();
            prop_assert!(word("old_status") < word("new_status"));
        }
        // The same journal gives the same batch, after a trip through its stored form, too.
        let mut again = Batch::default();
        let mut events = Vec::new();
        for input in &world.journal {
            let text = serde_json::to_string(input).unwrap();
            let (next, step) = again.step(document::typed(document::json(&text).unwrap()).unwrap()).unwrap();
            again = next;
            events.extend(step.events);
        }
        prop_assert_eq!(&again, &batch);
        prop_assert_eq!(&events, &world.events);
        // What is over takes nothing more.
        let late = Input::Waited { action: 1 };
        prop_assert!(batch.step(late).is_err());
    }

    #[test]
    fn a_story_is_done_only_after_a_review_that_allows_it(chances in chances()) {
        let mut world = World::new(&[("1-1", Status::Backlog), ("1-2", Status::InProgress)]);
        let batch = play(&mut world, &chances);
        for event in world.kinds("story:status") {
            if event.payload["new_status"] != "done" {
                continue;
            }
            let key = event.payload["story_key"].as_str().unwrap();
            let reviews: Vec<&PhaseRecord> = batch
                .records()
                .iter()
                .filter(|record| record.phase == Phase::CodeReview && record.keys == [key])
                .filter(|record| record.ended.end == End::Completed)
                .collect();
            let last = reviews.last().unwrap().ended.heard.severity;
            let is_small = reviews.len() >= 3 && matches!(last, Severity::Low | Severity::Medium);
            prop_assert!(last == Severity::Zero || is_small, "{last:?}");
        }
    }

    #[test]
    fn an_answer_that_nobody_asked_for_changes_nothing(which in 0_u64..40) {
        let mut world = World::new(&[("1-1", Status::Review)]);
        let start = Input::Started { batch: "b1".to_owned(), rules: Rules::default(), carried: Vec::new() };
        let batch = world.feed(Batch::default(), start.clone());
        prop_assert!(batch.clone().step(start).is_err());
        let (odd, policy) = (Input::Waited { action: which }, StopPolicy::Drain);
        prop_assert!(batch.step(odd).is_err());
        let early = Input::Stopped { policy };
        prop_assert!(Batch::default().step(early).is_err());
    }
}
