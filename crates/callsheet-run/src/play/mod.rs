//! Playing an agent: a script of somebody's own, or a recorded run. No model is asked, and only programs that a script names
//! are started.
//!
//! This is what the adapters `scripted` and `replay` start. Events are printed in our own wire form, one JSON line each;
//! a recording is printed byte for byte.

mod cue;
mod edit;
mod recording;
mod script;

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::{Value, json};
use signal_hook::low_level::emulate_default_handler;

pub use cue::Cue;
pub use recording::play_recording;
use script::{Call, Failed, Replace, Run, Script, Step};

use crate::{AgentEvent, Class, RunError};
use edit::Folder;

/// How a played agent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finale {
    /// With an exit code.
    Exit(u8),
    /// By a signal.
    Signal(i32),
    /// Not by itself.
    Hang,
}

impl Finale {
    /// Ends this process the same way; an exit code is left to the caller.
    pub fn perform(self) -> ExitCode {
        match self {
            Self::Exit(code) => ExitCode::from(code),
            Self::Signal(signal) => {
                // A crash that was asked for is not worth a core dump.
                let none = Rlimit {
                    current: Some(0),
                    maximum: Some(0),
                };
                let _ = setrlimit(Resource::Core, none);
                let _ = emulate_default_handler(signal);
                ExitCode::FAILURE
            }
            Self::Hang => loop {
                std::thread::park();
            },
        }
    }
}

/// Plays a script: prints its events, changes files below `cwd` and starts the programs that it names there.
pub fn play_script(
    file: &Path,
    cwd: &Path,
    cue: &Cue,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Finale, RunError> {
    let text = std::fs::read_to_string(file)
        .map_err(|cause| RunError::refused(format!("cannot read `{}`", file.display()), cause))?;
    let script = Script::parse(&text, &file.display().to_string())?;
    let folder = Folder::open(cwd)?;
    let mut cue = cue.clone();
    if script.needs_prompt() {
        let mut prompt = Vec::new();
        io::copy(&mut io::stdin().lock(), &mut prompt)
            .map_err(|cause| RunError::refused("cannot read the prompt", cause))?;
        cue.prompt = String::from_utf8_lossy(&prompt).into_owned();
    }
    let stage = Stage {
        out,
        err,
        folder,
        cwd,
        cue: None,
        silent: script.raw_only,
        calls: 0,
        failed: false,
        last: None,
    };
    stage.play(&script, &cue)
}

/// Where a script is played, and what has happened so far.
struct Stage<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    folder: Folder,
    cwd: &'a Path,
    /// What the steps of a scene are filled from.
    cue: Option<&'a Cue>,
    silent: bool,
    calls: usize,
    failed: bool,
    last: Option<String>,
}

/// What a call of a tool came to.
struct Answer<'a> {
    ok: bool,
    exit_code: Option<i32>,
    output: &'a str,
}

impl<'a> Stage<'a> {
    fn play(mut self, script: &Script, cue: &'a Cue) -> Result<Finale, RunError> {
        let (steps, is_scene) = script.steps(cue)?;
        self.cue = is_scene.then_some(cue);
        self.event(&AgentEvent::SessionStarted {
            session: None,
            model: script.model.clone(),
            version: None,
        })?;
        for step in steps {
            let place = script.place(step);
            if let Some(finale) = self.step(step.get_ref(), &place)? {
                return Ok(finale);
            }
        }
        let ok = !self.failed;
        let text = self.last.take();
        self.event(&AgentEvent::Finished {
            ok,
            reason: None,
            text,
        })?;
        Ok(Finale::Exit(0))
    }

    fn step(&mut self, step: &Step, place: &str) -> Result<Option<Finale>, RunError> {
        match step {
            Step::Say(text) => self.say(self.fill(text))?,
            Step::Think(text) => {
                let text = self.fill(text);
                self.event(&AgentEvent::Thinking { text })?;
            }
            Step::Call(call) => self.call(call)?,
            Step::Run(run) => return self.run(run, place),
            Step::Write(write) => {
                let (path, text) = (self.fill(&write.path), self.fill(&write.text));
                let input = json!({"path": path, "text": text});
                self.edit("write", &input, place, |folder| folder.write(&path, &text))?;
            }
            Step::Replace(replace) => {
                let Replace { path, from, to } = replace;
                let [path, from, to] = [path, from, to].map(|text| self.fill(text));
                let input = json!({"path": path, "from": from, "to": to});
                self.edit("replace", &input, place, |folder| {
                    folder.replace(&path, &from, &to)
                })?;
            }
            Step::Delete(path) => {
                let path = self.fill(path);
                let input = json!({"path": path});
                self.edit("delete", &input, place, |folder| folder.delete(&path))?;
            }
            Step::WaitMs(time) => sleep(Duration::from_millis(*time)),
            Step::Usage(usage) => self.event(&AgentEvent::Usage(*usage))?,
            Step::Error(error) => self.error(error)?,
            Step::Limit(limit) => self.event(&limit.event())?,
            Step::Stderr(text) => print(self.err, text)?,
            Step::Raw(line) => print(self.out, line)?,
            Step::ReadPrompt(_) => {
                io::copy(&mut io::stdin().lock(), &mut io::sink())
                    .map_err(|cause| RunError::refused("cannot read the prompt", cause))?;
            }
            Step::Exit(code) => return Ok(Some(Finale::Exit(*code))),
            Step::Crash(signal) => return Ok(Some(Finale::Signal(signal.0))),
            Step::Hang(_) => return Ok(Some(Finale::Hang)),
        }
        Ok(None)
    }

