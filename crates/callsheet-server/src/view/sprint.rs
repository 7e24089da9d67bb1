//! The sprint as it is now: whether a batch runs, what it works on, and the board.

use callsheet::document;
use callsheet::inputs::Root;
use callsheet::sprint::machine::Cycle;
use callsheet_run::RunError;
use callsheet_run::sprint::{fold, is_running};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::batch::newest_batch;
use crate::error::{ApiError, Code};
use crate::site::{Site, SiteSettings};

/// The log that agents may keep beside the story files.
const LOG: &str = "orchestrator.md";

/// Whether a batch runs, and what it works on.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SprintStatus {
    /// `idle`, `starting`, `running` or `stopping`.
    pub(crate) status: &'static str,
    /// The batch that runs, or the last one.
    pub(crate) batch_id: Option<String>,
    pub(crate) cycles_completed: u32,
    /// How many cycles the batch may have; nothing for all.
    pub(crate) max_cycles: Option<u32>,
    /// The stories that it works on, where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) current_stories: Option<Vec<String>>,
}

/// The log that agents keep.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct Activities {
    /// Its lines that say something, without headings.
    pub(crate) activities: Vec<String>,
    /// All of it.
    pub(crate) raw: String,
}

/// Returns whether a batch runs; `is_started` says that one was asked for and may not have begun. This blocks.
pub(crate) fn status(site: &Site, is_started: bool) -> Result<SprintStatus, ApiError> {
    let mut found = SprintStatus {
        status: "idle",
        batch_id: None,
        cycles_completed: 0,
        max_cycles: Some(0),
        current_stories: None,
    };
    if let Some(batch) = newest_batch(site)? {
        let (state, _) = fold(&site.store, &site.project, &batch)?;
        found.batch_id = Some(batch.id.to_string());
        found.cycles_completed = state.cycles_completed();
        found.max_cycles = state.rules().max_cycles;
        if batch.status.is_none() && is_running(&batch) {
            let is_stopping = batch.stop.is_some();
            found.status = if is_stopping { "stopping" } else { "running" };
            found.current_stories = Some(state.open_cycles().flat_map(Cycle::keys).collect());
        }
    }
    if found.status == "idle" && is_started {
        found.status = "starting";
    }
    Ok(found)
}

/// Returns the board as it stands in its file. This blocks.
pub(crate) fn board_document(site: &Site, settings: &SiteSettings) -> Result<Value, ApiError> {
    let file = settings.board(&site.root).map_err(no_board)?;
    let board = file.read()?;
    document::yaml(board.text())
        .map_err(|error| ApiError::validation(format!("{}: {error}", file.path())))
}

/// Says that there is no board as an answer of its own: nothing is wrong with a project that has none.
pub(crate) fn no_board(error: RunError) -> ApiError {
    match error {
        RunError::Unknown { what: "board", .. } => {
            let sentence = "this project has no `sprint-status.yaml`";
            ApiError::new(Code::NotFound, sentence)
        }
        error => error.into(),
    }
}

/// Returns the log that agents keep; an empty one where there is none. This blocks.
pub(crate) fn activities(site: &Site, settings: &SiteSettings) -> Result<Activities, ApiError> {
    let layout = settings.layout(&site.root);
    let root = Root::open(&site.root)?;
    let path = format!("{}/{LOG}", layout.implementation_artifacts);
    let raw = root.read(&path).unwrap_or_default();
    Ok(Activities::of(String::from_utf8_lossy(&raw).into_owned()))
}

impl Activities {
    fn of(raw: String) -> Self {
        let lines = raw.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self {
            activities: lines.map(str::to_owned).collect(),
            raw,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_its_lines_without_headings() {
        let found = Activities::of("# Log\n\n  one \n## two\nthree\r\n".to_owned());
        assert_eq!(found.activities, ["one", "three"]);
        assert_eq!(found.raw, "# Log\n\n  one \n## two\nthree\r\n");
    }
}
