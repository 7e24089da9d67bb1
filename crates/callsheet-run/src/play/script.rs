//! The form of a script: what `docs/scripted.md` describes. A bad script is refused whole, with the line.

use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;
use signal_hook::consts;
use toml::Spanned;

use callsheet::document::plain_words;
use callsheet::sprint::Phase;

use super::{Cue, edit};
use crate::{AgentEvent, Class, RunError, Usage};

/// A script that was read.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) raw_only: bool,
    pub(super) model: Option<String>,
    steps: Vec<Spanned<Step>>,
    scenes: Vec<Scene>,
    name: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    raw_only: bool,
    model: Option<String>,
    #[serde(default)]
    steps: Vec<Spanned<Step>>,
    #[serde(default)]
    scenes: Vec<Scene>,
}

/// Steps for one phase of a sprint.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scene {
    phase: Option<Spanned<String>>,
    story: Option<String>,
    stories: Option<Vec<String>>,
    attempt: Option<u32>,
    prompt: Option<String>,
    #[serde(default)]
    steps: Vec<Spanned<Step>>,
}

impl Scene {
    /// Tells whether every condition that it has holds.
    fn fits(&self, cue: &Cue) -> bool {
        let is_phase = |phase: &Spanned<String>| {
            let (wanted, here) = (Phase::named(phase.get_ref()), cue.phase.as_deref());
            wanted.is_some() && wanted == here.and_then(Phase::named)
        };
        self.phase.as_ref().is_none_or(is_phase)
            && (self.story.as_ref()).is_none_or(|story| cue.stories.contains(story))
            && (self.stories.as_ref()).is_none_or(|stories| *stories == cue.stories)
            && (self.attempt).is_none_or(|attempt| cue.attempt == Some(attempt))
            && (self.prompt.as_ref()).is_none_or(|text| cue.prompt.contains(text))
    }
}

/// One step; a table with exactly one of these keys.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Say(String),
    Think(String),
    Call(Call),
    Run(Run),
    Write(Write),
    Replace(Replace),
    Delete(String),
    WaitMs(u64),
    Usage(Usage),
    Error(Failed),
    Limit(Limit),
    Stderr(String),
    Raw(String),
    ReadPrompt(True),
    Exit(u8),
    Crash(Signal),
    Hang(True),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) input: toml::Table,
    #[serde(default)]
    pub(super) output: String,
    pub(super) exit_code: Option<i32>,
    pub(super) ok: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub(super) command: Vec<String>,
    #[serde(default = "only_zero")]
    pub(super) ok: Vec<i32>,
    pub(super) say: Option<String>,
}

fn only_zero() -> Vec<i32> {
    vec![0]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    pub(super) path: String,
    pub(super) text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replace {
    pub(super) path: String,
    pub(super) from: String,
    pub(super) to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Failed {
    pub(super) class: Class,
    #[serde(default)]
    pub(super) text: String,
    pub(super) status: Option<u16>,
    pub(super) resets_at: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    status: String,
    window: Option<String>,
    used: Option<f64>,
    resets_at: Option<i64>,
}

impl Limit {
    pub(super) fn event(&self) -> AgentEvent {
        AgentEvent::Limit {
            status: self.status.clone(),
            window: self.window.clone(),
            used: self.used,
            resets_at: self.resets_at,
        }
    }
}

/// The value of a step that has nothing to say but that it is there.
#[derive(Debug)]
pub(super) struct True;

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if bool::deserialize(deserializer)? {
            Ok(Self)
        } else {
            Err(D::Error::custom("only `true` makes sense here"))
        }
    }
}

/// A signal that ends a process.
#[derive(Debug)]
pub(super) struct Signal(pub(super) i32);

const SIGNALS: [(&str, i32); 11] = [
    ("ABRT", consts::SIGABRT),
    ("BUS", consts::SIGBUS),
    ("FPE", consts::SIGFPE),
    ("HUP", consts::SIGHUP),
    ("ILL", consts::SIGILL),
    ("INT", consts::SIGINT),
    ("KILL", consts::SIGKILL),
    ("PIPE", consts::SIGPIPE),
    ("QUIT", consts::SIGQUIT),
    ("SEGV", consts::SIGSEGV),
    ("TERM", consts::SIGTERM),
];

/// Tells whether a process can be told to end by the signal.
pub(super) fn ends(signal: i32) -> bool {
    SIGNALS.iter().any(|(_, number)| *number == signal)
}

