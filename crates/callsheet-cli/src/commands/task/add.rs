//! `task add`: what is to be done, and what may be written for it.

use std::process::ExitCode;

use callsheet_run::tasks::TaskBody;
use callsheet_run::{RunError, tasks};
use callsheet_store::{Id, NewTask, Task, Wait};
use serde_json::json;

use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::project::Project;
use crate::store::{self, Opened};
use crate::tasks::{find, state};

/// Add a task
///
/// Prints the id of the task. What a task asks for never changes afterwards.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(override_usage = "callsheet task add --title <TEXT> --write <GLOB>... [OPTIONS]")]
#[command(after_help = "\
Examples:
  callsheet task add --title 'Fix the login' --write 'src/auth/**' 'tests/auth/**'
  callsheet task add --title 'Fix it' --write 'src/**' --done-when 'the tests pass'
  callsheet task add --title 'Fix it' --write 'src/**' --exclude '**/*.env' --base next
  callsheet task add --title 'Fix it' --write 'src/**' --description @it.md --depends 1m7f6zc9")]
pub(crate) struct Args {
    #[command(flatten)]
    new: New,
}

/// What a new task is.
#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// What it is called, in a line; required
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Patterns of the paths that may be written; required
    #[arg(long, value_name = "GLOB", num_args = 1..)]
    write: Vec<String>,

    /// Patterns of the paths that may not be touched, even where they may be written
    #[arg(long, value_name = "GLOB", num_args = 1..)]
    exclude: Vec<String>,

    /// What is to be done; `@FILE` reads a file, `@-` stdin
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// What holds when it is done
    #[arg(long, value_name = "TEXT", num_args = 1..)]
    done_when: Vec<String>,

    /// Tasks that have to be done first
    #[arg(long, value_name = "ID", num_args = 1..)]
    depends: Vec<String>,

    /// The branch that it starts from and is merged into [default: `workspace.base`, else the one that is checked out]
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        // What is wrong with it is told before a store is made.
        let (title, body) = (self.new.title()?, self.new.body(project)?);
        let opened = store::open_to_write(project)?;
        let task = self.new.add(title, &body, &opened)?;
        if out.json {
            out.document(&tasks::document(&state(project, &opened, task.id)?))?;
        } else {
            out.text(&format!("{}\n", task.id))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl New {
    /// Adds the task to a store that is open.
    pub(crate) fn add_to(&self, project: &Project, opened: &Opened) -> Result<Task, Failure> {
        self.add(self.title()?, &self.body(project)?, opened)
    }

    fn add(&self, title: String, body: &TaskBody, opened: &Opened) -> Result<Task, Failure> {
        let depends = self.depends.iter().map(|name| Ok(find(opened, name)?.id));
        let new = NewTask {
            title,
            body: json!(body),
            depends: depends.collect::<Result<Vec<Id>, Failure>>()?,
        };
        let id = opened.store.add_task(&opened.project, new).wait()?;
        find(opened, id.as_str())
    }

    fn title(&self) -> Result<String, Failure> {
        let title = self.title.as_deref().unwrap_or_default().trim();
        if title.is_empty() {
            return Err(Failure::input("a task needs a title")
                .hint("`--title TEXT` says what it is called"));
        }
        if title.contains(char::is_control) {
            return Err(
                Failure::input("the title has more than one line, or a control character")
                    .hint("`--description TEXT` takes more than a line"),
            );
        }
        Ok(title.to_owned())
    }

    fn body(&self, project: &Project) -> Result<TaskBody, Failure> {
        if self.write.is_empty() {
            return Err(Failure::input("a task needs a write scope").hint(
                "`--write GLOB…` says which paths may be written, such as `--write 'src/**'`",
            ));
        }
        if self.done_when.iter().any(|text| text.trim().is_empty()) {
            return Err(Failure::input("a text of `--done-when` is empty"));
        }
        let description = self.description.as_deref().map(input::given).transpose()?;
        let body = TaskBody {
            description: description.filter(|text| !text.trim().is_empty()),
            write_scope: self.write.clone(),
            exclude: self.exclude.clone(),
            done_when: self.done_when.clone(),
            base: None,
        };
        body.check("--write", "--exclude")?;
        Ok(TaskBody {
            base: Some(self.base(project)?),
            ..body
        })
    }

    /// Returns the branch that the task starts from.
    fn base(&self, project: &Project) -> Result<String, Failure> {
        let set = project.settings.workspace.base.as_deref();
        let asked = self.base.as_deref().or(set);
        let found = tasks::base(project.root(), asked).map_err(|error| match &error {
            RunError::Input(why) if why.ends_with("not a git repository") => {
                Failure::input(format!("tasks need git: {error}"))
                    .hint("`git init` makes a repository")
            }
            RunError::Input(_) => Failure::input(format!("tasks need git: {error}"))
                .hint("the `callsheet.toml` of a project with tasks belongs to the top"),
            _ => {
                let failure = Failure::from(error);
                match (&self.base, set) {
                    (None, Some(_)) => failure.hint("the setting `workspace.base` names it"),
                    _ => failure,
                }
            }
        })?;
        found.ok_or_else(|| {
            Failure::input("no branch is checked out")
                .hint("`--base BRANCH` says which one the task starts from")
        })
    }
}
