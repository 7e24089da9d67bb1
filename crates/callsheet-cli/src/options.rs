//! The arguments that say what is composed and how, shared by all commands that compose.

use callsheet::check::Finding;
use callsheet::inputs::Disk;
use callsheet::redact::Level;
use callsheet::seal::Parsed;
use callsheet::tokens::Encoding;
use callsheet::{Budget, Composition, ErrorKind, Options, Recipe, Seal, compose};

use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::input::{self, Document};
use crate::output::Output;
use crate::progress;
use crate::project::Project;
use crate::report;
use crate::settings::FILE;

/// What goes into a recipe.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct InputArgs {
    /// The input document, JSON or YAML; `-` reads stdin. Of several, later ones win field by field
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Vec<String>,

    /// Set a field of the input: text with `=`, JSON with `:=`, dots for fields in fields; `@FILE` or `@-` as the value reads
    /// it from a file or stdin
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    pub(crate) define: Vec<String>,

    /// The folder of the templates, for recipes that take one
    #[arg(long, value_name = "DIR")]
    pub(crate) prompts_dir: Option<String>,
}

/// Whether a prompt is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    Nothing,
    Seal,
}

/// What a prompt may cost, and what it may not carry.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct BudgetArgs {
    /// The most bytes; optional sections give way, with a record
    #[arg(long, value_name = "N", value_parser = amount)]
    pub(crate) byte_budget: Option<usize>,

    /// The most tokens, such as `8000` or `8k`; optional sections give way, with a record
    #[arg(long, value_name = "N[k]", value_parser = amount)]
    pub(crate) token_budget: Option<usize>,

    /// The vocabulary that tokens are counted with: o200k or cl100k
    #[arg(long, value_name = "NAME", default_value_t = Encoding::O200k, value_parser = encoding)]
    pub(crate) encoding: Encoding,

    /// Put pseudonyms in the place of secrets: private keys, tokens of known formats, passwords in addresses
    #[arg(long)]
    pub(crate) redact: bool,

    /// Redact, and take what looks random for a secret too: finds more and is wrong more often
    #[arg(long)]
    pub(crate) redact_entropy: bool,
}

impl BudgetArgs {
    /// Returns which secrets become pseudonyms.
    pub(crate) fn level(&self) -> Level {
        match (self.redact, self.redact_entropy) {
            (_, true) => Level::Entropy,
            (true, false) => Level::Formats,
            (false, false) => Level::Off,
        }
    }

    /// Refuses redaction for prompts that are there already: nothing would take their secrets out.
    pub(crate) fn refuse_redaction(&self) -> Result<(), Failure> {
        let option = match self.level() {
            Level::Off => return Ok(()),
            Level::Formats => "--redact",
            Level::Entropy => "--redact-entropy",
        };
        Err(Failure::input(format!(
            "`{option}` works on what is composed, not on a finished prompt"
        ))
        .hint("name an input and its recipe instead of a prompt"))
    }

    /// Returns the options of a composition.
    pub(crate) fn options(&self, count_tokens: bool) -> Options {
        Options {
            budget: Budget {
                bytes: self.byte_budget,
                tokens: self.token_budget,
            },
            encoding: self.encoding,
            count_tokens,
            redact: self.level(),
            // The project has the key; what composes for it knows the project.
            ..Options::default()
        }
    }
}

fn encoding(name: &str) -> Result<Encoding, String> {
    name.parse()
        .map_err(|_| "expected `o200k` or `cl100k`".to_owned())
}

/// Parses a number that may end in `k`, for thousand.
fn amount(text: &str) -> Result<usize, String> {
    let bad = || "expected a number, such as `8000` or `8k`".to_owned();
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1000),
        None => (text, 1),
    };
    let number: usize = digits.parse().map_err(|_| bad())?;
    number.checked_mul(factor).ok_or_else(bad)
}

/// Returns the word that stands for a value on the command line, which input fields share.
pub(crate) fn name_of(value: &impl ValueEnum) -> String {
    let word = value.to_possible_value();
    word.map_or_else(String::new, |word| word.get_name().to_owned())
}

/// A composition, sealed where that was asked for.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) composition: Composition,
    pub(crate) seal: Option<(Seal, Parsed)>,
    /// What a check found in it, if there was one.
    pub(crate) findings: Option<Vec<Finding>>,
}

impl InputArgs {
    /// Refuses input for a prompt that is sealed already.
    pub(crate) fn refuse_for_sealed(&self) -> Result<(), Failure> {
        let given = !self.input.is_empty() || self.prompts_dir.is_some() || !self.define.is_empty();
        if given {
            return Err(Failure::input("a sealed prompt takes no input"));
        }
        Ok(())
    }

    /// Returns the options that read stdin, as a person would name them.
    pub(crate) fn readers(&self) -> Vec<String> {
        input::readers(&self.input, &self.define)
    }

