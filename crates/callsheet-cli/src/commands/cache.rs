//! `cache`: what a provider's cache keeps of a prompt, and why not more.

use std::process::ExitCode;

use callsheet::cache::{ByteOrigin, CachePlan, Divergence, Extent, Side, plan};

use crate::failure::Failure;
use crate::options::{BudgetArgs, InputArgs};
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::table::{Align, Table};
use crate::target::Target;

/// Tell what a provider's cache keeps: stable sections, the common prefix, and what ends it
///
/// A and B are ids of sealed prompts, inputs that `--recipe` composes, documents of `compose --format json`, or prompts. With A alone the plan
/// follows from how often its layers are declared to change; with B it follows from what really changed as well.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet cache --recipe layers input.yaml
  callsheet cache --recipe layers first.yaml retry.yaml
  callsheet cache 1m7f6zd4 1m7f70ab
  callsheet cache monday.json tuesday.json --json")]
pub(crate) struct Args {
    /// The one: an id or a file
    #[arg(value_name = "A")]
    one: String,

    /// The other: an id or a file
    #[arg(value_name = "B")]
    other: Option<String>,

    /// Compose A and B, which are inputs, with this recipe
    #[arg(long, value_name = "NAME")]
    recipe: Option<String>,

    #[command(flatten)]
    budget: BudgetArgs,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let one = self.side(project, &self.one)?;
        let other = self.other.as_deref();
        let other = other.map(|file| self.side(project, file)).transpose()?;
        if other.is_none() && one.sections.is_empty() {
            return Err(
                Failure::input(format!("`{}` has no sections to plan by", self.one)).hint(
                    "name a second prompt to compare it with, or an input with `--recipe NAME`",
                ),
            );
        }
        let plan = plan(&one, other.as_ref(), Some(self.budget.encoding));
        if out.json {
            out.document(&plan)?;
        } else {
            out.text(&plan_text(&plan))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn side(&self, project: &Project, name: &str) -> Result<Side, Failure> {
        if let Some(recipe) = &self.recipe {
            let input = InputArgs {
                input: vec![name.to_owned()],
                ..InputArgs::default()
            };
            let composition = input.compose(project, recipe, &self.budget.options(false))?;
            return Ok(Side::from(&composition));
        }
        self.budget.refuse_redaction()?;
        let target = Target::find(project, name)?;
        let document = target.document()?;
        let Some(mut side) = document.as_ref().and_then(Side::from_document) else {
            return Ok(Side::plain(target.text()?));
        };
        // The project may have a recipe of its own under the name of a built-in one.
        let recipe = document
            .as_ref()
            .and_then(|document| document["recipe"].as_str());
        side.own |= recipe.is_some_and(|name| project.own_recipe(name).is_ok());
        Ok(side)
    }
}

fn plan_text(plan: &CachePlan) -> String {
    let mut text = String::new();
    if !plan.sections.is_empty() {
        text.push_str(&sections(plan).render());
        text.push('\n');
    }
    let what = if plan.b.is_some() {
        "common prefix"
    } else {
        "stable prefix"
    };
    text.push_str(&format!("{what}: {}\n", share(plan.prefix, plan.a)));
    match (&plan.divergence, plan.b, &plan.first_volatile_section) {
        (Some(divergence), _, _) => text.push_str(&parting(divergence)),
        (None, Some(_), _) => text.push_str("the prompts are the same\n"),
        (None, None, Some(section)) => text.push_str(&one_line(&format!(
            "it ends before `{section}`, the first section that changes"
        ))),
        (None, None, None) => text.push_str("nothing is declared to change"),
    }
    if plan.b.is_none() {
        text.push('\n');
    }
    if !plan.advice.is_empty() {
        text.push('\n');
    }
    for advice in &plan.advice {
        text.push_str(&format!("advice: {}\n", one_line(&advice.message)));
    }
    text
}

fn share(part: Extent, whole: Extent) -> String {
    let tokens = part.tokens.zip(whole.tokens);
    let tokens = tokens.map_or_else(String::new, |(part, whole)| {
        format!(", {part} of {whole} tokens")
    });
    format!("{} of {} bytes{tokens}", part.bytes, whole.bytes)
}

fn sections(plan: &CachePlan) -> Table {
    let mut columns = vec![
        ("LAYER", Align::Left),
        ("SECTION", Align::Left),
        ("CHANGES", Align::Left),
        ("BYTES", Align::Right),
        ("TOKENS", Align::Right),
    ];
    if plan.b.is_some() {
        columns.push(("A TO B", Align::Left));
    }
    columns.push(("CACHE", Align::Left));
    let mut table = Table::new(&columns);
    for section in &plan.sections {
        let tokens = section.extent.tokens;
        let mut row = vec![
            section.layer.clone(),
            section.name.clone(),
            section.volatility.name().to_owned(),
            section.extent.bytes.to_string(),
            tokens.map_or_else(String::new, |tokens| tokens.to_string()),
        ];
        row.extend(section.change.map(|change| change.name().to_owned()));
        row.push(if section.kept { "kept" } else { "" }.to_owned());
        table.row(row);
    }
    table
}

fn parting(divergence: &Divergence) -> String {
    let message = divergence.message;
    let message = message.map_or_else(String::new, |nth| format!(" of message {nth}"));
    let mut text = format!(
        "it ends at byte {} (line {}{message}): {}\n",
        divergence.byte,
        divergence.line,
        one_line(&divergence.reason)
    );
    for (side, place) in [("A", &divergence.a), ("B", &divergence.b)] {
        if let Some(place) = place {
            text.push_str(&format!("  {side}: {}\n", one_line(&origin(place))));
        }
    }
    text
}

fn origin(place: &ByteOrigin) -> String {
    let section = place.section.as_ref();
    let section = section
        .filter(|section| **section != place.layer)
        .map_or_else(String::new, |section| format!(", section {section}"));
    let line = place
        .line
        .map_or_else(String::new, |line| format!(":{line}"));
    format!("layer {}{section}: {}{line}", place.layer, place.source)
}
