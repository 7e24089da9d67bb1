//! `sprint run --dry-run`: every prompt that would be sent if all went well, with its size. Nothing is written.
//!
//! Files that agents would write first are not there, so that prompts which carry them are shown without.

use std::process::ExitCode;

use callsheet::sprint::machine::{
    AgentEnded, AgentOrder, Batch, Chosen, End, Heard, Input, Merged, Model, Rules, Severity, Spec,
    Todo, Verified,
};
use callsheet::sprint::{Board, Epics, Status, next_where};
use callsheet_run::sprint::{self as sprints, Brief, Layout};
use callsheet_store::Wait;
use serde_json::{Value, json};

use super::crew::{Prompts, texts};
use crate::failure::Failure;
use crate::options::Keeping;
use crate::output::Output;
use crate::project::Project;
use crate::store;

/// A sprint that nobody starts.
pub(super) struct Dry<'a> {
    pub(super) project: &'a Project,
    pub(super) board: &'a Board,
    pub(super) rules: Rules,
    pub(super) out: Output,
}

impl Dry<'_> {
    /// Walks through the batch as if every agent did its work at once, and prints what each would be given.
    pub(super) fn run(&self) -> Result<ExitCode, Failure> {
        let (project, out) = (self.project, self.out);
        let layout = super::layout(project);
        let mut walk = Walk::new(self.board, project, &layout);
        let (unfrozen, note) = self.unfrozen(&layout)?;
        let prompts = Prompts::new(project, unfrozen);
        let mut batch = self.begin()?;
        let mut shown = Vec::new();
        while batch.status().is_none() {
            let Some(action) = batch.open().next().cloned() else {
                break;
            };
            let mut answer = walk.answer(action.id, &action.todo);
            if let Todo::Agent(order) = &action.todo {
                if batch.is_stopping() {
                    let ended = AgentEnded::interrupted();
                    answer = Input::AgentEnded {
                        action: action.id,
                        ended,
                    };
                } else {
                    let prompt = self.prompt(&prompts, order)?;
                    if !out.json {
                        print(&prompt, shown.len() + 1, out)?;
                    }
                    shown.push(prompt);
                }
            }
            batch = step(batch, answer)?;
        }
        self.end(&shown, note.as_deref())
    }

    /// Returns the batch that would be run: what is left of the last one, or a new one.
    fn begin(&self) -> Result<Batch, Failure> {
        let mut carried = Vec::new();
        if let Some(opened) = store::open_if_there(self.project)? {
            let (store, project) = (&opened.store, &opened.project);
            if let Some(open) = store.open_batch(project).wait()? {
                if sprints::is_running(&open) {
                    return Err(super::run::busy(sprints::busy(&open)));
                }
                return Ok(sprints::fold(store, project, &open)?.0);
            }
            carried = sprints::left(store, project)?;
        }
        let start = Input::Started {
            batch: "dry-run".to_owned(),
            rules: self.rules.clone(),
            carried,
        };
        step(Batch::default(), start)
    }

    /// Returns where the files are, with the context of the project in the place of the copy that a sprint would make first, and
    /// what is different then.
    fn unfrozen(&self, layout: &Layout) -> Result<(Layout, Option<String>), Failure> {
        let root = self.project.open()?;
        let (context, copy) = (&layout.project_context, &layout.sprint_project_context);
        let [text, frozen] = [context, copy].map(|path| root.read(path).ok());
        if text.is_none() {
            let note = format!(
                "`{context}` is not there yet: an agent writes it first, and the other prompts are shown without it"
            );
            return Ok((layout.clone(), Some(note)));
        }
        if text == frozen {
            return Ok((layout.clone(), None));
        }
        let note = format!(
            "prompts are shown with `{context}`; a sprint gives agents a copy of it, `{copy}`"
        );
        let unfrozen = Layout {
            sprint_project_context: context.clone(),
            ..layout.clone()
        };
        Ok((unfrozen, Some(note)))
    }

    fn prompt(&self, prompts: &Prompts<'_>, order: &AgentOrder) -> Result<Value, Failure> {
        let composed = prompts.compose(order, &Brief::default(), Keeping::Nothing)?;
        let texts = texts(&composed)?;
        let model = match order.model {
            Model::Default => None,
            Model::Review => self.rules.review_model.clone(),
        };
        Ok(json!({
            "phase": order.phase.command(),
            "recipe": order.phase.recipe(),
            "story_keys": order.keys,
            "attempt": order.attempt,
            "model": model,
            "background": order.background,
            "system_bytes": texts.system.as_deref().map_or(0, str::len),
            "prompt_bytes": texts.prompt.len(),
            "fingerprint": composed.composition.manifest.fingerprint,
            "system": texts.system,
            "prompt": texts.prompt,
        }))
    }

    fn end(&self, prompts: &[Value], note: Option<&str>) -> Result<ExitCode, Failure> {
        let sizes = prompts
            .iter()
            .flat_map(|prompt| [&prompt["prompt_bytes"], &prompt["system_bytes"]]);
        let bytes: u64 = sizes.filter_map(Value::as_u64).sum();
        if self.out.json {
            self.out.document(&json!({
                "schema": "callsheet.sprint-dry-run/1",
                "bytes": bytes,
                "prompts": prompts,
            }))?;
        }
        let count = match prompts.len() {
            0 => {
                self.out.note("no story on the board can run");
                return Ok(ExitCode::SUCCESS);
            }
            1 => "1 prompt".to_owned(),
            count => format!("{count} prompts"),
        };
        if let Some(note) = note {
            self.out.note(note);
        }
        self.out
            .say(&format!("{count}, {bytes} bytes; nothing was started"));
        Ok(ExitCode::SUCCESS)
    }
}

