//! `state`: the state of a run, shown and changed along the graph of its workflow.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use callsheet::package::{Graph, Package};
use callsheet::state::{
    self, Append, STATE_FILE, State, StateCode, StateError, Update, read_graph, replace, update,
};
use callsheet::{Error, Fingerprint, document};
use serde_json::json;

use crate::failure::{Failure, did_you_mean};
use crate::input::{defined, not_read};
use crate::output::{Output, one_line, write_below};
use crate::project::Project;

/// Show or change the state of a run
///
/// A change is written only if the new state fits its schema, forgets no completed step, and is at a node that an edge
/// of the graph leads to. The text below the header stays byte for byte as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet state show run-1/state --package packages/story-writer
  callsheet state set run-1/state --package packages/story-writer --done step-01 --go step-02
  callsheet state set run-1/state --package packages/story-writer --update change.json --if-match b3:…")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Show where a run is, and where it may go
    Show(WorkflowRun),
    /// Change the state of a run
    Set(Box<Set>),
}

/// Which run of which workflow.
#[derive(Debug, clap::Args)]
struct WorkflowRun {
    /// The folder with the workflow.md of the run
    folder: PathBuf,

    /// The folder of the package
    #[arg(long, value_name = "DIR")]
    package: PathBuf,

    /// The workflow, for a package with several [default: the one that the state names]
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Set {
    #[command(flatten)]
    run: WorkflowRun,

    /// Add a node to the completed steps
    #[arg(long, value_name = "NODE")]
    done: Vec<String>,

    /// Go to a node
    #[arg(long, value_name = "NODE")]
    go: Option<String>,

    /// Set a variable: text with `=`, JSON with `:=`; `@FILE` or `@-` reads the value from a file or stdin
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    define: Vec<String>,

    /// Add a file to the artifacts, relative to the project
    #[arg(long, value_name = "PATH")]
    artifact: Vec<String>,

    /// Set the time of the change
    #[arg(long, value_name = "TIME")]
    updated_at: Option<String>,

    /// A file with changes as JSON: `{"stepsCompleted": {"append": […]}, "currentNodeId": {"set": …}, …}`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["done", "go", "define", "artifact", "updated_at"])]
    update: Option<PathBuf>,

    /// A file with the whole new text
    #[arg(long, value_name = "FILE", conflicts_with_all = ["update", "done", "go", "define", "artifact", "updated_at"])]
    text: Option<PathBuf>,

    /// Change this state only: the fingerprint that `state show` tells
    #[arg(long, value_name = "FINGERPRINT")]
    if_match: Option<Fingerprint>,
}

/// What stops a command: a code of the state, or anything else.
enum Stop {
    State(Box<StateError>),
    Other(Failure),
}

impl From<StateError> for Stop {
    fn from(error: StateError) -> Self {
        Self::State(Box::new(error))
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Other(error.into())
    }
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let done = match &self.command {
            Command::Show(run) => run.show(project, out),
            Command::Set(set) => set.run(project, out),
        };
        match done {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(Stop::Other(failure)) => Err(failure),
            Err(Stop::State(error)) => {
                if out.json {
                    let code = error.code.as_str();
                    out.document(&json!({
                        "schema": "callsheet.state/1", "ok": false,
                        "error": {"code": code, "message": error.message, "details": error.details},
                    }))?;
                }
                Err(failure(&error))
            }
        }
    }
}

/// Returns the failure of a state, with the node that was probably meant.
fn failure(error: &StateError) -> Failure {
    let failure = Failure::input(error.to_string());
    let texts = |field: &str, name: &str| -> Vec<String> {
        let items = error.details[field].as_array().into_iter().flatten();
        let texts = items.map(|item| item.as_str().or_else(|| item[name].as_str()));
        texts.flatten().map(str::to_owned).collect()
    };
    let found = error.details["found"].as_str();
    let found = found.or_else(|| error.details["to"].as_str());
    let mut allowed = texts("allowed", "");
    allowed.extend(texts("allowedNext", "to"));
    match found.and_then(|found| did_you_mean(found, &allowed)) {
        Some(name) => failure.hint(format!("did you mean `{name}`?")),
        None if error.details["found"].is_string() => {
            failure.hint(format!("there are `{}`", allowed.join("`, `")))
        }
        None if error.code == StateCode::InvalidFrontmatter => {
            failure.hint("`--text FILE` takes the whole new text")
        }
        None => failure,
    }
}

impl WorkflowRun {
    /// Waits until no other change of this state is under way, so that none of them is lost.
    ///
    /// The folder is what is locked: the file is another one after each change. Where a folder cannot be opened or
    /// locked, `--if-match` is left.
    fn lock(&self) -> Result<Option<File>, Failure> {
        let Ok(folder) = File::open(&self.folder) else {
            return Ok(None);
        };
        match folder.lock() {
            Err(cause) if cause.kind() != ErrorKind::Unsupported => {
                let what = format!("cannot lock `{}`", self.folder.display());
                Err(Failure::refused(&what, &cause))
            }
            locked => Ok(locked.is_ok().then_some(folder)),
        }
    }

