//! Epics, order and pairs, on the forms of the source document and on those of real boards.

use super::*;
use crate::sprint::Board;

/// Makes a board of keys that are all in the backlog.
fn board(keys: &[&str]) -> Board {
    let lines = keys.iter().map(|key| format!("  {key}: backlog"));
    let lines: Vec<String> = lines.collect();
    let text = format!("development_status:\n{}\n", lines.join("\n"));
    Board::parse(text, "board").unwrap()
}

fn chosen(keys: &[&str]) -> Vec<String> {
    next(&board(keys)).story_keys
}

#[test]
fn the_documents_forms_have_the_documents_epics() {
    let none = Epics::default();
    for (key, epic, short) in [
        ("2a-1", "2a", "2a-1"),
        ("2a-10", "2a", "2a-10"),
        ("2a-1-login", "2a", "2a-1"),
        ("5-sr-3", "5-sr", "5-sr-3"),
        ("5-sr-3-retry", "5-sr", "5-sr-3"),
        ("5a-sr-3", "5a-sr", "5a-sr-3"),
        ("12-4-x", "12", "12-4"),
        ("1-login-2-x", "1-login", "1-login-2"),
        ("4-4-7-day-trial", "4", "4-4"),
        ("0-6-1-magnet", "0", "0-6"),
        ("22-1b-basket", "22", "22-1b"),
        ("A-1", "A", "A-1"),
        ("A-1-name", "A", "A-1"),
        ("ALFA-001", "ALFA", "ALFA-001"),
        ("EPS-003A", "EPS", "EPS-003A"),
        ("se1-5-lantern", "se1", "se1-5"),
        ("pre-p9-1-cedar", "pre-p9", "pre-p9-1"),
        ("ab-s01-x", "ab", "ab-s01"),
        ("e10-action-001-x", "e10-action", "e10-action-001"),
        ("2.5-1-copper", "2.5", "2.5-1"),
        ("2A-1-x", "2A", "2A-1"),
        ("hotfix-login-page", "hotfix-login", "hotfix-login-page"),
        ("spike", "spike", "spike"),
        ("2024-roadmap-x", "2024-roadmap", "2024-roadmap-x"),
    ] {
        let place = none.place(key);
        assert_eq!((place.epic.as_str(), place.short.as_str()), (epic, short));
    }
}

#[test]
fn the_longest_declared_epic_wins_where_a_number_follows() {
    let keys = [
        "epic-4",
        "epic-4-5",
        "epic-01",
        "epic-p4",
        "epic-abc-6",
        "epic-2.5",
        "epic-0-copper-feather",
        "epic-5",
    ];
    let epics = Epics::of(&board(&keys));
    for (key, epic, short) in [
        ("4-5-1-x", "4-5", "4-5-1"),
        ("4-5-login", "4", "4-5"),
        ("4-6-1-x", "4", "4-6"),
        ("4-5-1b-x", "4-5", "4-5-1b"),
        ("e-01-1-needle", "01", "e-01-1"),
        ("p4-1-x", "p4", "p4-1"),
        ("abc-6-3-x", "abc-6", "abc-6-3"),
        ("2.5-p1-x", "2.5", "2.5-p1"),
        ("0-1-anchor", "0", "0-1"),
        ("5-sr-3", "5-sr", "5-sr-3"),
        ("14-5-1-x", "14", "14-5"),
        ("echo-1-x", "echo", "echo-1"),
    ] {
        let place = epics.place(key);
        assert_eq!((place.epic.as_str(), place.short.as_str()), (epic, short));
    }
}

#[test]
fn stories_are_ordered_by_number_and_then_by_line() {
    let epics = Epics::of(&board(&["epic-4-5", "epic-2.5"]));
    let mut keys = [
        "word-1-x", "11-1", "10a-1", "10-2", "10-10", "5-a-1", "5a-1", "5-1", "4-5-1-x", "4-9",
        "3-1", "2.5-1", "2-9", "A-1", "2a-10", "2a-1", "01-1", "7-2b-x", "7-2a-x",
    ];
    keys.sort_by_key(|key| epics.place(key).order);
    let order = [
        "01-1", "2-9", "2a-1", "2a-10", "2.5-1", "3-1", "4-9", "4-5-1-x", "5-1", "5-a-1", "5a-1",
        "7-2b-x", "7-2a-x", "10-2", "10-10", "10a-1", "11-1", "word-1-x", "A-1",
    ];
    assert_eq!(keys, order);
}

#[test]
fn a_pair_is_the_first_and_the_next_of_its_epic() {
    assert_eq!(chosen(&["2a-10", "2a-2", "2a-1"]), ["2a-1", "2a-2"]);
    assert_eq!(chosen(&["3-1", "2-2", "3-2", "2-1"]), ["2-1", "2-2"]);
    assert_eq!(chosen(&["1-1", "2-1"]), ["1-1"]);
    assert_eq!(chosen(&["B-1-x", "A-1-x", "B-2-x"]), ["B-1-x", "B-2-x"]);
    assert_eq!(
        chosen(&["hotfix-a", "hotfix-b"]),
        ["hotfix-a", "hotfix-b"],
        "the document's rule: what stands before the last dash"
    );
    assert_eq!(
        chosen(&["epic-1", "epic-1-retrospective", "supp-epic-1"]).len(),
        0
    );
    let board = Board::parse(
        "development_status:\n  1-1: done\n  1-2: blocked\n  1-3: superseded\n  1-4: review\n  1-5: drafted\n",
        "board",
    )
    .unwrap();
    assert_eq!(
        next(&board),
        Choice {
            story_keys: vec!["1-4".to_owned(), "1-5".to_owned()],
            epic_id: "1".to_owned()
        }
    );
    let other = next_where(&board, |entry| entry.key != "1-4");
    assert_eq!(other.story_keys, ["1-5"]);
}

#[test]
fn a_short_id_means_one_story_or_is_refused() {
    let board = board(&[
        "epic-4",
        "epic-4-5",
        "2a-1-login",
        "2a-10-logout",
        "4-5-menu",
        "4-5-1-x",
        "3-1-a",
        "3-1-b",
        "14-3-4-x",
    ]);
    let found = |name: &str| find(&board, name).map(|entry| entry.key.clone());
    assert_eq!(found("2a-1").unwrap(), "2a-1-login");
    assert_eq!(found("2a-10-logout").unwrap(), "2a-10-logout");
    assert_eq!(found("4-5").unwrap(), "4-5-menu");
    assert_eq!(found("14-3-4").unwrap(), "14-3-4-x");
    assert_eq!(found("epic-4").unwrap(), "epic-4");
    assert_eq!(
        found("2a"),
        Err(NotFound::Ambiguous(vec![
            "2a-1-login".to_owned(),
            "2a-10-logout".to_owned()
        ]))
    );
    assert_eq!(
        found("3-1"),
        Err(NotFound::Ambiguous(vec![
            "3-1-a".to_owned(),
            "3-1-b".to_owned()
        ]))
    );
    assert_eq!(found("9"), Err(NotFound::Unknown));
    assert_eq!(found(""), Err(NotFound::Unknown));
}
