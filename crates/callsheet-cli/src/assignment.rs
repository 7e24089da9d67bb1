//! From a task to a run of it: what has to hold, the terms, the prompt, and who runs it.

use std::collections::BTreeMap;
use std::process::ExitCode;

use callsheet::Options;
use callsheet::profile::Profiles;
use callsheet::recipe::FOR_TASKS;
use callsheet::scope::{ScopeSnapshot, ScopeSources};
use callsheet::task::{Clash, TaskStatus, clash};
use callsheet_run::sandbox::WorkingDirectory;
use callsheet_run::tasks::{Terms, meetings};
use callsheet_run::{Resolved, document, drive};
use callsheet_store::{Id, NewRun, Run, RunKind, RunState, Task, Wait};
use serde_json::{Map, Value, json};

use crate::commands::exec::{self, Errand, TaskErrand, Texts};
use crate::failure::Failure;
use crate::options::{Keeping, compose_fields};
use crate::output::Output;
use crate::project::Project;
use crate::store::{self, Opened};
use crate::tasks::{self, Desk, field};
use crate::travel::Journey;
use crate::{report, run, sandbox};

/// Who runs a task, and where.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Order {
    /// Who runs it: a runner of callsheet.toml, or claude, codex, gemini or opencode [default: see `callsheet doctor`]
    #[arg(long, value_name = "NAME", conflicts_with = "profile")]
    pub(crate) runner: Option<String>,

    /// Run it with the role, runner, model and excludes of an agent profile
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// The model, in the words of the CLI, instead of the runner's
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Work in the main checkout instead of a worktree: you commit the work yourself, and there is a sandbox only if
    /// `mode = true` asks for it
    #[arg(long)]
    pub(crate) in_place: bool,

    /// Leave the run to a worker instead of waiting for it
    #[arg(long)]
    pub(crate) queue: bool,

    /// Try an account once that is parked or stopped; a success opens it again
    #[arg(long)]
    pub(crate) probe: bool,
}

impl Order {
    /// Returns who runs the task.
    pub(crate) fn resolve(
        &self,
        project: &Project,
        is_sandboxed: bool,
    ) -> Result<Resolved, Failure> {
        let profile = self.profile(project)?;
        let profile_text = |field: &str| run::text(profile.as_ref()?, field);
        let named = self.runner.clone().or_else(|| profile_text("/runner"));
        let name = run::choose(project, named.as_deref())?;
        let runners = project.runners();
        let mut runner = runners.resolve(&name, project.root(), is_sandboxed)?;
        if let Some(model) = self.model.clone().or_else(|| profile_text("/model")) {
            runner.runner.model = Some(model);
        }
        Ok(runner)
    }

    /// Returns the profile that is asked for, as a document.
    fn profile(&self, project: &Project) -> Result<Option<Value>, Failure> {
        let Some(name) = &self.profile else {
            return Ok(None);
        };
        let profiles = Profiles::read(&project.open()?, &project.settings.prompt)?;
        let (_, profile) = profiles.find(name)?;
        Ok(Some(Value::Object(profile.document())))
    }

    /// Fills what nobody said from the run that is repeated or continued.
    pub(crate) fn or_as(mut self, before: &Run) -> Self {
        let document = document::document(before);
        let text = |field: &str| run::text(&document, field);
        if self.runner.is_none() && self.profile.is_none() {
            self.profile = text("/profile");
            if self.profile.is_none() {
                self.runner = text("/runner");
            }
            self.model = self.model.or_else(|| text("/model"));
        }
        self.in_place |= document["in_place"] == true;
        self
    }
}

/// A task that is about to be run.
pub(crate) struct Assignment<'a> {
    pub(crate) project: &'a Project,
    pub(crate) opened: Opened,
    pub(crate) task: Task,
    pub(crate) kind: RunKind,
    /// The run that is repeated or continued.
    pub(crate) parent: Option<Run>,
    /// What a person adds.
    pub(crate) input: Option<String>,
    pub(crate) order: Order,
}

