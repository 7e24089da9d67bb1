//! A place for runs through `callsheet`: a project in git, a home beside it, and nothing of whoever runs the tests.

#![expect(
    clippy::unwrap_used,
    reason = "a run that cannot be set up fails the test"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::model::Model;

/// After this long a run hangs.
const PATIENCE: Duration = Duration::from_mins(3);

/// Hands over one text, which is the whole prompt.
const TASK: &str = "description = 'A task'\n[[layers]]\nname = 'task'\nvalue = 'prompt'\n";

/// Hands over two texts: one for the system prompt, and the prompt.
const BRIEF: &str = "description = 'Rules and a task'\nshape = 'messages'\n\
    [[layers]]\nname = 'rules'\nvalue = 'system'\n\
    [[layers]]\nname = 'task'\nrole = 'user'\nvalue = 'prompt'\n";

/// A project, and a home for its user.
pub(crate) struct Desk {
    folder: TempDir,
}

/// What a run left behind.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    /// The run document.
    pub(crate) run: Value,
    /// The stored events, in their order.
    pub(crate) events: Vec<Value>,
    pub(crate) stderr: String,
}

impl Ran {
    /// Returns the payloads of the events of a kind that the agent caused.
    pub(crate) fn said(&self, kind: &str) -> Vec<&Value> {
        let kind = format!("agent:{kind}");
        let found = self.events.iter().filter(|event| event["type"] == *kind);
        found.map(|event| &event["payload"]).collect()
    }

    /// Returns everything, for whoever reads why a test failed.
    pub(crate) fn shown(&self) -> String {
        let events = self.events.iter().map(|event| format!("{event}\n"));
        let events: String = events.collect();
        format!("{:#}\n{events}{}", self.run, self.stderr)
    }
}

