//! Which stories come next: the epic of a story, the order of stories, and the pair that is taken.
//!
//! Keys are what people made of them. A key that follows no rule comes last, in file order, and is never refused.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Board, Entry, Kind};

/// The stories that are taken next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Choice {
    /// One or two keys; none if there is nothing to do.
    pub story_keys: Vec<String>,
    /// The epic of the first.
    pub epic_id: String,
}

/// Where a story belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryPosition {
    /// The epic, such as `2a`.
    pub epic: String,
    /// The key up to its number, such as `2a-1`; the whole key where there is none.
    pub short: String,
    order: Order,
}

/// The order of stories; what has no leading number comes last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Numbered {
        epic: Vec<u64>,
        suffix: String,
        story: u64,
    },
    Last,
}

/// The epics that a board declares.
#[derive(Clone, Debug, Default)]
pub struct Epics {
    /// Where each of them stands among the entries.
    ids: BTreeMap<String, usize>,
}

/// `12`, `2a`, `5-sr`, `2.5` and what follows: the forms of the source document, with dots and capitals.
static NUMBERED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^([0-9]+(?:\\.[0-9]+)*[A-Za-z]?(?:-[A-Za-z]+)?)-([0-9]+)").ok());

/// The number in front of an epic's slug: `0` of `0-copper-feather`.
static SLUG: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("^([0-9]+[a-z]?(?:[.-][0-9]+)*)-[a-zA-Z]").ok());

impl Epics {
    /// Returns the epics that a board declares.
    pub fn of(board: &Board) -> Self {
        let mut ids = BTreeMap::new();
        let mut numbers = Vec::new();
        for (at, entry) in (0..).zip(board.entries()) {
            let Some(id) = entry.key.strip_prefix("epic-") else {
                continue;
            };
            if entry.kind != Kind::Epic {
                continue;
            }
            ids.insert(id.to_owned(), at);
            // An epic may carry its title in its key.
            let number = SLUG.as_ref().and_then(|slug| slug.captures(id)?.get(1));
            numbers.extend(number.map(|number| (number.as_str().to_owned(), at)));
        }
        for (number, at) in numbers {
            ids.entry(number).or_insert(at);
        }
        Self { ids }
    }

    /// Returns the place among the entries of the epic with an id, where it is declared.
    pub fn entry(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied()
    }

    /// Returns where a story belongs: to the longest declared epic that its key begins with, else as its key says.
    pub fn place(&self, key: &str) -> StoryPosition {
        self.declared(key, 0)
            .or_else(|| {
                // `e-01-1-…` and `e1-1-…` are stories of `epic-01` and `epic-1`.
                let number = key.strip_prefix("e-").or_else(|| key.strip_prefix('e'))?;
                let digit = number.starts_with(|c: char| c.is_ascii_digit());
                self.declared(key, key.len() - number.len())
                    .filter(|_| digit)
            })
            .or_else(|| numbered(key))
            .or_else(|| worded(key))
            .unwrap_or_else(|| StoryPosition {
                epic: key
                    .rsplit_once('-')
                    .map_or(key, |(epic, _)| epic)
                    .to_owned(),
                short: key.to_owned(),
                order: Order::Last,
            })
    }

    /// Looks for a declared epic behind the first `skip` bytes of a key.
    fn declared(&self, key: &str, skip: usize) -> Option<StoryPosition> {
        let tail = &key[skip..];
        let mut dashes = tail.rmatch_indices('-').map(|(at, _)| at);
        dashes.find_map(|at| {
            let id = &tail[..at];
            let digits = digits_behind(&tail[at + 1..])?;
            self.ids.contains_key(id).then(|| {
                let order = match skip {
                    0 => Order::of(id, digits),
                    _ => Order::Last,
                };
                let end = skip + at + 1 + tail[at + 1..].find(digits).unwrap_or(0) + digits.len();
                StoryPosition {
                    epic: id.to_owned(),
                    short: key[..word_end(key, end)].to_owned(),
                    order,
                }
            })
        })
    }
}

/// Returns the number at the start of the rest of a key; a patch has a `p` in front of it.
fn digits_behind(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix('p').unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_ascii_digit());
    let digits = &rest[..end.unwrap_or(rest.len())];
    (!digits.is_empty()).then_some(digits)
}

/// Returns the end of the word that a number stands in: `22-1b` of `22-1b-circle`.
fn word_end(key: &str, from: usize) -> usize {
    key[from..].find('-').map_or(key.len(), |at| from + at)
}

