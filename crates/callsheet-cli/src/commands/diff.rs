//! `diff`: two prompts, by section, then by line.

use std::ops::Range;
use std::process::ExitCode;

use callsheet::cache::{self, common_prefix};
use callsheet::reading::Reading;
use callsheet::tokens::{self, Encoding};
use callsheet_store::Id;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::failure::Failure;
use crate::options::{BudgetArgs, InputArgs};
use crate::output::Output;
use crate::project::Project;
use crate::table::{Align, Table};
use crate::target::Target;

/// Compare two prompts: by section, then by line, with tokens and the common prefix
///
/// A and B are ids of sealed prompts or files: prompts, documents of `compose --format json`, bundles, or, with
/// `--recipe`, inputs that are composed first. The common prefix is what a provider's cache keeps. Exits with 1 if they differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet diff monday.txt tuesday.txt
  callsheet diff 1m7f6zd4 1m7f70ab
  callsheet diff --recipe layers first.yaml retry.yaml
  callsheet diff a.json b.json --json")]
pub(crate) struct Args {
    /// The one: an id or a file
    #[arg(value_name = "A")]
    one: String,

    /// The other: an id or a file
    #[arg(value_name = "B")]
    other: String,

    /// Compose A and B, which are inputs, with this recipe
    #[arg(long, value_name = "NAME")]
    recipe: Option<String>,

    #[command(flatten)]
    budget: BudgetArgs,
}

/// A prompt with its sections, where they are known.
#[derive(Default)]
struct Side {
    text: String,
    sections: Vec<(String, Body)>,
    /// The tools beside the text, where they are known.
    tools: Option<Value>,
    /// The roles of the messages that the text is cut into, where they are known.
    roles: Option<Vec<Value>>,
}

/// A section of a prompt, or all of it.
#[derive(Clone, PartialEq)]
struct Body {
    /// As people read it.
    text: String,
    /// How many bytes it has in the prompt.
    bytes: usize,
}

impl Body {
    /// Returns what stands in a range of a prompt.
    fn of(reading: &Reading<'_>, range: Range<usize>) -> Self {
        Self {
            bytes: range.len(),
            text: reading.slice(range).to_owned(),
        }
    }

    /// Returns all of a prompt.
    fn whole(prompt: &str) -> Self {
        Self::of(&Reading::of(prompt), 0..prompt.len())
    }
}

/// Returns what is not the same beside the text of two prompts.
fn beside(one: &Side, other: &Side) -> Vec<&'static str> {
    let tools = one.tools.is_some() && other.tools.is_some() && one.tools != other.tools;
    let cut = one.roles.is_some() && other.roles.is_some() && one.roles != other.roles;
    let found = [
        ("tools", tools),
        // Of other sections, other messages are not news.
        ("messages", cut && one.sections == other.sections),
    ];
    let found = found.into_iter().filter(|(_, differ)| *differ);
    found.map(|(what, _)| what).collect()
}

/// What became of a section.
struct Change {
    name: String,
    old: Option<Body>,
    new: Option<Body>,
}

impl Change {
    fn kind(&self) -> &'static str {
        match (&self.old, &self.new) {
            (None, _) => "added",
            (_, None) => "removed",
            (Some(old), Some(new)) if old == new => "same",
            _ => "changed",
        }
    }

    fn lines(&self) -> String {
        let [old, new] =
            [&self.old, &self.new].map(|body| body.as_ref().map_or("", |body| body.text.as_str()));
        // Sections often end without a newline; that is told where one does and the other does not.
        let differ = old.ends_with('\n') != new.ends_with('\n');
        TextDiff::from_lines(old, new)
            .unified_diff()
            .context_radius(3)
            .missing_newline_hint(differ && !old.is_empty() && !new.is_empty())
            .to_string()
    }
}

/// Two prompts beside each other.
pub(crate) struct Comparison {
    one: Side,
    other: Side,
    changes: Vec<Change>,
    encoding: Encoding,
}

impl Args {
    /// Returns the comparison of two sealed prompts, as one asks for it without options.
    pub(crate) fn of_sealed(one: Id, other: Id) -> Self {
        Self {
            one: one.to_string(),
            other: other.to_string(),
            recipe: None,
            budget: BudgetArgs::default(),
        }
    }

    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let comparison = self.compare(project)?;
        if out.json {
            out.document(&comparison.document())?;
        } else {
            out.text(&comparison.text())?;
        }
        Ok(if comparison.is_equal() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(crate::failure::NEGATIVE)
        })
    }

    pub(crate) fn compare(&self, project: &Project) -> Result<Comparison, Failure> {
        let (one, other) = (
            self.side(project, &self.one)?,
            self.side(project, &self.other)?,
        );
        Ok(Comparison {
            changes: changes(&one, &other),
            one,
            other,
            encoding: self.budget.encoding,
        })
    }

    fn side(&self, project: &Project, name: &str) -> Result<Side, Failure> {
        if let Some(recipe) = &self.recipe {
            let input = InputArgs {
                input: vec![name.to_owned()],
                ..InputArgs::default()
            };
            let composition = input.compose(project, recipe, &self.budget.options(false))?;
            return Ok(side_of(&composition.document()).unwrap_or(Side {
                text: composition.text,
                ..Side::default()
            }));
        }
        self.budget.refuse_redaction()?;
        let target = Target::find(project, name)?;
        let document = target.document()?;
        match document.as_ref().and_then(side_of) {
            Some(side) => Ok(side),
            None => Ok(Side {
                text: target.text()?,
                ..Side::default()
            }),
        }
    }
}

