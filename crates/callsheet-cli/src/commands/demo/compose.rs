//! `demo --compose`: prompts from real files, sealed, proven and compared, and an agent that is run on one.

mod kept;

use std::path::Path;
use std::process::ExitCode;

use callsheet::Composition;
use callsheet_run::document::document;
use callsheet_run::git;
use callsheet_run::sandbox::WorkingDirectory;
use callsheet_store::{Id, RunKind};
use serde_json::{Value, json};

use super::{demo_files, heading, own_project, say, write_files};
use crate::commands::exec::{Errand, Texts};
use crate::commands::init::{set_up, settings};
use crate::failure::Failure;
use crate::options::{BudgetArgs, Composed, InputArgs, Keeping, report_losses_and_events};
use crate::output::{Look, Output, Talk, write_file};
use crate::project::Project;
use crate::settings::FILE;
use crate::{report, sandbox, store};

const FILES: [(&str, &str); 14] = demo_files!["compose/";
    "_bmad-output/planning-artifacts/sprint-project-context.md" => "project-context.md",
    "_bmad-output/implementation-artifacts/sprint-2a-1.md" => "story-2a-1.md",
    "_bmad-output/implementation-artifacts/sprint-2a-1-discovery-story.md" => "discovery-2a-1.md",
    "_bmad-output/implementation-artifacts/sprint-2a-10.md" => "story-2a-10.md",
    "README.md" => "README.md",
    "CLAUDE.md" => "CLAUDE.md",
    "profile.md" => "profile.md",
    "src/login.rs" => "login.rs.txt",
    "src/session.rs" => "session.rs.txt",
    "layers.yaml" => "layers.yaml",
    "messages.yaml" => "messages.yaml",
    "first.yaml" => "first.yaml",
    "retry.yaml" => "retry.yaml",
    "agent.toml" => "agent.toml",
];

/// The runner of the demo: it plays a script, so that there is no need of a model.
const RUNNER: &str = "\n[runners.demo]\nadapter = \"scripted\"\nscript = \"agent.toml\"\n";

/// A step: what it shows, the command that does the same, and how to compose it.
struct Step {
    title: &'static str,
    command: &'static str,
    recipe: &'static str,
    define: &'static [&'static str],
    input: Option<&'static str>,
    budget: Option<usize>,
}

const STEPS: [Step; 6] = [
    Step {
        title: "Files that belong to a story, as XML for a system prompt",
        command: "callsheet inject --command dev-story --story 2a-1 --discovery --seal",
        recipe: "injection",
        define: &[
            "command_name=dev-story",
            "story_keys:=[\"2a-1\"]",
            "additional_files:=[]",
            "include_discovery:=true",
        ],
        input: None,
        budget: None,
    },
    Step {
        title: "Identity, project context and task, as a system prompt in layers",
        command: "callsheet compose layers --input layers.yaml --seal",
        recipe: "layers",
        define: &[],
        input: Some("layers.yaml"),
        budget: None,
    },
    Step {
        title: "One step of a workflow, as messages without a real path",
        command: "callsheet compose messages --input messages.yaml --format text --seal",
        recipe: "messages",
        define: &[],
        input: Some("messages.yaml"),
        budget: None,
    },
    Step {
        title: "A task, as an agent gets it first",
        command: "callsheet compose run --input first.yaml --seal",
        recipe: "run",
        define: &[],
        input: Some("first.yaml"),
        budget: None,
    },
    Step {
        title: "A task that is tried again, with the facts of the run before",
        command: "callsheet compose run --input retry.yaml --seal",
        recipe: "run",
        define: &[],
        input: Some("retry.yaml"),
        budget: None,
    },
    Step {
        title: "A source tree as one prompt, within a budget",
        command: "callsheet pack src --byte-budget 650 --seal",
        recipe: "pack",
        define: &["globs:=[\"src\"]"],
        input: None,
        budget: Some(650),
    },
];

/// The steps that are the first and the second attempt at one task.
const ATTEMPTS: (usize, usize) = (3, 4);

/// The command that hands the first attempt to the agent of the demo.
const EXEC: &str = "callsheet exec run --input first.yaml";

/// What is worth a second look in that run.
const WHAT_IT_SAID: &str = "
The agent said that every test passes. That is its claim: `callsheet log` has it, and the facts above do not depend on it.

";

const NEXT: &str = "
  callsheet runs                                   which agents ran, and what came of it
  callsheet prompts                                what is sealed
  callsheet why --text 'Session tokens'            which prompts carried a text, and where it came from
  callsheet search lock address                    sealed texts by their words
  callsheet explain layers --input layers.yaml     which section costs what
  callsheet recipe eject layers --as mine          change the recipe itself
  callsheet --help                                 everything else
