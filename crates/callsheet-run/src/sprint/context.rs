//! The context of the project: how old it is, and the copy that stays the same while stories are worked on.

use std::path::Path;
use std::time::{Duration, SystemTime};

use callsheet::omission::Reason;
use callsheet::sprint::machine::ContextFound;
use callsheet::{Error, Root};

use super::Layout;
use crate::below::{self, Below, Unwritten};

/// The most bytes of a context.
const LIMIT: u64 = 16 << 20;

/// Looks at the context of the project; one that is exactly as old as it may be is fresh.
pub fn check(root: &Path, layout: &Layout, max_age_hours: u64) -> ContextFound {
    let Ok(found) = std::fs::metadata(root.join(&layout.project_context)) else {
        return ContextFound::Missing;
    };
    let age = found
        .modified()
        .ok()
        .and_then(|at| SystemTime::now().duration_since(at).ok());
    let most = Duration::from_secs(max_age_hours.saturating_mul(3600));
    if age.is_some_and(|age| age > most) {
        ContextFound::Expired
    } else {
        ContextFound::Fresh
    }
}

/// Copies the context to the place that prompts take it from; the error is a reason for people.
pub(super) fn freeze(root: &Path, layout: &Layout) -> Result<(), String> {
    let said = |error: &Error| error.to_string();
    let root = Root::open(root).map_err(|error| said(&error))?;
    let root = root.with_max_file_bytes(LIMIT);
    let text = root.read(&layout.project_context);
    let text = text.map_err(|refusal| match refusal.reason {
        Reason::Missing => "Source file does not exist".to_owned(),
        _ => format!("Failed to read source file: {refusal}"),
    })?;
    let to = &layout.sprint_project_context;
    write(&root, to, &text)
}

/// Writes a file below the root, whole or not at all.
pub(super) fn write(root: &Root, path: &str, bytes: &[u8]) -> Result<(), String> {
    let not_made = |why: Unwritten| format!("Failed to create destination directory: {why}");
    let path = below::followed(root, path).map_err(|refusal| not_made(refusal.into()))?;
    let (above, name) = below::split(&path);
    let directory = Below::make(root, above).map_err(not_made)?;
    let draft = directory.draft(bytes);
    draft
        .and_then(|draft| draft.put(name))
        .map_err(|cause| format!("Failed to write destination file: {cause}"))
}
