//! Settings: marks, names and values.

use serde_json::Value as Json;

use super::{Audit, marked};
use crate::StoreError;
use crate::db::{Row, Tx};
use crate::setting::is_name;

const SETTINGS: &str = "select s.project, s.name, s.value, s.changed_at, s.mark, p.name \
    from setting s join project p on p.key = s.project order by s.project, s.name";

/// Checks settings one by one.
pub(super) fn settings(tx: &mut dyn Tx, audit: &mut Audit<'_>) -> Result<(), StoreError> {
    tx.each(SETTINGS, &[], &mut |row| {
        let name = |at| row.text(at).unwrap_or("?");
        let what = || format!("setting {} of project {}", name(1), name(5));
        audit.row("settings", what, || setting(&row));
        Ok(())
    })
}

fn setting(row: &Row) -> Result<Option<String>, StoreError> {
    let values = [
        row.int(0)?.into(),
        row.text(1)?.into(),
        row.text(2)?.into(),
        row.int(3)?.into(),
    ];
    if let Some(wrong) = marked(row, 4, "setting", &values)? {
        return Ok(Some(wrong));
    }
    if !is_name(row.text(1)?) {
        return Ok(Some("has a name that no setting can have".to_owned()));
    }
    let read = serde_json::from_str::<Json>(row.text(2)?);
    Ok(read.err().map(|error| format!("is not JSON: {error}")))
}
