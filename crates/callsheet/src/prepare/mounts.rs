//! The function `mounts`: real folders get names, and nothing else of a machine reaches the prompt.

use std::path::Path;

use super::fields::Fields;
use super::{Prepared, Surroundings};
use crate::Error;
use crate::inputs::{Located, Root};
use crate::mounts::{Mount, Mounts, is_windows};

/// Names the folders of the input and the root.
#[expect(clippy::unnecessary_wraps, reason = "functions can fail")]
pub(super) fn mounts(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    let mounts = folders(prepared.read(), around.inputs.root.as_ref());
    prepared.mounts = Some(mounts.with_rules(around.rules.clone()));
    Ok(())
}

fn folders(fields: Fields<'_>, root: Option<&Root>) -> Mounts {
    let mut mounts = Mounts::new();
    let absolute = |folder: &str| match root.map(|root| (root, root.locate(folder))) {
        Some(_) if is_windows(folder) => folder.to_owned(),
        Some((root, Located::Inside(inner))) if inner == "." => root.path().display().to_string(),
        Some((root, Located::Inside(inner))) => root.path().join(inner).display().to_string(),
        Some((_, Located::Outside(path))) => path.display().to_string(),
        None => folder.to_owned(),
    };
    let project = fields.text("projectRoot").map(absolute);
    if let Some(folder) = &project {
        mounts = mounts.with(Mount::Project, folder);
    }
    let same = |root: &&Root| {
        let paths = [root.path(), root.real()];
        project
            .as_ref()
            .is_none_or(|folder| paths.iter().any(|path| *path == Path::new(folder)))
    };
    if let Some(root) = root.filter(same) {
        for folder in [root.path(), root.real()] {
            mounts = mounts.with(Mount::Project, &folder.display().to_string());
        }
    }
    for (field, what) in [
        ("runtimeStoreRoot", "the runtime store"),
        ("homeDir", "the home folder"),
    ] {
        if let Some(folder) = fields.text(field) {
            mounts = mounts.with_hidden(what, &absolute(folder));
        }
    }
    mounts
}

#[cfg(test)]
mod tests;
