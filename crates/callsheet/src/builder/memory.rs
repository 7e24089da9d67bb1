//! Where project context and rules come from.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::inputs::{Disk, FileText, Root, TextRule};
use crate::omission::{Omission, Reason};
use crate::redact::Rules;
use crate::trace::{Origin, OriginKind, Traced};

/// The layer that project context fills.
const LAYER: &str = "project-context";

/// The characters of one file that [`FileMemory`] takes unless told otherwise.
const MAX_CHARS: usize = 3000;

/// What is known of a project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProjectContext {
    /// The text of the layer.
    pub body: Traced,
    /// What the text came from.
    pub source: Arc<Origin>,
    /// What was cut or could not be read.
    pub omissions: Vec<Omission>,
}

impl ProjectContext {
    /// Makes the context of a plain text.
    pub fn text(text: &str) -> Self {
        let source = Origin::new(OriginKind::Input, "project_context", text);
        Self {
            body: Traced::whole(text, &source),
            source,
            omissions: Vec::new(),
        }
    }
}

/// Knows projects.
pub trait MemorySource: fmt::Debug + Send + Sync {
    /// Returns what is known of a project, or nothing.
    fn project_context(&self, project_id: &str) -> Result<Option<ProjectContext>, Error>;
}

/// Knows rules.
pub trait RuleSource: fmt::Debug + Send + Sync {
    /// Returns the text of the rules that apply, or nothing.
    fn rules(&self, project_id: Option<&str>, query: &str) -> Result<Option<String>, Error>;
}

/// Project context from the files of a folder: `profile.md`, then `CLAUDE.md`, `AGENTS.md` and `README.md`.
///
/// A file that says the same as one before it is left out; a long one is cut at a line end, with a visible marker.
#[derive(Clone, Debug)]
pub struct FileMemory {
    disk: Disk,
    folder: PathBuf,
    max_chars: usize,
    rules: Rules,
}

impl FileMemory {
    /// Makes the memory of a folder; nothing is read yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::on(Disk::default(), folder)
    }

    /// Makes the memory of a folder of another disk than the real one.
    pub fn on(disk: Disk, folder: impl Into<PathBuf>) -> Self {
        Self {
            disk,
            folder: folder.into(),
            max_chars: MAX_CHARS,
            rules: Rules::default(),
        }
    }

    /// Sets how many characters of each file are taken.
    #[must_use]
    pub fn with_max_chars(mut self, chars: usize) -> Self {
        self.max_chars = chars;
        self
    }

    /// Sets what is taken for a secret, so that no file is cut within one.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    fn read(&self, root: &Root, name: &str, omissions: &mut Vec<Omission>) -> Option<Traced> {
        match FileText::read(root, name, name, TextRule::Utf8) {
            Ok(file) => Some(self.capped(name, &file.body.strip(), omissions))
                .filter(|body| !body.is_blank()),
            Err(refusal) if matches!(refusal.reason, Reason::Missing | Reason::Folder) => None,
            Err(refusal) => {
                omissions.push(Omission::refused(LAYER, name, refusal));
                None
            }
        }
    }

    fn capped(&self, name: &str, body: &Traced, omissions: &mut Vec<Omission>) -> Traced {
        let text = body.text();
        let Some((most, _)) = text.char_indices().nth(self.max_chars) else {
            return body.clone();
        };
        let end = self
            .rules
            .cut_at(text, text[..most].rfind('\n').unwrap_or(most));
        let lost = &text[end..];
        let detail = format!(
            "cut to {} of {} characters",
            text[..end].chars().count(),
            text.chars().count()
        );
        let mut out = body.slice(0..end);
        out.push_frame(&format!(
            "\n\n[truncated: {name} goes on for {} characters]",
            lost.chars().count()
        ));
        omissions.push(Omission {
            layer: LAYER.to_owned(),
            name: name.to_owned(),
            reason: Reason::OverBudget,
            bytes: lost.len() as u64,
            tokens: None,
            detail,
            loss: None,
        });
        out
    }
}

impl MemorySource for FileMemory {
    fn project_context(&self, _: &str) -> Result<Option<ProjectContext>, Error> {
        let root = self.disk.open(&self.folder)?;
        let mut omissions = Vec::new();
        let mut body = Traced::new();
        if let Some(profile) = self.read(&root, "profile.md", &mut omissions) {
            body.push_frame("## Project Profile\n");
            body.push(&profile);
        }
        let mut taken: Vec<Traced> = Vec::new();
        for name in ["CLAUDE.md", "AGENTS.md", "README.md"] {
            let Some(file) = self.read(&root, name, &mut omissions) else {
                continue;
            };
            if taken.iter().any(|other| other.text() == file.text()) {
                continue;
            }
            let heading = if taken.is_empty() {
                "## Project Documentation\n"
            } else {
                ""
            };
            let gap = if body.is_empty() { "" } else { "\n\n" };
            body.push_frame(&format!("{gap}{heading}### {name}\n"));
            body.push(&file);
            taken.push(file);
        }
        let source = Origin::new(OriginKind::Derived, "project files", body.text());
        Ok(Some(ProjectContext {
            body,
            source,
            omissions,
        }))
    }
}
