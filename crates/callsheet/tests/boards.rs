//! Every board in `boards/` gives what `boards/expect.json` says, and setting a story changes one line of it.
//!
//! A board is added by a file and an entry in `expect.json`: `stories` in file order with their words and the keys that
//! come `next`, or `"error": true` for a file that has to be refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use callsheet::sprint::{Board, Status, next};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    #[serde(default)]
    stories: Vec<(String, String)>,
    #[serde(default)]
    next: Vec<String>,
    #[serde(default)]
    error: bool,
    #[serde(rename = "note")]
    _note: String,
}

#[expect(
    clippy::unwrap_used,
    reason = "a sample that cannot be read fails the test"
)]
fn samples() -> BTreeMap<String, (String, Expected)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/boards");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let expected: BTreeMap<String, Expected> = serde_json::from_str(&read("expect.json")).unwrap();
    let files = fs::read_dir(&folder).unwrap().count();
    assert_eq!(
        files,
        expected.len() + 1,
        "every board is expected to be something"
    );
    let with_text = expected.into_iter().map(|(name, expected)| {
        let text = read(&name);
        (name, (text, expected))
    });
    with_text.collect()
}

#[test]
fn every_board_has_its_stories_and_its_next_pair() {
    for (name, (text, expected)) in samples() {
        let board = match Board::parse(text, &name) {
            Ok(board) => board,
            Err(error) => {
                assert!(expected.error, "{error}");
                continue;
            }
        };
        assert!(!expected.error, "{name} should be refused");
        let stories = board
            .stories()
            .map(|s| (s.key.clone(), s.word.text.clone()));
        assert_eq!(stories.collect::<Vec<_>>(), expected.stories, "{name}");
        assert_eq!(next(&board).story_keys, expected.next, "{name}");
    }
}

#[test]
fn setting_a_story_changes_one_line_and_setting_it_back_gives_the_same_bytes() {
    for (name, (text, expected)) in samples() {
        if expected.error {
            continue;
        }
        let board = Board::parse(text.as_str(), &name).unwrap();
        let windows = Board::parse(text.replace('\n', "\r\n"), &name).unwrap();
        for (story, to) in board
            .stories()
            .flat_map(|story| Status::ALL.map(|to| (story, to)))
        {
            let (key, word) = (&story.key, &story.word);
            let changed = board.set(key, to, true).unwrap();
            one_line_differs(&text, &changed, &word.text, to.as_str());
            assert_eq!(
                windows.set(key, to, true).unwrap(),
                changed.replace('\n', "\r\n")
            );
            let again = Board::parse(changed, &name).unwrap();
            assert_eq!(again.get(key).unwrap().word.text, to.as_str());
            let back = match Status::named(&word.text) {
                Some(from) => again.set(key, from, true),
                // Any other word is written as somebody gives it.
                None => again.put(key, &word.text),
            };
            assert_eq!(back.unwrap(), text, "{name} {key}");
        }
    }
}

/// Checks that one line at most differs, and there nothing but the word.
fn one_line_differs(before: &str, after: &str, old: &str, new: &str) {
    let (a, b): (Vec<&str>, Vec<&str>) =
        (before.split('\n').collect(), after.split('\n').collect());
    assert_eq!(a.len(), b.len());
    let differ: Vec<(&str, &str)> = a.into_iter().zip(b).filter(|(a, b)| a != b).collect();
    if old == new {
        assert!(differ.is_empty());
        return;
    }
    let [(a, b)] = differ.as_slice() else {
        panic!("{differ:?}");
    };
    // A key can hold the word, too.
    let at = a
        .rfind(&format!(": {old}"))
        .or_else(|| a.rfind(&format!(": \"{old}")));
    let at = a[at.unwrap_or(0)..].find(old).unwrap_or(0) + at.unwrap_or(0);
    assert_eq!([&a[..at], new, &a[at + old.len()..]].concat(), *b);
}