    /// Returns a text with the placeholders of a scene filled.
    fn fill(&self, text: &str) -> String {
        self.cue
            .map_or_else(|| text.to_owned(), |cue| cue.fill(text))
    }

    fn say(&mut self, text: String) -> Result<(), RunError> {
        self.last = Some(text.clone());
        self.event(&AgentEvent::Text {
            text,
            delta: false,
            subagent: false,
        })
    }

    /// Starts a program and waits for it; one that ends otherwise than the script says fails the agent.
    fn run(&mut self, run: &Run, place: &str) -> Result<Option<Finale>, RunError> {
        let command: Vec<String> = run.command.iter().map(|part| self.fill(part)).collect();
        let id = self.tool("run", json!({"command": command}))?;
        let program = command.first().map_or("", String::as_str);
        let done = Command::new(program)
            .args(command.get(1..).unwrap_or_default())
            .current_dir(self.cwd)
            .stdin(Stdio::null())
            .output()
            .map_err(|cause| {
                RunError::refused(format!("{place}: cannot run `{program}`"), cause)
            })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&done.stdout), text(&done.stderr));
        let code = done.status.code();
        let ok = code.is_some_and(|code| run.ok.contains(&code));
        let output = &format!("{stdout}{stderr}");
        let answer = Answer {
            ok,
            exit_code: code,
            output,
        };
        self.answer(id, &answer)?;
        if !ok {
            let failed = RunError::Failed {
                what: command.join(" "),
                code,
                said: stderr.lines().next().unwrap_or_default().to_owned(),
            };
            // The agent failed at its work; the script is fine, and so is the machine.
            self.error(&Failed {
                class: Class::Unknown,
                text: format!("{place}: {failed}"),
                status: None,
                resets_at: None,
            })?;
            return Ok(Some(Finale::Exit(1)));
        }
        if let Some(text) = &run.say {
            self.say(self.fill(text).replace("{output}", stdout.trim()))?;
        }
        Ok(None)
    }

    fn call(&mut self, call: &Call) -> Result<(), RunError> {
        let id = self.tool(&call.tool, script::json(&call.input))?;
        let ok = call
            .ok
            .unwrap_or(call.exit_code.is_none_or(|code| code == 0));
        let answer = Answer {
            ok,
            exit_code: call.exit_code,
            output: &call.output,
        };
        self.answer(id, &answer)
    }

    fn edit(
        &mut self,
        tool: &str,
        input: &Value,
        place: &str,
        change: impl FnOnce(&Folder) -> Result<&'static str, RunError>,
    ) -> Result<(), RunError> {
        let id = self.tool(tool, input.clone())?;
        let path = input["path"].as_str().unwrap_or_default().to_owned();
        match change(&self.folder) {
            Ok(change) => {
                let change = change.to_owned();
                self.event(&AgentEvent::FileChange { path, change })?;
                let answer = Answer {
                    ok: true,
                    exit_code: None,
                    output: "",
                };
                self.answer(id, &answer)
            }
            Err(error) => {
                let output = &error.to_string();
                let answer = Answer {
                    ok: false,
                    exit_code: None,
                    output,
                };
                self.answer(id, &answer)?;
                Err(RunError::Input(format!("{place}: {error}")))
            }
        }
    }

    fn tool(&mut self, name: &str, input: Value) -> Result<String, RunError> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        self.event(&AgentEvent::ToolCall {
            id: id.clone(),
            name: name.to_owned(),
            input,
        })?;
        Ok(id)
    }

    fn answer(&mut self, id: String, answer: &Answer<'_>) -> Result<(), RunError> {
        self.event(&AgentEvent::ToolResult {
            id,
            ok: answer.ok,
            exit_code: answer.exit_code,
            output: answer.output.to_owned(),
        })
    }

    fn error(&mut self, error: &Failed) -> Result<(), RunError> {
        self.failed = true;
        if error.resets_at.is_some() {
            self.event(&AgentEvent::Limit {
                status: "rejected".to_owned(),
                window: None,
                used: None,
                resets_at: error.resets_at,
            })?;
        }
        self.event(&AgentEvent::Error {
            class: error.class,
            status: error.status,
            text: error.text.clone(),
        })
    }

    fn event(&mut self, event: &AgentEvent) -> Result<(), RunError> {
        if self.silent {
            return Ok(());
        }
        let line = serde_json::to_string(event).map_err(|error| cannot_print(error.into()))?;
        print(self.out, &line)
    }
}

/// Prints a line at once: whoever reads along sees it when it is played.
fn print(to: &mut dyn Write, line: &str) -> Result<(), RunError> {
    writeln!(to, "{line}")
        .and_then(|()| to.flush())
        .map_err(cannot_print)
}

fn cannot_print(cause: io::Error) -> RunError {
    RunError::refused("cannot print", cause)
}