/// Reads a key of the source document's forms.
fn numbered(key: &str) -> Option<StoryPosition> {
    let found = NUMBERED.as_ref()?.captures(key)?;
    let (epic, story) = (found.get(1)?.as_str(), found.get(2)?);
    Some(StoryPosition {
        epic: epic.to_owned(),
        short: key[..word_end(key, story.end())].to_owned(),
        order: Order::of(epic, story.as_str()),
    })
}

/// Reads a key that begins with a word, such as `A-1`, `ALFA-003B`, `pre-p9-1-…` or `ab-s01-…`.
fn worded(key: &str) -> Option<StoryPosition> {
    if key.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let is_number = |part: &str| {
        let part = part.strip_prefix(['s', 'S']).unwrap_or(part);
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let letter = rest.len() == 1 && rest.starts_with(|c: char| c.is_ascii_alphabetic());
        rest.len() < part.len() && (rest.is_empty() || letter)
    };
    let dashes = key.match_indices('-').map(|(at, _)| at);
    let at = dashes
        .into_iter()
        .find(|at| is_number(&key[at + 1..word_end(key, at + 1)]))?;
    Some(StoryPosition {
        epic: key[..at].to_owned(),
        short: key[..word_end(key, at + 1)].to_owned(),
        order: Order::Last,
    })
}

impl Order {
    /// Returns the order of a story in an epic: 2 < 2.5 < 3, 4 < 4-5 < 5, 10 < 10a < 11.
    fn of(epic: &str, story: &str) -> Self {
        // A number past what is counted is as good as the last one.
        let number = |digits: &str| digits.parse().unwrap_or(u64::MAX);
        let mut numbers = Vec::new();
        let mut rest = epic;
        loop {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            let end = end.unwrap_or(rest.len());
            if end == 0 {
                break;
            }
            numbers.push(number(&rest[..end]));
            rest = &rest[end..];
            let deeper = rest.strip_prefix(['.', '-']);
            match deeper.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
                Some(deeper) => rest = deeper,
                None => break,
            }
        }
        if numbers.is_empty() {
            return Self::Last;
        }
        Self::Numbered {
            epic: numbers,
            suffix: rest.to_owned(),
            story: number(story),
        }
    }
}

/// Returns the stories that come next: the first that can run, and the next of the same epic.
pub fn next(board: &Board) -> Choice {
    next_where(board, |_| true)
}

/// Does the same among the stories that are wanted.
pub fn next_where(board: &Board, wanted: impl Fn(&Entry) -> bool) -> Choice {
    let epics = Epics::of(board);
    let runnable = board.entries().iter().filter(|entry| entry.is_runnable());
    let mut places: Vec<(StoryPosition, &str)> = runnable
        .filter(|entry| wanted(entry))
        .map(|entry| (epics.place(&entry.key), entry.key.as_str()))
        .collect();
    if board.is_list() {
        // The order of a list is the order of the work, one after another.
        places.truncate(1);
    }
    // The first of equals is taken, which is file order.
    let first = |places: &[(StoryPosition, &str)]| {
        let orders = (0..).zip(places);
        orders
            .min_by(|(_, a), (_, b)| a.0.order.cmp(&b.0.order))
            .map(|(at, _): (usize, _)| at)
    };
    let Some(at) = first(&places) else {
        return Choice::default();
    };
    let (place, key) = places.remove(at);
    places.retain(|(other, _)| other.epic == place.epic);
    let second = first(&places).map(|at| places[at].1.to_owned());
    Choice {
        story_keys: std::iter::once(key.to_owned()).chain(second).collect(),
        epic_id: place.epic,
    }
}

/// Why a name does not say which entry is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// Nothing has this name.
    Unknown,
    /// Several stories could be meant, in file order.
    Ambiguous(Vec<String>),
}

/// Returns the entry that a name means: its key, else the one story with that short id, else the one whose key goes on
/// from there.
pub fn find<'a>(board: &'a Board, name: &str) -> Result<&'a Entry, NotFound> {
    if let Some(entry) = board.get(name) {
        return Ok(entry);
    }
    let epics = Epics::of(board);
    let begins = |story: &&Entry| {
        let rest = story.key.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('-'))
    };
    let longer: Vec<&Entry> = board.stories().filter(begins).collect();
    let short = longer.iter().copied();
    let short = short.filter(|story| epics.place(&story.key).short == name);
    let short: Vec<&Entry> = short.collect();
    let found = if short.is_empty() { longer } else { short };
    match found.as_slice() {
        [] => Err(NotFound::Unknown),
        [one] => Ok(one),
        several => Err(NotFound::Ambiguous(
            several.iter().map(|story| story.key.clone()).collect(),
        )),
    }
}

#[cfg(test)]
mod tests;
