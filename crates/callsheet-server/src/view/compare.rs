//! Two prompts beside each other: by section first, then line by line.

use callsheet::cache::common_prefix;
use callsheet::reading::Reading;
use serde::Serialize;
use similar::{Algorithm, ChangeTag, TextDiff, capture_diff_slices};

use super::prompt::{Entry, Opened};
use super::script::spell_line;

/// How many equal lines stand around a change.
const CONTEXT: usize = 3;

/// How many rows of a section are shown.
const MOST: usize = 2000;

/// Two prompts beside each other.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) old_tokens: usize,
    pub(crate) new_tokens: usize,
    pub(crate) old_bytes: usize,
    pub(crate) new_bytes: usize,
    /// How far they are the same.
    pub(crate) prefix_bytes: usize,
    pub(crate) prefix_tokens: usize,
    pub(crate) equal: bool,
    pub(crate) parts: Vec<ComparedSections>,
}

/// Some sections.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ComparedSections {
    /// Sections in a row that are the same.
    Same {
        no: String,
        count: usize,
        name: String,
    },
    /// A section that is not.
    Differs(Box<Differs>),
}

/// A section that is not the same in both.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Differs {
    pub(crate) no: String,
    pub(crate) colour: usize,
    /// `added`, `removed` or `changed`.
    pub(crate) change: &'static str,
    pub(crate) layer: String,
    pub(crate) name: String,
    pub(crate) old_tokens: Option<usize>,
    pub(crate) new_tokens: Option<usize>,
    pub(crate) delta: i64,
    pub(crate) rows: Vec<Beside>,
    /// How many rows are not shown.
    pub(crate) more: usize,
}

/// A line of each; where one has none, it is empty there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Beside {
    pub(crate) old: Option<SideLine>,
    pub(crate) new: Option<SideLine>,
    /// Whether lines that are equal are left out before it.
    pub(crate) gap: bool,
}

/// A line: its number, whether it is equal in both, and its text as HTML.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SideLine {
    pub(crate) number: usize,
    pub(crate) equal: bool,
    pub(crate) html: String,
}

/// A section of one side.
struct Side<'a> {
    key: (String, String),
    entry: &'a Entry,
    body: String,
}

fn sides(opened: &Opened) -> Vec<Side<'_>> {
    let reading = Reading::of(&opened.text);
    let sections = opened
        .entries
        .iter()
        .filter(|entry| entry.section.is_some());
    sections
        .map(|entry| Side {
            key: (entry.layer.clone(), entry.name.clone()),
            body: reading.slice(entry.start..entry.end).to_owned(),
            entry,
        })
        .collect()
}

/// Puts two prompts beside each other.
pub(crate) fn compare(old: &Opened, new: &Opened) -> Comparison {
    let (ones, others) = (sides(old), sides(new));
    let keys = |sides: &[Side<'_>]| {
        sides
            .iter()
            .map(|side| side.key.clone())
            .collect::<Vec<_>>()
    };
    let (old_keys, new_keys) = (keys(&ones), keys(&others));
    let mut parts: Vec<ComparedSections> = Vec::new();
    let mut same: Vec<&Entry> = Vec::new();
    for step in capture_diff_slices(Algorithm::Myers, &old_keys, &new_keys)
        .iter()
        .flat_map(|step| step.iter_changes(&old_keys, &new_keys))
    {
        let one = step.old_index().map(|at| &ones[at]);
        let other = step.new_index().map(|at| &others[at]);
        match (one, other) {
            (Some(one), Some(other)) if one.body == other.body => same.push(other.entry),
            _ => {
                parts.extend(joined(&mut same));
                parts.extend(differs(one, other));
            }
        }
    }
    parts.extend(joined(&mut same));
    let prefix = common_prefix(&old.text, &new.text);
    let encoding = new.encoding();
    Comparison {
        old_tokens: old.manifest.tokens.unwrap_or(0),
        new_tokens: new.manifest.tokens.unwrap_or(0),
        old_bytes: old.text.len(),
        new_bytes: new.text.len(),
        prefix_bytes: prefix,
        prefix_tokens: Reading::of(&new.text).tokens(encoding, 0..prefix),
        equal: old.text == new.text,
        parts,
    }
}

