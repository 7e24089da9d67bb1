//! What git says of the repository: its status, a change, the files of a change, the newest commits.
//!
//! Nothing is asked here but the observer, and nothing of an answer is lost without a record.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::diff::{FileDiff, file_diffs};
use super::{Gathered, Kind, Read, Source, World, lookup, strings};
use crate::inputs::{FileText, Globs, Root, TextRule};
use crate::observe::{Change, ChangedPath, Question};
use crate::omission::{Omission, Reason, Refusal};
use crate::recipe::Layer;
use crate::template::TemplateSet;
use crate::trace::Traced;
use crate::{Error, ErrorKind};

/// As many commits as git can be asked for.
const MOST_COMMITS: u32 = i32::MAX as u32;

/// Which change a layer means where no input field says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    /// What differs from the last commit.
    #[default]
    Worktree,
    /// What the next commit would have.
    Staged,
}

/// What `git status` prints.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GitStatusSource {
    /// Whether a sentence about the failure stands in the place of a status that nobody could get.
    say_failure: bool,
}

/// The text of a change, a section for each file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GitDiffSource {
    /// The work tree, or what is staged.
    of: Of,
    /// Two revisions instead, such as `main..HEAD`.
    range: Option<String>,
    /// The input field with two revisions, where there are any.
    range_from: Option<String>,
    /// The input field that says whether only what is staged counts.
    staged_from: Option<String>,
    /// The input field with the files and folders that are asked for; without it all are.
    paths_from: Option<String>,
    /// Globs of files to leave out, each with a record.
    leave_out: Vec<String>,
}

/// The files of a change as it leaves them, each its own section.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GitFilesSource {
    /// The work tree, or what is staged.
    of: Of,
    /// Two revisions instead, such as `main..HEAD`.
    range: Option<String>,
    /// The input field with two revisions, where there are any.
    range_from: Option<String>,
    /// The input field that says whether only what is staged counts.
    staged_from: Option<String>,
    /// Globs of files to leave out, each with a record.
    leave_out: Vec<String>,
}

/// The newest commits, one line each: the beginning of the hash and the subject.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GitLogSource {
    /// How many at most.
    count: u32,
    /// The commits of this range alone.
    range: Option<String>,
    /// The input field with a range, where there is one.
    range_from: Option<String>,
}

impl Default for GitLogSource {
    fn default() -> Self {
        Self {
            count: 20,
            range: None,
            range_from: None,
        }
    }
}

impl Source for GitStatusSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let question = Question::GitStatus;
        match world.ask(&question)? {
            Err(refusal) if self.say_failure => {
                let text = failure_text(&refusal);
                let source = question.origin(&text);
                out.add_unless_blank(layer, Traced::whole(text, &source), source);
                out.refuse(layer, question.to_string(), refusal);
                Ok(())
            }
            answer => put(answer, &question, layer, out),
        }
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Vec::new())
    }
}

/// Returns what stands in the place of a status: the words that readers of such blocks know.
fn failure_text(refusal: &Refusal) -> String {
    let what = "Error capturing git status";
    let detail = &refusal.detail;
    match (refusal.reason, detail.strip_prefix("exit code ")) {
        (Reason::TimedOut, _) => {
            let seconds = detail
                .strip_prefix("it has ")
                .and_then(|rest| rest.strip_suffix(" s"));
            let seconds = seconds.unwrap_or("10");
            format!("{what}: command timed out after {seconds} seconds")
        }
        (Reason::Failed, Some(exit)) => {
            let (code, said) = exit.split_once(": ").unwrap_or((exit, ""));
            format!("{what} (exit {code}): {said}")
        }
        (reason, _) if detail.is_empty() => format!("{what}: git {}", reason.sentence()),
        _ => format!("{what}: {detail}"),
    }
}

/// Returns the lines of an answer, with their ends.
fn lines(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split_inclusive(|byte| *byte == b'\n')
}

