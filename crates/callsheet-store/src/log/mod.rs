//! Logs: what a run was given and what it said, record by record, numbered from 1 without a gap.
//!
//! A record is bytes, as they came. The first one is the prompt. Only the holder of a claim may append.

mod output;

use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::db::{Row, Tx, Value, groups};
use crate::{Id, Store, StoreError, mark, pack};

pub use output::Output;

/// The largest record that is kept, and the most that a stored one may unfold to.
pub const LARGEST_RECORD: usize = 64 << 20;

/// How many rows are inserted by one statement.
const CHUNK: usize = 64;

const NUMBER: &str = "update run set records = records + $4 \
    where key = $1 and worker = $2 and attempt = $3 and state = 'running' returning records";

const INSERT: &str = "insert into log (run, seq, at, stream, bytes, packed, mark) values ";

const RUN: &str = "select key from run where id = $1";

const BYTES: &str = "select cast(coalesce((select sum(l.bytes) from log l where l.run = r.key and l.stream = $2), 0) as bigint) \
    from run r where r.id = $1";

const SELECT: &str = "select seq, at, stream, bytes, packed from log where run = $1";

/// Where a record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Callsheet itself: the prompt, and facts about the run.
    Meta,
    /// What the agent wrote to its standard output.
    Stdout,
    /// What the agent wrote to its standard error.
    Stderr,
}

impl Stream {
    /// Returns the word that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    pub(crate) fn parse(row: &Row, at: usize) -> Result<Self, StoreError> {
        let known = [Self::Meta, Self::Stdout, Self::Stderr];
        let word = row.text(at)?;
        let found = known.into_iter().find(|stream| stream.as_str() == word);
        found.ok_or_else(|| row.damaged(format!("`{word}` is not a stream of a log")))
    }
}

/// A record that is to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it comes from.
    pub stream: Stream,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// A record that is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// The number within its run, from 1 and without a gap.
    pub seq: i64,
    /// When it was stored, in milliseconds since 1970.
    pub at: i64,
    /// Where it comes from.
    pub stream: Stream,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// A record as its row has it.
struct Packed {
    stream: Stream,
    bytes: i64,
    data: Vec<u8>,
}

impl Store {
    /// Stores records in their order and returns their numbers; all of them or none.
    ///
    /// The first record of a run has to be `meta`: the prompt.
    pub async fn append_log(
        &self,
        claim: &Claim,
        records: Vec<Record>,
    ) -> Result<Vec<i64>, StoreError> {
        let claim = claim.clone();
        // Compressing here leaves the one thread that writes to its disk.
        let packed = records.iter().map(packed).collect::<Result<Vec<_>, _>>()?;
        if packed.is_empty() {
            return Ok(Vec::new());
        }
        self.write(move |tx| append(tx, &claim, &packed)).await
    }

    /// Returns how many bytes of a stream the log of a run has.
    pub async fn log_bytes(&self, run: Id, stream: Stream) -> Result<u64, StoreError> {
        self.read(move |tx| {
            let values = [run.as_str().into(), stream.as_str().into()];
            match tx.first(BYTES, &values)? {
                Some(row) => Ok(u64::try_from(row.int(0)?).unwrap_or(0)),
                None => Err(StoreError::unknown("run", run.as_str())),
            }
        })
        .await
    }

    /// Returns up to `limit` records of a run with a number above `seq`, the oldest first.
    pub async fn log_since(
        &self,
        run: Id,
        seq: i64,
        limit: usize,
        stream: Option<Stream>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        self.read(move |tx| read(tx, run, " and seq > $2 order by seq", (seq, limit, stream)))
            .await
    }

    /// Returns the last `count` records of a run, the oldest first.
    pub async fn log_tail(
        &self,
        run: Id,
        count: usize,
        stream: Option<Stream>,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        self.read(move |tx| {
            let order = " and seq < $2 order by seq desc";
            let mut records = read(tx, run, order, (i64::MAX, count, stream))?;
            records.reverse();
            Ok(records)
        })
        .await
    }
}