fn step(batch: Batch, input: Input) -> Result<Batch, Failure> {
    let stepped = batch.step(input);
    stepped
        .map(|(batch, _)| batch)
        .map_err(|illegal| Failure::input(illegal.0))
}

/// Prints a prompt under a line with its sizes.
fn print(prompt: &Value, number: usize, out: Output) -> Result<(), Failure> {
    let word = |field: &str| prompt[field].as_str().unwrap_or_default();
    let keys = prompt["story_keys"].as_array().into_iter().flatten();
    let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
    let mut about = Vec::new();
    if prompt["attempt"].as_u64() > Some(1) {
        about.push(format!("attempt {}", prompt["attempt"]));
    }
    if !word("model").is_empty() {
        about.push(format!("model {}", word("model")));
    }
    if prompt["background"] == true {
        about.push("in the background".to_owned());
    }
    let mut title = format!("=== {number} {}", word("phase"));
    if !keys.is_empty() {
        title.push_str(&format!(" {}", keys.join(",")));
    }
    if !about.is_empty() {
        title.push_str(&format!(" ({})", about.join(", ")));
    }
    let (system, task) = (&prompt["system_bytes"], &prompt["prompt_bytes"]);
    let mut text = format!("{title}: {system} bytes of system text, {task} bytes of prompt\n");
    for field in ["system", "prompt"] {
        if !word(field).is_empty() {
            text.push_str(&format!("--- {field}\n{}\n", word(field)));
        }
    }
    text.push('\n');
    out.text(&text)
}

/// A world in which all goes well.
struct Walk<'a> {
    board: &'a Board,
    project: &'a Project,
    layout: &'a Layout,
    words: Vec<(String, Status)>,
}

impl<'a> Walk<'a> {
    fn new(board: &'a Board, project: &'a Project, layout: &'a Layout) -> Self {
        let known =
            |story: &callsheet::sprint::Entry| Some((story.key.clone(), story.word.status?));
        Self {
            words: board.stories().filter_map(known).collect(),
            board,
            project,
            layout,
        }
    }

    fn answer(&mut self, action: u64, todo: &Todo) -> Input {
        match todo {
            Todo::CheckContext => Input::Context {
                action,
                found: sprints::check_context(
                    self.project.root(),
                    self.layout,
                    self.project.settings.sprint.project_context_max_age_hours,
                ),
            },
            Todo::FreezeContext => Input::Frozen {
                action,
                source: String::new(),
                destination: String::new(),
                failed: None,
            },
            Todo::Select { busy, epics } => self.select(action, busy, epics),
            Todo::SetStatus { key, from, to, .. } => {
                for (known, status) in &mut self.words {
                    if known == key {
                        *status = *to;
                    }
                }
                Input::StatusSet {
                    action,
                    old: from.as_str().to_owned(),
                    is_set: true,
                }
            }
            Todo::Agent(_) => {
                let mut ended = AgentEnded::without_run(End::Completed);
                ended.heard = Heard {
                    severity: Severity::Zero,
                    ..Heard::default()
                };
                Input::AgentEnded { action, ended }
            }
            Todo::Baseline => Input::Baseline { action, head: None },
            Todo::VerifyCommit { .. } => Input::CommitVerified {
                action,
                verified: Verified::Nothing,
            },
            Todo::Archive { .. } => Input::Archived {
                action,
                moved: Vec::new(),
                failed: Vec::new(),
            },
            Todo::Merge { .. } => Input::Merged {
                action,
                merged: Merged::Good {
                    commit: String::new(),
                },
            },
            Todo::Look { keys } => Input::Selected {
                action,
                epic: String::new(),
                stories: self.chosen(keys),
            },
            Todo::Wait { .. } | Todo::Cancel { .. } => Input::Waited { action },
        }
    }

    fn select(&self, action: u64, busy: &[String], epics: &[String]) -> Input {
        let places = Epics::of(self.board);
        let choice = next_where(self.board, |entry| {
            self.status(&entry.key).is_some_and(Status::is_runnable)
                && !busy.contains(&entry.key)
                && !epics.contains(&places.place(&entry.key).epic)
        });
        Input::Selected {
            action,
            epic: choice.epic_id.clone(),
            stories: self.chosen(&choice.story_keys),
        }
    }

    fn status(&self, key: &str) -> Option<Status> {
        let found = self.words.iter().find(|(known, _)| known == key);
        found.map(|(_, status)| *status)
    }

    fn chosen(&self, keys: &[String]) -> Vec<Chosen> {
        let chosen = |key: &String| {
            let status = self.status(key).filter(|status| status.is_runnable())?;
            let spec = match status {
                Status::Backlog => Spec::Undecided,
                _ => sprints::spec_of(self.project.root(), self.layout, key),
            };
            let key = key.clone();
            Some(Chosen { key, status, spec })
        };
        keys.iter().filter_map(chosen).collect()
    }
}