impl Comparison {
    /// Returns how many tokens the beginning of a prompt has.
    fn count(&self, prompt: &str, end: usize) -> usize {
        Reading::of(prompt).tokens(self.encoding, 0..end)
    }

    fn common_prefix(&self) -> usize {
        common_prefix(&self.one.text, &self.other.text)
    }

    fn is_equal(&self) -> bool {
        self.one.text == self.other.text && beside(&self.one, &self.other).is_empty()
    }

    pub(crate) fn document(&self) -> Value {
        let size =
            |prompt: &str, end: usize| json!({"bytes": end, "tokens": self.count(prompt, end)});
        let part = |body: &Body| {
            let tokens = tokens::count(self.encoding, &body.text);
            json!({"bytes": body.bytes, "tokens": tokens})
        };
        let section = |change: &Change| {
            let (old, new) = (change.old.as_ref(), change.new.as_ref());
            let mut section = json!({
                "name": change.name, "change": change.kind(), "a": old.map(part), "b": new.map(part),
            });
            if change.kind() != "same" {
                section["lines"] = json!(change.lines());
            }
            section
        };
        let sections: Vec<Value> = self.changes.iter().map(section).collect();
        let (one, other) = (&self.one.text, &self.other.text);
        json!({
            "schema": "callsheet.diff/1", "equal": self.is_equal(), "a": size(one, one.len()),
            "b": size(other, other.len()), "common_prefix": size(one, self.common_prefix()),
            "sections": sections, "beside": beside(&self.one, &self.other),
        })
    }

    pub(crate) fn text(&self) -> String {
        let (one, other) = (&self.one, &self.other);
        let count = |body: &Body| tokens::count(self.encoding, &body.text);
        let [old, new] = [one, other].map(|side| self.count(&side.text, side.text.len()));
        let differ = beside(one, other).into_iter();
        let differ: String = differ
            .flat_map(|what| ["the ", what, " differ\n"])
            .collect();
        if one.text == other.text {
            return format!("the same {} bytes, {old} tokens\n{differ}", one.text.len());
        }
        let mut text = String::new();
        if !(one.sections.is_empty() || other.sections.is_empty()) {
            let mut table = Table::new(&[
                ("SECTION", Align::Left),
                ("CHANGE", Align::Left),
                ("A", Align::Right),
                ("B", Align::Right),
                ("DELTA", Align::Right),
            ]);
            for change in &self.changes {
                let (old, new) = (
                    change.old.as_ref().map(count),
                    change.new.as_ref().map(count),
                );
                let cell = |tokens: Option<usize>| {
                    tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string())
                };
                let delta = delta(old.unwrap_or(0), new.unwrap_or(0));
                table.row([
                    change.name.clone(),
                    change.kind().to_owned(),
                    cell(old),
                    cell(new),
                    delta,
                ]);
            }
            text.push_str(&table.render());
            text.push('\n');
        }
        for change in self.changes.iter().filter(|change| change.kind() != "same") {
            text.push_str(&format!(
                "{} {}\n{}\n",
                change.kind(),
                change.name,
                change.lines().trim_end()
            ));
            text.push('\n');
        }
        let kept = self.common_prefix();
        text.push_str(&format!(
            "tokens: {old} → {new} ({})\ncommon prefix: {} of {} bytes, {} tokens\n",
            delta(old, new),
            kept,
            one.text.len(),
            self.count(&one.text, kept)
        ));
        text.push_str(&differ);
        text
    }
}

fn delta(old: usize, new: usize) -> String {
    if new >= old {
        format!("+{}", new - old)
    } else {
        format!("-{}", old - new)
    }
}

/// Reads a side from a composition document; anything else is not one.
fn side_of(document: &Value) -> Option<Side> {
    let read = cache::Side::from_document(document)?;
    let reading = Reading::of(&read.text);
    let bodies = read.sections.iter();
    let bodies = bodies.map(|part| (part.label(), Body::of(&reading, part.start..part.end)));
    let sections = bodies.collect();
    let messages = document.get("messages").and_then(Value::as_array);
    Some(Side {
        sections,
        text: read.text,
        tools: document.get("tools").cloned(),
        roles: messages.map(|list| list.iter().map(|message| message["role"].clone()).collect()),
    })
}

/// Pairs sections by name, in the order of B, with those of A that are gone where they stood.
fn changes(one: &Side, other: &Side) -> Vec<Change> {
    // What only one of them tells cannot be compared.
    if one.sections.is_empty() || other.sections.is_empty() {
        let name = "prompt".to_owned();
        return vec![Change {
            name,
            old: Some(Body::whole(&one.text)),
            new: Some(Body::whole(&other.text)),
        }];
    }
    let names = |side: &Side| -> Vec<String> {
        side.sections.iter().map(|(name, _)| name.clone()).collect()
    };
    let (old_names, new_names) = (names(one), names(other));
    let pairs = similar::capture_diff_slices(similar::Algorithm::Myers, &old_names, &new_names);
    let mut changes = Vec::new();
    for step in pairs
        .iter()
        .flat_map(|pair| pair.iter_changes(&old_names, &new_names))
    {
        let body =
            |side: &Side, index: Option<usize>| index.map(|index| side.sections[index].1.clone());
        changes.push(Change {
            name: step.value().clone(),
            old: body(one, step.old_index()),
            new: body(other, step.new_index()),
        });
    }
    changes
}