impl Assignment<'_> {
    /// Refuses a task that cannot be run now, by what is known of it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let id = self.task.id;
        let state = tasks::state(self.project, &self.opened, id)?;
        let mut runs = state.runs.iter().map(|one| &one.run);
        if let Some(open) = runs.find(|run| run.state != RunState::Finished) {
            let run = open.id;
            return Err(Failure::missing(format!(
                "task `{id}` has a run that is not over: `{run}`"
            ))
            .hint(format!("`callsheet stop {run}` ends it")));
        }
        match state.derived.status {
            TaskStatus::Cancelled => Err(Failure::missing(format!("task `{id}` is cancelled"))),
            TaskStatus::Done => Err(Failure::missing(format!("task `{id}` is done"))),
            TaskStatus::Blocked => {
                let waits: Vec<String> = (self.task.depends.iter())
                    .map(|id| tasks::state(self.project, &self.opened, *id))
                    .collect::<Result<Vec<_>, _>>()?
                    .iter()
                    .filter(|on| on.derived.status != TaskStatus::Done)
                    .map(|on| format!("`{}`", on.task.id))
                    .collect();
                Err(Failure::missing(format!(
                    "task `{id}` waits for tasks that are not done: {}",
                    waits.join(", ")
                )))
            }
            _ => Ok(()),
        }
    }

    /// Freezes what the run is judged by.
    pub(crate) fn terms(&self, out: Output) -> Result<Terms, Failure> {
        let settings = &self.project.settings;
        let profile = self.order.profile(self.project)?;
        let of_profile = profile
            .as_ref()
            .map_or_else(Vec::new, |profile| field(profile, "default_exclude"));
        let body = &self.task.body;
        let scope = ScopeSnapshot::new(ScopeSources {
            project: settings.prompt.scope.default_exclude.clone(),
            profile: of_profile,
            task: field(body, "write_scope"),
            task_exclude: field(body, "exclude"),
        })?;
        if scope.write.is_empty() {
            return Err(Failure::input(format!(
                "task `{}` has no write scope",
                self.task.id
            )));
        }
        let running = self.opened.store.running(&self.opened.project).wait()?;
        let task = self.task.id.to_string();
        let meets = meetings(&scope.write, &task, &running)?;
        let threshold = settings.workspace.conflict_threshold;
        for other in &meets {
            if clash(other.score, threshold) == Clash::Warned {
                out.warn(&format!(
                    "task `{}` is running and may write the same files (conflict score {:.2})",
                    other.task, other.score
                ));
            }
        }
        Ok(Terms {
            title: self.task.title.clone(),
            base: tasks::base(&self.task),
            in_place: self.order.in_place,
            scope,
            checks: settings.checks.clone(),
            profile: self.order.profile.clone(),
            meets,
        })
    }

    /// Composes the prompt and seals it.
    pub(crate) fn compose(
        &self,
        terms: &Terms,
        runner: &Resolved,
        out: Output,
    ) -> Result<(Id, String), Failure> {
        let fields = self.fields(terms, runner)?;
        let options = Options::default();
        let composed = compose_fields(self.project, FOR_TASKS, fields, &options, Keeping::Seal)?;
        report::omissions(&composed.composition.manifest.omissions, out);
        let text = composed.composition.text.clone();
        let seal = composed
            .seal
            .ok_or_else(|| Failure::input("nothing was sealed"))?;
        Ok((store::seal(self.project, seal)?.id, text))
    }

    /// Returns the input of the recipe, field by field.
    fn fields(&self, terms: &Terms, runner: &Resolved) -> Result<Map<String, Value>, Failure> {
        let body = &self.task.body;
        let mut done_when: Vec<String> = field(body, "done_when");
        let required: Vec<&str> = terms
            .checks
            .iter()
            .filter(|check| check.required)
            .map(|check| check.name.as_str())
            .collect();
        if !required.is_empty() {
            done_when.push(format!("required checks pass: {}", required.join(", ")));
        }
        let mut fields = BTreeMap::from([
            (
                "task",
                json!({
                    "id": self.task.id,
                    "title": self.task.title,
                    "description": body.get("description"),
                    "write_scope": terms.scope.write,
                    "done_when": done_when,
                }),
            ),
            (
                "scope",
                json!({"write": terms.scope.write, "exclude": terms.scope.exclude}),
            ),
            (
                "environment",
                json!({"runner": runner.name, "model": runner.runner.model}),
            ),
        ]);
        if let Some(profile) = &terms.profile {
            fields.insert("profile", json!(profile));
        }
        if let Some(parent) = &self.parent {
            fields.insert("previous", self.previous(parent)?);
        }
        if let Some(input) = &self.input {
            fields.insert("additional_input", json!(input));
        }
        let fields = fields.into_iter();
        Ok(fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect())
    }

    /// Returns the facts of the run before, as the digest takes them.
    fn previous(&self, parent: &Run) -> Result<Value, Failure> {
        let document = tasks::document(&self.opened, parent)?;
        let picked = |list: &str, names: &[&str]| -> Value {
            let entries = document[list].as_array().into_iter().flatten();
            let pick = |entry: &Value| {
                let known = names.iter().filter_map(|name| {
                    let value = entry.get(*name).filter(|value| !value.is_null())?;
                    Some(((*name).to_owned(), value.clone()))
                });
                Value::Object(known.collect())
            };
            entries.map(pick).collect()
        };
        Ok(json!({
            "kind": self.kind,
            "status": document["status"],
            "exit_code": document["exit_code"],
            "termination": document["termination"],
            "checks": picked("checks", &["name", "status"]),
            "violations": picked("violations", &["path", "reason", "approval"]),
            "changed_files": document["changed_files"].as_array().cloned().unwrap_or_default(),
        }))
    }
}

