//! Orders for tests of adapters: everything that an order borrows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Order, Sheet};
use crate::{Permissions, PromptBy};

/// What an order borrows.
pub(super) struct Fixture {
    sheet: Sheet,
    env: BTreeMap<String, String>,
    pub(super) command: Vec<String>,
    pub(super) model: Option<String>,
    pub(super) system: Option<String>,
    pub(super) script: Option<PathBuf>,
    pub(super) prompt_by: PromptBy,
}

impl Fixture {
    pub(super) fn new() -> Self {
        Self {
            sheet: Sheet::parse("name = \"test\"\ntitle = \"Test\"\n", None, None).unwrap(),
            env: BTreeMap::new(),
            command: Vec::new(),
            model: None,
            system: None,
            script: None,
            prompt_by: PromptBy::Stdin,
        }
    }

    pub(super) fn order(&self) -> Order<'_> {
        Order {
            sheet: &self.sheet,
            command: &self.command,
            model: self.model.as_deref(),
            permissions: Permissions::Edit,
            allow: &[],
            deny: &[],
            prompt: "",
            system: self.system.as_deref(),
            folder: Path::new("/run"),
            cwd: Path::new("/project"),
            isolate: false,
            env: &self.env,
            prompt_by: self.prompt_by,
            program: Path::new("/bin/callsheet"),
            script: self.script.as_deref(),
            sandboxed: false,
        }
    }
}

/// Returns the parts of a command line.
pub(super) fn parts(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}
