//! Many files below the root, each its own section.

mod asked;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use self::asked::Asked;
use super::{Gathered, Kind, Read, Source, World, flag, lookup, strings};
use crate::inputs::{FileText, Found, Globs, Located, Root, TextRule, map_parallel};
use crate::omission::{Reason, Refusal};
use crate::outside::ALLOW_OUTSIDE;
use crate::recipe::Layer;
use crate::template::TemplateSet;
use crate::{Error, ErrorKind};

/// Files by globs, or by exact paths; those of globs come sorted by the bytes of their path.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FilesSource {
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
        if self.globs.is_empty() {
            self.record_absence(layer, world, out);
        }
        let mut wanted: Vec<Wanted> = Vec::new();
        if let Some(field) = &self.paths_from {
            let paths = strings(world.fields, field).into_iter();
            wanted.extend(paths.map(|named| self.locate(named, root, world)));
        }
        let asked = self.walk(layer, world, &mut wanted, out)?;
        let read = map_parallel(&wanted, |wanted| wanted.read(root, self.rule(wanted.named)));
        for (wanted, read) in wanted.iter().zip(read) {
            match read {
                Ok(file) => out.add(layer, wanted.shown(), file.body, file.source),
                Err(refusal) if self.passes_over(refusal.reason) => {}
                Err(refusal) if wanted.named => out.lose(layer, wanted.shown(), refusal),
                Err(refusal) => out.refuse(layer, wanted.shown(), refusal),
            }
        }
        asked.mark_losses(&out.sections, &mut out.omissions)
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Read::some([
            (&self.globs_from, Kind::List),
            (&self.paths_from, Kind::List),
            (&self.exclude_from, Kind::List),
            (&self.hidden_from, Kind::Flag),
            (&self.outside_from, Kind::Flag),
        ]))
    }
}

impl FilesSource {
    /// Checks the globs that the recipe itself names, and that nobody allows files outside the root without knowing.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.outside_from.as_deref().unwrap_or(ALLOW_OUTSIDE) != ALLOW_OUTSIDE {
            let detail = format!("`outside_from` can only be `{ALLOW_OUTSIDE}`");
            return Err(Error::new(ErrorKind::BadRecipe, detail));
        }
        Globs::new(&self.globs)?;
        Globs::new(&self.leave_out).map(drop)
    }

    /// Returns what counts as text; of a file that is named, no UTF-8 is told from binary.
    fn rule(&self, named: bool) -> TextRule {
        match (self.binary, named) {
            (false, _) => TextRule::Utf8,
            (true, false) => TextRule::NoNul,
            (true, true) => TextRule::Named,
        }
    }

    /// Records that none of the fields has a value that say which files are asked for.
    fn record_absence(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) {
        let fields = [&self.paths_from, &self.globs_from].into_iter().flatten();
        let mut given = fields.clone();
        if given.all(|field| lookup(world.fields, field).is_none()) {
            for field in fields {
                out.refuse(layer, field, Refusal::new(Reason::NoValue));
            }
        }
    }

    fn passes_over(&self, reason: Reason) -> bool {
        self.skip_missing && matches!(reason, Reason::Missing | Reason::Folder)
    }

    fn locate(&self, named: &str, root: &Root, world: &World<'_>) -> Wanted {
        let allowed = flag(world.fields, self.outside_from.as_deref());
        let place = match root.locate(named) {
            Located::Inside(path) => FilePath::Inside(path),
            Located::Outside(path) if allowed => FilePath::Outside(path, named.to_owned()),
            Located::Outside(_) => FilePath::Refused(named.to_owned()),
        };
        Wanted { place, named: true }
    }

    /// Returns the patterns of the layer. Those that a default of the schema brings are the recipe's own.
    fn asked(&self, world: &World<'_>) -> Result<Asked, Error> {
        let root = world.root()?;
        let mut asked = Asked::default();
        asked.add(root, self.globs.iter().map(String::as_str), false);
        if let Some(field) = &self.globs_from {
            let given = lookup(world.fields, field) != world.recipe.schema.default_of(field);
            asked.add(root, strings(world.fields, field), given);
        }
        Ok(asked)
    }

    /// Adds what patterns ask for, sorted by path, and records what they do not get.
    fn walk(
        &self,
        layer: &Layer,
        world: &World<'_>,
        wanted: &mut Vec<Wanted>,
        out: &mut Gathered,
    ) -> Result<Asked, Error> {
        let root = world.root()?;
        let asked = self.asked(world)?;
        let leave_out = Globs::new(&self.leave_out)?;
        let excluded = self.exclude_from.as_deref();
        let excluded = excluded.map(|field| strings(world.fields, field));
        let excluded = Globs::new(excluded.unwrap_or_default())?;
        let mut found = Found::default();
        if !asked.globs.is_empty() {
            let hidden = flag(world.fields, self.hidden_from.as_deref());
            let globs = Globs::new(&asked.globs)?;
            found = root.walk(&globs, hidden);
            for pattern in asked.without_match(root, &globs, &found)? {
                out.refuse(layer, pattern, Refusal::new(Reason::NoMatch));
            }
        }
        for (path, refusal) in found.refused {
            if !excluded.matches(&path) && !asked.named.contains(&path) {
                out.refuse(layer, path, refusal);
            }
        }
        let walked = found.files.into_iter();
        let paths: BTreeSet<String> = walked.chain(asked.named.iter().cloned()).collect();
        for path in paths {
            let named = asked.named.contains(&path);
            let rule = Refusal::new(Reason::Excluded);
            match (excluded.matches(&path), named) {
                (true, true) => out.lose(layer, path, rule.because("`exclude` matches it")),
                (true, false) => {}
                (false, false) if leave_out.matches(&path) => out.refuse(layer, path, rule),
                (false, _) => wanted.push(Wanted {
                    place: FilePath::Inside(path),
                    named,
                }),
            }
        }
        Ok(asked)
    }
}

/// A file that a layer asks for.
#[derive(Debug)]
struct Wanted {
    place: FilePath,
    /// Whether somebody named it, rather than a glob that matches it.
    named: bool,
}

/// Where it is.
#[derive(Debug)]
enum FilePath {
    /// Relative to the root.
    Inside(String),
    /// Outside the root and allowed: where it is, and how it was named.
    Outside(PathBuf, String),
    /// Outside the root and not allowed.
    Refused(String),
}

impl Wanted {
    fn shown(&self) -> &str {
        match &self.place {
            FilePath::Inside(name) | FilePath::Outside(_, name) | FilePath::Refused(name) => name,
        }
    }

    fn read(&self, root: &Root, rule: TextRule) -> Result<FileText, Refusal> {
        match &self.place {
            FilePath::Inside(path) => FileText::read_to_print(root, path, path, rule),
            FilePath::Outside(path, shown) => read_outside(path, shown, root, rule),
            FilePath::Refused(_) => Err(Refusal::new(Reason::OutsideRoot)
                .because(format!("set `{ALLOW_OUTSIDE}` to take it anyway"))),
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
