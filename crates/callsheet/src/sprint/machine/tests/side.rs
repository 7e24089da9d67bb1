//! Cycles side by side, and their merges.

use super::*;

#[test]
fn cycles_run_side_by_side_and_are_merged_in_the_order_of_the_board() {
    let mut world = World::new(&[
        ("1-1", Status::Review),
        ("2-1", Status::Review),
        ("2-2", Status::Review),
        ("3-1", Status::Review),
    ]);
    world.rules.parallel = 2;
    world.rules.max_cycles = None;
    // The second cycle is faster than the first.
    let mut order = Vec::new();
    let start = Input::Started {
        batch: "b1".to_owned(),
        rules: world.rules.clone(),
        carried: Vec::new(),
    };
    let mut batch = world.feed(Batch::default(), start);
    while batch.status().is_none() {
        let action = batch
            .open()
            .max_by_key(|action| action.cycle)
            .cloned()
            .unwrap();
        if let Todo::Merge { keys } = &action.todo {
            order.push(keys.join(","));
        }
        let input = world.answer(&action);
        batch = world.feed(batch, input);
    }
    assert_eq!(order, ["1-1", "2-1,2-2", "3-1"]);
    assert_eq!(world.statuses(), "1-1 done, 2-1 done, 2-2 done, 3-1 done");
    assert_eq!(batch.status(), Some(BatchStatus::AllDone));
    let first_done = world.trace.find("set 1-1 review -> done").unwrap();
    assert!(world.trace.find("merge [1-1]").unwrap() < first_done);
}

/// Runs two cycles at once whose merges come to something else than usual, the answers in their order.
fn merge_two(answers: Vec<Merged>) -> (World, Batch) {
    let mut world = World::new(&[("1-1", Status::Review), ("2-1", Status::Review)]);
    world.rules.parallel = 2;
    world.rules.max_cycles = None;
    let mut answers = answers.into_iter();
    let batch = world.run_with(|_, action| match &action.todo {
        Todo::Merge { .. } => answers.next().map(|merged| Input::Merged {
            action: action.id,
            merged,
        }),
        _ => None,
    });
    (world, batch)
}

fn conflict() -> Merged {
    Merged::Conflict {
        paths: vec!["a.txt".to_owned()],
    }
}

#[test]
fn a_merge_ends_as_its_table_says() {
    let refused = Merged::ChecksFailed {
        checks: vec!["test".to_owned()],
    };
    let cases = [
        (vec![], "1-1 done, 2-1 done", 0),
        (vec![Merged::Nothing], "1-1 done, 2-1 done", 0),
        (vec![Merged::Interrupted], "1-1 done, 2-1 done", 0),
        (vec![conflict()], "1-1 done, 2-1 done", 1),
        (vec![conflict(), conflict()], "1-1 done, 2-1 done", 2),
        (
            vec![conflict(), conflict(), conflict()],
            "1-1 blocked, 2-1 done",
            2,
        ),
        (vec![refused], "1-1 blocked, 2-1 done", 0),
    ];
    for (answers, board, resolved) in cases {
        let (world, batch) = merge_two(answers);
        assert_eq!(world.statuses(), board, "{}", world.trace);
        assert_eq!(batch.is_fine(), !board.contains("blocked"));
        let orders = world.trace.matches("sprint-resolve-conflict [1-1]");
        assert_eq!(orders.count(), resolved, "{}", world.trace);
        // A commit that is told is one, whatever it met on its way.
        let ended = batch.ended_cycles().iter();
        let mut commits = ended.filter_map(Cycle::commit);
        assert!(commits.all(|commit| ["c1", "m1"].contains(&commit)));
    }
}

#[test]
fn a_conflict_that_no_agent_resolves_blocks_the_story() {
    let mut world = World::new(&[("1-1", Status::Review)])
        .agent(Phase::ResolveConflict, vec![failed(), failed(), failed()]);
    world.rules.parallel = 2;
    let mut conflicts = vec![conflict()].into_iter();
    let batch = world.run_with(|_, action| match &action.todo {
        Todo::Merge { .. } => conflicts.next().map(|merged| Input::Merged {
            action: action.id,
            merged,
        }),
        _ => None,
    });
    assert_eq!(world.statuses(), "1-1 blocked");
    let outcome = batch.ended_cycles()[0].stories[0].outcome.clone();
    let reason = "the conflicts of its merge were not resolved: it crashed".to_owned();
    assert_eq!(outcome, Some(Outcome::Blocked { reason }));
}

#[test]
fn events_name_their_cycle_where_several_run_at_once() {
    let (world, _) = merge_two(vec![conflict()]);
    for event in &world.events {
        let is_of_cycle = event.kind.starts_with("command:")
            || event.kind.starts_with("story:")
            || event.kind.starts_with("merge:")
            || event.kind.starts_with("cycle:");
        assert_eq!(
            event.payload.contains_key("cycle_number"),
            is_of_cycle || event.kind.starts_with("commit:") || event.kind.starts_with("cleanup:"),
            "{event:?}"
        );
    }
    assert_eq!(world.kinds("merge:conflict").len(), 1);
    assert_eq!(world.kinds("merge:complete").len(), 2);
}

#[test]
fn a_merge_waits_for_an_agent_in_the_background() {
    let review = severity(Severity::Critical, "x");
    let mut world = World::new(&[("1-1", Status::Backlog)]).agent(
        Phase::StoryReview,
        vec![review, severity(Severity::Zero, "none")],
    );
    world.rules.parallel = 2;
    let batch = world.run();
    assert_eq!(
        batch.status(),
        Some(BatchStatus::AllDone),
        "{}",
        world.trace
    );
    let asked = world
        .journal
        .iter()
        .position(|input| matches!(input, Input::Merged { .. }));
    let reviewed = world.journal.iter().rposition(
        |input| matches!(input, Input::AgentEnded { ended, .. } if ended.heard.fingerprint.is_some()),
    );
    assert!(reviewed < asked, "{}", world.trace);
}

#[test]
fn a_cycle_keeps_its_worktree_in_the_batch_that_takes_it_up() {
    let mut world = World::new(&[("1-1", Status::Review), ("2-1", Status::Review)]);
    world.rules.parallel = 2;
    let batch = world.run_with(|_, action| match &action.todo {
        Todo::Agent(_) => Some(Input::AgentEnded {
            action: action.id,
            ended: AgentEnded::without_run(End::Impossible {
                reason: "no".to_owned(),
            }),
        }),
        _ => None,
    });
    let carried: Vec<Cycle> = batch.open_cycles().cloned().collect();
    assert_eq!(carried[0].workspace.as_deref(), Some("b1-1"));
    // One at a time, and still it is merged from where it is.
    let start = Input::Started {
        batch: "b2".to_owned(),
        rules: Rules::default(),
        carried,
    };
    let mut world = World::new(&[("1-1", Status::Review), ("2-1", Status::Review)]);
    let mut batch = world.feed(Batch::default(), start);
    while batch.status().is_none() {
        let action = batch.open().next().cloned().unwrap();
        let input = world.answer(&action);
        batch = world.feed(batch, input);
    }
    assert_eq!(world.statuses(), "1-1 done, 2-1 done");
    assert!(world.trace.contains("merge [1-1]"), "{}", world.trace);
    let names = batch
        .ended_cycles()
        .iter()
        .map(|cycle| cycle.workspace.as_deref());
    assert_eq!(names.collect::<Vec<_>>()[0], Some("b1-1"));
}