impl Desk {
    /// Makes a project with these settings.
    pub(crate) fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let desk = Self { folder };
        fs::create_dir(desk.home()).unwrap();
        for (name, text) in [
            ("callsheet.toml", settings),
            ("callsheet/recipes/task/recipe.toml", TASK),
            ("callsheet/recipes/brief/recipe.toml", BRIEF),
            ("notes.txt", "one\ntwo\n"),
        ] {
            desk.file(name, text);
        }
        desk.git("init -q -b main");
        desk.commit("start");
        desk
    }

    /// Runs git in the project with the words of a line, and returns what it printed.
    #[track_caller]
    pub(crate) fn git(&self, line: &str) -> String {
        let mut git = self.command("git");
        let output = git.args(line.split(' ')).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Commits every file of the project, with a message of one word.
    #[track_caller]
    pub(crate) fn commit(&self, message: &str) {
        self.git("add --all");
        self.git(&format!(
            "-c user.name=a -c user.email=a@b.c commit -q -m {message}"
        ));
    }

    /// Returns the real path of a file of the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().canonicalize().unwrap();
        folder.join("project").join(name)
    }

    /// Writes a file of the project.
    pub(crate) fn file(&self, name: &str, text: &str) {
        write(&self.path(name), text);
    }

    /// Writes a file of the user.
    pub(crate) fn file_of_user(&self, name: &str, text: &str) {
        write(&self.home().join(name), text);
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Returns what is in the home of the user: paths and texts.
    pub(crate) fn files_of_user(&self) -> BTreeMap<PathBuf, Option<String>> {
        let mut found = BTreeMap::new();
        collect(&self.home(), &mut found);
        found
    }

    /// Returns the files of the project, without what git and callsheet keep there.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Option<String>> {
        let mut found = BTreeMap::new();
        collect(&self.path(""), &mut found);
        for kept in [".git", ".callsheet"] {
            let kept = self.path(kept);
            found.retain(|path, _| !path.starts_with(&kept));
        }
        found
    }

    /// Returns a command in the project, with nothing of this process in its environment but what finds programs.
    fn command(&self, program: &str) -> Command {
        let mut path = env::var_os("CALLSHEET_TEST_AGENTS").unwrap();
        path.push(":");
        path.push(env::var_os("PATH").unwrap());
        let mut command = Command::new(program);
        command
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.home())
            .stdin(Stdio::null());
        command
    }

    /// Starts `callsheet exec` on a recipe with an input.
    pub(crate) fn start(&self, recipe: &str, input: &Value) -> Child {
        let place = |name| self.folder.path().join(name);
        fs::write(place("input.json"), input.to_string()).unwrap();
        let input = place("input.json");
        self.begin(&["exec", recipe, "--input", input.to_str().unwrap()])
    }

    /// Starts a command of the program that ends with the document of a run.
    pub(crate) fn begin(&self, args: &[&str]) -> Child {
        let file = |name| File::create(self.folder.path().join(name)).unwrap();
        let mut command = self.command(env!("CARGO_BIN_EXE_callsheet"));
        command
            .arg("--json")
            .args(args)
            .stdout(file("stdout"))
            .stderr(file("stderr"));
        command.spawn().unwrap()
    }

    /// Waits for a command that ends with the document of a run, and looks whether anything that it started is left.
    #[track_caller]
    pub(crate) fn finish(&self, mut child: Child) -> Ran {
        let read = |name| fs::read_to_string(self.folder.path().join(name)).unwrap();
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if started.elapsed() > PATIENCE {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("hangs: {}", read("stderr"));
            }
            thread::sleep(Duration::from_millis(10));
        };
        let (stdout, stderr) = (read("stdout"), read("stderr"));
        let run: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
        self.ran(run, status.code(), stderr)
    }

    /// Returns what a run left behind, and looks whether that is a process.
    #[track_caller]
    pub(crate) fn ran(&self, run: Value, code: Option<i32>, stderr: String) -> Ran {
        let id = run["id"].as_str().unwrap();
        assert_eq!(processes(id), Vec::<String>::new(), "{stderr}");
        let events = self.callsheet(&["events", "--run", id, "--json"]);
        let events = events.lines().map(serde_json::from_str);
        Ran {
            code,
            events: events.map(Result::unwrap).collect(),
            run,
            stderr,
        }
    }

    /// Hands a short text over.
    #[track_caller]
    pub(crate) fn exec(&self) -> Ran {
        self.finish(self.start("task", &json!({"prompt": "Say hello.\n"})))
    }

    /// Runs another command of the program and returns what it printed.
    #[track_caller]
    pub(crate) fn callsheet(&self, args: &[&str]) -> String {
        let (code, stdout, stderr) = self.call(args);
        assert_eq!(code, Some(0), "{args:?}: {stdout}{stderr}");
        stdout
    }

    /// Runs another command of the program and returns its exit code, and what it printed on stdout and stderr.
    pub(crate) fn call(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let mut command = self.command(env!("CARGO_BIN_EXE_callsheet"));
        let output = command.args(args).output().unwrap();
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), stdout, stderr)
    }

    /// Waits until a model is asked, and returns the id of the run that asks.
    #[track_caller]
    pub(crate) fn run_that_asks(&self, model: &Model<'_>) -> String {
        let started = Instant::now();
        while model.requests().is_empty() {
            assert!(started.elapsed() < PATIENCE, "nobody asks the model");
            thread::sleep(Duration::from_millis(10));
        }
        let runs: Value = serde_json::from_str(&self.callsheet(&["runs", "--json"])).unwrap();
        runs["runs"][0]["id"].as_str().unwrap().to_owned()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Option<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        }
        found.insert(path.clone(), fs::read_to_string(&path).ok());
    }
}

/// Returns the command lines of the processes of a run, its arguments separated by spaces.
pub(crate) fn processes(run: &str) -> Vec<String> {
    let variable = format!("CALLSHEET_RUN={run}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        // Processes come and go, and those of others are not to be read.
        let read = |name| fs::read(entry.path().join(name)).unwrap_or_default();
        let environment = read("environ");
        let mut variables = environment.split(|byte| *byte == 0);
        if variables.any(|found| found == variable.as_bytes()) {
            let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            found.push(line);
        }
    }
    found
}
