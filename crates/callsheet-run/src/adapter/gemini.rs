//! Gemini CLI: a stream of JSON lines, with the system text as `GEMINI.md` in a state folder of the run's own.
//!
//! In the user's own state folder nothing is written, so a system text without a state folder of the run's own is refused:
//! the only other way, `GEMINI_SYSTEM_MD`, takes the CLI's own prompt away.

mod reader;

use super::draft::{draft, file, json, needs_isolation, note_lists};
use super::{Adapter, Order, Plan, Reader};
use crate::RunError;

/// The adapter of Gemini CLI.
pub(super) struct Gemini;

impl Adapter for Gemini {
    fn plan(&self, order: &Order<'_>) -> Result<Plan, RunError> {
        let mut plan = draft(order, order.system.is_some())?;
        note_lists(&mut plan, order);
        plan.notes.extend(inspect(order.prompt)?);
        let home = order.state_folder().join(".gemini");
        if let Some(text) = order.system {
            if !order.isolate {
                return Err(needs_isolation(&order.sheet.title, &order.sheet.keys));
            }
            if text.contains('@') {
                plan.notes.push(
                    "the system text has an `@`, which Gemini CLI may take for the name of a file"
                        .to_owned(),
                );
            }
            if text.trim() != text {
                plan.notes.push(
                    "the system text arrives without the white space at its ends, which Gemini CLI takes away"
                        .to_owned(),
                );
            }
            plan.trims_system = true;
            file(&mut plan, home.join("GEMINI.md"), text);
        }
        if order.isolate {
            let settings = json(&order.sheet.settings(order.permissions))?;
            file(&mut plan, home.join("settings.json"), settings);
        }
        Ok(plan)
    }

    fn takes_system(&self, _: &[String], isolated: bool) -> bool {
        isolated
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(reader::GeminiReader::default())
    }
}

/// Returns what a person should know of a prompt; one that the CLI does not take for a text is refused.
fn inspect(prompt: &str) -> Result<Option<String>, RunError> {
    if let Some(first @ ('/' | '@')) = prompt.trim_start().chars().next() {
        let meaning = if first == '/' { "command" } else { "file" };
        return Err(RunError::Input(format!(
            "the prompt begins with `{first}`, which Gemini CLI takes for a {meaning}"
        )));
    }
    let note = "the prompt has an `@`, which Gemini CLI may take for the name of a file: it may not arrive as it is";
    Ok(prompt.contains('@').then(|| note.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_that_are_commands_are_refused_and_names_of_files_are_noted() {
        let inspect = |prompt| inspect(prompt).map_err(|error| error.to_string());
        assert_eq!(inspect("fix a/b"), Ok(None));
        assert_eq!(inspect(""), Ok(None));
        insta::assert_snapshot!(inspect("\n/quit").unwrap_err(), @"the prompt begins with `/`, which Gemini CLI takes for a command");
        insta::assert_snapshot!(inspect("@a.md").unwrap_err(), @"the prompt begins with `@`, which Gemini CLI takes for a file");
        insta::assert_snapshot!(inspect("mail a@b.c").unwrap().unwrap(), @"the prompt has an `@`, which Gemini CLI may take for the name of a file: it may not arrive as it is");
    }
}
