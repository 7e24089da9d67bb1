//! What is odd about a board: contradictions, unknown words, stories without a file.
//!
//! Nothing is decided by it and nothing is repaired. The status of an epic is a hint; a person is told where it
//! contradicts the stories.

use std::collections::BTreeMap;

use serde::Serialize;

use super::board::{Board, Entry, Kind};
use super::story_file::Noted;
use super::{Epics, Status};

/// What kind of oddity it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oddity {
    /// A line that other readers refuse.
    NotYaml,
    /// A word that nobody knows.
    UnknownWord,
    /// The status of an epic contradicts its stories.
    Contradiction,
    /// A story that needs a file has none.
    NoFile,
    /// Several files could be that of a story.
    SeveralFiles,
    /// The file of a story says something else than the board.
    OtherStatus,
}

/// Something that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The line of the board, counted from 1.
    pub line: usize,
    /// The key; empty where the line has none that counts.
    pub key: String,
    /// What a caller can branch on.
    pub kind: Oddity,
    /// The sentence for people.
    pub message: String,
}

/// A file of a story, and what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its path.
    pub path: String,
    /// The status that it says it has.
    pub noted: Option<Noted>,
}

/// Returns what is odd about a board, by line; `files` are those of each story, where somebody looked.
pub fn check(board: &Board, files: Option<&BTreeMap<String, Vec<Seen>>>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = board
        .warnings()
        .iter()
        .map(|warning| Finding {
            line: warning.line,
            key: String::new(),
            kind: Oddity::NotYaml,
            message: warning.message.clone(),
        })
        .collect();
    findings.extend(board.entries().iter().filter_map(unknown));
    findings.extend(contradictions(board));
    if let Some(files) = files {
        let stories = board.stories();
        findings.extend(stories.filter_map(|story| {
            let seen = files.get(&story.key).map_or(&[][..], Vec::as_slice);
            file(story, seen)
        }));
    }
    findings.sort_by_key(|found| (found.line, found.kind));
    findings
}

fn finding(entry: &Entry, kind: Oddity, message: String) -> Finding {
    Finding {
        line: entry.line,
        key: entry.key.clone(),
        kind,
        message,
    }
}

fn unknown(entry: &Entry) -> Option<Finding> {
    let (key, word) = (&entry.key, &entry.word);
    let optional = entry.kind == Kind::Retrospective && word.text == "optional";
    if word.status.is_some() || optional {
        return None;
    }
    let message = match (word.text.as_str(), entry.kind) {
        ("", _) => format!("`{key}` has no status"),
        (word, Kind::Story) => {
            format!("`{key}` is `{word}`, which is not a known status; it is never run")
        }
        (word, _) => format!("`{key}` is `{word}`, which is not a known status"),
    };
    Some(finding(entry, Oddity::UnknownWord, message))
}

/// Returns where epics contradict their stories.
fn contradictions(board: &Board) -> Vec<Finding> {
    let epics = Epics::of(board);
    let mut stories: BTreeMap<usize, Vec<&Entry>> = BTreeMap::new();
    for story in board.stories() {
        if let Some(epic) = epics.entry(&epics.place(&story.key).epic) {
            stories.entry(epic).or_default().push(story);
        }
    }
    let found = stories.into_iter().filter_map(|(epic, stories)| {
        let epic = &board.entries()[epic];
        let message = contradiction(epic, &stories)?;
        Some(finding(epic, Oddity::Contradiction, message))
    });
    found.collect()
}

fn contradiction(epic: &Entry, stories: &[&Entry]) -> Option<String> {
    let (key, word) = (&epic.key, &epic.word.text);
    let some = |wanted: &dyn Fn(Status) -> bool| {
        let stories = stories.iter().copied();
        let mut found = stories.filter(|story| story.word.status.is_some_and(wanted));
        let first = found.next()?;
        let more = match found.count() {
            0 => String::new(),
            1 => ", and 1 more like it".to_owned(),
            more => format!(", and {more} more like it"),
        };
        Some(format!("`{}` is `{}`{more}", first.key, first.word.text))
    };
    let known = || stories.iter().filter_map(|story| story.word.status);
    let all_done = known().next().is_some() && known().all(|status| status == Status::Done);
    let odd = match epic.word.status {
        Some(Status::Done) => some(&|status| status != Status::Done)?,
        Some(Status::InProgress | Status::Review | Status::Backlog | Status::ReadyForDev)
            if all_done =>
        {
            "all its stories are `done`".to_owned()
        }
        Some(Status::Backlog | Status::ReadyForDev) => {
            some(&|status| matches!(status, Status::InProgress | Status::Review | Status::Done))?
        }
        Some(Status::InProgress | Status::Review) => return None,
        Some(Status::Blocked) | None => some(&Status::is_runnable)?,
    };
    Some(format!("`{key}` is `{word}`, but {odd}"))
}

