//! Branches of tasks between machines that share a store: through the project's git remote, or as a bundle in the store.
//!
//! With a store in a file there is one machine, and nothing travels.

use std::path::PathBuf;

use callsheet_run::travel::{self, Delivery, Parcel, Tip};
use callsheet_run::workspace::{Ground, Workspace, result_ref};
use callsheet_store::{Id, RunState, Task, Wait};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::store::Opened;
use crate::tasks::{self, Desk};

/// What ends the name of a file that says which run of a task this machine still has to hand over.
const UNPUBLISHED: &str = ".unpublished";

/// A task on its way between machines.
pub(crate) struct Journey<'a> {
    pub(crate) project: &'a Project,
    pub(crate) opened: &'a Opened,
    pub(crate) ground: &'a Ground,
    pub(crate) task: &'a Task,
}

impl<'a> Journey<'a> {
    /// Makes the journey of a task that this process holds.
    pub(crate) fn new(
        project: &'a Project,
        opened: &'a Opened,
        workspace: &'a Workspace,
        task: &'a Task,
    ) -> Self {
        Self {
            project,
            opened,
            ground: workspace.ground(),
            task,
        }
    }

    /// Tells whether other machines may have runs of the task; the main checkout is everybody's own.
    fn is_shared(&self) -> bool {
        let is_in_place = self.ground.path() == self.ground.repository().top();
        self.opened.store.location().file().is_none() && !is_in_place
    }

    fn runs(&self) -> Result<Vec<String>, Failure> {
        let runs = self
            .opened
            .store
            .runs_of_task(&self.opened.project, self.task.id)
            .wait()?;
        Ok(runs.iter().map(|run| run.id.to_string()).collect())
    }

    fn remote(&self) -> Result<Option<String>, Failure> {
        let set = self.project.settings.workspace.remote.as_deref();
        Ok(travel::remote(self.ground.repository(), set)?)
    }

    /// Brings what other machines have of the task.
    pub(crate) fn bring(&self, out: Output) -> Result<(), Failure> {
        if !self.is_shared() {
            return Ok(());
        }
        let (runs, base) = (self.runs()?, tasks::base(self.task));
        let parcel = self.parcel(&runs, &base);
        let (repository, home) = (self.ground.repository(), self.ground.home());
        let delivery = match self.remote()? {
            Some(remote) => travel::bring_from_remote(repository, home, &parcel, &remote)?,
            None => {
                let stored = self.opened.store.branch(&self.opened.project, self.task.id);
                let Some(stored) = stored.wait()? else {
                    return Ok(());
                };
                travel::unpack(repository, home, &parcel, &stored.bundle)?
            }
        };
        print_delivery(&delivery, out);
        Ok(())
    }

    /// Hands what this machine has of the task to the others; `owns_newest` says that its newest run was here.
    pub(crate) fn publish(&self, owns_newest: bool, out: Output) -> Result<(), Failure> {
        if !self.is_shared() {
            return Ok(());
        }
        let (runs, base) = (self.runs()?, tasks::base(self.task));
        let parcel = self.parcel(&runs, &base);
        let repository = self.ground.repository();
        match self.remote()? {
            Some(remote) => {
                let delivery =
                    travel::publish_to_remote(repository, &parcel, &remote, owns_newest)?;
                print_delivery(&delivery, out);
            }
            None => while !self.put(&parcel, owns_newest, out)? {},
        }
        // Without the note nothing is left to hand over.
        let _ = std::fs::remove_file(self.note());
        Ok(())
    }

