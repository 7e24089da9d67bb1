//! The context of a project: a text, or its files in the frames of the recipe.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::given::{misfit, taken_as};
use super::injection::folder_path;
use super::named::Said;
use super::{Piece, Prepared, Surroundings};
use crate::inputs::{Disk, FileText, Root, TextRule};
use crate::omission::{Omission, Reason, Refusal};
use crate::recipe::{Frame, Recipe};
use crate::redact::Rules;
use crate::trace::{Origin, OriginKind, Traced};
use crate::{Error, ErrorKind, Event};

/// The field that says what is known of the project.
const FIELD: &str = "project_context";

/// The file that says what the project is, and those that document it, in their order.
const PROFILE: &str = "profile.md";
const DOCUMENTS: [&str; 3] = ["CLAUDE.md", "AGENTS.md", "README.md"];

/// The frames of the files: around all, the profile, the documents together, each of them, and behind one that was cut.
pub(super) const FRAMES: [&str; 5] = ["project", "profile", "documents", "document", "truncated"];

/// The event of a layer that could not be loaded.
pub(crate) const LAYER_FAILED: &str = "layer:failed";

/// The layer that project context fills.
const LAYER: &str = "project-context";

/// The characters of one file that [`FileMemory`] takes unless told otherwise.
const MAX_CHARS: usize = 3000;

/// What is known of a project.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
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

    /// Returns the text as the section of that name.
    pub(crate) fn into_piece(self, name: &str) -> Piece {
        Piece {
            name: name.to_owned(),
            body: self.body,
            source: self.source,
        }
    }
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
    pub(crate) fn with_max_chars(mut self, chars: usize) -> Self {
        self.max_chars = chars;
        self
    }

    /// Sets what is taken for a secret, so that no file is cut within one.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Returns the files of the folder in the frames of a recipe.
    pub(crate) fn read_for(&self, recipe: &Recipe) -> Result<ProjectContext, Error> {
        let [project, profile, documents, document, truncated] = FRAMES;
        let mut reading = Reading {
            root: self.disk.open(&self.folder)?,
            memory: self,
            truncated: recipe.frame(truncated)?,
            omissions: Vec::new(),
        };
        let put = |frame: &Frame, name: &str, body: &Traced| {
            let mut out = Traced::new();
            frame
                .printer()
                .put(&mut out, &[("path", &Traced::frame(name))], body);
            out
        };
        let mut parts = Vec::new();
        if let Some(body) = reading.file(PROFILE) {
            parts.push(put(recipe.frame(profile)?, PROFILE, &body));
        }
        let (mut taken, mut printed) = (Vec::new(), Vec::new());
        for name in DOCUMENTS {
            let file = reading.file(name);
            let same = |body: &Traced| taken.iter().any(|one: &Traced| one.text() == body.text());
            if let Some(body) = file.filter(|body| !same(body)) {
                printed.push(put(recipe.frame(document)?, name, &body));
                taken.push(body);
            }
        }
        parts.extend(joined(recipe, documents, &printed)?);
        let body = joined(recipe, project, &parts)?.unwrap_or_default();
        Ok(ProjectContext {
            source: Origin::new(OriginKind::Derived, "project files", body.text()),
            body,
            omissions: reading.omissions,
        })
    }
}

/// Returns texts together in a frame of the recipe, if there are any.
fn joined(recipe: &Recipe, frame: &str, texts: &[Traced]) -> Result<Option<Traced>, Error> {
    let frame = recipe.frame(frame)?;
    let Some((first, others)) = texts.split_first() else {
        return Ok(None);
    };
    let mut out = Traced::new();
    frame.printer().open(&mut out, &[], "");
    out.push(first);
    for text in others {
        out.push_frame(recipe.separator_in(frame));
        out.push(text);
    }
    frame.printer().close(&mut out, &[], "");
    Ok(Some(out))
}

/// The files of a folder, while they are read.
struct Reading<'a> {
    root: Root,
    memory: &'a FileMemory,
    truncated: &'a Frame,
    omissions: Vec<Omission>,
}