impl<'de> Deserialize<'de> for Signal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let found = SIGNALS.iter().find(|(known, _)| *known == name);
        let names = SIGNALS.map(|(known, _)| format!("`{known}`")).join(", ");
        found.map(|(_, number)| Self(*number)).ok_or_else(|| {
            D::Error::custom(format!("unknown signal `{name}`, expected one of {names}"))
        })
    }
}

impl Script {
    /// Reads a script; `name` is what errors call it.
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, RunError> {
        let lines: Vec<usize> = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1))
            .collect();
        let file: File = toml::from_str(text).map_err(|error| {
            let line = line(&lines, error.span());
            let message = plain(error.message());
            RunError::Input(format!("{name}:{line}: {message}"))
        })?;
        let script = Self {
            raw_only: file.raw_only,
            model: file.model,
            steps: file.steps,
            scenes: file.scenes,
            name: name.to_owned(),
            lines,
        };
        script.check()?;
        Ok(script)
    }

    /// Returns where a step is written, as `file:line`.
    pub(super) fn place(&self, step: &Spanned<Step>) -> String {
        format!("{}:{}", self.name, line(&self.lines, Some(step.span())))
    }

    /// Tells whether a scene asks what is in the prompt.
    pub(super) fn needs_prompt(&self) -> bool {
        self.scenes.iter().any(|scene| scene.prompt.is_some())
    }

    /// Returns the steps that are played, and whether they are those of a scene: the first one that fits, else those above.
    pub(super) fn steps(&self, cue: &Cue) -> Result<(&[Spanned<Step>], bool), RunError> {
        match self.scenes.iter().find(|scene| scene.fits(cue)) {
            Some(scene) => Ok((&scene.steps, true)),
            None if self.steps.is_empty() && !self.scenes.is_empty() => Err(RunError::Input(
                format!("{}: no scene fits {}", self.name, cue.shown()),
            )),
            None => Ok((&self.steps, false)),
        }
    }

    fn check(&self) -> Result<(), RunError> {
        self.check_steps(&self.steps)?;
        for scene in &self.scenes {
            let unknown = scene.phase.as_ref();
            let unknown = unknown.filter(|phase| Phase::named(phase.get_ref()).is_none());
            if let Some(phase) = unknown {
                let line = line(&self.lines, Some(phase.span()));
                let known = Phase::ALL.map(|phase| format!("`{}`", phase.as_str()));
                return Err(RunError::Input(format!(
                    "{}:{line}: unknown phase `{}`, expected one of {}",
                    self.name,
                    phase.get_ref(),
                    known.join(", ")
                )));
            }
            self.check_steps(&scene.steps)?;
        }
        Ok(())
    }

    fn check_steps(&self, steps: &[Spanned<Step>]) -> Result<(), RunError> {
        let mut ending = None;
        for step in steps {
            let refuse = |why: String| RunError::Input(format!("{}: {why}", self.place(step)));
            if let Some(ending) = ending {
                return Err(refuse(format!("nothing can follow `{ending}`")));
            }
            if matches!(step.get_ref(), Step::Run(run) if run.command.is_empty()) {
                return Err(refuse("`command` is empty".to_owned()));
            }
            let path = match step.get_ref() {
                Step::Write(write) => Some(&write.path),
                Step::Replace(replace) => Some(&replace.path),
                Step::Delete(path) => Some(path),
                _ => None,
            };
            if let Some(path) = path {
                edit::check(path).map_err(|error| refuse(error.to_string()))?;
            }
            ending = match step.get_ref() {
                Step::Exit(_) => Some("exit"),
                Step::Crash(_) => Some("crash"),
                Step::Hang(_) => Some("hang"),
                _ => None,
            };
        }
        Ok(())
    }
}

/// Returns what the parser said in words that fit a script, on one line.
fn plain(message: &str) -> String {
    if message.starts_with("wanted exactly 1 element") {
        return "a step needs exactly one key, such as `say`".to_owned();
    }
    let message = message.replace('\n', ", ");
    plain_words(&message, "a table").replacen("unknown value", "unknown name", 1)
}

fn line(lines: &[usize], span: Option<Range<usize>>) -> usize {
    let at = span.map_or(0, |span| span.start);
    lines.partition_point(|begin| *begin <= at)
}

/// Returns a table as JSON; dates are texts.
pub(super) fn json(table: &toml::Table) -> Value {
    let fields = table.iter();
    Value::Object(
        fields
            .map(|(name, value)| (name.clone(), value_json(value)))
            .collect(),
    )
}

fn value_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(yes) => Value::from(*yes),
        toml::Value::Datetime(date) => Value::from(date.to_string()),
        toml::Value::Array(values) => Value::Array(values.iter().map(value_json).collect()),
        toml::Value::Table(table) => json(table),
    }
}
