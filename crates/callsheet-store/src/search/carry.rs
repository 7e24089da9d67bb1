//! Which prompts carried a text, exactly.
//!
//! Every short piece of a text that a prompt carries stands in a section or where two of them meet, and both are in the
//! index. So the piece that the fewest prompts carry leads to all prompts that can carry the whole.

use std::collections::BTreeSet;

use callsheet::SourceMap;

use super::holder::{Found, Holder, PAGE, count, find, newest, prompts};
use crate::db::Tx;
use crate::project::Project;
use crate::prompt::{self, REACH, SealedPrompt, Texts};
use crate::{Id, Store, StoreError, body};

/// The shortest text that the index finds.
const LEAST_CHARS: usize = 3;

/// So many pieces of a long text are looked for.
const MOST_PIECES: usize = 10;

/// So many places in the index are looked at in one go.
const HOLDERS: i64 = 256;

/// So many are enough to tell a rare piece from a common one.
const GLANCE: i64 = 64;

/// So many prompts are read to see whether a text runs on from one section into the next.
const MOST_READ: usize = 2000;

/// The prompts that carried a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Carriers {
    /// The newest of them, the newest first.
    pub prompts: Vec<Carrier>,
    /// Whether there may be more.
    pub more: bool,
}

/// A prompt that carried a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Carrier {
    /// The prompt.
    pub prompt: SealedPrompt,
    /// Its text.
    pub text: String,
    /// Where each byte of it came from.
    pub source_map: SourceMap,
}

impl Store {
    /// Returns up to `limit` prompts that carried a text of at least three characters, the newest first.
    pub async fn carriers(
        &self,
        project: &Project,
        text: &str,
        limit: usize,
    ) -> Result<Carriers, StoreError> {
        if text.chars().count() < LEAST_CHARS {
            return Err(StoreError::refused(
                "a text that is looked for in all prompts has at least three characters",
            ));
        }
        let (project, text) = (project.key, text.to_owned());
        self.read(move |tx| {
            let mut search = Search {
                project,
                text: &text,
                limit,
                texts: Texts::default(),
                found: Vec::new(),
                seen: BTreeSet::new(),
                read: 0,
            };
            search.run(tx)
        })
        .await
    }
}

struct Search<'a> {
    project: i64,
    text: &'a str,
    limit: usize,
    texts: Texts,
    found: Vec<SealedPrompt>,
    seen: BTreeSet<Id>,
    /// How many prompts were read.
    read: usize,
}

impl Search<'_> {
    fn run(&mut self, tx: &mut dyn Tx) -> Result<Carriers, StoreError> {
        let Some((piece, mut holders)) = rarest(tx, self.text)? else {
            return Ok(Carriers::default());
        };
        let mut more = false;
        while !holders.is_empty() && !more {
            let last = holders.iter().map(|holder| holder.chunk).min();
            // Those that the newest prompts carry come first.
            for holder in &mut holders {
                holder.newest = newest(tx, self.project, holder.kind)?;
            }
            holders.retain(|holder| holder.newest.is_some());
            holders.sort_by_key(|holder| std::cmp::Reverse(holder.newest));
            more = self.among(tx, &holders, piece)?;
            holders = find(tx, piece, (last.unwrap_or(0), HOLDERS))?;
        }
        more |= !holders.is_empty() || self.found.len() > self.limit;
        self.found
            .sort_unstable_by_key(|prompt| std::cmp::Reverse(prompt.id));
        self.found.truncate(self.limit);
        let mut prompts = Vec::with_capacity(self.found.len());
        for prompt in std::mem::take(&mut self.found) {
            let text = self.texts.of(tx, &prompt)?;
            let source_map = prompt::source_map(tx, &prompt)?;
            prompts.push(Carrier {
                prompt,
                text,
                source_map,
            });
        }
        Ok(Carriers { prompts, more })
    }

    /// Looks at holders until there are enough prompts; tells whether it stopped before the end.
    fn among(
        &mut self,
        tx: &mut dyn Tx,
        holders: &[Found],
        piece: &str,
    ) -> Result<bool, StoreError> {
        for holder in holders {
            if self.read >= MOST_READ || self.is_enough(holder.newest) {
                return Ok(true);
            }
            match holder.kind {
                Holder::Body(key) => self.in_body(tx, key, piece)?,
                Holder::Edge(..) => self.walk(tx, holder.kind, Whole::Unknown)?,
            }
        }
        Ok(self.found.len() > self.limit)
    }

    /// Tells whether nothing that follows can be among the newest.
    fn is_enough(&self, next: Option<i64>) -> bool {
        if self.found.len() <= self.limit {
            return false;
        }
        let mut keys: Vec<i64> = self.found.iter().map(|prompt| prompt.key).collect();
        keys.sort_unstable_by_key(|key| std::cmp::Reverse(*key));
        next.is_none_or(|next| next < keys[self.limit])
    }

    fn in_body(&mut self, tx: &mut dyn Tx, key: i64, piece: &str) -> Result<(), StoreError> {
        let held = body::get_key(tx, key)?;
        let held = String::from_utf8_lossy(&held);
        if held.contains(self.text) {
            return self.walk(tx, Holder::Body(key), Whole::Inside);
        }
        // The index finds more than what is asked for.
        if held.contains(piece) {
            return self.walk(tx, Holder::Body(key), Whole::Unknown);
        }
        Ok(())
    }

    /// Looks at the prompts of a holder, the newest first, until there are enough.
    fn walk(&mut self, tx: &mut dyn Tx, holder: Holder, whole: Whole) -> Result<(), StoreError> {
        let (mut added, mut before) = (0, i64::MAX);
        loop {
            let page = prompts(tx, self.project, holder, before)?;
            for prompt in &page {
                before = prompt.key;
                if self.seen.contains(&prompt.id) {
                    continue;
                }
                if whole == Whole::Unknown {
                    if self.read >= MOST_READ {
                        return Ok(());
                    }
                    self.read += 1;
                    if !self.texts.of(tx, prompt)?.contains(self.text) {
                        continue;
                    }
                }
                self.seen.insert(prompt.id);
                self.found.push(prompt.clone());
                added += 1;
                if added > self.limit {
                    return Ok(());
                }
            }
            if i64::try_from(page.len()) != Ok(PAGE) {
                return Ok(());
            }
        }
    }
}