    /// Composes a recipe of the project by name.
    pub(crate) fn compose(
        &self,
        project: &Project,
        name: &str,
        options: &Options,
    ) -> Result<Composition, Failure> {
        let composed = self.compose_for(project, name, options, Keeping::Nothing)?;
        Ok(composed.composition)
    }

    /// Composes a recipe of the project by name, and seals it if it is to be kept.
    pub(crate) fn compose_for(
        &self,
        project: &Project,
        name: &str,
        options: &Options,
        keeping: Keeping,
    ) -> Result<Composed, Failure> {
        let found = project.recipe(name)?;
        let recipe = found.recipe();
        let mut document = input::read(&self.input, &self.define, &project.open()?)?;
        if let Some(folder) = &self.prompts_dir {
            if !recipe.schema.fields().any(|field| field == "prompts_dir") {
                return Err(Failure::input(format!(
                    "recipe `{name}` takes no `--prompts-dir`"
                )));
            }
            if !std::path::Path::new(folder).is_dir() {
                return Err(Failure::input(format!("`{folder}` is not a folder")));
            }
            document.set("--prompts-dir", "prompts_dir", from_here(folder)?.into());
        }
        compose_document(project, recipe, document, options, keeping)
    }
}

/// Composes a recipe of the project by name for fields of its input, and seals the prompt if it is to be kept.
pub(crate) fn compose_fields(
    project: &Project,
    name: &str,
    fields: Map<String, Value>,
    options: &Options,
    keeping: Keeping,
) -> Result<Composed, Failure> {
    let found = project.recipe(name)?;
    let document = Document::from(fields);
    compose_document(project, found.recipe(), document, options, keeping)
}

/// Composes a recipe of the project for a document, and seals the prompt if it is to be kept.
pub(crate) fn compose_document(
    project: &Project,
    recipe: &Recipe,
    document: Document,
    options: &Options,
    keeping: Keeping,
) -> Result<Composed, Failure> {
    let shown = document.file.clone();
    let given = document.given.clone();
    let input = document.complete(project, recipe)?;
    let disk = match keeping {
        Keeping::Nothing => Disk::default(),
        Keeping::Seal => Disk::watched(),
    };
    let inputs = project.inputs(&disk)?;
    let options = &Options {
        redact_key: project.settings.prompt.redact_key(),
        redact_rules: project.settings.prompt.redact_rules.clone(),
        inputs: given,
        ..options.clone()
    };
    let composed = progress::during("composing", || {
        let composition = compose(recipe, &input, &inputs, options)?;
        let seal = match keeping {
            Keeping::Nothing => None,
            Keeping::Seal => {
                let sealed = Seal::with_parsed(&composition, recipe, &input, &inputs, options);
                Some(sealed?)
            }
        };
        Ok(Composed {
            composition,
            seal,
            findings: None,
        })
    });
    composed.map_err(|error: callsheet::Error| {
        let kind = error.kind();
        let of_input = matches!(kind, ErrorKind::BadInput | ErrorKind::NoMatch);
        let error = match shown {
            Some(file) if of_input => error.at(file, None),
            _ => error,
        };
        let name = &recipe.name;
        let mut failure = Failure::from(error);
        failure = match kind {
            ErrorKind::BadInput => failure.hint(format!(
                "`callsheet schema {name}` prints what the recipe takes"
            )),
            ErrorKind::NoChange => failure
                .hint("`-D range=main..HEAD` takes commits, `-D staged:=true` what is staged"),
            _ => failure,
        };
        if of_input && project.settings.prompt.recipes.contains_key(name) {
            failure = failure.hint(format!("`{FILE}` sets fields of this recipe, too"));
        }
        failure
    })
}

/// A folder named on the command line is relative to the current folder, not to the root.
pub(crate) fn from_here(folder: &str) -> Result<String, Failure> {
    let path = std::path::absolute(folder)
        .map_err(|cause| Failure::refused("cannot tell the current folder", &cause))?;
    Ok(path.display().to_string())
}

/// Says what a composition lost and what happened, on stderr or into a file.
pub(crate) fn report_losses_and_events(
    composition: &Composition,
    events_file: Option<&std::path::Path>,
    out: Output,
) -> Result<(), Failure> {
    report::omissions(&composition.manifest.omissions, out);
    report::redactions(&composition.manifest.redactions, out);
    match events_file {
        Some(file) => {
            let mut lines = String::new();
            for event in &composition.events {
                // An event has text keys only; serialising it cannot fail.
                lines.push_str(&serde_json::to_string(event).unwrap_or_default());
                lines.push('\n');
            }
            crate::output::write_file(file, lines)
        }
        None => {
            let omissions = &composition.manifest.omissions;
            let events = composition.events.iter();
            for event in events.filter(|event| !report::is_among_omissions(event, omissions)) {
                out.warn(&format!("{}: {}", event.kind, event.message()));
            }
            Ok(())
        }
    }
}
