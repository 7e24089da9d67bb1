//! What a list of patterns asks for: files that it names one by one, and globs that a walk looks for.
//!
//! What somebody names is asked for, whatever ignore files and rules say. A glob of the input that finds nothing is an
//! error; one that the recipe brings itself may find nothing.

use std::collections::BTreeSet;

use crate::inputs::{Found, Globs, Located, Root};
use crate::omission::{Omission, Reason};
use crate::section::Section;
use crate::{Error, ErrorKind};

/// The patterns of a layer.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// The files that are named one by one, relative to the root.
    pub(super) named: BTreeSet<String>,
    /// All other patterns.
    pub(super) globs: Vec<String>,
    /// Those of them that the input brings.
    given: Vec<String>,
}

impl Asked {
    /// Adds patterns; `given` says whether the input brings them.
    pub(super) fn add<'a>(
        &mut self,
        root: &Root,
        patterns: impl IntoIterator<Item = &'a str>,
        given: bool,
    ) {
        for pattern in patterns {
            if let Some(path) = file_of(root, pattern) {
                self.named.insert(path);
                continue;
            }
            self.globs.push(pattern.to_owned());
            if given {
                self.given.push(pattern.to_owned());
            }
        }
    }

    /// Returns the globs of the recipe that found nothing; one of the input is an error.
    pub(super) fn without_match<'g>(
        &self,
        root: &Root,
        globs: &'g Globs,
        found: &Found,
    ) -> Result<Vec<&'g str>, Error> {
        let refused = found.refused.iter().map(|(path, _)| path);
        let seen = found.files.iter().chain(refused).map(String::as_str);
        let (given, own): (Vec<&str>, Vec<&str>) = globs
            .without_match(seen)
            .into_iter()
            .partition(|glob| self.is_given(glob) && !hides(found, glob));
        let mut errors = given.into_iter().map(|glob| no_match(root, glob));
        match errors.next() {
            Some(first) => Err(errors.fold(first, |error, next| error.because(next.detail()))),
            None => Ok(own),
        }
    }

    fn is_given(&self, glob: &str) -> bool {
        self.given.iter().any(|given| given == glob)
    }

    /// Makes losses of what rules left out of a glob of the input, if nothing else of it is there.
    pub(super) fn mark_losses(
        &self,
        sections: &[Section],
        omissions: &mut [Omission],
    ) -> Result<(), Error> {
        for given in &self.given {
            let glob = Globs::new([given])?;
            if sections.iter().any(|section| glob.matches(&section.name)) {
                continue;
            }
            let left_out = omissions.iter_mut();
            for omission in left_out.filter(|omission| glob.matches(&omission.name)) {
                omission.make_loss();
            }
        }
        Ok(())
    }
}

/// Returns the file that a pattern names as it is written; `.git` is never taken.
fn file_of(root: &Root, pattern: &str) -> Option<String> {
    let Located::Inside(path) = root.locate(pattern) else {
        return None;
    };
    let in_git = path.split('/').any(|part| part == ".git");
    (!in_git && root.has(&path) && !root.has_folder(&path)).then_some(path)
}

/// Tells whether a folder that could not be read may hold what a glob looks for.
fn hides(found: &Found, glob: &str) -> bool {
    let Ok(glob) = Globs::new([glob]) else {
        return false;
    };
    let mut refused = found.refused.iter();
    refused.any(|(path, refusal)| {
        refusal.reason == Reason::Unreadable && (path == "." || glob.reaches(path))
    })
}

/// Makes the error of a glob that found nothing, with the paths that may have been meant.
fn no_match(root: &Root, glob: &str) -> Error {
    let error = Error::new(ErrorKind::NoMatch, format!("no file matches `{glob}`"));
    let Ok(all) = Globs::new(["**"]) else {
        return error;
    };
    let named = glob.trim_start_matches("./").trim_end_matches('/');
    let (folder, name) = named.rsplit_once('/').unwrap_or(("", named));
    let files = root.walk(&all, false).files;
    let paths: BTreeSet<&str> = files
        .iter()
        .flat_map(|file| {
            let folders = file.match_indices('/').map(|(at, _)| &file[..at]);
            folders.chain([file.as_str()])
        })
        .collect();
    let near = paths.into_iter().filter(|path| {
        let (above, last) = path.rsplit_once('/').unwrap_or(("", path));
        above == folder || last == name
    });
    error.expecting(named, near)
}
