//! Story files: which file belongs to a story, and the status that a file says it has.
//!
//! The board decides the status. What a file says is only compared, except for a list of stories, which has no other.

use std::collections::BTreeMap;

use super::board::line::{Pair, Row};
use super::{Epics, Status, StoryPosition, Word};
use crate::document::yaml::{self, Kind, Node};
use crate::scope::ScopeGlobs;
use crate::{Error, ErrorKind};

/// What may stand before the key in the name of a story file.
const PREFIXES: [&str; 3] = ["sprint-", "spec-", "story-"];

/// How many lines are looked at for a status.
const HEAD: usize = 40;

/// The files that may belong to stories, by what their names say.
#[derive(Clone, Debug, Default)]
pub struct StoryFiles {
    by_name: BTreeMap<String, Vec<String>>,
    by_number: BTreeMap<String, Vec<String>>,
}

impl StoryFiles {
    /// Sorts the paths of files; what is not a story file is left out.
    pub fn new(paths: impl IntoIterator<Item = String>) -> Self {
        let epics = Epics::default();
        let mut files = Self::default();
        for path in paths {
            let name = path.rsplit('/').next().unwrap_or_default();
            let Some(stem) = name.strip_suffix(".md") else {
                continue;
            };
            let Some(key) = key_in(stem) else {
                continue;
            };
            // `story-1.2-login` is a file of `1-2-login`, and `2.5-1-login` one of itself.
            let dashed = epics.place(&key.replace('.', "-")).short;
            let dotted = epics.place(&key).short;
            let mut shorts = vec![number(&dashed), number(&dotted)];
            shorts.dedup();
            for short in shorts {
                files.by_number.entry(short).or_default().push(path.clone());
            }
            files.by_name.entry(key).or_default().push(path);
        }
        files
    }

    /// Returns the files of a story: those with its key, else those with its number.
    pub fn of(&self, key: &str, place: &StoryPosition) -> &[String] {
        let named = self.by_name.get(&key.to_lowercase());
        named
            .or_else(|| self.by_number.get(&number(&place.short)))
            .map_or(&[], Vec::as_slice)
    }
}

/// Returns the key in the name of a story file; nothing for other files of a sprint.
fn key_in(stem: &str) -> Option<String> {
    let stem = stem.to_lowercase();
    let key = PREFIXES.iter().find_map(|prefix| stem.strip_prefix(prefix));
    let key = key.unwrap_or(&stem);
    let other = ["tech-spec", "epic-", "validation-report", "code-review"]
        .iter()
        .any(|start| key.starts_with(start));
    let beside = ["-discovery-story", "-context", ".context", "-retrospective"]
        .iter()
        .any(|end| key.ends_with(end));
    (!other && !beside && key.contains(|c: char| c.is_ascii_digit())).then(|| key.to_owned())
}

/// Returns a short id with `-` between its parts and without zeros in front of numbers.
fn number(short: &str) -> String {
    let short = short.to_lowercase();
    let parts = short.split(['-', '.']).map(|part| {
        let bare = part.trim_start_matches('0');
        match bare.chars().next() {
            Some(first) if first.is_ascii_digit() => bare,
            _ if part.starts_with('0') && bare.is_empty() => "0",
            _ => part,
        }
    });
    parts.collect::<Vec<_>>().join("-")
}

/// A status that a file says it has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Noted {
    /// The line, counted from 1.
    pub line: usize,
    /// What stands there.
    pub word: Word,
}

/// Returns the status that a story file says it has: in its front matter, or as `Status: word` near its start.
pub fn noted(text: &str) -> Option<Noted> {
    if let Some((row, pair)) = front_status(text) {
        let word = spec_word(&pair.scalar().ok()?.text);
        return Some(Noted {
            line: row.number,
            word,
        });
    }
    Row::all(text).take(HEAD).find_map(|row| {
        let plain: String = row.text.chars().filter(|c| *c != '*').collect();
        let label = plain.trim().get(..7)?;
        let word = plain.trim().get(7..)?;
        label.eq_ignore_ascii_case("status:").then(|| Noted {
            line: row.number,
            word: spec_word(word),
        })
    })
}