    /// Puts the branch into the store; `false` where another machine was faster.
    fn put(&self, parcel: &Parcel<'_>, owns_newest: bool, out: Output) -> Result<bool, Failure> {
        let (repository, home) = (self.ground.repository(), self.ground.home());
        let (store, project) = (&self.opened.store, &self.opened.project);
        let stored = store.branch(project, self.task.id).wait()?;
        // What others have put there stays in it.
        let delivery = match &stored {
            Some(stored) if owns_newest => {
                travel::unpack_results(repository, home, parcel, &stored.bundle).map(Some)?
            }
            Some(stored) => travel::unpack(repository, home, parcel, &stored.bundle).map(Some)?,
            None => None,
        };
        if let Some(delivery) = delivery {
            print_delivery(&delivery, out);
        }
        let Some(bundle) = travel::pack(repository, parcel)? else {
            return Ok(true);
        };
        let refs = json!({"branch": parcel.branch, "runs": parcel.runs});
        let seen = stored.map(|stored| stored.at);
        Ok(store
            .put_branch(project, self.task.id, seen, (&refs, bundle))
            .wait()?)
    }

    fn parcel<'p>(&'p self, runs: &'p [String], base: &'p str) -> Parcel<'p> {
        Parcel {
            task: self.task.id.as_str(),
            branch: self.ground.own_branch(),
            runs,
            base,
        }
    }

    fn note(&self) -> PathBuf {
        note(self.ground, self.task.id)
    }

    /// Notes that this machine has work of a run of the task that the others do not have.
    ///
    /// The worktree is ready: whatever is in it from here on may be work.
    pub(crate) fn owe(&self, run: Option<Id>) -> Result<(), Failure> {
        if !self.is_shared() {
            return Ok(());
        }
        let run = run.map(|run| run.to_string()).unwrap_or_default();
        callsheet_store::write_private(&self.note(), run)
            .map_err(|cause| Failure::refused("cannot note what is to be handed over", &cause))
    }
}

fn note(ground: &Ground, task: Id) -> PathBuf {
    let worktrees = ground.path().parent().unwrap_or(ground.path());
    worktrees.join(format!("{task}{UNPUBLISHED}"))
}

/// Says what somebody may have to look at.
fn print_delivery(delivery: &Delivery, out: Output) {
    match &delivery.branch {
        Tip::Replaced { lost } => out.note(&format!(
            "another machine had gone another way with this task; its work is kept on `{lost}`"
        )),
        Tip::Diverged { tip } => out.note(&format!(
            "another machine has gone another way with this task: its branch is at {tip}"
        )),
        Tip::InUse { worktree, why } => {
            out.note(&format!("`{}` stays as it is: {why}", worktree.display()));
        }
        Tip::Absent | Tip::Same | Tip::Newer | Tip::Moved => {}
    }
    for left in &delivery.ignored {
        out.warn(left);
    }
}

/// Hands over what is left of runs that this machine could not hand over when they ended.
///
/// What cannot be handed over now is tried again by whoever comes next.
pub(crate) fn publish_left(project: &Project, opened: &Opened, desk: &Desk, out: Output) {
    let entries = std::fs::read_dir(desk.worktrees())
        .into_iter()
        .flatten()
        .flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(task) = name.strip_suffix(UNPUBLISHED) else {
            continue;
        };
        if let Err(failure) = publish_one(project, opened, desk, task, out) {
            out.warn(&format!("task {task}: {}", failure.text()));
        }
    }
}

fn publish_one(
    project: &Project,
    opened: &Opened,
    desk: &Desk,
    task: &str,
    out: Output,
) -> Result<(), Failure> {
    let task = tasks::find(opened, task)?;
    let Ok(workspace) = desk.workspace(project, opened, &task, false) else {
        // Somebody works on it.
        return Ok(());
    };
    let journey = Journey::new(project, opened, &workspace, &task);
    let noted = std::fs::read_to_string(journey.note()).unwrap_or_default();
    let runs = opened.store.runs_of_task(&opened.project, task.id).wait()?;
    let ours = runs.iter().rfind(|run| run.id.as_str() == noted);
    let Some(newest) = runs.last() else {
        return Ok(());
    };
    if ours.unwrap_or(newest).state != RunState::Finished {
        return Ok(());
    }
    let kept = || -> Result<bool, Failure> {
        let name = result_ref(newest.id.as_str());
        Ok(workspace.ground().repository().rev(&name)?.is_some())
    };
    let owns_newest = match ours {
        Some(run) => run.id == newest.id,
        None => kept()?,
    };
    journey.publish(owns_newest, out)
}