impl Source for GitLogSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let range = self.range.as_deref();
        let change = which(
            Of::Worktree,
            range,
            self.range_from.as_deref(),
            None,
            world.fields,
        )?;
        let range = match change {
            Change::Range(range) => Some(range),
            _ => None,
        };
        let (count, in_range) = (self.count, range.clone());
        let question = Question::GitLog { count, range };
        let answer = world.ask(&question)?;
        let shown = answer.as_ref().map_or(0, |answer| lines(answer).count());
        put(answer, &question, layer, out)?;
        // Somebody asked for a range, so that its other commits are missed; only a full list can have left any out.
        let full = u32::try_from(shown).is_ok_and(|shown| shown == count);
        if let (true, Some(range)) = (full && count > 0, in_range) {
            let whole = Question::GitLog {
                count: MOST_COMMITS,
                range: Some(range),
            };
            let all = world.ask(&whole)?.unwrap_or_default();
            let rest: Vec<usize> = lines(&all).skip(shown).map(<[u8]>::len).collect();
            let (layer, name) = (&layer.name, question.to_string());
            let capped = Omission::capped(layer, &name, shown, rest.into_iter());
            out.omissions.extend(capped);
        }
        Ok(())
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Read::some([(&self.range_from, Kind::Text)]))
    }
}

impl GitLogSource {
    /// Checks what the recipe itself names.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.range
            .as_deref()
            .map_or(Ok(()), |range| Change::range(range).map(drop))
    }
}

impl Source for GitDiffSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let (range_from, staged_from) = (self.range_from.as_deref(), self.staged_from.as_deref());
        let range = self.range.as_deref();
        let of = which(self.of, range, range_from, staged_from, world.fields)?;
        let question = Question::GitDiff { of };
        let diff = match world.ask(&question)? {
            Ok(diff) => diff,
            Err(refusal) => return refused(layer, &question, refusal, out),
        };
        let (kind, name) = question.origin_name();
        let origin = crate::trace::Origin::new(kind, name, &diff);
        let leave_out = Globs::new(&self.leave_out)?;
        let field = self.paths_from.as_deref();
        let asked = field.map(|field| strings(world.fields, field));
        if let Some(field) = field.filter(|field| lookup(world.fields, field).is_none()) {
            out.refuse(layer, field, Refusal::new(Reason::NoValue));
            return Ok(());
        }
        let parts = file_diffs(&diff);
        missing(layer, asked.iter().flatten(), &parts, world.root()?, out);
        for FileDiff { path, range, line } in parts {
            let mut paths = asked.iter().flatten();
            let size = range.len() as u64;
            if asked.is_some() && !paths.any(|asked| is_below(&path, asked)) {
                continue;
            }
            if leave_out.matches(&path) {
                out.refuse(layer, path, Refusal::new(Reason::Excluded).of_size(size));
                continue;
            }
            match std::str::from_utf8(&diff[range.clone()]) {
                Ok(text) => {
                    let body = Traced::normalised_part(text, &origin, range.start, line);
                    out.add(layer, path, body, origin.clone());
                }
                Err(error) => {
                    let refusal = Refusal::new(Reason::NotUtf8).of_size(size).because(format!(
                        "invalid UTF-8 at byte {} of its diff",
                        error.valid_up_to()
                    ));
                    out.refuse(layer, path, refusal);
                }
            }
        }
        Ok(())
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Read::some([
            (&self.range_from, Kind::Text),
            (&self.staged_from, Kind::Flag),
            (&self.paths_from, Kind::List),
        ]))
    }
}

impl GitDiffSource {
    /// Checks what the recipe itself names.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check(self.of, self.range.as_deref(), &self.leave_out)
    }
}

impl Source for GitFilesSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let (range_from, staged_from) = (self.range_from.as_deref(), self.staged_from.as_deref());
        let range = self.range.as_deref();
        let of = which(self.of, range, range_from, staged_from, world.fields)?;
        let question = Question::ChangedPaths { of: of.clone() };
        let paths = match world.ask(&question)? {
            Ok(paths) => changed_paths(&paths)?,
            Err(refusal) => return refused(layer, &question, refusal, out),
        };
        let leave_out = Globs::new(&self.leave_out)?;
        for ChangedPath { path, odd_name, .. } in paths.into_iter().filter(|path| path.file) {
            if odd_name {
                out.refuse(layer, path, Refusal::new(Reason::NameNotUtf8));
            } else if leave_out.matches(&path) {
                out.refuse(layer, path, Refusal::new(Reason::Excluded));
            } else {
                match file(&of, &path, world)? {
                    Ok(file) => out.add(layer, path, file.body, file.source),
                    Err(refusal) => out.refuse(layer, path, refusal),
                }
            }
        }
        Ok(())
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Read::some([
            (&self.range_from, Kind::Text),
            (&self.staged_from, Kind::Flag),
        ]))
    }
}

