//! The adapter `scripted`: plays a script in the place of a model. Its output is our own wire form.

use callsheet::document;

use crate::adapter::{Adapter, Order, Plan, Reader, player};
use crate::{AgentEvent, Class, Ending, RunError, Verdict};

/// What plays a script.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptedAdapter;

impl Adapter for ScriptedAdapter {
    fn plan(&self, order: &Order<'_>) -> Result<Plan, RunError> {
        player::plan(order, "scripted", "--script")
    }

    fn takes_system(&self, _: &[String], _: bool) -> bool {
        false
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(ScriptedReader::default())
    }
}

/// What was read so far.
#[derive(Debug, Default)]
struct ScriptedReader {
    finished: Option<bool>,
    error: Option<Class>,
    resets_at: Option<i64>,
}

impl Reader for ScriptedReader {
    fn line(&mut self, line: &str) -> Vec<AgentEvent> {
        let read = serde_json::from_str(line).ok();
        let Some(event) = read.and_then(|event| document::typed(event).ok()) else {
            let raw = line.to_owned();
            return vec![AgentEvent::Unknown { raw }];
        };
        match &event {
            AgentEvent::Finished { ok, .. } => self.finished = Some(*ok),
            AgentEvent::Error { class, .. } => self.error = Some(*class),
            AgentEvent::Limit {
                status, resets_at, ..
            } if status == "rejected" => self.resets_at = *resets_at,
            _ => {}
        }
        vec![event]
    }

    fn verdict(&self, ending: &Ending) -> Verdict {
        if let Some(class) = self.error {
            return Verdict::failure(class).until(self.resets_at);
        }
        match (self.finished, ending.exit_code) {
            (Some(true), Some(0)) => Verdict::success(),
            // The script itself cannot be read or played.
            (None, Some(2 | 3)) => Verdict::failure(Class::Environment),
            (None, _) | (_, None) => Verdict::failure(Class::Incomplete),
            _ => Verdict::failure(Class::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::test_order::Fixture;

    const FINISHED: &str = r#"{"kind":"finished","ok":true,"reason":null,"text":null}"#;
    const ERROR: &str = r#"{"kind":"error","class":"quota","status":null,"text":"no more"}"#;
    const LIMIT: &str =
        r#"{"kind":"limit","status":"rejected","window":null,"used":null,"resets_at":5}"#;

    fn verdict(lines: &[&str], exit_code: Option<i32>) -> Verdict {
        let mut reader = ScriptedAdapter.reader();
        for line in lines {
            assert_eq!(reader.line(line).len(), 1, "{line}");
        }
        let signal = exit_code.is_none().then_some(9);
        reader.verdict(&Ending {
            exit_code,
            signal,
            stderr: String::new(),
        })
    }

    #[test]
    fn the_final_event_and_the_exit_code_decide_together() {
        let failure = Verdict::failure;
        assert_eq!(verdict(&[FINISHED], Some(0)), Verdict::success());
        assert_eq!(verdict(&[FINISHED], Some(1)), failure(Class::Unknown));
        assert_eq!(verdict(&[FINISHED], None), failure(Class::Incomplete));
        assert_eq!(verdict(&[], Some(0)), failure(Class::Incomplete));
        assert_eq!(verdict(&["text"], Some(0)), failure(Class::Incomplete));
        assert_eq!(verdict(&[], Some(2)), failure(Class::Environment));
        assert_eq!(
            verdict(&[LIMIT, ERROR, FINISHED], Some(0)),
            failure(Class::Quota).until(Some(5))
        );
    }

    #[test]
    fn a_line_of_another_form_is_kept() {
        let mut reader = ScriptedAdapter.reader();
        for line in [
            "",
            "hello",
            "{}",
            "{\"kind\":\"new\"}",
            "{\"kind\":\"text\"}",
        ] {
            let raw = line.to_owned();
            assert_eq!(reader.line(line), [AgentEvent::Unknown { raw }]);
        }
    }

    #[test]
    fn the_plan_names_the_script() {
        let mut fixture = Fixture::new();
        let error = ScriptedAdapter.plan(&fixture.order()).unwrap_err();
        assert_eq!(error.to_string(), "adapter `scripted` has nothing to play");
        fixture.script = Some("/project/script.toml".into());
        let plan = ScriptedAdapter.plan(&fixture.order()).unwrap();
        assert_eq!(
            plan.argv,
            ["/bin/callsheet", "play", "--script", "/project/script.toml"]
        );
        assert!(plan.prompt_on_stdin);
        fixture.system = Some("be kind".to_owned());
        let plan = ScriptedAdapter.plan(&fixture.order()).unwrap();
        assert_eq!(
            plan.notes,
            ["adapter `scripted` does not read the system text"]
        );
    }
}
