//! What the commands about tasks share: finding one, where it is worked on, and what became of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use callsheet_run::sandbox::{Sandbox, WorkingDirectory};
use callsheet_run::tasks::{self as observed, TaskRun, TaskState, Terms, View, Waiting};
use callsheet_run::workspace::{Site, Wanted, Workspace, result_ref};
use callsheet_run::{Interrupts, document, drive};
use callsheet_store::{Annotation, Id, Run, RunState, StoreError, Task, Wait};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store::Opened;
use crate::target::could_be_id;
use crate::{progress, run, sandbox, store};

/// Returns a list of texts in a document.
pub(crate) fn field(document: &Value, name: &str) -> Vec<String> {
    let texts = document[name].as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the branch that a task is for.
pub(crate) fn base(task: &Task) -> String {
    task.body["base"].as_str().unwrap_or_default().to_owned()
}

/// Opens the store for writing, with every run in a true state; there has to be one.
pub(crate) fn open(project: &Project, out: Output) -> Result<Opened, Failure> {
    if store::open_if_there(project)?.is_none() {
        return Err(Failure::input("there are no tasks in this project")
            .hint("`callsheet task add` adds one"));
    }
    run::open_to_write(project, out)
}

/// Finds a task by its id or a unique prefix.
pub(crate) fn find(opened: &Opened, name: &str) -> Result<Task, Failure> {
    let hint = "`callsheet task list` lists them";
    if !could_be_id(name) {
        return Err(Failure::input(format!("`{name}` is not the id of a task")).hint(hint));
    }
    opened
        .store
        .task(&opened.project, name)
        .wait()
        .map_err(|error| match &error {
            StoreError::Unknown { candidates, .. } if candidates.is_empty() => {
                // Whoever has just seen a run end has its id at hand.
                let run = opened.store.run(&opened.project, name).wait();
                match run.ok().and_then(|run| run.task) {
                    Some(task) => Failure::input(format!("`{name}` is a run, not a task"))
                        .hint(format!("it is a run of task `{task}`")),
                    None => Failure::input(error.to_string()).hint(hint),
                }
            }
            _ => error.into(),
        })
}

/// Finds a run of a task that is over, and its task.
pub(crate) fn finished(opened: &Opened, name: &str) -> Result<(Run, Task), Failure> {
    let run = run::find(opened, name).map_err(|failure| {
        match opened.store.task(&opened.project, name).wait() {
            Ok(task) => Failure::input(format!("`{name}` is a task, not a run"))
                .hint(format!("`callsheet task show {}` lists its runs", task.id)),
            Err(_) => failure,
        }
    })?;
    let Some(task) = run.task else {
        return Err(
            Failure::input(format!("run `{}` is not a run of a task", run.id))
                .hint("`callsheet run` makes such runs; `exec` does not"),
        );
    };
    if run.state != RunState::Finished {
        return Err(Failure::missing(format!("run `{}` is not over", run.id))
            .hint(format!("`callsheet stop {}` ends it", run.id)));
    }
    let task = find(opened, task.as_str())?;
    Ok((run, task))
}

/// Returns what was added to a run after it finished, the oldest first.
pub(crate) fn annotations(opened: &Opened, run: &Run) -> Result<Vec<Annotation>, Failure> {
    let mut found = opened
        .store
        .annotations(&opened.project, &[run.id])
        .wait()?;
    Ok(found.remove(&run.id).unwrap_or_default())
}

/// Returns the documents of runs with what was added to them since.
pub(crate) fn documents(opened: &Opened, runs: &[Run]) -> Result<Vec<Value>, Failure> {
    let ids: Vec<Id> = runs.iter().map(|run| run.id).collect();
    let mut added = opened.store.annotations(&opened.project, &ids).wait()?;
    let document = |run: &Run| {
        let added = added.remove(&run.id).unwrap_or_default();
        document::document_with(run, &added)
    };
    Ok(runs.iter().map(document).collect())
}

/// Returns the document of a run with what was added to it since.
pub(crate) fn document(opened: &Opened, run: &Run) -> Result<Value, Failure> {
    Ok(document::document_with(run, &annotations(opened, run)?))
}

/// Where the tasks of a project are worked on.
pub(crate) struct Desk {
    root: PathBuf,
    home: PathBuf,
    /// This program.
    pub(crate) program: PathBuf,
    /// The environment of this process.
    pub(crate) environment: BTreeMap<String, String>,
    out: Output,
}

impl Desk {
    /// Finds out where the tasks of a project are worked on.
    pub(crate) fn of(project: &Project, out: Output) -> Result<Self, Failure> {
        // The files of a run are on this machine, wherever its record is.
        store::make_folder(project)?;
        let program = std::env::current_exe()
            .map_err(|cause| Failure::refused("cannot tell where callsheet is", &cause))?;
        Ok(Self {
            root: run::real(project.root())?,
            home: store::folder(project),
            program,
            environment: run::environment(),
            out,
        })
    }

    /// Returns the site of the tasks.
    pub(crate) fn site<'a>(&'a self, project: &'a Project) -> Site<'a> {
        Site {
            root: &self.root,
            home: &self.home,
            settings: &project.settings.workspace,
            program: &self.program,
            environment: &self.environment,
        }
    }

    /// Returns the directory of the worktrees.
    pub(crate) fn worktrees(&self) -> PathBuf {
        self.home.join("worktrees")
    }

    /// Takes the workspace of a task.
    pub(crate) fn hold(
        &self,
        project: &Project,
        task: &Task,
        in_place: bool,
    ) -> Result<Workspace, Failure> {
        let Site { root, home, .. } = self.site(project);
        Ok(if in_place {
            Workspace::hold_in_place(root, home)?
        } else {
            Workspace::hold(root, home, task.id.as_str())?
        })
    }

    /// Takes the workspace of a task, with every run in it in a true state; this process has no run yet.
    ///
    /// What a killed process left is put on record before anything changes there.
    pub(crate) fn workspace(
        &self,
        project: &Project,
        opened: &Opened,
        task: &Task,
        in_place: bool,
    ) -> Result<Workspace, Failure> {
        let workspace = self.hold(project, task, in_place)?;
        let settled = drive::settle(&opened.runs(&self.home), Some(&workspace))?;
        run::tell_settled(&settled, self.out);
        Ok(workspace)
    }

    /// Makes a worktree ready for an agent; the main checkout is taken as it is.
    pub(crate) fn ready(
        &self,
        project: &Project,
        workspace: &Workspace,
        terms: &Terms,
        (restore, runs): (Option<&str>, &[String]),
    ) -> Result<(), Failure> {
        if terms.in_place {
            return Ok(());
        }
        let sandbox = check_sandbox(project, workspace, terms.in_place)?;
        let wanted = Wanted {
            base: &terms.base,
            scope: &terms.scope,
            restore,
            runs,
            sandbox: sandbox.as_ref(),
        };
        let site = self.site(project);
        let mut notes = Vec::new();
        let mut note = |line: &str| notes.push(line.to_owned());
        let made = progress::during("making the worktree ready", || {
            workspace.ready(&site, &wanted, &mut note)
        });
        // They may say why it failed.
        for note in notes {
            self.out.note(&note);
        }
        Ok(made?)
    }
}

/// Returns the commit that the newest run of a task came to, and the ids of all its runs.
pub(crate) fn results(
    opened: &Opened,
    task: &Task,
) -> Result<(Option<String>, Vec<String>), Failure> {
    let runs = opened.store.runs_of_task(&opened.project, task.id).wait()?;
    let result = |run: &Run| run::text(run.outcome.as_ref()?, "/result");
    let ids = runs.iter().map(|run| run.id.to_string()).collect();
    Ok((runs.iter().rev().find_map(result), ids))
}

/// Returns what checks may write, where agents are in the sandbox.
pub(crate) fn check_sandbox(
    project: &Project,
    workspace: &Workspace,
    in_place: bool,
) -> Result<Option<Sandbox>, Failure> {
    let place = if in_place {
        WorkingDirectory::Project
    } else {
        WorkingDirectory::Worktree
    };
    let given = sandbox::of(project, place)?;
    Ok(given.map(|given| {
        let mut write = workspace.writable(given);
        write.push(workspace.ground().path().to_owned());
        Sandbox { write }
    }))
}

/// Returns the newest run of a task that came to something, and the commit that it came to.
///
/// The ref of the run counts before its record: a run that another machine settled has none in its record.
pub(crate) fn newest<'a>(
    workspace: &Workspace,
    state: &'a TaskState,
) -> Result<Option<(&'a TaskRun, String)>, Failure> {
    let repository = workspace.ground().repository();
    for one in state.runs.iter().rev() {
        let kept = repository.rev(&result_ref(one.run.id.as_str()))?;
        if let Some(result) = kept.or_else(|| run::text(&one.document, "/result")) {
            return Ok(Some((one, result)));
        }
    }
    Ok(None)
}

/// Somebody who waits for checks, and may press Ctrl-C.
pub(crate) struct Patience {
    pub(crate) interrupts: Interrupts,
    pub(crate) out: Output,
}

impl Waiting for Patience {
    fn say(&mut self, line: &str) {
        self.out.say(line);
    }

    fn is_stopped(&mut self) -> bool {
        self.interrupts.count() > 0
    }
}

/// Returns a task with its status.
pub(crate) fn state(project: &Project, opened: &Opened, task: Id) -> Result<TaskState, Failure> {
    let view = View::of(project.root());
    let found = observed::status(&opened.store, &opened.project, task.as_str(), &view);
    Ok(progress::during("looking at the task", || found)?)
}