/// Returns a file with another status in its front matter; nothing if there is none to change.
pub fn with_status(text: &str, to: Status) -> Option<String> {
    let (_, pair) = front_status(text)?;
    let bytes = pair.scalar().ok()?.bytes;
    let blank = if text[..bytes.start].ends_with(':') {
        " "
    } else {
        ""
    };
    let word = match to {
        Status::Backlog => "draft",
        Status::Review => "in-review",
        to => to.as_str(),
    };
    Some([&text[..bytes.start], blank, word, &text[bytes.end..]].concat())
}

/// Returns the patterns of paths that a story may write, as `write_scope` in its front matter has them; none where it says nothing.
///
/// ```
/// use callsheet::sprint::story_file::write_scope;
///
/// let text = "---\nwrite_scope: [\"src/login/**\", docs/login.md]\n---\n# Login\n";
/// assert_eq!(write_scope(text)?, ["src/login/**", "docs/login.md"]);
/// assert!(write_scope("# Login\n")?.is_empty());
/// # Ok::<(), callsheet::Error>(())
/// ```
pub fn write_scope(text: &str) -> Result<Vec<String>, Error> {
    const FIELD: &str = "write_scope";
    let mut rows = Row::all(text);
    let opens = rows.next().is_some_and(|row| row.text.trim_end() == "---");
    let header: Vec<&str> = rows
        .map(|row| row.text)
        .take_while(|row| row.trim_end() != "---")
        .collect();
    // Whatever else stands there is nobody's business.
    if !opens || !header.iter().any(|row| row.starts_with(FIELD)) {
        return Ok(Vec::new());
    }
    let refused = |why: &str| Error::new(ErrorKind::BadInput, format!("`{FIELD}`: {why}"));
    let tree = yaml::parse(&header.join("\n")).map_err(|malformed| refused(&malformed.reason))?;
    let Some(Kind::Map(entries)) = tree.map(|node| node.kind) else {
        return Ok(Vec::new());
    };
    let Some(entry) = yaml::get(&entries, FIELD) else {
        return Ok(Vec::new());
    };
    let text = |node: &Node| match &node.kind {
        Kind::Scalar(text) => Ok(text.clone()),
        _ => Err(refused("expected a list of patterns")),
    };
    let patterns: Vec<String> = match &entry.value.kind {
        Kind::Null => Vec::new(),
        Kind::List(items) => items.iter().map(text).collect::<Result<_, _>>()?,
        _ => vec![text(&entry.value)?],
    };
    ScopeGlobs::new(FIELD, &patterns)?;
    Ok(patterns)
}

/// Reads the word of a story file, which has two of its own.
fn spec_word(text: &str) -> Word {
    let mut word = Word::parse(text);
    word.status = match word.text.to_lowercase().replace('_', "-").as_str() {
        "draft" => Some(Status::Backlog),
        "in-review" => Some(Status::Review),
        _ => word.status,
    };
    word
}

/// Returns the line of the front matter that has the status.
fn front_status(text: &str) -> Option<(Row<'_>, Pair<'_>)> {
    let mut rows = Row::all(text);
    rows.next().filter(|row| row.text.trim_end() == "---")?;
    let mut found = None;
    for row in rows {
        if row.text.trim_end() == "---" {
            return found;
        }
        if found.is_none() && row.text.starts_with("status") {
            found = Pair::parse(row)
                .ok()
                .filter(|pair| pair.key == "status")
                .map(|pair| (row, pair));
        }
    }
    None
}