    fn read(&self, project: &Project) -> Result<(State, Graph), Stop> {
        if !self.folder.exists() {
            let message = format!("there is no folder `{}`", self.folder.display());
            return Err(StateError::new(StateCode::StateFileNotFound, message).into());
        }
        let state = State::read(&project.open_folder(&self.folder)?)?;
        let root = project.open_folder(&self.package)?;
        let package = Package::open(&root)?;
        let recorded = state.fields().get("workflowRef");
        let recorded =
            recorded.and_then(|value| value.as_str().or_else(|| value["value"].as_str()));
        let named = self.workflow.as_deref().or(recorded);
        let workflow = package.workflow(named).map_err(|error| match named {
            Some(_) => Failure::from(error),
            None => {
                let ids = error.allowed().join("`, `");
                Failure::input("WORKFLOW_REF_REQUIRED: the package has several workflows")
                    .hint(format!("name one with `--workflow`: `{ids}`"))
            }
        })?;
        let graph = read_graph(&root, &workflow)?;
        Ok((state, graph))
    }

    fn show(&self, project: &Project, out: Output) -> Result<(), Stop> {
        let (state, graph) = self.read(project)?;
        Ok(print_state(&state, &graph, out)?)
    }
}

impl Set {
    fn run(&self, project: &Project, out: Output) -> Result<(), Stop> {
        let _lock = self.run.lock()?;
        let (old, graph) = self.run.read(project)?;
        let new = if let Some(file) = &self.text {
            replace(old.text(), &read(file)?, &graph, self.if_match)?
        } else {
            update(old.text(), &graph, &self.change()?, self.if_match)?
        };
        let state = State::parse(new)?;
        if state.text() != old.text() {
            let folder = project.open_folder(&self.run.folder)?;
            write_below(&folder, STATE_FILE, state.text())?;
        }
        Ok(print_state(&state, &graph, out)?)
    }

    fn change(&self) -> Result<Update, Failure> {
        let update = match &self.update {
            Some(file) => written(file)?,
            None => self.asked()?,
        };
        if update.is_empty() {
            return Err(Failure::input("there is nothing to change").hint(
                "say what with `--done`, `--go`, `-D`, `--artifact`, `--updated-at`, `--update` or `--text`",
            ));
        }
        Ok(update)
    }

    /// Returns the change that the flags ask for.
    fn asked(&self) -> Result<Update, Failure> {
        let append = |items: &[String]| {
            let append = items.to_vec();
            (!items.is_empty()).then_some(Append { append })
        };
        let variables = defined(&self.define)?;
        Ok(Update {
            steps_completed: append(&self.done),
            artifacts: append(&self.artifact),
            variables: (!variables.is_empty()).then_some(state::Set { set: variables }),
            current_node_id: self.go.clone().map(|set| state::Set { set }),
            updated_at: self.updated_at.clone().map(|set| state::Set { set }),
            decision_log: None,
        })
    }
}

/// Returns the change that a file describes.
fn written(file: &Path) -> Result<Update, Failure> {
    let shown = file.display().to_string();
    let document = document::json(&read(file)?);
    let document = document.map_err(|malformed| not_read(&shown, "JSON", &malformed))?;
    Update::from_document(&document)
        .map_err(|misfit| Failure::input(format!("{shown}: {}", misfit.reason)))
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|cause| Failure::refused(&format!("cannot read `{}`", file.display()), &cause))
}

/// Prints where a run is, and where it may go.
fn print_state(state: &State, graph: &Graph, out: Output) -> Result<(), Failure> {
    let node = match state.current_node(graph) {
        Ok(node) => node,
        Err(error) => return Err(Failure::input(error.to_string())),
    };
    let completed = state.is_completed(graph);
    let next: Vec<_> = graph.from(&node.id).collect();
    if out.json {
        return out.document(&json!({
            "schema": "callsheet.state/1", "ok": true, "fingerprint": state.fingerprint(), "currentNodeId": node.id,
            "completed": completed, "allowedNext": next, "frontmatter": state.fields(),
        }));
    }
    let done = state.steps_completed();
    let done = if done.is_empty() {
        "-".to_owned()
    } else {
        done.join(", ")
    };
    let mut text = format!("node         {} ({})\n", node.id, node.kind);
    text.push_str(&one_line(&format!("done         {done}")));
    text.push_str(&format!(
        "\ncompleted    {}\n",
        if completed { "yes" } else { "no" }
    ));
    for edge in next {
        let default = if edge.is_default { ", default" } else { "" };
        text.push_str(&one_line(&format!(
            "next         {} ({}{default})",
            edge.to, edge.label
        )));
        text.push('\n');
    }
    text.push_str(&format!("fingerprint  {}\n", state.fingerprint()));
    out.text(&text)
}
