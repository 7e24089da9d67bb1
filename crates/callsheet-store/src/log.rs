//! Logs: what a run was given and what it said, record by record, numbered from 1 without a gap.
//!
//! A record is bytes, as they came. The first one is the prompt. Only the holder of a claim may append.

use std::io::Read as _;

use serde::Serialize;

use crate::claim::Claim;
use crate::db::{Row, Tx, Value, groups};
use crate::{Id, Store, StoreError, mark};

/// The largest record that is kept, and the most that a stored one may unfold to.
pub const LARGEST_RECORD: usize = 64 << 20;

/// Smaller data is stored as it is.
const WORTH_PACKING: usize = 512;

/// How hard to compress: the records come while an agent works.
const LEVEL: i32 = 3;

/// The largest window that unpacking may ask for, as a power of two; what we pack needs less.
const WINDOW: u32 = 25;

/// How many rows are inserted by one statement.
const CHUNK: usize = 64;

/// The codec of data that is stored as it is.
const PLAIN: i64 = 0;

/// The codec of data that is compressed with zstd.
const ZSTD: i64 = 1;

const NUMBER: &str = "update run set records = records + $4 \
    where key = $1 and worker = $2 and attempt = $3 and state = 'running' returning records";

const INSERT: &str = "insert into log (run, seq, at, stream, codec, data, mark) values ";

const RUN: &str = "select key from run where id = $1";

const SELECT: &str = "select seq, at, stream, codec, data from log where run = $1";

/// Where a record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
        found.ok_or_else(|| row.damaged(format!("`{word}` is no stream of a log")))
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
    codec: i64,
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
        let packed = records
            .into_iter()
            .map(pack)
            .collect::<Result<Vec<_>, _>>()?;
        self.write(move |tx| append(tx, &claim, &packed)).await
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

fn append(tx: &mut dyn Tx, claim: &Claim, records: &[Packed]) -> Result<Vec<i64>, StoreError> {
    let Some(first) = records.first() else {
        return Ok(Vec::new());
    };
    let count = i64::try_from(records.len()).unwrap_or(i64::MAX);
    let [key, worker, attempt] = claim.fence();
    let Some(row) = tx.first(NUMBER, &[key, worker, attempt, count.into()])? else {
        return Err(claim.lost());
    };
    let before = row.int(0)? - count;
    if before == 0 && first.stream != Stream::Meta {
        let run = claim.run.id;
        let why = format!("the log of run `{run}` begins with its prompt, as `meta`");
        return Err(StoreError::refused(why));
    }
    let at = tx.now()?;
    let seqs: Vec<i64> = (before + 1..=before + count).collect();
    for (seqs, records) in seqs.chunks(CHUNK).zip(records.chunks(CHUNK)) {
        let mut values = Vec::with_capacity(records.len() * 7);
        for (seq, record) in seqs.iter().zip(records) {
            let row = [
                claim.key.into(),
                (*seq).into(),
                at.into(),
                record.stream.as_str().into(),
                record.codec.into(),
                record.data.as_slice().into(),
            ];
            let mark = mark::of("log", &row);
            values.extend(row);
            values.push(mark.into());
        }
        tx.execute(&format!("{INSERT}{}", groups(records.len(), 7)), &values)?;
    }
    Ok(seqs)
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
        &mut |mut row| {
            let (seq, codec) = (row.int(0)?, row.int(3)?);
            let data = row.take_bytes(4)?;
            records.push(StoredRecord {
                seq,
                at: row.int(1)?,
                stream: Stream::parse(&row, 2)?,
                data: unpack(codec, data)
                    .map_err(|why| row.damaged(format!("record {seq} of run `{run}` {why}")))?,
            });
            Ok(())
        },
    )?;
    Ok(records)
}

/// Returns the data of a record from the columns codec and data, which stand from `at` on.
pub(crate) fn data(row: &Row, at: usize) -> Result<Vec<u8>, StoreError> {
    unpack(row.int(at)?, row.bytes(at + 1)?.to_vec())
        .map_err(|why| row.damaged(format!("a log record {why}")))
}

fn pack(record: Record) -> Result<Packed, StoreError> {
    let Record { stream, data } = record;
    if data.len() > LARGEST_RECORD {
        let why = format!(
            "a record of a log may have {LARGEST_RECORD} bytes, not {}",
            data.len()
        );
        return Err(StoreError::refused(why));
    }
    let packed = match data.len() {
        0..WORTH_PACKING => None,
        // What cannot be compressed, for whatever reason, is stored as it is.
        _ => zstd::bulk::compress(&data, LEVEL)
            .ok()
            .filter(|packed| packed.len() < data.len()),
    };
    Ok(match packed {
        Some(data) => Packed {
            stream,
            codec: ZSTD,
            data,
        },
        None => Packed {
            stream,
            codec: PLAIN,
            data,
        },
    })
}

/// Returns the data of a record, or says what is wrong with it.
pub(crate) fn unpack(codec: i64, data: Vec<u8>) -> Result<Vec<u8>, String> {
    if codec == PLAIN {
        return Ok(data);
    }
    if codec != ZSTD {
        return Err(format!("has the unknown codec {codec}"));
    }
    let told = |error: std::io::Error| format!("cannot be decompressed: {error}");
    let mut decoder = zstd::stream::read::Decoder::new(data.as_slice()).map_err(told)?;
    decoder.window_log_max(WINDOW).map_err(told)?;
    let mut plain = Vec::new();
    let limit = LARGEST_RECORD as u64 + 1;
    decoder.take(limit).read_to_end(&mut plain).map_err(told)?;
    if plain.len() > LARGEST_RECORD {
        return Err("unfolds to more than a record may have".to_owned());
    }
    Ok(plain)
}