/// Returns the paths in the `File List` of a story file: what its developer says that the story has changed.
pub fn file_list(text: &str) -> Vec<String> {
    let mut lines = text.lines();
    let is_heading = |line: &&str| line.trim_start().starts_with('#');
    let is_list = |line: &str| {
        let title = line.trim_start_matches('#').trim();
        is_heading(&line) && title.eq_ignore_ascii_case("file list")
    };
    if !lines.by_ref().any(is_list) {
        return Vec::new();
    }
    let items = lines.take_while(|line| !is_heading(line));
    let items = items.filter_map(|line| line.trim_start().strip_prefix(['-', '*', '+']));
    let paths = items.filter_map(|item| {
        let item = item.trim();
        // What follows the path says what was done to it.
        let quoted = item
            .strip_prefix('`')
            .and_then(|rest| rest.split('`').next());
        quoted.or_else(|| item.split_whitespace().next())
    });
    paths
        .map(|path| path.trim_start_matches("./").to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_list_of_a_story_names_paths() {
        let text = "# Story\n- not/this.rs\n\n### File List\n\n- `src/a b.rs` (new)\n* ./src/b.rs - changed\nprose\n\n## Next\n- nor/this.rs\n";
        assert_eq!(file_list(text), ["src/a b.rs", "src/b.rs"]);
        assert!(file_list("# Story\n- a.rs\n").is_empty());
    }

    #[test]
    fn a_story_file_is_found_by_key_and_then_by_number() {
        let files = StoryFiles::new(
            [
                "a/2a-1-login.md",
                "a/sprint-2a-10-logout.md",
                "a/stories/story-1.2-menu.md",
                "a/spec-01-3-x.md",
                "a/2a-1-login.context.xml",
                "a/sprint-2a-1-login-discovery-story.md",
                "a/sprint-tech-spec-2a-1-login.md",
                "a/tech-spec-epic-1.md",
                "a/epic-1-retro-2031-01-01.md",
                "a/STORY-001-slug.md",
                "a/3-1-a.md",
                "a/3-1-b.md",
                "a/notes.md",
            ]
            .map(str::to_owned),
        );
        let epics = Epics::default();
        let of = |key: &str| files.of(key, &epics.place(key));
        assert_eq!(of("2a-1-login"), ["a/2a-1-login.md"]);
        assert_eq!(of("2a-1-sign-in"), ["a/2a-1-login.md"]);
        assert_eq!(of("2a-10-logout"), ["a/sprint-2a-10-logout.md"]);
        assert_eq!(of("1-2-navigation"), ["a/stories/story-1.2-menu.md"]);
        assert_eq!(of("1-3-y"), ["a/spec-01-3-x.md"]);
        assert_eq!(of("3-1-c"), ["a/3-1-a.md", "a/3-1-b.md"]);
        assert_eq!(of("3-1-b"), ["a/3-1-b.md"]);
        assert!(of("4-1-x").is_empty());
        assert!(of("notes").is_empty());
    }

    #[test]
    fn a_write_scope_is_a_list_of_patterns_or_an_error() {
        let said = |text: &str| match write_scope(text) {
            Ok(patterns) => patterns.join(" "),
            Err(error) => error.to_string(),
        };
        let texts = [
            "---\nwrite_scope: [src/**, 'a b/*']\n---\n",
            "---\r\nwrite_scope:\r\n  - src/**\r\n---\r\n",
            "---\nwrite_scope: src/**\nstatus: draft\n---\n",
            "---\nwrite_scope:\n---\n",
            "---\nstatus: [\n---\nwrite_scope: [a]\n",
            "write_scope: [a]\n",
            "---\nwrite_scope: [a\n---\n",
            "---\nwrite_scope: [{a: b}]\n---\n",
            "---\nwrite_scope: [../x]\n---\n",
        ];
        insta::assert_snapshot!(texts.map(said).join("\n"), @"
    src/** a b/*
    src/**
    src/**



    `write_scope`: `[` has no `]`
    `write_scope`: expected a list of patterns
    `write_scope[0]`: bad scope pattern `../x`: `..` would lead out of the root
    ");
    }

    #[test]
    fn the_status_of_a_file_is_read_where_it_stands() {
        let noted_in = |text: &str| noted(text).map(|noted| (noted.line, noted.word));
        let done = Some(Status::Done);
        let found = |line, text: &str, status| {
            let text = text.to_owned();
            Some((line, Word { text, status }))
        };
        assert_eq!(noted_in("# S\n\nStatus: done\n"), found(3, "done", done));
        assert_eq!(noted_in("**Status:** Done\r\n"), found(1, "Done", done));
        assert_eq!(
            noted_in("---\nstatus: 'done'\n---\nStatus: x\n"),
            found(2, "done", done)
        );
        let review = Some(Status::Review);
        assert_eq!(
            noted_in("---\nstatus: in-review # x\n---\n"),
            found(2, "in-review", review)
        );
        assert_eq!(noted_in("# Status\n\nétat: done\n"), None);
        let endless = "---\nstatus: done\n";
        assert_eq!(noted_in(endless), found(2, "done", done));
        assert_eq!(with_status(endless, Status::Done), None);
        assert_eq!(
            with_status("---\na: 1\nstatus: 'draft' # x\n---\n", Status::Review).unwrap(),
            "---\na: 1\nstatus: 'in-review' # x\n---\n"
        );
        assert_eq!(
            with_status("---\nstatus:\n---\n", Status::Done).unwrap(),
            "---\nstatus: done\n---\n"
        );
        assert_eq!(with_status("Status: done\n", Status::Done), None);
    }
}