fn file(story: &Entry, seen: &[Seen]) -> Option<Finding> {
    let (key, word) = (&story.key, &story.word);
    match seen {
        // What nobody has begun needs no file, and that of a finished story may be archived.
        [] => {
            let needed = matches!(
                word.status?,
                Status::ReadyForDev | Status::InProgress | Status::Review
            );
            let message = format!("`{key}` is `{}`, but it has no story file", word.text);
            needed.then(|| finding(story, Oddity::NoFile, message))
        }
        [one] => {
            let noted = one.noted.as_ref()?;
            let same = match (noted.word.status, word.status) {
                (Some(file), Some(board)) => file == board,
                _ => noted.word.text.eq_ignore_ascii_case(&word.text),
            };
            let (path, line, other) = (&one.path, noted.line, &noted.word.text);
            let message = format!(
                "`{key}` is `{}`, but `{path}` says `{other}` in line {line}; the board counts",
                word.text
            );
            (!same).then(|| finding(story, Oddity::OtherStatus, message))
        }
        several => {
            let paths: Vec<String> = several
                .iter()
                .map(|one| format!("`{}`", one.path))
                .collect();
            let message = format!("`{key}` may have any of the files {}", paths.join(", "));
            Some(finding(story, Oddity::SeveralFiles, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sprint::Word;

    fn seen(path: &str, line: usize, word: &str) -> Seen {
        let word = Word::parse(word);
        Seen {
            path: path.to_owned(),
            noted: Some(Noted { line, word }),
        }
    }

    #[test]
    fn oddities_are_told_by_line() {
        let text = "story_location: {project-root}/x\ndevelopment_status:\n  epic-1: done\n  1-1-a: done\n  1-2-b: backlog\n  1-3-c: review\n  1-4-d: superseded\n  epic-1-retrospective: optional\n  epic-2: backlog\n  2-1-a: in-progress\n  epic-3: contexted\n  3-1-a: done\n  3-2-b: merged\n  epic-4: deferred\n  4-1-a: ready-for-dev\n  epic-5: blocked\n  5-1-a: done\n  epic-6: in-progress\n  6-1-a: backlog\n  epic-7: backlog\n  7-1-a: done\n  epic-7-retrospective: maybe\n  9-1:\n";
        let board = Board::parse(text, "b").unwrap();
        let files = BTreeMap::from([
            (
                "1-1-a".to_owned(),
                vec![seen("s/1-1-a.md", 3, "ready-for-dev")],
            ),
            ("1-3-c".to_owned(), vec![seen("s/1-3-c.md", 3, "Review")]),
            (
                "2-1-a".to_owned(),
                vec![seen("s/2-1.md", 3, "x"), seen("s/2-1-b.md", 3, "x")],
            ),
        ]);
        let told = |files: Option<_>| {
            let findings = check(&board, files);
            let lines = findings
                .iter()
                .map(|one| format!("{}: {:?}: {}", one.line, one.kind, one.message));
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(told(Some(&files)), @"
        1: NotYaml: the value of `story_location` is not valid YAML; put it in quotes
        3: Contradiction: `epic-1` is `done`, but `1-2-b` is `backlog`, and 1 more like it
        4: OtherStatus: `1-1-a` is `done`, but `s/1-1-a.md` says `ready-for-dev` in line 3; the board counts
        7: UnknownWord: `1-4-d` is `superseded`, which is not a known status; it is never run
        9: Contradiction: `epic-2` is `backlog`, but `2-1-a` is `in-progress`
        10: SeveralFiles: `2-1-a` may have any of the files `s/2-1.md`, `s/2-1-b.md`
        11: Contradiction: `epic-3` is `contexted`, but all its stories are `done`
        13: UnknownWord: `3-2-b` is `merged`, which is not a known status; it is never run
        14: UnknownWord: `epic-4` is `deferred`, which is not a known status
        14: Contradiction: `epic-4` is `deferred`, but `4-1-a` is `ready-for-dev`
        15: NoFile: `4-1-a` is `ready-for-dev`, but it has no story file
        20: Contradiction: `epic-7` is `backlog`, but all its stories are `done`
        22: UnknownWord: `epic-7-retrospective` is `maybe`, which is not a known status
        23: UnknownWord: `9-1` has no status
        ");
        assert!(!told(None).contains("File"));
        let fine = Board::parse(
            "development_status:\n  epic-1: in-progress\n  1-1: done\n  1-2: backlog\n",
            "b",
        )
        .unwrap();
        assert_eq!(check(&fine, Some(&BTreeMap::new())), []);
    }
}
