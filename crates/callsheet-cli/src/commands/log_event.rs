//! `log-event`: what an agent calls to say how far it is. One line of CSV on stdout, and the event in the store.

use std::process::ExitCode;

use callsheet::sprint::LogLine;
use callsheet::{Event, document};
use callsheet_store::{NewEvent, Wait};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::{store, time};

/// The fields that have to be there, and those that may.
const REQUIRED: [&str; 5] = ["epic_id", "story_id", "command", "task_id", "status"];
const OPTIONAL: [&str; 3] = ["message", "metrics", "attempt"];

/// Say how far an agent is: store the event, and print its log line
///
/// Agents of a sprint call this. The line has the columns timestamp, epic, story, command, task, status and message. Where the
/// store cannot be written, as in a sandbox, the line is printed all the same: whoever runs the agent reads it from its output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet log-event '{\"epic_id\": \"2a\", \"story_id\": \"2a-1\", \"command\": \"sprint-dev-story\", \"task_id\": \"tests\", \"status\": \"start\"}'")]
pub(crate) struct Args {
    /// The event: `epic_id`, `story_id`, `command`, `task_id`, `status`, and maybe `message`, `metrics` and `attempt`
    #[arg(value_name = "JSON")]
    event: String,
}

impl Args {
    pub(crate) fn run(
        self,
        project: impl FnOnce() -> Result<Project, Failure>,
        out: Output,
    ) -> Result<ExitCode, Failure> {
        let fields = Fields::parse(&self.event)?;
        // What is stored and what is printed are the same, so that the line is known again.
        let line = fields.line(time::now() / 1000)?.on_one_line();
        let mut event = line.event();
        fields.add_to(&mut event)?;
        let run = std::env::var("CALLSHEET_RUN").ok();
        let run = run.filter(|run| !run.is_empty());
        let stored = project().and_then(|project| keep(&project, event, run.as_deref()));
        out.data(format!("{line}\n"))?;
        let Err(why) = stored else {
            return Ok(ExitCode::SUCCESS);
        };
        let why = why.text();
        let why = format!(
            "the event is not stored: {}",
            why.lines().next().unwrap_or_default()
        );
        if run.is_none() {
            return Err(Failure::missing(why));
        }
        out.warn(&why);
        Ok(ExitCode::SUCCESS)
    }
}

/// Stores the event, for the run where there is one of that id. A store is never made here.
fn keep(project: &Project, event: Event, run: Option<&str>) -> Result<(), Failure> {
    let opened = store::open_to_write_if_there(project)?
        .ok_or_else(|| Failure::missing("there is no store in this project"))?;
    let run = run.and_then(|id| opened.store.run(&opened.project, id).wait().ok());
    let run = run.map(|run| run.id);
    (opened.store)
        .append_events(&opened.project, vec![NewEvent { event, run }])
        .wait()?;
    Ok(())
}

/// The fields of the event, in their order.
struct Fields(Map<String, Value>);

impl Fields {
    fn parse(text: &str) -> Result<Self, Failure> {
        let document = document::json(text)
            .map_err(|malformed| Failure::input(format!("the event: {malformed}")))?;
        let Value::Object(fields) = document else {
            return Err(Failure::input("the event has to be a JSON object"));
        };
        let fields = Self(fields);
        let known = || REQUIRED.iter().chain(&OPTIONAL);
        for name in fields.0.keys() {
            if !known().any(|known| known == name) {
                let known: Vec<String> = known().map(|name| format!("`{name}`")).collect();
                return Err(Failure::input(format!("the event: unknown field `{name}`"))
                    .hint(format!("allowed are {}", known.join(", "))));
            }
        }
        Ok(fields)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    fn text(&self, name: &str) -> Result<String, Failure> {
        match self.get(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
            Some(Value::String(_)) => Err(Failure::input(format!("the event: `{name}` is empty"))),
            Some(_) => Err(Failure::input(format!(
                "the event: `{name}` has to be a string"
            ))),
            None => Err(Failure::input(format!("the event: `{name}` is missing"))),
        }
    }

    fn line(&self, at: i64) -> Result<LogLine, Failure> {
        Ok(LogLine {
            at,
            epic: self.text("epic_id")?,
            story: self.text("story_id")?,
            command: self.text("command")?,
            task: self.text("task_id")?,
            status: self.text("status")?,
            message: match self.get("message") {
                None => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(_) => {
                    return Err(Failure::input("the event: `message` has to be a string"));
                }
            },
        })
    }

    /// Adds what the line has no column for.
    fn add_to(&self, event: &mut Event) -> Result<(), Failure> {
        let refuse = |name: &str, what: &str| {
            Err(Failure::input(format!(
                "the event: `{name}` has to be {what}"
            )))
        };
        for name in ["metrics", "attempt"] {
            let Some(value) = self.get(name) else {
                continue;
            };
            match name {
                "metrics" if !value.is_object() => return refuse(name, "an object"),
                "attempt" if !value.is_u64() => return refuse(name, "a whole number"),
                _ => event.payload.insert(name.to_owned(), value.clone()),
            };
        }
        Ok(())
    }
}
