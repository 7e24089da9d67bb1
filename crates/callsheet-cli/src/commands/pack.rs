//! `pack`: a source tree as one prompt.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use callsheet::Root;
use callsheet::inputs::{Globs, Located};
use callsheet::manifest::Manifest;
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::compose::{Files, Format};
use crate::failure::Failure;
use crate::options::{BudgetArgs, compose_fields, from_here, name_of};
use crate::output::Output;
use crate::project::Project;
use crate::table::{Align, Table, percent};

/// Print a source tree as one prompt
///
/// The tree of paths first, then every file in a frame of its own, sorted by path. `.gitignore` and `.promptignore` are
/// honoured; binary files, lock files and links are left out. A file that you name is taken all the same, or its absence is
/// a loss. A glob is relative to the root: `*` stays within a folder, `**` crosses folders, and the name of a folder means
/// everything below it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet pack                                  everything
  callsheet pack src 'docs/**/*.md'               a folder and some files
  callsheet pack --exclude 'tests/**' --tokens    with the tokens of each file and folder
  callsheet pack --format markdown --token-budget 50k -o prompt.md")]
pub(crate) struct Args {
    /// Which files [default: all]
    #[arg(value_name = "GLOB")]
    globs: Vec<String>,

    /// Files that are not asked for
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,

    /// Take files and folders with a leading dot as well
    #[arg(long)]
    hidden: bool,

    /// What stands around the files [default: xml]
    #[arg(long, value_name = "FORM")]
    format: Option<PackFormat>,

    /// Count tokens: per file and folder, on stderr
    #[arg(long)]
    tokens: bool,

    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    budget: BudgetArgs,
}

/// What stands around the files.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PackFormat {
    Xml,
    Markdown,
    Json,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        let root = project.open()?;
        let written = self.written(&root)?;
        if !self.globs.is_empty() {
            let globs = self.asked(&root, &written)?;
            set("globs", json!(globs));
        }
        let exclude = self.excluded(project, &written);
        if !exclude.is_empty() {
            set("exclude", json!(exclude));
        }
        if self.hidden {
            set("hidden", json!(true));
        }
        if let Some(format) = self.format {
            set("format", json!(name_of(&format)));
        }
        let format = out.json.then_some(Format::Json);
        let options = self.budget.options(self.tokens || format.is_some());
        let composed = compose_fields(project, "pack", fields, &options, self.files.prepared()?);
        let mut composed = composed.map_err(|failure| match self.meant_from_here(&root) {
            Some(path) => failure.hint(format!("from the root, it is `{path}`")),
            None => failure,
        })?;
        if self.tokens {
            out.say(token_tree(&composed.composition.manifest).trim_end());
        }
        self.files.deliver(project, &mut composed, format, out)
    }
}

impl Args {
    /// Returns the files below the root that this command writes.
    fn written(&self, root: &Root) -> Result<Vec<String>, Failure> {
        let mut written = Vec::new();
        for file in self.files.written().filter_map(Path::to_str) {
            if let Located::Inside(path) = root.locate(&from_here(file)?) {
                written.push(path);
            }
        }
        Ok(written)
    }

    /// Returns what is asked for: not a file that is named and excluded, as where a shell has filled in the names.
    fn asked(&self, root: &Root, written: &[String]) -> Result<Vec<&String>, Failure> {
        let exclude = Globs::new(&self.exclude)?;
        let mut asked = Vec::new();
        for glob in &self.globs {
            let Located::Inside(path) = root.locate(glob) else {
                asked.push(glob);
                continue;
            };
            let is_file = root.has(&path) && !root.has_folder(&path);
            if is_file && exclude.matches(&path) {
                continue;
            }
            if is_file && written.contains(&path) {
                let detail = format!("`{path}` is to be packed and to be written");
                return Err(Failure::input(detail)
                    .hint("write to another file, or leave it out with `--exclude`"));
            }
            asked.push(glob);
        }
        if asked.is_empty() {
            return Err(Failure::input("everything that you name is excluded"));
        }
        Ok(asked)
    }

    /// Returns the path of a named file that is there from the current folder, and not from the root.
    fn meant_from_here(&self, root: &Root) -> Option<String> {
        self.globs.iter().find_map(|glob| {
            let located = root.locate(&from_here(glob).ok()?);
            match located {
                Located::Inside(path) if !root.has(glob) && root.has(&path) => Some(path),
                _ => None,
            }
        })
    }

    /// Returns the globs of files that are not asked for; what this command writes is among them.
    ///
    /// Otherwise a prompt that is written into its own tree would hold the prompt before it.
    fn excluded(&self, project: &Project, written: &[String]) -> Vec<String> {
        let set = project.settings.prompt.recipes.get("pack");
        let mut exclude = self.exclude.clone();
        if let (true, Some(Value::Array(set))) =
            (exclude.is_empty(), set.and_then(|set| set.get("exclude")))
        {
            exclude.extend(set.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        exclude.extend(written.iter().map(|path| literal(path)));
        exclude
    }
}

/// Returns the glob that matches one path and nothing else.
fn literal(path: &str) -> String {
    let escape = |c: char| match c {
        '*' | '?' | '[' | ']' | '{' | '}' | '\\' => format!("[{c}]"),
        _ => c.to_string(),
    };
    path.chars().map(escape).collect()
}

/// Returns the files and folders with their tokens, as an indented table.
fn token_tree(manifest: &Manifest) -> String {
    let files = manifest
        .sections
        .iter()
        .filter(|section| section.layer == "files");
    let mut tokens: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    let mut folders: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for section in files {
        let parts: Vec<&str> = section.name.split('/').collect();
        let count = section.tokens.unwrap_or_default();
        for depth in 0..parts.len() {
            *folders.entry(parts[..depth].to_vec()).or_default() += count;
        }
        tokens.insert(parts, count);
    }
    let whole = folders.get(&Vec::new()).copied().unwrap_or_default();
    let mut table = Table::new(&[
        ("TOKENS", Align::Right),
        ("SHARE", Align::Right),
        ("PATH", Align::Left),
    ]);
    folders.remove(&Vec::new());
    let folders = folders
        .into_iter()
        .map(|(parts, count)| (parts, (count, "/")));
    let all: BTreeMap<Vec<&str>, (usize, &str)> = folders
        .chain(
            tokens
                .into_iter()
                .map(|(parts, count)| (parts, (count, ""))),
        )
        .collect();
    for (parts, (count, slash)) in all {
        let indent = "  ".repeat(parts.len() - 1);
        let name = parts.last().copied().unwrap_or_default();
        table.row([
            count.to_string(),
            percent(count, whole),
            format!("{indent}{name}{slash}"),
        ]);
    }
    format!(
        "{}\n{whole} tokens in files, {} in the prompt\n",
        table.render(),
        manifest.tokens.unwrap_or_default()
    )
}
