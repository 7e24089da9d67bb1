//! What a run said and what that means, stored together: records and the events that were read out of them.

use std::borrow::Cow;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{Builder, ScopedJoinHandle};

use callsheet::Event;

use super::{Packed, Record, append, packed};
use crate::claim::Claim;
use crate::event::{self, EventRow};
use crate::{Store, StoreError};

/// From how many records on half of them are compressed by another thread; to start one takes as long as a few.
const MANY: usize = 8;

/// The field of a payload that names the record an event was read out of.
const RECORD: &str = "record";

/// An event whose payload is JSON but for the number of its record.
struct OutputEvent {
    record: Option<usize>,
    kind: String,
    payload: String,
}

/// Records and events of a run that are ready to be stored: what takes time is done, and trying again costs nothing.
#[derive(Clone)]
pub struct Output(Arc<OutputContents>);

struct OutputContents {
    records: Vec<Packed>,
    events: Vec<OutputEvent>,
}

impl Output {
    /// Makes records and events ready.
    ///
    /// An event with `Some(index)` was read out of `records[index]`: its payload gets the field `record` with the number
    /// of that record.
    pub fn new(records: &[Record], events: &[(Option<usize>, Event)]) -> Result<Self, StoreError> {
        let ready =
            |(record, event): &(Option<usize>, Event)| output_event(*record, event, records.len());
        // The second half is compressed beside everything else.
        let (first, second) = records.split_at(records.len() / 2);
        let pack = |records: &[Record]| records.iter().map(packed).collect::<Result<Vec<_>, _>>();
        std::thread::scope(|scope| {
            // Where no thread can be had, this one does it.
            let helper = || Builder::new().spawn_scoped(scope, || pack(second)).ok();
            let rest = (second.len() >= MANY).then(helper).flatten();
            let events = events.iter().map(ready).collect::<Result<_, _>>()?;
            let mut records = pack(first)?;
            records.extend(match rest.map(ScopedJoinHandle::join) {
                Some(Ok(packed)) => packed?,
                Some(Err(panic)) => resume_unwind(panic),
                None => pack(second)?,
            });
            Ok(Self(Arc::new(OutputContents { records, events })))
        })
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("records", &self.0.records.len())
            .field("events", &self.0.events.len())
            .finish()
    }
}

impl Store {
    /// Stores records and events of a run, each in their order; all of them or none. Returns the numbers of the records.
    ///
    /// What they are to each other is said at [`Output::new`].
    pub async fn append_output(
        &self,
        claim: &Claim,
        records: Vec<Record>,
        events: Vec<(Option<usize>, Event)>,
    ) -> Result<Vec<i64>, StoreError> {
        let output = Output::new(&records, &events)?;
        self.append_ready(claim, &output).await
    }

    /// Does the same with what is ready. It is on its way when this returns, whether anybody waits for the answer or not.
    pub fn append_ready(
        &self,
        claim: &Claim,
        output: &Output,
    ) -> impl Future<Output = Result<Vec<i64>, StoreError>> + Send + use<> {
        let (claim, output) = (claim.clone(), output.clone());
        let nothing = output.0.records.is_empty() && output.0.events.is_empty();
        let answer = (!nothing).then(|| {
            self.write(move |tx| {
                let seqs = append(tx, &claim, &output.0.records)?;
                let rows = output.0.events.iter().map(|event| EventRow {
                    at: None,
                    kind: &event.kind,
                    payload: event.numbered(&seqs),
                    run: Some(claim.key),
                });
                event::append_rows(tx, &claim.project, rows.collect())?;
                Ok(seqs)
            })
        });
        async {
            match answer {
                Some(answer) => answer.await,
                None => Ok(Vec::new()),
            }
        }
    }
}

fn output_event(
    record: Option<usize>,
    event: &Event,
    count: usize,
) -> Result<OutputEvent, StoreError> {
    let mut payload = Cow::Borrowed(&event.payload);
    if let Some(index) = record {
        if index >= count {
            let why =
                format!("an event is about record {index} of {count} that are stored with it");
            return Err(StoreError::refused(why));
        }
        if payload.contains_key(RECORD) {
            payload.to_mut().shift_remove(RECORD);
        }
    }
    Ok(OutputEvent {
        record,
        kind: event.kind.clone(),
        // Values with text keys only: writing them cannot fail.
        payload: serde_json::to_string(&*payload).unwrap_or_default(),
    })
}

impl OutputEvent {
    /// Returns the payload with the number of its record, which is known only where it is stored.
    fn numbered(&self, seqs: &[i64]) -> String {
        let Some(seq) = self.record.and_then(|index| seqs.get(index)) else {
            return self.payload.clone();
        };
        let open = self.payload.strip_suffix('}').unwrap_or(&self.payload);
        let comma = if open.len() > 1 { "," } else { "" };
        format!("{open}{comma}\"{RECORD}\":{seq}}}")
    }
}
