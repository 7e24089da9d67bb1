//! A place for one run of a CLI that is started without callsheet: files in and out, a home and a state of its own.

#![expect(
    clippy::unwrap_used,
    reason = "a run that cannot be set up fails the test"
)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::cli::Cli;
use crate::model::Model;

/// After this long a run hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// A directory with everything of one run.
pub(crate) struct Desk {
    folder: TempDir,
}

/// How a run ended, and what it said.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Desk {
    /// Makes a place with a prompt and a text for the system prompt.
    pub(crate) fn new(prompt: &str, system: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "state", "tmp", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let desk = Self { folder };
        fs::write(desk.path("prompt"), prompt).unwrap();
        fs::write(desk.path("system"), system).unwrap();
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the CLI to its end.
    #[track_caller]
    pub(crate) fn run(&self, cli: Cli, program: &Path, model: &Model<'_>) -> Ended {
        let mut child = self.command(cli, program, model).spawn().unwrap();
        self.end(&mut child)
    }

    /// Runs the CLI until its model is asked, and asks it to stop then.
    #[track_caller]
    pub(crate) fn terminate(&self, cli: Cli, program: &Path, model: &Model<'_>) -> Ended {
        let mut child = self.command(cli, program, model).spawn().unwrap();
        let started = Instant::now();
        while model.requests().is_empty() && started.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
        let pid = child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        self.end(&mut child)
    }

    #[track_caller]
    fn end(&self, child: &mut Child) -> Ended {
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > PATIENCE {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("hangs: {}{}", self.read("stdout"), self.read("stderr"));
            }
            thread::sleep(Duration::from_millis(10));
        };
        Ended {
            status,
            stdout: self.read("stdout"),
            stderr: self.read("stderr"),
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Returns the command, with nothing of this process in its environment but what finds programs.
    fn command(&self, cli: Cli, program: &Path, model: &Model<'_>) -> Command {
        let programs = program.parent().unwrap().to_str().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(program);
        command
            .args(cli.arguments(model))
            .args(self.arguments(cli).split_whitespace())
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", format!("{programs}:{path}"))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .envs(cli.env(model))
            .envs(self.state(cli, model))
            .stdin(File::open(self.path("prompt")).unwrap())
            .stdout(File::create(self.path("stdout")).unwrap())
            .stderr(File::create(self.path("stderr")).unwrap());
        command
    }

    fn arguments(&self, cli: Cli) -> String {
        let (system, work, model) = (self.text("system"), self.text("work"), cli.model());
        match cli {
            Cli::Claude => format!(
                "-p --output-format stream-json --verbose --model {model} --permission-mode acceptEdits \
                 --append-system-prompt-file {system}",
            ),
            Cli::Codex => format!(
                "exec --json --skip-git-repo-check -C {work} -m {model} -s workspace-write -p run \
                 -c analytics.enabled=false --disable plugins -",
            ),
            Cli::Gemini => {
                format!("--output-format stream-json -m {model} --approval-mode auto_edit")
            }
            Cli::Opencode => format!("run --format json -m {model} --title run"),
        }
    }

    /// Makes the files that the CLI finds in its state, and returns the variables that lead there.
    fn state(&self, cli: Cli, model: &Model<'_>) -> Vec<(&'static str, String)> {
        let state = self.text("state");
        let yes = |name| (name, "true".to_owned());
        let mut settings = cli.settings(model);
        match cli {
            Cli::Claude => vec![
                ("CLAUDE_CONFIG_DIR", state),
                yes("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"),
                yes("DISABLE_AUTOUPDATER"),
            ],
            Cli::Codex => {
                let text = toml::Value::String(self.read("system"));
                let settings = format!("developer_instructions = {text}\n");
                fs::write(self.path("state/run.config.toml"), settings).unwrap();
                vec![("CODEX_HOME", state)]
            }
            Cli::Gemini => {
                settings["security"]["auth"]["selectedType"] = json!("gemini-api-key");
                settings["privacy"]["usageStatisticsEnabled"] = json!(false);
                settings["general"]["enableAutoUpdate"] = json!(false);
                let folder = self.path("state/.gemini");
                fs::create_dir(&folder).unwrap();
                fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
                fs::copy(self.path("system"), folder.join("GEMINI.md")).unwrap();
                vec![
                    ("GEMINI_CLI_HOME", state),
                    yes("GEMINI_CLI_TRUST_WORKSPACE"),
                    yes("GEMINI_CLI_NO_RELAUNCH"),
                ]
            }
            Cli::Opencode => {
                settings["autoupdate"] = json!(false);
                settings["instructions"] = json!([self.text("system")]);
                vec![
                    ("OPENCODE_CONFIG_CONTENT", settings.to_string()),
                    ("XDG_CONFIG_HOME", format!("{state}/config")),
                    ("XDG_DATA_HOME", format!("{state}/data")),
                    ("XDG_STATE_HOME", format!("{state}/state")),
                    ("XDG_CACHE_HOME", format!("{state}/cache")),
                    yes("OPENCODE_DISABLE_AUTOUPDATE"),
                    yes("OPENCODE_DISABLE_MODELS_FETCH"),
                ]
            }
        }
    }
}
