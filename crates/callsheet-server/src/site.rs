//! What is served: one project, its store, and the program that acts on it.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;

use callsheet::settings::PromptSettings;
use callsheet_run::sprint::{BoardFile, Layout, SprintPaths, SprintSettings};
use callsheet_run::{CheckSetting, RunError, Runners, WorkspaceSettings};
use callsheet_store::{Project, Store};
use serde::Deserialize;

/// The settings of a project as a server needs them.
#[derive(Clone, Debug)]
pub struct SiteSettings {
    /// What it sets for prompts.
    pub prompt: PromptSettings,
    /// How sprints are run.
    pub sprint: SprintSettings,
    /// Where the files of a sprint are.
    pub paths: SprintPaths,
    /// Who runs agents.
    pub runners: Runners,
    /// The runner that is meant when nobody names one.
    pub runner: Option<String>,
    /// The worktrees of tasks.
    pub workspace: WorkspaceSettings,
    /// What is run after an agent.
    pub checks: Vec<CheckSetting>,
    /// How it is served.
    pub serve: ServeSettings,
}

/// What a project sets about its server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServeSettings {
    /// The port where nobody names one.
    pub port: NonZeroU16,
    /// How often a WebSocket is asked whether it is still there; 0 for never.
    pub websocket_heartbeat_seconds: u32,
    /// How many batches a list has where nobody says it.
    pub batch_list_limit: u32,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            port: NonZeroU16::MIN.saturating_add(6418),
            websocket_heartbeat_seconds: 30,
            batch_list_limit: 20,
        }
    }
}

/// Reads the settings of the project as they are now, or says what is wrong with them.
pub type ReadSettings = Box<dyn Fn() -> Result<SiteSettings, String> + Send + Sync>;

/// Says what is wrong with the text of a `callsheet.toml`.
pub type CheckSettings = Box<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// Tells whoever runs the server what is wrong.
pub type Warn = Arc<dyn Fn(&str) + Send + Sync>;

/// A project that is served.
pub struct Site {
    /// Where it is kept.
    pub store: Store,
    /// The project in the store.
    pub project: Project,
    /// What people call it.
    pub name: String,
    /// Its root directory.
    pub root: PathBuf,
    /// The directory of what the program keeps for it.
    pub home: PathBuf,
    /// This program.
    pub program: PathBuf,
    /// Reads its settings.
    pub settings: ReadSettings,
    /// Checks settings before they are written.
    pub check_settings: CheckSettings,
    /// Tells what is wrong where nobody else would hear of it.
    pub warn: Warn,
}

impl SiteSettings {
    /// Returns where the files of the sprint are.
    pub fn layout(&self, root: &std::path::Path) -> Layout {
        let usual = self.paths.layout();
        let file = BoardFile::find(root, &self.sprint, &usual);
        file.map_or(usual, |file| file.layout(&self.paths))
    }

    /// Finds the board.
    pub fn board(&self, root: &std::path::Path) -> Result<BoardFile, RunError> {
        BoardFile::find(root, &self.sprint, &self.paths.layout())
    }
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Site");
        shown.field("name", &self.name).field("root", &self.root);
        shown.finish_non_exhaustive()
    }
}
