//! A change of a board touches one line, whatever people have made of the rest.

use callsheet::sprint::{Board, Status, find, next};
use proptest::prelude::*;

use crate::cases;

/// One entry as somebody could write it.
fn entry() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        "[0-9]{1,2}[a-z]?-[0-9]{1,2}(-[a-zé]{1,5})?",
        "epic-[0-9]{1,2}",
        "[A-Z]{1,4}-[0-9]{3}",
        "[a-z.:#]{1,6}",
    ];
    let word = prop_oneof![
        prop::sample::select(vec![
            "backlog",
            "done",
            "in_progress",
            "drafted",
            "review",
            ""
        ]),
        Just("won't do"),
        Just("done ✅ yes"),
    ];
    let quote = prop::sample::select(vec!["", "\"", "'"]);
    let comment = prop::sample::select(vec!["", " # a: b", "   # \"x\" 'y' #", "  "]);
    let layout = prop::sample::select(vec![false, false, true]);
    (key, quote, word, quote_of_word(), comment, layout).prop_map(
        |(key, key_quote, word, quote, comment, map)| {
            let word = match quote {
                "'" => word.replace('\'', "''"),
                _ => word.to_owned(),
            };
            let key_quote = if key.contains([':', '#']) { "\"" } else { key_quote };
            let key = format!("{key_quote}{key}{key_quote}");
            if map {
                format!("  {key}:\n    name: 'it''s: x'\n    status: {quote}{word}{quote}{comment}\n    tasks:\n      - status: done\n")
            } else {
                format!("  {key}: {quote}{word}{quote}{comment}\n")
            }
        },
    )
}

fn quote_of_word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "\"", "'"])
}

fn board() -> impl Strategy<Value = String> {
    let idle = prop::sample::select(vec![
        "",
        "",
        "\n",
        "  # note: x\n",
        "# 1-1: done\n",
        "   \n",
    ]);
    let entries = prop::collection::vec((entry(), idle), 0..12);
    let top = prop::sample::select(vec![
        "",
        "---\n# x\nproject: a\n",
        "\u{feff}story_location: {project-root}/x\n",
    ]);
    let end = prop::sample::select(vec!["", "after:\n  1-1: done\n", "list:\n- a: b\n"]);
    (top, entries, end, any::<bool>(), any::<bool>()).prop_map(
        |(top, entries, end, windows, cut)| {
            let entries: String = entries
                .into_iter()
                .map(|(entry, idle)| entry + idle)
                .collect();
            let mut text = format!("{top}development_status:\n{entries}{end}");
            if cut {
                text.pop();
            }
            if windows {
                text = text.replace('\n', "\r\n");
            }
            text
        },
    )
}

/// Sets every entry to every status and looks at what became of the rest.
fn only_one_line_changes(text: &str) {
    let Ok(board) = Board::parse(text, "board") else {
        return;
    };
    for entry in board.entries() {
        for to in Status::ALL {
            let Ok(changed) = board.set(&entry.key, to, true) else {
                continue;
            };
            let pairs = text.split('\n').zip(changed.split('\n'));
            assert!(pairs.filter(|(a, b)| a != b).count() <= 1, "{text:?}");
            assert_eq!(text.split('\n').count(), changed.split('\n').count());
            let again = Board::parse(changed, "board").unwrap();
            assert_eq!(board.entries().len(), again.entries().len());
            for (before, after) in board.entries().iter().zip(again.entries()) {
                assert_eq!((&before.key, before.line), (&after.key, after.line));
                if before.key == entry.key {
                    assert_eq!(after.word.text, to.as_str());
                } else {
                    assert_eq!(before.word, after.word);
                }
            }
            if let Some(from) = Status::named(&entry.word.text) {
                assert_eq!(again.set(&entry.key, from, true).unwrap(), text);
            }
        }
    }
    let keys = next(&board).story_keys;
    assert!(keys.len() <= 2);
    for key in keys {
        assert!(find(&board, &key).unwrap().is_runnable());
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_change_touches_one_line(text in board()) {
        only_one_line_changes(&text);
    }

    #[test]
    fn whatever_is_read_can_be_changed(
        text in "(a: [\"'{x]{0,3}\n)?development_status:[ {}#&]{0,3}\r?\n([ \t]{0,4}[-a1:#\"'?é]{1,4}(: )?[ad\"'# :\t{]{0,6}\r?\n){0,6}"
    ) {
        only_one_line_changes(&text);
    }
}

/// Boards that are accepted are what the first property is about, so most have to be.
#[test]
fn most_random_boards_are_accepted() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let accepted = (0..100)
        .filter(|_| {
            let text = board().new_tree(&mut runner).unwrap().current();
            Board::parse(text, "board").is_ok()
        })
        .count();
    assert!(accepted > 50, "{accepted}");
}
