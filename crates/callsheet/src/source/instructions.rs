//! Instruction files: what a project tells agents, from the root down to a folder.
//!
//! Each file is its own section. A line that is nothing but `@path` imports that file in its place; an import that
//! cannot be followed stays as it is written, with a record.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{Gathered, Kind, Read, Source, World, lookup, strings};
use crate::inputs::{FileText, Located, Root, TextRule};
use crate::omission::{Reason, Refusal};
use crate::recipe::Layer;
use crate::template::TemplateSet;
use crate::trace::Traced;
use crate::{Error, ErrorKind, Fingerprint};

/// How deep imports may be nested.
const MOST_DEPTH: usize = 5;

/// The files that agents read, in the order in which they stand.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/// Instruction files from the root down to a folder, the root first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InstructionsSource {
    /// The input field with the folder, or with a file in it; without one only the root is looked at.
    folder_from: Option<String>,
    /// The input field with paths; the folders that they lie in are looked at, whether the paths are there or not.
    paths_from: Option<String>,
    /// The names of the files, in the order in which they stand within a folder.
    names: Vec<String>,
    /// Whether imports are followed.
    imports: bool,
}

impl Default for InstructionsSource {
    fn default() -> Self {
        Self {
            folder_from: None,
            paths_from: None,
            names: NAMES.map(str::to_owned).to_vec(),
            imports: true,
        }
    }
}

impl Source for InstructionsSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let root = world.root()?;
        let mut folders: BTreeSet<String> =
            self.folders(layer, world, root, out)?.into_iter().collect();
        self.folders_of_paths(layer, world, &mut folders, out)?;
        let mut reader = InstructionsReader {
            root,
            layer,
            out,
            imports: self.imports,
            seen: BTreeMap::new(),
            open: Vec::new(),
        };
        for folder in folders {
            for name in &self.names {
                reader.file(&format!("{folder}{name}"));
            }
        }
        Ok(())
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Read::some([
            (&self.folder_from, Kind::Any),
            (&self.paths_from, Kind::List),
        ]))
    }
}

impl InstructionsSource {
    /// Returns the folders from the root down, each as what stands before the name of a file in it.
    fn folders(
        &self,
        layer: &Layer,
        world: &World<'_>,
        root: &Root,
        out: &mut Gathered,
    ) -> Result<Vec<String>, Error> {
        let mut folders = vec![String::new()];
        let field = self.folder_from.as_deref();
        let named = match field.and_then(|field| lookup(world.fields, field)) {
            None => return Ok(folders),
            Some(Value::String(named)) => named,
            Some(_) => {
                let detail = format!("`{}` must name a folder", field.unwrap_or_default());
                return Err(Error::new(ErrorKind::BadInput, detail));
            }
        };
        let mut path = match root.locate(named) {
            Located::Inside(path) if path == "." => return Ok(folders),
            Located::Inside(path) => path,
            Located::Outside(_) => {
                out.refuse(layer, named, Refusal::new(Reason::OutsideRoot));
                return Ok(folders);
            }
        };
        if !root.has_folder(&path) {
            if !root.has(&path) {
                out.refuse(layer, &path, Refusal::new(Reason::Missing));
            }
            path.truncate(path.rfind('/').unwrap_or(0));
        }
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let above = folders.last().map_or("", String::as_str);
            folders.push(format!("{above}{part}/"));
        }
        Ok(folders)
    }
}

impl InstructionsSource {
    /// Adds the folders of all paths; a folder sorts before what lies in it.
    fn folders_of_paths(
        &self,
        layer: &Layer,
        world: &World<'_>,
        folders: &mut BTreeSet<String>,
        out: &mut Gathered,
    ) -> Result<(), Error> {
        let Some(field) = &self.paths_from else {
            return Ok(());
        };
        for named in strings(world.fields, field) {
            match world.root()?.locate(named) {
                Located::Inside(path) => {
                    let slashes = path.match_indices('/');
                    folders.extend(slashes.map(|(at, _)| path[..=at].to_owned()));
                }
                Located::Outside(_) => {
                    out.refuse(layer, named, Refusal::new(Reason::OutsideRoot));
                }
            }
        }
        Ok(())
    }
}

/// What has been read, and what is being read.
struct InstructionsReader<'a, 'o> {
    root: &'a Root,
    layer: &'a Layer,
    out: &'o mut Gathered,
    imports: bool,
    /// The texts that are there, with the path that each was first read from.
    seen: BTreeMap<Fingerprint, String>,
    /// The files whose imports are being followed, outermost first.
    open: Vec<String>,
}

impl InstructionsReader<'_, '_> {
    /// Adds a file as a section; one that does not exist is not asked for.
    fn file(&mut self, path: &str) {
        match FileText::read(self.root, path, path, TextRule::Utf8) {
            Ok(file) => {
                if self.is_new(path, &file) {
                    let body = self.expanded(path, file.body);
                    self.out.add(self.layer, path, body, file.source);
                }
            }
            Err(refusal) if refusal.reason == Reason::Missing => {}
            Err(refusal) => self.out.refuse(self.layer, path, refusal),
        }
    }

