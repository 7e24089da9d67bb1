//! A model server on the loopback for the protocols that the agent CLIs speak.
//!
//! It answers by a script and keeps every request. A run of a CLI has a base URL of its own, so that runs at the same time do not
//! see each other. It knows no keys and reaches nothing but who connects to it.

#![expect(
    clippy::unwrap_used,
    reason = "a server that cannot serve fails the test"
)]

mod chat;
mod gemini;
mod http;
mod messages;
mod responses;
mod scenario;

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{io, thread};

use serde_json::Value;

pub(crate) use http::Request;
pub(crate) use scenario::{Asked, Edit, PhaseScript, Refusal, Scenario};

use http::Stream;

/// What the model says at the end of a turn, in the pieces in which it is streamed.
pub(crate) const WORDS: [&str; 2] = ["Hello from ", "the model server."];

/// What the model says before it calls a tool.
pub(crate) const BEFORE_TOOL: &str = "I will edit the file.";

/// What every answer costs: tokens that are not from the cache, tokens that are, tokens of the answer.
pub(crate) const USAGE: Usage = Usage {
    fresh: 120,
    cached: 30,
    output: 7,
};

/// What an answer costs, in tokens.
pub(crate) struct Usage {
    pub(crate) fresh: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
}

/// An answer in the words of a protocol, as a stream and whole.
struct Answer {
    /// The frames before the text.
    head: Vec<String>,
    /// The frames with the text, piece by piece.
    pieces: Vec<String>,
    /// The frames after the text.
    tail: Vec<String>,
    /// The same without a stream.
    whole: Value,
}

/// A refusal in the words of a protocol.
struct Refused {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Value,
}

/// How a CLI talks to its model.
struct Protocol {
    /// Tells whether a request has the result of a tool, so that the turn can end.
    has_result: fn(&Value) -> bool,
    /// Says something, in pieces.
    text: fn(&Value, &[&str]) -> Answer,
    edit: fn(&Value, &Edit) -> Answer,
    command: fn(&Value, &str) -> Answer,
    refusal: fn(Refusal) -> Refused,
}

/// A server that listens as long as the test process lives.
pub(crate) struct ModelServer {
    address: SocketAddr,
    sessions: Arc<Mutex<BTreeMap<String, Session>>>,
}

struct Session {
    scenario: Scenario,
    requests: Vec<Request>,
}

impl ModelServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sessions = Arc::new(Mutex::new(BTreeMap::new()));
        let shared = Arc::clone(&sessions);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sessions = Arc::clone(&shared);
                // A client that goes away ends its connection, and nothing else.
                thread::spawn(move || serve(&stream, &sessions).ok());
            }
        });
        Self { address, sessions }
    }

    /// Returns a model that behaves as the scenario says, for one run of a CLI.
    pub(crate) fn model(&self, scenario: Scenario) -> Model<'_> {
        let mut sessions = self.sessions.lock().unwrap();
        let key = format!("{}-{}", scenario.name(), sessions.len());
        let requests = Vec::new();
        sessions.insert(key.clone(), Session { scenario, requests });
        Model { server: self, key }
    }
}

/// The model of one run: a URL, and what was asked there.
pub(crate) struct Model<'a> {
    server: &'a ModelServer,
    key: String,
}

impl Model<'_> {
    /// Returns the base URL, without a slash at its end.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/{}", self.server.address, self.key)
    }

    /// Tells whether the model refuses until a time that it names.
    pub(crate) fn is_out_of_quota(&self) -> bool {
        let sessions = self.server.sessions.lock().unwrap();
        matches!(
            sessions[&self.key].scenario,
            Scenario::Refused(Refusal::Quota { .. })
        )
    }

    /// Makes the model edit a file, which may be known only now.
    pub(crate) fn edits(&self, edit: Edit) {
        self.does(Scenario::Edit(edit));
    }

    /// Makes the model run a line of shell, which may be known only now.
    pub(crate) fn commands(&self, line: &str) {
        self.does(Scenario::Command(line.to_owned()));
    }

    fn does(&self, scenario: Scenario) {
        let mut sessions = self.server.sessions.lock().unwrap();
        let session = sessions.get_mut(&self.key).unwrap();
        session.scenario = scenario;
    }

    /// Returns the requests to the model, in the order in which they came.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let sessions = self.server.sessions.lock().unwrap();
        sessions[&self.key].requests.clone()
    }

    /// Returns every text of the request bodies, whatever it is for, as JSON has it decoded.
    pub(crate) fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for request in self.requests() {
            collect(serde_json::from_slice(&request.body).unwrap(), &mut texts);
        }
        texts
    }
}

