//! What the library shows: a struct with public fields can get one more without breaking a program.

use crate::assert_none;
use crate::tree::{self, File};

const LIBRARY: &str = "crates/callsheet/src/";

/// What programs put together themselves, field by field: a new field there is one that they have to think of.
const GIVEN: &[&str] = &[
    "AgentEnded",
    "Append",
    "Budget",
    "ChangedPath",
    "CheckFact",
    "Chosen",
    "Derived",
    "Difference",
    "EarlierFinding",
    "Event",
    "Explained",
    "Finding",
    "Folders",
    "Heard",
    "Limit",
    "LogLine",
    "Names",
    "NodeBrief",
    "Options",
    "PhaseLimits",
    "PhaseOrder",
    "PhasePaths",
    "PreviousRun",
    "Rules",
    "RunDirective",
    "RunFacts",
    "ScopeSources",
    "Seal",
    "Seen",
    "Set",
    "Side",
    "SourceMap",
    "Spent",
    "Step",
    "TaskFacts",
    "Transition",
    "Update",
    "UserInput",
    "Values",
    "Variable",
    "Violation",
    "Warning",
];

/// What the library shows to programs, and below it what it shows to the other crates alone.
const FACE: &str = "\
pub mod inputs
pub mod manifest
pub mod observe
pub mod omission
pub mod recipe
pub mod redact
pub mod seal
pub mod source
pub mod source_map
pub mod template
pub mod tokens
pub mod trace
pub use builder::{MemorySource, PromptBuilder, RuleSource, Stored}
pub use compose::{Budget, Composition, Draft, Inputs, Message, Options, Prompt, compose, draft}
pub use error::{Error, ErrorKind, Place}
pub use event::Event
pub use fingerprint::Fingerprint
pub use inputs::Root
pub use manifest::Manifest
pub use omission::{Omission, Reason}
pub use prepare::{FileMemory, ProjectContext, TEMPLATES, packaged}
pub use recipe::Recipe
pub use schema::{Misfit, Schema}
pub use seal::Seal
pub use section::{Priority, Role, Section, Trust, Volatility}
pub use source_map::SourceMap
hidden pub mod blocks
hidden pub mod cache
hidden pub mod case
hidden pub mod check
hidden pub mod document
hidden pub mod freetext
hidden pub mod mounts
hidden pub mod package
hidden pub mod profile
hidden pub mod reading
hidden pub mod scope
hidden pub mod settings
hidden pub mod sprint
hidden pub mod state
hidden pub mod story
hidden pub mod task
hidden pub mod text
hidden pub mod workflow
";

/// Returns what the root of a library shows, a line each, what is hidden last.
fn face(root: &File) -> String {
    let mut shown = Vec::new();
    let mut hidden = Vec::new();
    let mut is_hidden = false;
    let mut statement = String::new();
    for (_, line) in root.product_lines() {
        if statement.is_empty() && !line.starts_with("pub ") {
            is_hidden = line == "#[doc(hidden)]";
            continue;
        }
        statement.push_str(line.trim_start());
        if !line.ends_with(';') {
            continue;
        }
        let statement = std::mem::take(&mut statement);
        let statement = statement.trim_end_matches(';');
        if std::mem::take(&mut is_hidden) {
            hidden.push(format!("hidden {statement}\n"));
        } else {
            shown.push(format!("{statement}\n"));
        }
    }
    shown.into_iter().chain(hidden).collect()
}

#[test]
fn the_library_shows_what_a_program_needs() {
    let files = tree::files();
    let root = files
        .iter()
        .find(|file| file.path == format!("{LIBRARY}lib.rs"));
    assert_eq!(face(root.unwrap()), FACE);
}

#[test]
fn what_is_shown_and_what_is_hidden_is_told_apart() {
    let root = "mod a;\n#[doc(hidden)]\npub mod b;\npub mod c;\npub use d::{\n    E, F,\n};\n";
    let root = File::new("crates/callsheet/src/lib.rs", root);
    assert_eq!(
        face(&root),
        "pub mod c\npub use d::{E, F,}\nhidden pub mod b\n"
    );
}

/// Returns every public struct of the library that a program could put together, and is not meant to.
fn complaints<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        if !file.path.starts_with(LIBRARY) || file.is_test() {
            continue;
        }
        let lines: Vec<(usize, &str)> = file.product_lines().collect();
        for (at, (number, line)) in lines.iter().enumerate() {
            let Some(name) = line.strip_prefix("pub struct ") else {
                continue;
            };
            let name = &name[..name
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(name.len())];
            let before = lines[..at].iter().rev().map(|(_, line)| *line);
            let mut attributes = before.take_while(|line| !line.is_empty() && *line != "}");
            let is_open = attributes.any(|line| line == "#[non_exhaustive]");
            if line.ends_with('{')
                && !is_open
                && !GIVEN.contains(&name)
                && is_bare(&lines[at + 1..])
            {
                complaints.push(format!(
                    "{}:{number}: `{name}` has public fields only; make it `#[non_exhaustive]`",
                    file.path
                ));
            }
        }
    }
    complaints
}

/// Tells whether all fields of a struct, of which these lines follow the first one, are public.
fn is_bare(lines: &[(usize, &str)]) -> bool {
    let body = lines.iter().map(|(_, line)| *line);
    let mut fields = body.take_while(|line| *line != "}").filter(|line| {
        let text = line.strip_prefix("    ").unwrap_or_default();
        text.starts_with(|c: char| c.is_ascii_lowercase()) && text.contains(':')
    });
    fields.all(|line| line.starts_with("    pub ") && !line.starts_with("    pub("))
}

#[test]
fn structs_that_programs_only_read_may_grow() {
    assert_none(&complaints(&tree::files()));
}

#[test]
fn a_struct_of_public_fields_is_found() {
    let file = |text: &str| File::new("crates/callsheet/src/a.rs", text);
    for bad in [
        "pub struct A {\n    pub a: u8,\n}\n",
        "/// A.\n#[derive(Debug)]\npub struct A {\n    /// B.\n    pub b: u8,\n}\n",
    ] {
        assert_eq!(complaints([&file(bad)]).len(), 1, "{bad}");
    }
    for fine in [
        "#[non_exhaustive]\npub struct A {\n    pub a: u8,\n}\n",
        "pub struct A {\n    a: u8,\n}\n",
        "pub struct A {\n    pub a: u8,\n    pub(crate) b: u8,\n}\n",
        "pub struct Options {\n    pub a: u8,\n}\n",
        "pub(crate) struct A {\n    pub a: u8,\n}\n",
    ] {
        assert_eq!(complaints([&file(fine)]).len(), 0, "{fine}");
    }
}
