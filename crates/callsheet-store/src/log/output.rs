//! What a run said and what that means, stored together: records and the events that were read out of them.

use callsheet::Event;
use serde_json::Value as Json;

use super::{Record, append, packed};
use crate::claim::Claim;
use crate::event::{self, EventRow};
use crate::{Store, StoreError};

/// The field of a payload that names the record an event was read out of.
const RECORD: &str = "record";

/// An event whose payload is JSON but for the number of its record.
struct Told {
    record: Option<usize>,
    kind: String,
    payload: String,
}

impl Store {
    /// Stores records and events of a run, each in their order; all of them or none. Returns the numbers of the records.
    ///
    /// An event with `Some(index)` was read out of `records[index]`: its payload gets the field `record` with the number
    /// of that record.
    pub async fn append_output(
        &self,
        claim: &Claim,
        records: Vec<Record>,
        events: Vec<(Option<usize>, Event)>,
    ) -> Result<Vec<i64>, StoreError> {
        let claim = claim.clone();
        let count = records.len();
        // Like compressing, this leaves the one thread that writes to its disk.
        let told = events
            .into_iter()
            .map(|(record, event)| told(record, event, count))
            .collect::<Result<Vec<_>, _>>()?;
        let packed = records
            .into_iter()
            .map(packed)
            .collect::<Result<Vec<_>, _>>()?;
        if packed.is_empty() && told.is_empty() {
            return Ok(Vec::new());
        }
        self.write(move |tx| {
            let seqs = append(tx, &claim, &packed)?;
            let rows = told.iter().map(|told| EventRow {
                at: None,
                kind: &told.kind,
                payload: told.numbered(&seqs),
                run: Some(claim.key),
            });
            event::append_rows(tx, &claim.project, rows.collect())?;
            Ok(seqs)
        })
        .await
    }
}

fn told(record: Option<usize>, mut event: Event, count: usize) -> Result<Told, StoreError> {
    if let Some(index) = record {
        if index >= count {
            let why =
                format!("an event is about record {index} of {count} that are stored with it");
            return Err(StoreError::refused(why));
        }
        event.payload.shift_remove(RECORD);
    }
    Ok(Told {
        record,
        kind: event.kind,
        payload: Json::Object(event.payload).to_string(),
    })
}

impl Told {
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
