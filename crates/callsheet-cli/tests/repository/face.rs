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
    "FsPolicy",
    "Heard",
    "Limit",
    "LogLine",
    "McpPolicy",
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
    "ToolPolicy",
    "Transition",
    "Update",
    "UserInput",
    "Values",
    "Variable",
    "Violation",
    "Warning",
];

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