/// Stores records within a transaction. Without any it only checks that the claim holds.
fn append(tx: &mut dyn Tx, claim: &Claim, records: &[Packed]) -> Result<Vec<i64>, StoreError> {
    let count = i64::try_from(records.len()).unwrap_or(i64::MAX);
    let [key, worker, attempt] = claim.fence();
    let Some(row) = tx.first(NUMBER, &[key, worker, attempt, count.into()])? else {
        return Err(claim.lost());
    };
    let before = row.int(0)? - count;
    let first = records.first();
    if before == 0 && first.is_some_and(|first| first.stream != Stream::Meta) {
        let run = claim.run.id;
        let why = format!("the log of run `{run}` begins with its prompt, as `meta`");
        return Err(StoreError::refused(why));
    }
    let at = tx.now()?;
    let seqs: Vec<i64> = (before + 1..=before + count).collect();
    let rows: Vec<_> = seqs.iter().map(|seq| (*seq, at)).zip(records).collect();
    insert(tx, claim.key, &rows)?;
    Ok(seqs)
}

/// Stores records of another store with the numbers and times that they have there.
pub(crate) fn put(tx: &mut dyn Tx, run: i64, records: Vec<StoredRecord>) -> Result<(), StoreError> {
    let records = records.into_iter().map(|stored| {
        let StoredRecord {
            seq,
            at,
            stream,
            data,
        } = stored;
        Ok(((seq, at), packed(&Record { stream, data })?))
    });
    let records = records.collect::<Result<Vec<_>, StoreError>>()?;
    let rows: Vec<_> = records
        .iter()
        .map(|(place, packed)| (*place, packed))
        .collect();
    insert(tx, run, &rows)
}

fn insert(tx: &mut dyn Tx, run: i64, rows: &[((i64, i64), &Packed)]) -> Result<(), StoreError> {
    for rows in rows.chunks(CHUNK) {
        let mut values = Vec::with_capacity(rows.len() * 7);
        for ((seq, at), record) in rows {
            let row = [
                run.into(),
                (*seq).into(),
                (*at).into(),
                record.stream.as_str().into(),
                record.bytes.into(),
                record.data.as_slice().into(),
            ];
            let mark = mark::of("log", &row);
            values.extend(row);
            values.push(mark.into());
        }
        tx.execute(&format!("{INSERT}{}", groups(rows.len(), 7)), &values)?;
    }
    Ok(())
}

fn read(
    tx: &mut dyn Tx,
    run: Id,
    order: &str,
    (seq, limit, stream): (i64, usize, Option<Stream>),
) -> Result<Vec<StoredRecord>, StoreError> {
    let Some(row) = tx.first(RUN, &[run.as_str().into()])? else {
        return Err(StoreError::unknown("run", run.as_str()));
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut values: Vec<Value<'_>> = vec![row.int(0)?.into(), seq.into(), limit.into()];
    let mut filter = "";
    if let Some(stream) = stream {
        filter = " and stream = $4";
        values.push(stream.as_str().into());
    }
    let mut records = Vec::new();
    tx.each(
        &format!("{SELECT}{filter}{order} limit $3"),
        &values,
        &mut |row| {
            let seq = row.int(0)?;
            records.push(StoredRecord {
                seq,
                at: row.int(1)?,
                stream: Stream::parse(&row, 2)?,
                data: unpacked(&row, 3)
                    .map_err(|why| row.damaged(format!("record {seq} of run `{run}`: {why}")))?,
            });
            Ok(())
        },
    )?;
    Ok(records)
}

fn packed(record: &Record) -> Result<Packed, StoreError> {
    let Record { stream, data } = record;
    if data.len() > LARGEST_RECORD {
        let why = format!(
            "a record of a log may have {LARGEST_RECORD} bytes, not {}",
            data.len()
        );
        return Err(StoreError::refused(why));
    }
    Ok(Packed {
        stream: *stream,
        bytes: i64::try_from(data.len()).unwrap_or(i64::MAX),
        data: pack::quickly(data),
    })
}

/// Returns the data of a record from the columns of its size and its bytes, which stand from `at` on.
pub(crate) fn data(row: &Row, at: usize) -> Result<Vec<u8>, StoreError> {
    unpacked(row, at).map_err(|why| row.damaged(format!("a log record: {why}")))
}

/// Does the same, or says what is wrong.
pub(crate) fn unpacked(row: &Row, at: usize) -> Result<Vec<u8>, String> {
    let text_of = |error: StoreError| error.to_string();
    let bytes = row.int(at).map_err(text_of)?;
    if usize::try_from(bytes).is_ok_and(|bytes| bytes > LARGEST_RECORD) {
        return Err("it is larger than a record may be".to_owned());
    }
    let packed = row.bytes(at + 1).map_err(text_of)?;
    pack::unpack(packed, bytes, &[]).map_err(str::to_owned)
}
