//! The project of `callsheet demo --serve`, and the server on it.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot start its server has nothing to test"
)]

use std::io::{BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize as _;
use serde_json::Value;

use crate::page::Page;
use crate::project::{Project, Run, finish};

/// The folder of the demo.
const FOLDER: &str = "todo";

/// A server on a project that has something to show on every page.
pub(crate) struct Stage {
    pub(crate) project: Project,
    /// `http://HOST:PORT`.
    pub(crate) origin: String,
    pub(crate) token: String,
    pub(crate) read_token: String,
    child: Child,
}

impl Stage {
    /// Makes the project of the demo and serves it, without a worker that would change it.
    pub(crate) fn set() -> Self {
        let mut project = Project::new();
        project.variable("PATH", &std::env::var("PATH").unwrap());
        let command = project.command(&["demo", FOLDER, "--serve", "--port", "0", "--json"]);
        let (child, served) = start(command);
        Self::of(project, child, &served)
    }

    fn of(project: Project, child: Child, served: &Value) -> Self {
        let word = |field: &str| served[field].as_str().unwrap().to_owned();
        Self {
            project,
            origin: word("address"),
            token: word("token"),
            read_token: word("read_token"),
            child,
        }
    }

    /// Returns a file of the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.project.path(FOLDER).join(path)
    }

    /// Adds a runner that plays a script.
    pub(crate) fn runner(&self, name: &str, script: &str) {
        let settings = self.path("callsheet.toml");
        let mut text = std::fs::read_to_string(&settings).unwrap();
        text.push_str(&format!(
            "\n[runners.{name}]\nadapter = \"scripted\"\nscript = \"{name}.toml\"\n"
        ));
        std::fs::write(settings, text).unwrap();
        std::fs::write(self.path(&format!("{name}.toml")), script).unwrap();
    }

    /// Opens the dashboard as somebody who has the token; none where there is no browser.
    pub(crate) fn page(&self) -> Option<Page> {
        let mut page = Page::open(&self.origin)?;
        page.goto(&format!("/?token={}", self.token));
        Some(page)
    }

    /// Runs the program in the project, as another process beside the server.
    #[track_caller]
    pub(crate) fn callsheet(&self, args: &[&str]) -> Run {
        let mut command = self.project.command(args);
        finish(command.current_dir(self.path("")))
    }

    /// Returns the document of a command.
    #[track_caller]
    pub(crate) fn document(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
        self.callsheet(&args).json()
    }

    /// Stops the server and starts another one on the same port.
    #[must_use]
    pub(crate) fn again(mut self) -> Self {
        self.end();
        let port = self.origin.rsplit(':').next().unwrap().to_owned();
        let mut command = self.project.command(&["serve", "--port", &port, "--json"]);
        command.current_dir(self.path(""));
        let (child, served) = start(command);
        let word = |field: &str| served[field].as_str().unwrap().to_owned();
        assert_eq!(word("address"), self.origin);
        self.token = word("token");
        self.read_token = word("read_token");
        self.child = child;
        self
    }

    fn end(&mut self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        // It ends its worker, too.
        let _ = kill_process(pid, Signal::TERM);
        let _ = self.child.wait();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.end();
        }
    }
}

/// Starts a server, and returns the document that says where it is.
fn start(mut command: Command) -> (Child, Value) {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let said = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let mut documents = serde_json::Deserializer::from_reader(stdout);
    match Value::deserialize(&mut documents) {
        Ok(served) => (child, served),
        Err(error) => panic!("{error}: {}", said.join().unwrap()),
    }
}

/// A condition that a page hears of what happens.
pub(crate) const LIVE: &str = "document.querySelector('#link [data-word]')?.textContent === 'Live'";

/// The story that waits for a person.
pub(crate) const BLOCKED: &str = "2-2-share-the-list";

/// The titles of the tasks that the demo adds.
pub(crate) const VIOLATES: &str = "Finish several tasks at once";
pub(crate) const READY: &str = "Sort the list by name";

impl Stage {
    /// Returns the newest run of the task with a title.
    #[track_caller]
    pub(crate) fn run_of(&self, title: &str) -> Value {
        let task = self.task(title);
        let runs = self.document(&["runs"]);
        let mut runs = runs["runs"].as_array().unwrap().iter();
        runs.find(|run| run["task"] == task["id"]).unwrap().clone()
    }

    /// Returns the task with a title.
    #[track_caller]
    pub(crate) fn task(&self, title: &str) -> Value {
        let tasks = self.document(&["task", "list"]);
        let mut tasks = tasks["tasks"].as_array().unwrap().iter();
        tasks.find(|task| task["title"] == title).unwrap().clone()
    }

    /// Returns every page, by a name for its screenshots.
    pub(crate) fn pages(&self) -> Vec<(&'static str, String)> {
        let run = self.run_of(VIOLATES);
        let other = self.run_of(READY);
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let (prompt, with) = (word(&run["prompt"]), word(&other["prompt"]));
        vec![
            ("attention", "/".to_owned()),
            ("sprint", "/sprint".to_owned()),
            ("story", format!("/stories/{BLOCKED}")),
            ("runs", "/runs".to_owned()),
            ("run", format!("/runs/{}", word(&run["id"]))),
            ("prompts", "/prompts".to_owned()),
            ("prompt", format!("/prompts/{prompt}")),
            ("prompts-compared", format!("/prompts/{prompt}?with={with}")),
            ("compose", "/compose".to_owned()),
            ("history", "/history".to_owned()),
            ("history-search", "/history?q=finish".to_owned()),
            ("limits", "/limits".to_owned()),
            ("settings", "/settings".to_owned()),
        ]
    }
}
