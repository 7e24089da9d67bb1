//! What a command looks at: a file, or a sealed prompt by its id or that of a run.
//!
//! Bundles are read from their files, so that long logs in them are never held in memory.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use callsheet::Seal;
use callsheet_store::{Bundle, SealedPrompt, StoreError};
use serde_json::Value;

use crate::failure::{Failure, cause_text};
use crate::project::Project;
use crate::store;

/// A finished prompt.
#[derive(Debug)]
pub(crate) enum Target {
    /// A sealed one: of the store, or of a bundle.
    Sealed {
        id: String,
        prompt: Option<SealedPrompt>,
        seal: Box<Seal>,
    },
    /// A file with a prompt, or with a document of one.
    Text(String),
}

impl Target {
    /// Finds what a name means: a file of that name, else the sealed prompt with that id, or that a run with that id got.
    pub(crate) fn find(project: &Project, name: &str) -> Result<Self, Failure> {
        let path = Path::new(name);
        if path.is_file() {
            return Self::read(path);
        }
        if !could_be_id(name) {
            let cause = std::fs::metadata(path).err();
            let cause =
                cause.map_or_else(|| "is not a file".to_owned(), |cause| cause_text(&cause));
            return Err(Failure::input(format!("{name}: {cause}")));
        }
        let Some(opened) = store::open_if_there(project)? else {
            return Err(store::neither_file_nor_sealed(name));
        };
        let (prompt, seal) = opened.sealed(name)?;
        Ok(Self::of(prompt, seal))
    }

    fn of(prompt: SealedPrompt, seal: Seal) -> Self {
        Self::Sealed {
            id: prompt.id.to_string(),
            prompt: Some(prompt),
            seal: Box::new(seal),
        }
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let Some(file) = open_bundle(path)? else {
            let bytes = std::fs::read(path)
                .map_err(|cause| Failure::input(format!("{shown}: {}", cause_text(&cause))))?;
            let text = String::from_utf8(bytes);
            let text = text.map_err(|_| Failure::input(format!("{shown}: not UTF-8 text")))?;
            return Ok(Self::Text(text));
        };
        let bundle = Bundle::read(&shown.to_string(), file).map_err(not_a_bundle)?;
        let ids: Vec<String> = bundle
            .prompts
            .iter()
            .map(|one| one.id.to_string())
            .collect();
        match <[_; 1]>::try_from(bundle.prompts) {
            Ok([one]) => Ok(Self::Sealed {
                id: one.id.to_string(),
                prompt: None,
                seal: Box::new(one.seal),
            }),
            Err(_) => Err(Failure::input(format!(
                "{shown}: the bundle holds {} prompts",
                ids.len()
            ))
            .hint("`callsheet import` takes it in; then name one of them by its id")),
        }
    }

    /// Returns the document of the prompt, where more than its text is known.
    pub(crate) fn document(&self) -> Result<Option<Value>, Failure> {
        match self {
            Self::Sealed { seal, .. } => Ok(Some(seal.document()?)),
            Self::Text(text) => Ok(serde_json::from_str::<Value>(text).ok()),
        }
    }

    /// Returns the text of a file, or the bytes of a sealed prompt.
    pub(crate) fn text(self) -> Result<String, Failure> {
        match self {
            Self::Sealed { seal, .. } => Ok(seal.text()?),
            Self::Text(text) => Ok(text),
        }
    }
}

/// Returns what was sealed with a prompt, if a name that is nothing else could be its id.
pub(crate) fn sealed(project: &Project, name: &str) -> Result<Option<Seal>, Failure> {
    if !could_be_id(name) && !Path::new(name).is_file() {
        return Ok(None);
    }
    if could_be_id(name) && store::open_if_there(project)?.is_none() {
        return Ok(None);
    }
    match Target::find(project, name)? {
        Target::Sealed { seal, .. } => Ok(Some(*seal)),
        Target::Text(_) => Ok(None),
    }
}

/// Opens a file that begins like a bundle; nothing if it does not.
fn open_bundle(path: &Path) -> Result<Option<File>, Failure> {
    let shown = path.display();
    let open = || -> io::Result<Option<File>> {
        let mut file = File::open(path)?;
        let mut begin = Vec::new();
        file.by_ref().take(16).read_to_end(&mut begin)?;
        if !Bundle::is_one(&begin) {
            return Ok(None);
        }
        file.rewind()?;
        Ok(Some(file))
    };
    open().map_err(|cause| Failure::input(format!("{shown}: {}", cause_text(&cause))))
}

/// Makes the failure of a bundle: what is wrong with it is for its owner to fix.
pub(crate) fn not_a_bundle(error: StoreError) -> Failure {
    match error {
        StoreError::Damaged { .. } => Failure::input(error.to_string()),
        other => other.into(),
    }
}

/// Tells whether a name could be the id of a prompt, or begin like one.
pub(crate) fn could_be_id(name: &str) -> bool {
    (1..=14).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