/// Makes one line of sections in a row that are the same.
fn joined(same: &mut Vec<&Entry>) -> Option<ComparedSections> {
    let (first, last) = (same.first()?, same.last()?);
    let no = match same.len() {
        1 => first.no.clone(),
        _ => format!("{}–{}", first.no, last.no),
    };
    let part = ComparedSections::Same {
        no,
        count: same.len(),
        name: first.title.clone(),
    };
    same.clear();
    Some(part)
}

fn differs(one: Option<&Side<'_>>, other: Option<&Side<'_>>) -> Option<ComparedSections> {
    let entry = other.or(one)?.entry;
    let change = match (one, other) {
        (Some(_), Some(_)) => "changed",
        (None, _) => "added",
        (_, None) => "removed",
    };
    let body = |side: Option<&Side<'_>>| side.map(|side| side.body.clone()).unwrap_or_default();
    let mut rows = beside(&body(one), &body(other));
    let more = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let count = |side: Option<&Side<'_>>| side.map(|side| side.entry.tokens);
    let number =
        |side: Option<&Side<'_>>| i64::try_from(count(side).unwrap_or(0)).unwrap_or(i64::MAX);
    Some(ComparedSections::Differs(Box::new(Differs {
        no: entry.no.clone(),
        colour: entry.colour,
        change,
        layer: entry.layer.clone(),
        name: entry.name.clone(),
        old_tokens: count(one),
        new_tokens: count(other),
        delta: number(other) - number(one),
        rows,
        more,
    })))
}

/// Puts the lines of two texts beside each other, with a few that are equal around each change.
pub(crate) fn beside(old: &str, new: &str) -> Vec<Beside> {
    let diff = TextDiff::from_lines(old, new);
    let mut rows: Vec<Beside> = Vec::new();
    for (nth, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        let mut gap = nth > 0;
        for op in group {
            let mut olds: Vec<SideLine> = Vec::new();
            let mut news: Vec<SideLine> = Vec::new();
            for change in diff.iter_changes(op) {
                let line = |at: Option<usize>| SideLine {
                    number: at.unwrap_or(0) + 1,
                    equal: change.tag() == ChangeTag::Equal,
                    html: line_html(change.value()),
                };
                if change.tag() != ChangeTag::Insert {
                    olds.push(line(change.old_index()));
                }
                if change.tag() != ChangeTag::Delete {
                    news.push(line(change.new_index()));
                }
            }
            for at in 0..olds.len().max(news.len()) {
                rows.push(Beside {
                    old: olds.get(at).cloned(),
                    new: news.get(at).cloned(),
                    gap: std::mem::take(&mut gap),
                });
            }
        }
    }
    rows
}

fn line_html(line: &str) -> String {
    let mut html = String::new();
    spell_line(&mut html, line.strip_suffix('\n').unwrap_or(line));
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[Beside]) -> Vec<String> {
        let side = |line: &Option<SideLine>| {
            line.as_ref().map_or_else(
                || "-".to_owned(),
                |line| {
                    format!(
                        "{}{}{}",
                        line.number,
                        if line.equal { " " } else { "!" },
                        line.html
                    )
                },
            )
        };
        rows.iter()
            .map(|row| format!("{} | {}", side(&row.old), side(&row.new)))
            .collect()
    }

    #[test]
    fn lines_stand_beside_each_other() {
        let rows = beside("a\nb\nc\nd\n", "a\nx\nd\ne\n");
        assert_eq!(
            shown(&rows),
            ["1 a | 1 a", "2!b | 2!x", "3!c | -", "4 d | 3 d", "- | 4!e"]
        );
    }

    #[test]
    fn equal_lines_far_from_a_change_are_left_out() {
        let lines: Vec<String> = (1..=21).map(|line| line.to_string()).collect();
        let old = lines.join("\n");
        let new = old
            .replacen("\n2\n", "\ntwo\n", 1)
            .replace("\n19\n", "\nnineteen\n");
        let rows = beside(&old, &new);
        assert_eq!(rows.iter().filter(|row| row.gap).count(), 1);
        assert_eq!(beside("same\n", "same\n"), []);
    }
}
