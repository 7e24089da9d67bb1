//! What happened to a run, in pages: where each page begins, some kinds of events, the newest of them.
//!
//! A run can have very many events. Whoever shows them reads a page at a time, and knows how many there are.

use crate::db::{Tx, Value};
use crate::event::{self, StoredEvent};
use crate::{Id, Store, StoreError};

/// Which events of a run are asked for; no kinds are all kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only events with a number above this one.
    pub after: i64,
    /// Only events of these kinds.
    pub kinds: Vec<String>,
    /// Whether the newest come, the newest first, instead of the oldest.
    pub newest: bool,
}

/// How many events a run has, and where each page of them begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventPages {
    /// How many there are.
    pub total: usize,
    /// The number of the first event of each page.
    pub starts: Vec<i64>,
    /// The number of the last event; 0 if there is none.
    pub last: i64,
}

const FROM: &str = "from run r join event e on e.run = r.key where r.id = $1 and e.seq > $2";

impl Store {
    /// Returns up to `limit` events of a run.
    pub async fn some_events_of_run(
        &self,
        run: Id,
        filter: EventFilter,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        self.read(move |tx| {
            let (mut values, kinds) = asked(run, &filter);
            values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
            let order = if filter.newest { "e.seq desc" } else { "e.seq" };
            let sql = format!(
                "select e.seq, e.at, e.kind, e.payload, r.id {FROM}{kinds} order by {order} limit ${}",
                values.len()
            );
            tx.query(&sql, &values)?.iter().map(event::stored).collect()
        })
        .await
    }

    /// Counts the events of a run, and tells where each page of `size` of them begins.
    pub async fn event_pages_of_run(
        &self,
        run: Id,
        filter: EventFilter,
        size: usize,
    ) -> Result<EventPages, StoreError> {
        self.read(move |tx| pages(tx, run, &filter, size)).await
    }
}

fn pages(
    tx: &mut dyn Tx,
    run: Id,
    filter: &EventFilter,
    size: usize,
) -> Result<EventPages, StoreError> {
    let (mut values, kinds) = asked(run, filter);
    let count = format!("select count(*), coalesce(max(e.seq), 0) {FROM}{kinds}");
    let Some(row) = tx.first(&count, &values)? else {
        return Ok(EventPages::default());
    };
    let (total, last) = (row.int(0)?, row.int(1)?);
    values.push(i64::try_from(size.max(1)).unwrap_or(i64::MAX).into());
    let starts = format!(
        "select seq from (select e.seq as seq, row_number() over (order by e.seq) as nth {FROM}{kinds}) as numbered \
        where (nth - 1) % ${} = 0 order by seq",
        values.len()
    );
    let rows = tx.query(&starts, &values)?;
    let starts: Result<Vec<i64>, StoreError> = rows.iter().map(|row| row.int(0)).collect();
    Ok(EventPages {
        total: usize::try_from(total).unwrap_or(0),
        starts: starts?,
        last,
    })
}

/// Returns the values of a query, and the condition for the kinds.
fn asked(run: Id, filter: &EventFilter) -> (Vec<Value<'_>>, String) {
    let mut values: Vec<Value<'_>> = vec![run.to_string().into(), filter.after.into()];
    let mut places = Vec::new();
    for kind in &filter.kinds {
        values.push(kind.into());
        places.push(format!("${}", values.len()));
    }
    let kinds = if places.is_empty() {
        String::new()
    } else {
        format!(" and e.kind in ({})", places.join(", "))
    };
    (values, kinds)
}
