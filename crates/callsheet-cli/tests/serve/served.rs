//! A server for one test, started as people start it.

#![expect(
    clippy::unwrap_used,
    reason = "a server that cannot be started fails the test"
)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;

use crate::client::{Events, PATIENCE, Response, Socket, send};
use crate::openapi::check;
use crate::project::{Project, finish};

/// A project that is served; the server is gone after the test.
pub(crate) struct Served {
    child: Child,
    /// Where it is, such as `127.0.0.1:6419`.
    pub(crate) address: String,
    pub(crate) token: String,
    pub(crate) read_token: String,
}

impl Served {
    /// Serves a project, without a worker.
    #[track_caller]
    pub(crate) fn start(project: &Project) -> Self {
        Self::with(project, &["--no-worker"])
    }

    /// Serves a project with more arguments.
    #[track_caller]
    pub(crate) fn with(project: &Project, args: &[&str]) -> Self {
        let mut command = project.command(&["--json", "serve", "--port", "0"]);
        Self::of(command.args(args))
    }

    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (mut text, mut line) = (String::new(), String::new());
        let document: Value = loop {
            line.clear();
            if stdout.read_line(&mut line).unwrap() == 0 {
                let mut said = String::new();
                child
                    .stderr
                    .take()
                    .unwrap()
                    .read_to_string(&mut said)
                    .unwrap();
                panic!("the server ended: {said}");
            }
            text.push_str(&line);
            if let Ok(document) = serde_json::from_str(&text) {
                break document;
            }
        };
        let of = |name: &str| document[name].as_str().unwrap().to_owned();
        let stderr = child.stderr.take().unwrap();
        // A pipe that is full would stop the server.
        std::thread::spawn(move || std::io::copy(&mut { stderr }, &mut std::io::sink()));
        Self {
            child,
            address: of("address").replace("http://", ""),
            token: of("token"),
            read_token: of("read_token"),
        }
    }

    /// Sends a request with the token that may do everything.
    #[track_caller]
    pub(crate) fn send(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Response {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![("Authorization", bearer.as_str())];
        if !kind.is_empty() {
            headers.push(("Content-Type", kind));
        }
        let response = send(&self.address, method, path, &headers, body);
        let told = || send(&self.address, "GET", "/openapi.json", &headers[..1], b"").json();
        check(told, method, path, &response);
        response
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", path, "", b"")
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        self.json("POST", path, body)
    }

    #[track_caller]
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Response {
        self.send(
            method,
            path,
            "application/json",
            body.to_string().as_bytes(),
        )
    }

    /// Listens to events.
    #[track_caller]
    pub(crate) fn events(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let bearer = format!("Bearer {}", self.token);
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend(headers);
        Events::open(&self.address, path, &all)
    }

    /// Opens a WebSocket.
    #[track_caller]
    pub(crate) fn socket(&self) -> Socket {
        let bearer = format!("Bearer {}", self.token);
        Socket::open(&self.address, &[("Authorization", &bearer)]).unwrap()
    }

    /// Asks until an answer is what is waited for.
    #[track_caller]
    pub(crate) fn until(&self, path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let since = Instant::now();
        loop {
            let found = self.get(path).expect(200);
            if is_it(&found) {
                return found;
            }
            assert!(since.elapsed() < PATIENCE, "{path}: {found}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let _ = self.child.wait();
    }
}

/// Returns a project in which the demo has run a sprint.
pub(crate) fn demo() -> Project {
    static DEMO: OnceLock<TempDir> = OnceLock::new();
    let made = DEMO.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_callsheet"));
        command.env_clear().current_dir(folder.path());
        let run = finish(command.args(["demo", "todo"]));
        assert_eq!(
            run.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
        folder
    });
    let project = Project::new();
    copy(&made.path().join("todo"), project.root());
    project
}

fn copy(from: &Path, to: &Path) {
    let run = finish(Command::new("cp").arg("-a").arg(from.join(".")).arg(to));
    assert_eq!(run.code(), Some(0));
}
