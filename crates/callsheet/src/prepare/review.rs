//! The paths that a change touches, so that layers can ask for what governs them. No change means nothing to review.

use serde_json::Value;

use super::{Prepared, Surroundings};
use crate::observe::{self, Change, Question};
use crate::source::changed_paths;
use crate::{Error, ErrorKind};

/// Adds the field `changed`: the paths, as git lists them.
pub(super) fn changed(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    let (root, observer) = (around.root()?, around.inputs.observer.as_deref());
    let of = Change::of_fields(&prepared.fields, Some("range"), Some("staged"))?;
    let question = Question::ChangedPaths { of: of.clone() };
    let paths = observe::ask(root, observer, &question)?.map_err(|refusal| {
        let error = Error::new(ErrorKind::BadInput, "cannot tell what changed");
        let mut cause = format!("`{question}` {}", refusal.reason.sentence());
        if !refusal.detail.is_empty() {
            cause = format!("{cause}: {}", refusal.detail);
        }
        error.because(cause)
    })?;
    let paths = changed_paths(&paths)?;
    if paths.is_empty() {
        let why = match of {
            Change::Worktree => "nothing differs from the last commit".to_owned(),
            Change::Staged => "nothing is staged".to_owned(),
            Change::Range(range) => format!("`{range}` changes no file"),
        };
        let detail = format!("nothing to review: {why}");
        return Err(Error::new(ErrorKind::NoChange, detail));
    }
    let paths = paths.into_iter().map(|path| Value::from(path.path));
    prepared
        .fields
        .insert("changed".to_owned(), paths.collect());
    Ok(())
}
