//! A server on a project of its own, and a client that sends whatever bytes it is told to.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot start a server has nothing to test"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::Response;
use crate::desk::{Desk, wait_for};
use crate::openapi::check;
use crate::project::Run;

/// Far more than any answer needs.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server that runs; it is ended with the test.
pub(crate) struct Server {
    pub(crate) desk: Desk,
    pub(crate) url: String,
    /// The host and the port.
    pub(crate) host: String,
    pub(crate) token: String,
    pub(crate) read_token: String,
    child: Child,
    said: Arc<Mutex<String>>,
}

/// What a server answers.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The names are in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        let found = all.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let parsed = serde_json::from_str(&self.body);
        parsed.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns what the envelope holds.
    #[track_caller]
    pub(crate) fn data(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.json()["data"].clone()
    }

    /// Returns status, code and message of an error.
    #[track_caller]
    pub(crate) fn error(&self) -> String {
        let error = &self.json()["error"];
        let word = |field: &str| error[field].as_str().unwrap_or("-").to_owned();
        format!("{} {}: {}", self.status, word("code"), word("message"))
    }
}

impl Server {
    /// Serves a project on any port.
    pub(crate) fn start(desk: Desk) -> Self {
        Self::with(desk, &["--port", "0"])
    }

    /// Serves a project with arguments.
    pub(crate) fn with(desk: Desk, args: &[&str]) -> Self {
        let args: Vec<&str> = ["serve", "--json"].iter().chain(args).copied().collect();
        let mut command = desk.project.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (hears, mut stderr) = (Arc::clone(&said), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]);
                hears.lock().unwrap().push_str(&text);
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        let running = loop {
            let read = stdout.read_line(&mut text).unwrap();
            if let Ok(running) = serde_json::from_str::<Value>(&text) {
                break running;
            }
            assert_ne!(read, 0, "{text}{}", said.lock().unwrap());
        };
        let word = |field: &str| running[field].as_str().unwrap().to_owned();
        let address = word("address");
        Self {
            desk,
            url: word("url"),
            host: address.strip_prefix("http://").unwrap().to_owned(),
            token: word("token"),
            read_token: word("read_token"),
            child,
            said,
        }
    }

    /// Sends bytes and returns what comes back.
    #[track_caller]
    pub(crate) fn send(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request).unwrap();
        let mut bytes = Vec::new();
        // A server that refuses a request half read may cut the line behind its answer.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap_or((line, ""));
            (name.to_ascii_lowercase(), value.to_owned())
        };
        Answer {
            status: status.and_then(|status| status.parse().ok()).unwrap_or(0),
            headers: lines.map(header).collect(),
            body: body.to_owned(),
        }
    }

    /// Sends a request with these headers, those of every request aside.
    #[track_caller]
    pub(crate) fn request(
        &self,
        (method, target): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut text = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: {}\r\n", self.host));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let posts = !matches!(method, "GET" | "HEAD");
        if posts || !body.is_empty() {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body);
        self.send(text.as_bytes())
    }

    /// Asks as a program that may do everything.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, target: &str, body: Option<&Value>) -> Answer {
        self.keyed(method, target, (body, None))
    }

    /// Does the same under a key.
    #[track_caller]
    pub(crate) fn keyed(
        &self,
        method: &str,
        target: &str,
        (body, key): (Option<&Value>, Option<&str>),
    ) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(key.map(|key| ("Idempotency-Key", key)));
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        let body = body.map(ToString::to_string).unwrap_or_default();
        let answer = self.request((method, target), &headers, &body);
        let told = || {
            self.request(("GET", "/openapi.json"), &headers[..1], "")
                .json()
        };
        let response = Response {
            status: answer.status,
            headers: answer.headers.clone(),
            body: answer.body.clone().into_bytes(),
        };
        check(told, method, target, &response);
        answer
    }

    #[track_caller]
    pub(crate) fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, None)
    }

    #[track_caller]
    pub(crate) fn post(&self, target: &str, body: &Value) -> Answer {
        self.ask("POST", target, Some(body))
    }

    /// Adds a task that may write below `src`, and returns its id.
    #[track_caller]
    pub(crate) fn task(&self, title: &str) -> String {
        let body = serde_json::json!({"title": title, "write_scope": ["src/**"]});
        let made = self.post("/api/projects/project/tasks", &body).data(201);
        made["id"].as_str().unwrap().to_owned()
    }

    /// Starts a run of a task and returns its id.
    #[track_caller]
    pub(crate) fn run(&self, task: &str) -> String {
        let started = self.ask("POST", &format!("/api/tasks/{task}/runs"), None);
        started.data(201)["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a run is over, and returns its document.
    #[track_caller]
    pub(crate) fn over(&self, run: &str) -> Value {
        let mut document = Value::Null;
        wait_for("the run is over", || {
            document = self.get(&format!("/api/runs/{run}")).data(200);
            document["state"] == "finished"
        });
        document
    }

    /// Returns an answer as a snapshot shows it: ids, times, hashes and places are nameless.
    #[must_use = "snapshot it"]
    pub(crate) fn shown(&self, answer: &Answer) -> String {
        let run = Run {
            status: ExitStatus::default(),
            stdout: answer.body.clone().into_bytes(),
            stderr: Vec::new(),
        };
        let shown = self.desk.project.shown(&run);
        let body = shown.trim_start_matches("exit: 0\n--- stdout\n");
        let body = nameless(body.trim_end());
        format!("{} {}", answer.status, without_took(&body))
    }

    /// Returns what the server has said.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Sends a signal to the server.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Sends a signal, waits until the server is gone, and gives the project back.
    #[track_caller]
    pub(crate) fn stop(mut self, signal: Signal) -> (Desk, ExitStatus) {
        self.signal(signal);
        let mut status = None;
        wait_for("the server is gone", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let desk = std::mem::replace(&mut self.desk, Desk::new(""));
        (desk, status.unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // It ends its agents, too.
            self.signal(Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

/// Puts `[TOOK]` in the place of how long something took.
fn without_took(text: &str) -> String {
    let key = "\"took_ms\":";
    let mut pieces = text.split(key);
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown.push_str(key);
        shown.push_str("[TOOK]");
        shown.push_str(piece.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    shown
}

/// Puts `[TIME]` in the place of milliseconds since 1970, and `[HASH]` in that of hashes and commits.
fn nameless(text: &str) -> String {
    let mut shown = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let end = &word[bare.len()..];
        let is_time = bare.len() == 13 && bare.bytes().all(|byte| byte.is_ascii_digit());
        let is_hash = bare.len() >= 40 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        match (is_time, is_hash) {
            (true, _) => shown.push_str("[TIME]"),
            (_, true) => shown.push_str("[HASH]"),
            _ => shown.push_str(bare),
        }
        shown.push_str(end);
    }
    shown
}