fn collect(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.into_iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields
            .into_iter()
            .for_each(|(_, value)| collect(value, texts)),
        _ => {}
    }
}

/// Returns the protocol that a path belongs to.
fn protocol(path: &str) -> Option<&'static Protocol> {
    let path = path.split('?').next().unwrap_or_default();
    match path.rsplit('/').next()? {
        "messages" => Some(&messages::PROTOCOL),
        "responses" => Some(&responses::PROTOCOL),
        "completions" => Some(&chat::PROTOCOL),
        method if method.ends_with("enerateContent") => Some(&gemini::PROTOCOL),
        _ => None,
    }
}

fn serve(stream: &TcpStream, sessions: &Mutex<BTreeMap<String, Session>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    // Some clients send the next request on the same connection, whatever they are told.
    while let Some(request) = Request::read(&mut reader)? {
        respond(stream, &request, sessions)?;
    }
    Ok(())
}

fn respond(
    stream: &TcpStream,
    request: &Request,
    sessions: &Mutex<BTreeMap<String, Session>>,
) -> io::Result<()> {
    let key = request.path.split(['/', '?']).nth(1).unwrap_or_default();
    let Some(protocol) = protocol(&request.path).filter(|_| request.method == "POST") else {
        return http::send(stream, 404, &[], "{}");
    };
    let scenario = {
        let mut sessions = sessions.lock().unwrap();
        let Some(session) = sessions.get_mut(key) else {
            return http::send(stream, 404, &[], "{}");
        };
        session.requests.push(request.clone());
        match session.scenario {
            Scenario::Broken { times } if session.requests.len() > times => Scenario::Text,
            _ => session.scenario.clone(),
        }
    };
    answer(stream, request, protocol, &scenario)
}

fn answer(
    stream: &TcpStream,
    request: &Request,
    protocol: &Protocol,
    scenario: &Scenario,
) -> io::Result<()> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let answer = match scenario {
        Scenario::Refused(refusal) => {
            let refused = (protocol.refusal)(*refusal);
            let body = refused.body.to_string();
            return http::send(stream, refused.status, &refused.headers, &body);
        }
        Scenario::Edit(edit) if !(protocol.has_result)(&body) => {
            let mut texts = Vec::new();
            collect(body.clone(), &mut texts);
            (protocol.edit)(&body, &edit.told_by(&texts))
        }
        Scenario::Command(line) if !(protocol.has_result)(&body) => (protocol.command)(&body, line),
        Scenario::Phases(play) => {
            let part = play(&Asked::of(&request.body));
            match part.command {
                Some(line) if !(protocol.has_result)(&body) => (protocol.command)(&body, &line),
                _ => (protocol.text)(&body, &[&part.said]),
            }
        }
        _ => (protocol.text)(&body, &WORDS),
    };
    let streams = body["stream"] == true || request.path.contains("streamGenerateContent");
    if !streams {
        return http::send(stream, 200, &[], &answer.whole.to_string());
    }
    let mut out = Stream::open(stream)?;
    for frame in &answer.head {
        out.send(frame)?;
    }
    match scenario {
        Scenario::Broken { .. } => {
            out.send(&answer.pieces[0])?;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Scenario::Slow => loop {
            out.send(&answer.pieces[0])?;
            thread::sleep(Duration::from_millis(200));
        },
        _ => {}
    }
    for frame in answer.pieces.iter().chain(&answer.tail) {
        out.send(frame)?;
    }
    out.end()
}

/// Returns a server-sent event, with its type where there is one.
fn frame(data: &Value) -> String {
    match data["type"].as_str() {
        Some(kind) => format!("event: {kind}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}
