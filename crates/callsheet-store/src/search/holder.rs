//! Holders: what in the index may hold a piece of a text, and which prompts it stands in.

use super::index::{grams, kept};
use crate::StoreError;
use crate::db::{Dialect, Row, Tx, Value};
use crate::prompt::{self, COLUMNS, SealedPrompt};

/// So many prompts are looked at in one go.
pub(super) const PAGE: i64 = 32;

/// Something in the index that may hold a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Holder {
    /// A text of prompts.
    Body(i64),
    /// Where two of them meet, or one of them begins or ends.
    Edge(Option<i64>, Option<i64>),
}

/// A holder that the index has found.
pub(super) struct Found {
    pub(super) kind: Holder,
    pub(super) chunk: i64,
    /// The newest prompt that it can stand in.
    pub(super) newest: Option<i64>,
}

/// Returns how many prompts a holder stands in, of whatever project; many are as good as all.
pub(super) fn count(tx: &mut dyn Tx, holder: Holder) -> Result<i64, StoreError> {
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
pub(super) fn prompts(
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
pub(super) fn newest(
    tx: &mut dyn Tx,
    project: i64,
    holder: Holder,
) -> Result<Option<i64>, StoreError> {
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
pub(super) fn find(
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
}