    /// Tells whether a text is not there yet, and remembers it; one that is there is recorded.
    fn is_new(&mut self, path: &str, file: &FileText) -> bool {
        let Some(first) = self.seen.get(&file.source.fingerprint) else {
            self.seen.insert(file.source.fingerprint, path.to_owned());
            return true;
        };
        let detail = if first == path {
            String::new()
        } else {
            format!("the same text as `{first}`")
        };
        self.refuse(path, Reason::Duplicate, file, detail);
        false
    }

    fn refuse(&mut self, path: &str, reason: Reason, file: &FileText, detail: String) {
        let size = file.source.len as u64;
        let refusal = Refusal::new(reason).of_size(size).because(detail);
        self.out.refuse(self.layer, path, refusal);
    }

    /// Returns a text with its imports in place.
    fn expanded(&mut self, path: &str, body: Traced) -> Traced {
        if !self.imports || memchr::memchr(b'@', body.text().as_bytes()).is_none() {
            return body;
        }
        self.open.push(path.to_owned());
        let mut out = Traced::with_capacity(body.len());
        let mut fence = None;
        let (mut done, mut start) = (0, 0);
        for line in body.text().split_inclusive('\n') {
            let end = start + line.len();
            if !in_code(line, &mut fence)
                && let Some(named) = imported(line)
                && let Some(inner) = self.import(path, named)
            {
                out.push(&body.slice(done..start));
                out.push(&inner);
                // The newline of the imported text ends the line of the import.
                if !inner.text().ends_with('\n') && line.ends_with('\n') {
                    out.push(&body.slice(end - 1..end));
                }
                done = end;
            }
            start = end;
        }
        out.push(&body.slice(done..body.len()));
        self.open.pop();
        out
    }

    /// Returns what a file imports by a name; nothing, with a record, if it cannot be followed.
    fn import(&mut self, from: &str, named: &str) -> Option<Traced> {
        if named.starts_with(['/', '~']) {
            let refusal = Refusal::new(Reason::OutsideRoot)
                .because(format!("`{from}` imports it; an import is relative"));
            self.out.refuse(self.layer, named, refusal);
            return None;
        }
        let folder = from.rfind('/').map_or("", |slash| &from[..=slash]);
        let because = || format!("`{from}` imports it");
        let path = match self.root.locate(&format!("{folder}{named}")) {
            Located::Inside(path) => path,
            Located::Outside(_) => {
                let refusal = Refusal::new(Reason::OutsideRoot).because(because());
                self.out.refuse(self.layer, named, refusal);
                return None;
            }
        };
        let file = match FileText::read(self.root, &path, &path, TextRule::Utf8) {
            Ok(file) => file,
            // A name such as `@alice` is that of a person.
            Err(refusal) if refusal.reason == Reason::Missing && !named.contains(['/', '.']) => {
                return None;
            }
            Err(refusal) => {
                let detail = match refusal.detail.as_str() {
                    "" => because(),
                    detail => format!("{detail}; {}", because()),
                };
                self.out.refuse(self.layer, path, refusal.because(detail));
                return None;
            }
        };
        if self.open.contains(&path) {
            self.refuse(&path, Reason::Cycle, &file, because());
            return None;
        }
        if self.open.len() > MOST_DEPTH {
            let detail = format!("{}, {MOST_DEPTH} levels are followed", because());
            self.refuse(&path, Reason::TooDeep, &file, detail);
            return None;
        }
        self.is_new(&path, &file)
            .then(|| self.expanded(&path, file.body))
    }
}

/// Tells whether a line is code or the edge of it; `fence` is the fence that is open.
fn in_code(line: &str, fence: &mut Option<(char, usize)>) -> bool {
    let text = line.trim();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'));
    let length = mark.map_or(0, |mark| text.chars().take_while(|c| *c == mark).count());
    match (*fence, mark) {
        (Some((open, least)), Some(mark)) => {
            if mark == open && length >= least && text.len() == length {
                *fence = None;
            }
            true
        }
        (Some(_), None) => true,
        (None, Some(mark)) if length >= 3 => {
            *fence = Some((mark, length));
            true
        }
        (None, _) => line.starts_with("    ") || line.starts_with('\t'),
    }
}

/// Returns the path that a line imports: it stands alone after an `@`.
fn imported(line: &str) -> Option<&str> {
    let named = line.trim().strip_prefix('@')?;
    let plain =
        !named.is_empty() && !named.contains(|c: char| c.is_whitespace() || "@`".contains(c));
    plain.then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_stands_alone_on_its_line() {
        for (line, path) in [
            ("@docs/a.md\n", Some("docs/a.md")),
            ("  @./a.md  \r\n", Some("./a.md")),
            ("@README", Some("README")),
            ("See @docs/a.md\n", None),
            ("@docs/a.md and more\n", None),
            ("- @docs/a.md\n", None),
            ("`@docs/a.md`\n", None),
            ("@\n", None),
            ("@@a.md\n", None),
            ("me@example.com\n", None),
        ] {
            assert_eq!(imported(line), path, "{line}");
        }
    }

    #[test]
    fn code_is_told_from_prose() {
        let text = "a\n```sh\nb\n~~~\n``\n```\nc\n~~~~\nd\n~~~\n~~~~\n    e\n\tf\n   g\n``x``\n";
        let mut fence = None;
        let prose: String = text
            .split_inclusive('\n')
            .filter(|line| !in_code(line, &mut fence))
            .collect();
        assert_eq!(prose, "a\nc\n   g\n``x``\n");
    }
}