impl Assignment<'_> {
    /// Runs the task, or leaves it to a worker; ends with what was observed.
    pub(crate) fn run(self, out: Output) -> Result<ExitCode, Failure> {
        self.check()?;
        let place = if self.order.in_place {
            WorkingDirectory::Project
        } else {
            WorkingDirectory::Worktree
        };
        let sandbox = sandbox::of(self.project, place)?;
        let mut runner = self.order.resolve(self.project, sandbox.is_some())?;
        if self.order.queue {
            return self.queue(&runner, out);
        }
        let script = run::script(self.project, &runner)?;
        let desk = Desk::of(self.project, out)?;
        // Everything that has to be as it is until the end is locked before anything is looked at.
        let workspace =
            desk.workspace(self.project, &self.opened, &self.task, self.order.in_place)?;
        let journey = Journey::new(self.project, &self.opened, &workspace, &self.task);
        journey.bring(out)?;
        // The agent may be started from a branch that moved; what it is judged by is fixed here.
        let terms = self.terms(out)?;
        let (before, runs) = tasks::results(&self.opened, &self.task)?;
        let before = (before.as_deref(), &runs[..]);
        desk.ready(self.project, &workspace, &terms, before)?;
        journey.owe(None)?;
        let (sealed, prompt) = self.compose(&terms, &runner, out)?;
        let errand = Errand {
            sealed,
            texts: Texts {
                prompt,
                system: None,
            },
            script,
            sandbox: sandbox.map(|write| workspace.writable(write)),
            probe: self.order.probe,
            kind: self.kind,
            parent: self.parent.as_ref().map(|parent| parent.id),
            task: Some(TaskErrand {
                id: self.task.id,
                terms,
                workspace,
            }),
            claim: None,
        };
        let done = errand.run(self.project, &mut runner, out)?;
        if let Some(errand) = &errand.task {
            let journey = Journey::new(self.project, &self.opened, &errand.workspace, &self.task);
            if let Err(failure) = journey.publish(true, out) {
                out.warn(&format!(
                    "other machines do not have this run yet: {}",
                    failure.text()
                ));
            }
        }
        let code = exec::end(&done.run, &runner, out);
        done.export(out);
        code
    }

    /// Seals the prompt and queues the run.
    fn queue(&self, runner: &Resolved, out: Output) -> Result<ExitCode, Failure> {
        let terms = self.terms(out)?;
        let (sealed, _) = self.compose(&terms, runner, out)?;
        let run = NewRun {
            prompt: sealed,
            kind: self.kind,
            parent: self.parent.as_ref().map(|parent| parent.id),
            task: Some(self.task.id),
            request: drive::request(runner, Some(&terms)),
            batch: None,
        };
        let id = self
            .opened
            .store
            .queue_run(&self.opened.project, run)
            .wait()?;
        if out.json {
            let queued = self
                .opened
                .store
                .run(&self.opened.project, id.as_str())
                .wait()?;
            out.document(&document::document(&queued))?;
        } else {
            out.say("queued; `callsheet worker` runs it");
            out.data(format!("{id}\n"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
