//! Many files below the root, each its own section.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Gathered, Source, World, flag, strings};
use crate::Error;
use crate::inputs::{FileText, Globs, Located, Root, TextRule, map_parallel};
use crate::omission::{Reason, Refusal};
use crate::recipe::Layer;

/// Files by globs, or by exact paths; walked files come sorted by the bytes of their path.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FilesSource {
    /// Globs below the root.
    globs: Vec<String>,
    /// The input field with more globs.
    globs_from: Option<String>,
    /// The input field with exact paths, in their order.
    paths_from: Option<String>,
    /// Globs of files to leave out, each with a record.
    leave_out: Vec<String>,
    /// The input field with globs of files that are not asked for.
    exclude_from: Option<String>,
    /// The input field that says whether names with a leading dot count.
    hidden_from: Option<String>,
    /// The input field that says whether exact paths may lie outside the root.
    outside_from: Option<String>,
    /// Whether a file with a NUL byte counts as binary.
    binary: bool,
    /// Whether paths that do not exist, or are folders, are passed over without a record.
    skip_missing: bool,
}

impl Source for FilesSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let root = world.root()?;
        let mut paths: Vec<Named> = Vec::new();
        if let Some(field) = &self.paths_from {
            paths.extend(
                strings(world.fields, field)
                    .into_iter()
                    .map(|named| self.locate(named, root, world)),
            );
        }
        self.walk(layer, world, &mut paths, out)?;
        let rule = if self.binary {
            TextRule::NoNul
        } else {
            TextRule::Utf8
        };
        for (named, read) in paths
            .iter()
            .zip(map_parallel(&paths, |named| named.read(root, rule)))
        {
            match read {
                Ok(file) => out.add(layer, named.shown(), file.body, file.source),
                Err(refusal) if self.passes_over(refusal.reason) => {}
                Err(refusal) => out.refuse(layer, named.shown(), refusal),
            }
        }
        Ok(())
    }
}

impl FilesSource {
    /// Checks the globs that the recipe itself names.
    pub(crate) fn check(&self) -> Result<(), Error> {
        Globs::new(&self.globs)?;
        Globs::new(&self.leave_out).map(drop)
    }

    fn passes_over(&self, reason: Reason) -> bool {
        self.skip_missing && matches!(reason, Reason::Missing | Reason::Folder)
    }

    fn locate(&self, named: &str, root: &Root, world: &World<'_>) -> Named {
        let allowed = self.flag(self.outside_from.as_deref(), world);
        match root.locate(named) {
            Located::Inside(path) => Named::Inside(path),
            Located::Outside(path) if allowed => Named::Outside(path, named.to_owned()),
            Located::Outside(_) => Named::Refused(named.to_owned()),
        }
    }

    fn walk(
        &self,
        layer: &Layer,
        world: &World<'_>,
        paths: &mut Vec<Named>,
        out: &mut Gathered,
    ) -> Result<(), Error> {
        let mut patterns: Vec<&str> = self.globs.iter().map(String::as_str).collect();
        if let Some(field) = &self.globs_from {
            patterns.extend(strings(world.fields, field));
        }
        if patterns.is_empty() {
            return Ok(());
        }
        let globs = Globs::new(&patterns)?;
        let leave_out = Globs::new(&self.leave_out)?;
        let excluded = self
            .exclude_from
            .as_deref()
            .map(|field| strings(world.fields, field));
        let excluded = Globs::new(excluded.unwrap_or_default())?;
        let hidden = self.flag(self.hidden_from.as_deref(), world);
        let found = world.root()?.walk(&globs, hidden);
        let seen = found
            .files
            .iter()
            .chain(found.refused.iter().map(|(path, _)| path));
        for pattern in globs.without_match(seen.map(String::as_str)) {
            out.refuse(layer, pattern, Refusal::new(Reason::NoMatch));
        }
        for (path, refusal) in found.refused {
            if !excluded.matches(&path) {
                out.refuse(layer, path, refusal);
            }
        }
        for path in found.files {
            if excluded.matches(&path) {
                continue;
            }
            if leave_out.matches(&path) {
                out.refuse(layer, path, Refusal::new(Reason::Excluded));
            } else {
                paths.push(Named::Inside(path));
            }
        }
        Ok(())
    }

    fn flag(&self, field: Option<&str>, world: &World<'_>) -> bool {
        flag(world.fields, field)
    }
}

/// A path that somebody asked for.
#[derive(Debug)]
enum Named {
    /// Relative to the root.
    Inside(String),
    /// Outside the root and allowed: where it is, and how it was named.
    Outside(PathBuf, String),
    /// Outside the root and not allowed.
    Refused(String),
}

impl Named {
    fn shown(&self) -> &str {
        match self {
            Self::Inside(name) | Self::Outside(_, name) | Self::Refused(name) => name,
        }
    }

    fn read(&self, root: &Root, rule: TextRule) -> Result<FileText, Refusal> {
        match self {
            Self::Inside(path) => FileText::read(root, path, path, rule),
            Self::Outside(path, shown) => read_outside(path, shown, root, rule),
            Self::Refused(_) => {
                Err(Refusal::new(Reason::OutsideRoot)
                    .because("set `allow_outside` to take it anyway"))
            }
        }
    }
}

/// The folder of the file becomes a root of its own, so that its links are confined as well.
fn read_outside(
    path: &Path,
    shown: &str,
    root: &Root,
    rule: TextRule,
) -> Result<FileText, Refusal> {
    let missing = || Refusal::new(Reason::Missing);
    let folder = path.parent().ok_or_else(missing)?;
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(missing)?;
    let folder = root.disk().open(folder).map_err(|_| missing())?;
    FileText::read(
        &folder.with_max_file_bytes(root.max_file_bytes()),
        name,
        shown,
        rule,
    )
}

#[cfg(test)]
mod tests {
    use crate::Recipe;
    use crate::recipe::Folder;

    #[test]
    fn a_bad_glob_is_found_with_the_recipe_and_not_with_its_first_use() {
        let toml = "separator = \"\"\n[[layers]]\nname = \"a\"\nfiles = { globs = [\"/etc/*\"] }\n";
        let folder = Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
        assert_eq!(
            Recipe::parse("mine", "mine", folder)
                .unwrap_err()
                .to_string(),
            "mine/recipe.toml:2: bad glob `/etc/*`: it must be relative to the root"
        );
    }
}
