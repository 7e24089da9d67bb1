//! `sprint run --dry-run`: every prompt that would be sent if all went well, with its size.

use std::process::ExitCode;

use callsheet::sprint::machine::{
    AgentEnded, AgentOrder, Batch, Chosen, ContextFound, End, Heard, Input, Merged, Model, Rules,
    Severity, Spec, Todo, Verified,
};
use callsheet::sprint::{Board, Epics, Status, next_where};
use callsheet_run::sprint::Brief;
use serde_json::{Value, json};

use super::crew::{ProgramCrew, texts};
use crate::failure::Failure;
use crate::options::Keeping;
use crate::output::Output;
use crate::project::Project;

/// Walks through the batch as if every agent did its work at once, and prints what each would be given.
pub(super) fn run(
    project: &Project,
    crew: &ProgramCrew<'_>,
    board: &Board,
    rules: &Rules,
    out: Output,
) -> Result<ExitCode, Failure> {
    let mut walk = Walk {
        words: board
            .stories()
            .filter_map(|story| Some((story.key.clone(), story.word.status?)))
            .collect(),
        board,
    };
    let start = Input::Started {
        batch: "dry-run".to_owned(),
        rules: rules.clone(),
        carried: Vec::new(),
    };
    let step = |batch: Batch, input: Input| {
        batch
            .step(input)
            .map(|(batch, _)| batch)
            .map_err(|illegal| Failure::input(illegal.0))
    };
    let mut batch = step(Batch::default(), start)?;
    let mut prompts = Vec::new();
    while batch.status().is_none() {
        let Some(action) = batch.open().next().cloned() else {
            break;
        };
        if let Todo::Agent(order) = &action.todo {
            let prompt = prompt(project, crew, order)?;
            if !out.json {
                print(&prompt, prompts.len() + 1, out)?;
            }
            prompts.push(prompt);
        }
        batch = step(batch, walk.answer(action.id, &action.todo))?;
    }
    crew.end();
    let bytes = |field: &str| -> u64 {
        prompts
            .iter()
            .filter_map(|prompt| prompt[field].as_u64())
            .sum()
    };
    if out.json {
        out.document(&json!({"schema": "callsheet.sprint-dry-run/1", "prompts": prompts}))?;
    } else {
        let all = bytes("prompt_bytes") + bytes("system_bytes");
        out.say(&format!(
            "{} prompts, {all} bytes; nothing was started",
            prompts.len()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn prompt(
    _project: &Project,
    crew: &ProgramCrew<'_>,
    order: &AgentOrder,
) -> Result<Value, Failure> {
    let composed = crew.compose(order, &Brief::default(), Keeping::Nothing)?;
    let texts = texts(&composed)?;
    let model = match order.model {
        Model::Default => None,
        Model::Review => crew.review_model()?,
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

/// Prints a prompt under a line with its sizes.
fn print(prompt: &Value, number: usize, out: Output) -> Result<(), Failure> {
    let word = |field: &str| prompt[field].as_str().unwrap_or_default();
    let keys = prompt["story_keys"].as_array().into_iter().flatten();
    let keys: Vec<&str> = keys.filter_map(Value::as_str).collect();
    let model = match word("model") {
        "" => String::new(),
        model => format!(", model {model}"),
    };
    let mut text = format!(
        "=== {number} {} {}{model}: {} bytes of system text, {} bytes of prompt\n",
        word("phase"),
        keys.join(","),
        prompt["system_bytes"],
        prompt["prompt_bytes"]
    );
    for field in ["system", "prompt"] {
        if !word(field).is_empty() {
            text.push_str(&format!("--- {field}\n{}\n", word(field)));
        }
    }
    text.push('\n');
    out.data(text)
}

/// A world in which all goes well.
struct Walk<'a> {
    board: &'a Board,
    words: Vec<(String, Status)>,
}

impl Walk<'_> {
    fn answer(&mut self, action: u64, todo: &Todo) -> Input {
        match todo {
            Todo::CheckContext => Input::Context {
                action,
                found: ContextFound::Fresh,
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
            Todo::Wait { .. } | Todo::Cancel { .. } | Todo::Look { .. } => Input::Waited { action },
        }
    }

    fn select(&self, action: u64, busy: &[String], epics: &[String]) -> Input {
        let status = |key: &str| {
            let found = self.words.iter().find(|(known, _)| known == key);
            found.map(|(_, status)| *status)
        };
        let places = Epics::of(self.board);
        let choice = next_where(self.board, |entry| {
            status(&entry.key).is_some_and(Status::is_runnable)
                && !busy.contains(&entry.key)
                && !epics.contains(&places.place(&entry.key).epic)
        });
        let stories = choice.story_keys.iter().filter_map(|key| {
            Some(Chosen {
                key: key.clone(),
                status: status(key)?,
                spec: Spec::Undecided,
            })
        });
        Input::Selected {
            action,
            epic: choice.epic_id.clone(),
            stories: stories.collect(),
        }
    }
}
