//! Which prompts carried a text, exactly.
//!
//! Every short piece of a text that a prompt carries stands in a section or where two of them meet, and both are in the
//! index. So the piece that the fewest prompts carry leads to all prompts that can carry the whole.

use std::collections::BTreeSet;

use callsheet::SourceMap;

use super::index::{grams, kept};
use crate::db::{Dialect, Row, Tx, Value};
use crate::project::Project;
use crate::prompt::{self, COLUMNS, REACH, SealedPrompt, Texts};
use crate::{Id, Store, StoreError, body};

/// The shortest text that the index finds.
const LEAST_CHARS: usize = 3;

/// So many pieces of a long text are looked for.
const MOST_PIECES: usize = 10;

/// So many places in the index are looked at in one go.
const HOLDERS: i64 = 256;

/// So many are enough to tell a rare piece from a common one.
const GLANCE: i64 = 64;

/// So many prompts are looked at in one go.
const PAGE: i64 = 32;

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

/// Something in the index that may hold a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holder {
    /// A text of prompts.
    Body(i64),
    /// Where two of them meet, or one of them begins or ends.
    Edge(Option<i64>, Option<i64>),
}

/// A holder that the index has found.
struct Found {
    kind: Holder,
    chunk: i64,
    /// The newest prompt that it can stand in.
    newest: Option<i64>,
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
            holders = self::holders(tx, piece, (last.unwrap_or(0), HOLDERS))?;
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
        let holders = holders(tx, piece, (i64::MAX, GLANCE))?;
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
    let holders = holders(tx, piece, (i64::MAX, HOLDERS))?;
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

/// Returns how many prompts a holder stands in, of whatever project; many are as good as all.
fn count(tx: &mut dyn Tx, holder: Holder) -> Result<i64, StoreError> {
    let of = |tx: &mut dyn Tx, body: i64| {
        let sql = "select count(*) from (select 1 from part where body = $1 limit 200) as few";
        tx.first(sql, &[body.into()])?
            .map_or(Ok(0), |row| row.int(0))
    };
    match holder {
        Holder::Body(body) => of(tx, body),
        Holder::Edge(left, right) => {
            let mut least = i64::MAX;
            for body in [left, right].into_iter().flatten() {
                least = least.min(of(tx, body)?);
            }
            Ok(least)
        }
    }
}

/// Returns some prompts of a holder, those that were stored last first.
fn prompts(
    tx: &mut dyn Tx,
    project: i64,
    holder: Holder,
    before: i64,
) -> Result<Vec<SealedPrompt>, StoreError> {
    let (first, second) = match holder {
        Holder::Body(body) | Holder::Edge(Some(body), None) | Holder::Edge(None, Some(body)) => {
            (body, None)
        }
        Holder::Edge(Some(left), Some(right)) => (left, Some(right)),
        Holder::Edge(None, None) => return Ok(Vec::new()),
    };
    let mut values: Vec<Value<'_>> = vec![first.into(), project.into(), before.into(), PAGE.into()];
    let mut both = "";
    if let Some(second) = second {
        both = " and exists (select 1 from part b where b.body = $5 and b.prompt = a.prompt)";
        values.push(second.into());
    }
    // Shown are sections and frames; what only went in has the role 2, tools 4.
    let sql = format!(
        "select {COLUMNS} from part a cross join prompt p where p.key = a.prompt and a.body = $1 and p.project = $2 \
        and a.prompt < $3 and a.roles not in (2, 4, 6){both} order by a.prompt desc limit $4"
    );
    let rows = tx.query(&sql, &values)?;
    rows.iter().map(prompt::read).collect()
}

/// Returns the newest prompt of a project that a holder can stand in.
fn newest(tx: &mut dyn Tx, project: i64, holder: Holder) -> Result<Option<i64>, StoreError> {
    let sql = "select a.prompt from part a cross join prompt p where p.key = a.prompt and a.body = $1 \
        and p.project = $2 order by a.prompt desc limit 1";
    let mut of = |body: i64| {
        let row = tx.first(sql, &[body.into(), project.into()])?;
        row.map(|row| row.int(0)).transpose()
    };
    match holder {
        Holder::Body(body) => of(body),
        Holder::Edge(left, right) => {
            let mut least = None;
            for body in [left, right].into_iter().flatten() {
                let Some(newest) = of(body)? else {
                    return Ok(None);
                };
                least = Some(least.map_or(newest, |other: i64| other.min(newest)));
            }
            Ok(least)
        }
    }
}

/// Returns what may hold a piece, before a place in the index, from the last one down.
fn holders(
    tx: &mut dyn Tx,
    piece: &str,
    (before, most): (i64, i64),
) -> Result<Vec<Found>, StoreError> {
    let columns = "select c.body, e.left_body, e.right_body, c.key from";
    let (sql, pattern) = match tx.dialect() {
        Dialect::Sqlite => (
            format!(
                "{columns} chunk_grams join chunk c on c.key = chunk_grams.rowid left join edge e on e.key = c.key \
                where chunk_grams match $1 and chunk_grams.rowid < $2 order by chunk_grams.rowid desc limit $3"
            ),
            grams(piece),
        ),
        Dialect::Postgres => (
            format!(
                "{columns} chunk c left join edge e on e.key = c.key where c.grams like $1 and c.key < $2 \
                order by c.key desc limit $3"
            ),
            like(piece),
        ),
    };
    let values = [pattern.into(), before.into(), most.into()];
    let rows = tx.query(&sql, &values)?;
    let mut holders: Vec<Found> = Vec::with_capacity(rows.len());
    for row in rows {
        let kind = match row.maybe(0, Row::int)? {
            Some(body) => Holder::Body(body),
            None => Holder::Edge(row.maybe(1, Row::int)?, row.maybe(2, Row::int)?),
        };
        let chunk = row.int(3)?;
        match holders.last_mut() {
            Some(last) if last.kind == kind => last.chunk = chunk,
            _ => holders.push(Found {
                kind,
                chunk,
                newest: None,
            }),
        }
    }
    Ok(holders)
}

fn like(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in kept(text).chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "%"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_hold_every_sign_as_it_is() {
        assert_eq!(grams("a\"bcd"), "\"a\"\"b\" AND \"bcd\"");
        assert_eq!(like("5%_\\"), "%5\\%\\_\\\\%");
    }

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