";

/// Makes the project and shows what is made of it.
pub(super) fn run(folder: &Path, out: Output) -> Result<ExitCode, Failure> {
    make_project(folder)?;
    let shown = folder.display();
    say(out, &format!("A small project stands in {shown}\n\n"))?;
    let project = own_project(folder, out)?;
    let (mut documents, mut ids) = (Vec::new(), Vec::new());
    for (number, step) in STEPS.iter().enumerate() {
        let mut composed = step.compose(folder, &project)?;
        step.show(number + 1, &mut composed.composition, out)?;
        if let Some(seal) = composed.seal {
            let sealed = store::seal(&project, seal)?;
            sealed.print(out);
            ids.push(sealed.id);
        }
        say(out, "\n")?;
        documents.push(composed.composition.document());
    }
    let steps = kept::steps(&project, ids[ATTEMPTS.0], ids[ATTEMPTS.1])?;
    for (number, step) in (STEPS.len() + 1..).zip(&steps) {
        let heading = heading(&format!("{number}. {}", step.title));
        say(out, &step_text(&heading, &step.command, &step.text))?;
        say(out, "\n")?;
    }
    let run = self::run_agent(&project, ids[ATTEMPTS.0], out)?;
    let number = STEPS.len() + steps.len() + 1;
    let heading = heading(&format!("{number}. The first attempt, handed to an agent"));
    let facts = crate::run::facts(&run);
    say(out, &step_text(&heading, EXEC, &facts))?;
    say(out, WHAT_IT_SAID)?;
    if out.json {
        let root = folder.display().to_string();
        let mut document = json!({
            "schema": "callsheet.demo/1", "root": root, "compositions": documents, "prompts": ids, "run": run,
        });
        for step in steps {
            document[step.name] = step.document;
        }
        out.document(&document)?;
    }
    let next = super::heading("What to try next");
    say(out, &format!("{next}\n  cd {shown}{NEXT}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Hands a sealed prompt to the agent of the demo and returns the document of the run.
fn run_agent(project: &Project, sealed: Id, out: Output) -> Result<Value, Failure> {
    let opened = store::open(project)?;
    let (_, seal) = opened.sealed(sealed.as_str())?;
    let sandbox = sandbox::of(project, WorkingDirectory::Project)?;
    let runners = project.runners();
    let mut runner = runners.resolve("demo", project.root(), sandbox.is_some())?;
    let errand = Errand {
        sealed,
        texts: Texts {
            prompt: seal.text()?,
            system: None,
        },
        script: crate::run::script(project, &runner)?,
        sandbox,
        probe: false,
        kind: RunKind::First,
        parent: None,
        task: None,
        claim: None,
    };
    let quiet = Output {
        talk: Talk::Quiet,
        ..out
    };
    Ok(document(&errand.run(project, &mut runner, quiet)?.run))
}

impl Step {
    fn compose(&self, folder: &Path, project: &Project) -> Result<Composed, Failure> {
        let input = InputArgs {
            input: self
                .input
                .iter()
                .map(|file| folder.join(file).display().to_string())
                .collect(),
            define: self
                .define
                .iter()
                .map(|define| (*define).to_owned())
                .collect(),
            prompts_dir: None,
        };
        let budget = BudgetArgs {
            byte_budget: self.budget,
            ..BudgetArgs::default()
        };
        input.compose_for(project, self.recipe, &budget.options(false), Keeping::Seal)
    }

    fn show(
        &self,
        number: usize,
        composition: &mut Composition,
        out: Output,
    ) -> Result<(), Failure> {
        let encoding = BudgetArgs::default().encoding;
        composition.manifest.count(encoding, &composition.text);
        let heading = heading(&format!("{number}. {}", self.title));
        let table = report::table(&composition.manifest);
        let result = format!("{}\n\n{}", composition.plain().trim_end(), table.trim_end());
        say(out, &step_text(&heading, self.command, &result))?;
        report_losses_and_events(
            composition,
            None,
            Output {
                talk: out.talk.min(Talk::Normal),
                ..out
            },
        )
    }
}

/// Returns a step as it is told: what it is about, the command, and what that gives.
fn step_text(heading: &str, command: &str, result: &str) -> String {
    let command = Look::Dim.on(&format!("$ {command}"));
    let result = result.trim_end();
    format!("{heading}\n{command}\n\n{result}\n")
}

fn make_project(folder: &Path) -> Result<(), Failure> {
    write_file(&folder.join(FILE), settings(RUNNER))?;
    set_up(folder)?;
    write_files(folder, &FILES)?;
    // Without git there is less to observe, and nothing else is missing.
    let _ = git::begin(folder);
    Ok(())
}