/// Returns the piece of the text that the fewest prompts carry, with what may hold it; nothing if none does.
fn rarest<'t>(tx: &mut dyn Tx, text: &'t str) -> Result<Option<(&'t str, Vec<Found>)>, StoreError> {
    let pieces = pieces(text);
    let mut best: Option<(i64, &str)> = None;
    for &piece in pieces.iter().filter(|_| pieces.len() > 1) {
        let holders = find(tx, piece, (i64::MAX, GLANCE))?;
        if holders.is_empty() {
            return Ok(None);
        }
        let mut carried = 0;
        for holder in holders.iter().take(4) {
            carried += count(tx, holder.kind)?;
        }
        // Whatever else holds it is carried by one prompt at least.
        carried = carried.max(i64::try_from(holders.len()).unwrap_or(i64::MAX));
        if best.is_none_or(|(least, _)| carried < least) {
            best = Some((carried, piece));
        }
    }
    let piece = best.map_or(text, |(_, piece)| piece);
    let holders = find(tx, piece, (i64::MAX, HOLDERS))?;
    Ok((!holders.is_empty()).then_some((piece, holders)))
}

/// Whether the text stands in the holder, or has to be looked for in each prompt.
#[derive(Clone, Copy, PartialEq)]
enum Whole {
    Inside,
    Unknown,
}

/// Returns pieces of a text that are spread over all of it, each short enough to stand in a section or an edge.
fn pieces(text: &str) -> Vec<&str> {
    if text.len() <= REACH {
        return vec![text];
    }
    let last = text.len() - REACH;
    let count = (last.div_ceil(REACH / 2) + 1).min(MOST_PIECES);
    let starts = (0..count).map(|nth| nth * last / (count - 1));
    let piece = |start: usize| {
        let start = text.ceil_char_boundary(start);
        &text[start..text.floor_char_boundary(start + REACH)]
    };
    let pieces = starts.map(piece);
    pieces
        .filter(|piece| piece.chars().count() >= LEAST_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_spread_over_the_whole_text() {
        let text = "é".repeat(500);
        let pieces = pieces(&text);
        assert_eq!(pieces.len(), MOST_PIECES);
        assert!(
            pieces
                .iter()
                .all(|piece| (REACH - 4..=REACH).contains(&piece.len()))
        );
        assert_eq!(super::pieces("short"), ["short"]);
        let middle = format!("{}{}", "a".repeat(50), "b".repeat(50));
        let found = super::pieces(&middle);
        assert!(found.iter().any(|piece| piece.contains("ab")), "{found:?}");
    }
}
