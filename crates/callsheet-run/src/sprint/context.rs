//! The context of the project: how old it is, and the copy that stays the same while stories are worked on.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use callsheet::omission::{Reason, Refusal};
use callsheet::sprint::machine::ContextFound;
use callsheet::{Error, Root};

use super::Layout;
use super::files::TEMPORARY;

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
        _ => format!("Failed to read source file: {}", sentence(&refusal)),
    })?;
    let to = &layout.sprint_project_context;
    write(&root, to, &text)
}

/// Writes a file below the root whole or not at all; no part of its path may be a link that leads out.
pub(super) fn write(root: &Root, path: &str, bytes: &[u8]) -> Result<(), String> {
    let failed = |cause: std::io::Error| format!("Failed to write destination file: {cause}");
    let (above, name) = path.rsplit_once('/').unwrap_or((".", path));
    let directory = make(root, above)
        .map_err(|why| format!("Failed to create destination directory: {why}"))?;
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(&directory)
        .map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    let persisted = file.persist(directory.join(name));
    persisted.map(drop).map_err(|error| failed(error.error))
}

/// Makes a directory below the root, and returns where it really is.
pub(super) fn make(root: &Root, path: &str) -> Result<PathBuf, String> {
    let real = root.confine(path).map_err(|refusal| sentence(&refusal))?;
    std::fs::create_dir_all(&real).map_err(|cause| cause.to_string())?;
    Ok(real)
}

fn sentence(refusal: &Refusal) -> String {
    match refusal.detail.as_str() {
        "" => refusal.reason.sentence().to_owned(),
        detail => format!("{}: {detail}", refusal.reason.sentence()),
    }
}