impl Reading<'_> {
    /// Returns a file without blanks around it, unless there is nothing in it.
    fn file(&mut self, name: &str) -> Option<Traced> {
        match FileText::read(&self.root, name, name, TextRule::Utf8) {
            Ok(file) => Some(self.capped(name, &file.body.strip())).filter(|body| !body.is_blank()),
            Err(refusal) if matches!(refusal.reason, Reason::Missing | Reason::Folder) => None,
            Err(refusal) => {
                self.omissions.push(Omission::refused(LAYER, name, refusal));
                None
            }
        }
    }

    fn capped(&mut self, name: &str, body: &Traced) -> Traced {
        let text = body.text();
        let Some((most, _)) = text.char_indices().nth(self.memory.max_chars) else {
            return body.clone();
        };
        let end = text[..most].rfind('\n').unwrap_or(most);
        let end = self.memory.rules.cut_at(text, end);
        let (kept, lost) = (text[..end].chars().count(), text[end..].chars().count());
        let mut out = body.slice(0..end);
        let (path, count) = (Traced::frame(name), Traced::frame(lost.to_string()));
        let holes = [("path", &path), ("characters", &count)];
        self.truncated
            .printer()
            .put(&mut out, &holes, &Traced::new());
        self.omissions.push(Omission {
            layer: LAYER.to_owned(),
            name: name.to_owned(),
            reason: Reason::OverBudget,
            bytes: (text.len() - end) as u64,
            tokens: None,
            detail: format!("cut to {kept} of {} characters", kept + lost),
            loss: None,
        });
        out
    }
}

/// Makes the text of `project_context`: a text as it is, or the files of the project.
pub(super) fn project_context(
    prepared: &mut Prepared,
    around: Surroundings<'_>,
) -> Result<(), Error> {
    let root = around.root()?;
    let context = match prepared.fields.get(FIELD) {
        None | Some(Value::Null | Value::Bool(false)) => None,
        Some(Value::String(text)) => Some(Ok(ProjectContext::text(text))),
        Some(Value::Bool(true)) => {
            let memory = FileMemory::on(root.disk().clone(), root.path());
            Some(files(memory, around))
        }
        Some(Value::Object(options)) => {
            let memory = memory(options, root)?;
            Some(memory.and_then(|memory| files(memory, around)))
        }
        Some(other) => return Err(misfit(FIELD, "string, boolean or object", other)),
    };
    let layer = around.recipe.layer_of(FIELD);
    let mut pieces = Vec::new();
    match context {
        None => {}
        Some(Ok(context)) => {
            let left_out = context.omissions.clone();
            prepared.left_out.insert(FIELD.to_owned(), left_out);
            pieces.push(context.into_piece(layer));
        }
        Some(Err(error)) => pieces.extend(prepared.hear(failed(layer, &error))),
    }
    prepared.pieces.insert(FIELD.to_owned(), pieces);
    Ok(())
}

fn files(memory: FileMemory, around: Surroundings<'_>) -> Result<ProjectContext, Error> {
    memory
        .with_rules(around.rules.clone())
        .read_for(around.recipe)
}

/// Returns the memory that is asked for, or why it cannot be asked; fails for what an input may not ask for.
fn memory(options: &Map<String, Value>, root: &Root) -> Result<Result<FileMemory, Error>, Error> {
    let path = |name: &str| format!("{FIELD}.{name}");
    let given = |name: &str| options.get(name);
    let folder = taken_as(given("dir"), || path("dir"), "string", Value::as_str)?.unwrap_or(".");
    let most = taken_as(
        given("max_chars"),
        || path("max_chars"),
        "integer",
        Value::as_u64,
    )?;
    let below = folder_path(root, folder, &path("dir"))?;
    if !root.has_folder(&below) {
        let detail = format!("`{folder}` is not a folder below the root");
        return Ok(Err(Error::new(ErrorKind::Unreadable, detail)));
    }
    let memory = FileMemory::on(root.disk().clone(), root.path().join(below));
    let most = most.and_then(|most| usize::try_from(most).ok());
    Ok(Ok(match most {
        Some(most) => memory.with_max_chars(most),
        None => memory,
    }))
}

/// Tells that a layer could not be loaded.
pub(crate) fn failed(layer: &str, error: &Error) -> Said {
    let message = format!("the layer `{layer}` could not be loaded: {error}");
    let facts = [("layer", Value::from(layer))];
    let refusal = Refusal::new(Reason::Unavailable).because(error.to_string());
    Said {
        piece: None,
        events: vec![Event::new(LAYER_FAILED, facts, message)],
        omissions: vec![Omission::refused(layer, layer, refusal)],
    }
}