impl GitFilesSource {
    /// Checks what the recipe itself names.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check(self.of, self.range.as_deref(), &self.leave_out)
    }
}

/// Returns a file as a change leaves it.
fn file(of: &Change, path: &str, world: &World<'_>) -> Result<Result<FileText, Refusal>, Error> {
    if *of == Change::Worktree {
        return Ok(FileText::read(world.root()?, path, path, TextRule::NoNul));
    }
    let question = Question::GitFile {
        of: of.clone(),
        path: path.to_owned(),
    };
    let text = world
        .ask(&question)?
        .and_then(|bytes| TextRule::NoNul.text(bytes));
    Ok(text.map(|text| {
        let source = question.origin(&text);
        let body = Traced::normalised(text, &source);
        FileText { body, source }
    }))
}

/// Returns the paths of an answer.
pub(crate) fn changed_paths(answer: &[u8]) -> Result<Vec<ChangedPath>, Error> {
    serde_json::from_slice(answer).map_err(|error| {
        let detail = format!("the observer's list of changed paths is malformed: {error}");
        Error::new(ErrorKind::BadInput, detail)
    })
}

/// Records the paths that were asked for and are nowhere; one that is there has not changed.
fn missing<'a>(
    layer: &Layer,
    asked: impl Iterator<Item = &'a &'a str>,
    parts: &[FileDiff],
    root: &Root,
    out: &mut Gathered,
) {
    for path in asked {
        let changed = parts.iter().any(|part| is_below(&part.path, path));
        if !changed && !root.has(path.trim_end_matches('/')) {
            out.refuse(layer, *path, Refusal::new(Reason::Missing));
        }
    }
}

fn is_below(path: &str, asked: &str) -> bool {
    let rest = path.strip_prefix(asked.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn check(of: Of, range: Option<&str>, leave_out: &[String]) -> Result<(), Error> {
    Globs::new(leave_out)?;
    match range {
        Some(_) if of == Of::Staged => Err(Error::new(
            ErrorKind::BadRecipe,
            "`range` and `of = \"staged\"` exclude each other",
        )),
        Some(range) => Change::range(range).map(drop),
        None => Ok(()),
    }
}

/// Returns the change that is meant: what the input says, else what the recipe says.
fn which(
    of: Of,
    range: Option<&str>,
    range_from: Option<&str>,
    staged_from: Option<&str>,
    fields: &Map<String, Value>,
) -> Result<Change, Error> {
    match (Change::of_fields(fields, range_from, staged_from)?, range) {
        (Change::Worktree, Some(range)) => Change::range(range),
        (Change::Worktree, None) if of == Of::Staged => Ok(Change::Staged),
        (change, _) => Ok(change),
    }
}

/// Adds the answer to a question as one section.
pub(super) fn answered(
    question: &Question,
    layer: &Layer,
    world: &World<'_>,
    out: &mut Gathered,
) -> Result<(), Error> {
    put(world.ask(question)?, question, layer, out)
}

fn put(
    answer: Result<Vec<u8>, Refusal>,
    question: &Question,
    layer: &Layer,
    out: &mut Gathered,
) -> Result<(), Error> {
    match answer.and_then(|bytes| TextRule::Utf8.text(bytes)) {
        Ok(text) => {
            let source = question.origin(&text);
            out.add_unless_blank(layer, Traced::normalised(text, &source), source);
            Ok(())
        }
        Err(refusal) => refused(layer, question, refusal, out),
    }
}

/// Records what was not answered; a required layer cannot do without.
fn refused(
    layer: &Layer,
    question: &Question,
    refusal: Refusal,
    out: &mut Gathered,
) -> Result<(), Error> {
    if !layer.must_have(refusal.reason) {
        out.refuse(layer, question.to_string(), refusal);
        return Ok(());
    }
    let mut detail = format!(
        "layer `{}` needs `{question}`, which {}",
        layer.name,
        refusal.reason.sentence()
    );
    if !refusal.detail.is_empty() {
        detail = format!("{detail}: {}", refusal.detail);
    }
    Err(Error::new(ErrorKind::BadInput, detail))
}
