//! The adapter `command`: any program. Its command line is the user's own, its output is text, and its exit code decides.

use std::collections::BTreeMap;

use crate::adapter::{Adapter, Order, Plan, Reader};
use crate::{AgentEvent, Class, Ending, PromptBy, RunError, Verdict, placeholder};

/// What runs a program of the user's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandAdapter;

impl Adapter for CommandAdapter {
    fn plan(&self, order: &Order<'_>) -> Result<Plan, RunError> {
        let names = |name: &str| order.command.iter().any(|part| part.contains(name));
        let refuse = |why: &str| Err(RunError::Input(format!("adapter `command`: {why}")));
        if order.command.is_empty() {
            return refuse("`command` is empty");
        }
        if order.system.is_some() && !names("{system_file}") {
            return refuse("there is a system text, and `command` has no `{system_file}`");
        }
        if order.prompt_by == PromptBy::File && !names("{prompt_file}") {
            return refuse("`prompt = \"file\"` needs `{prompt_file}` in `command`");
        }
        if order.model.is_none() && names("{model}") {
            return refuse("`command` has `{model}`, and no model is set");
        }
        let mut files = BTreeMap::new();
        if order.system.is_none() && names("{system_file}") {
            files.insert(order.system_file(), String::new());
        }
        let mut notes = Vec::new();
        if !order.allow.is_empty() || !order.deny.is_empty() {
            notes.push("adapter `command` does not take `allow` and `deny`".to_owned());
        }
        let parts = order.command.iter();
        Ok(Plan {
            argv: parts.map(|part| fill(part, order)).collect(),
            env: order.sheet.env.clone(),
            prompt_on_stdin: order.prompt_by == PromptBy::Stdin,
            files,
            stop: order.sheet.stop,
            trims_system: false,
            notes,
        })
    }

    fn takes_system(&self, command: &[String], _: bool) -> bool {
        command.iter().any(|part| part.contains("{system_file}"))
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(CommandReader)
    }
}

/// Fills the placeholders of a part.
fn fill(part: &str, order: &Order<'_>) -> String {
    let values = [
        ("{prompt_file}", order.prompt_file().display().to_string()),
        ("{system_file}", order.system_file().display().to_string()),
        ("{model}", order.model.unwrap_or_default().to_owned()),
        ("{cwd}", order.cwd.display().to_string()),
    ];
    placeholder::fill(part, &values)
}

struct CommandReader;

impl Reader for CommandReader {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        vec![AgentEvent::Text {
            text: format!("{line}\n"),
            delta: true,
            subagent: false,
        }]
    }

    fn verdict(&self, ending: &Ending) -> Verdict {
        match ending.exit_code {
            Some(0) => Verdict::success(),
            // What shells say of a program that cannot be run, or is not there.
            Some(126 | 127) => Verdict::failure(Class::Environment),
            Some(_) => Verdict::failure(Class::Unknown),
            None => Verdict::failure(Class::Incomplete),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::test_order::{Fixture, parts};
    use crate::launch::StopSignal;

    #[test]
    fn placeholders_are_filled_once() {
        let mut fixture = Fixture::new();
        fixture.command = parts(&[
            "ask",
            "-m{model}",
            "{cwd}:{prompt_file}",
            "{x}{",
            "{system_file}",
        ]);
        fixture.model = Some("{cwd}".to_owned());
        fixture.prompt_by = PromptBy::File;
        let plan = CommandAdapter.plan(&fixture.order()).unwrap();
        assert_eq!(
            plan.argv,
            [
                "ask",
                "-m{cwd}",
                "/project:/run/prompt",
                "{x}{",
                "/run/system"
            ]
        );
        assert!(!plan.prompt_on_stdin);
        assert_eq!(plan.stop, StopSignal::Terminate);
        // Nothing else makes the file that the command line names.
        let files = BTreeMap::from([("/run/system".into(), String::new())]);
        assert_eq!(plan.files, files);
    }

    #[test]
    fn what_cannot_be_handed_over_is_refused() {
        let mut fixture = Fixture::new();
        let error = |fixture: &Fixture| {
            let plan = CommandAdapter.plan(&fixture.order());
            plan.unwrap_err().to_string()
        };
        assert_eq!(error(&fixture), "adapter `command`: `command` is empty");
        fixture.command = parts(&["ask", "{model}"]);
        assert_eq!(
            error(&fixture),
            "adapter `command`: `command` has `{model}`, and no model is set"
        );
        fixture.command = parts(&["ask"]);
        fixture.prompt_by = PromptBy::File;
        assert_eq!(
            error(&fixture),
            "adapter `command`: `prompt = \"file\"` needs `{prompt_file}` in `command`"
        );
        fixture.system = Some("be kind".to_owned());
        assert_eq!(
            error(&fixture),
            "adapter `command`: there is a system text, and `command` has no `{system_file}`"
        );
    }

    #[test]
    fn lines_are_text_and_the_exit_code_decides() {
        let mut reader = CommandAdapter.reader();
        let text = "{\"kind\":\"finished\"}\n".to_owned();
        assert_eq!(
            reader.line("{\"kind\":\"finished\"}"),
            [AgentEvent::Text {
                text,
                delta: true,
                subagent: false
            }]
        );
        let class = |exit_code, signal| {
            let stderr = String::new();
            reader
                .verdict(&Ending {
                    exit_code,
                    signal,
                    stderr,
                })
                .class
        };
        assert_eq!(class(Some(0), None), None);
        assert_eq!(class(Some(126), None), Some(Class::Environment));
        assert_eq!(class(Some(127), None), Some(Class::Environment));
        assert_eq!(class(Some(1), None), Some(Class::Unknown));
        assert_eq!(class(None, Some(9)), Some(Class::Incomplete));
        assert_eq!(class(None, None), Some(Class::Incomplete));
    }
}
