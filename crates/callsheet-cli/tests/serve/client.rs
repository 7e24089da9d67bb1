//! A small client: requests, events as they come, and a WebSocket.

#![expect(
    clippy::unwrap_used,
    reason = "a client whose connection breaks fails the test"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::http::HeaderName;
use tungstenite::{Error, HandshakeError, Message, WebSocket};

/// Far more than any answer needs; whoever waits longer waits for ever.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// Returns a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name)?;
        Some(&found.1)
    }

    /// Returns the body as text.
    #[track_caller]
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Returns the body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// Returns the body as JSON, where the status is what it should be.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(
            self.status,
            status,
            "{}",
            String::from_utf8_lossy(&self.body)
        );
        self.json()
    }

    /// Returns the code and the sentence of an error.
    #[track_caller]
    pub(crate) fn error(&self, status: u16) -> (String, String) {
        let body = self.expect(status);
        let text = |name: &str| body["error"][name].as_str().unwrap().to_owned();
        (text("code"), text("message"))
    }
}

/// Sends a request and returns the answer to it.
#[track_caller]
pub(crate) fn send(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    let mut reader = open(address, method, path, headers, body);
    let (status, headers) = head(&mut reader);
    let mut response = Response {
        status,
        headers,
        body: Vec::new(),
    };
    let length = response.header("content-length").map(str::parse);
    match length {
        Some(length) => {
            response.body = vec![0; length.unwrap()];
            reader.read_exact(&mut response.body).unwrap();
        }
        None if response.header("transfer-encoding") == Some("chunked") => {
            while let Some(chunk) = chunk(&mut reader) {
                response.body.extend(chunk);
            }
        }
        None => {}
    }
    response
}

fn open(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut request = format!("{method} {path} HTTP/1.1\r\n");
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        request.push_str(&format!("Host: {address}\r\n"));
    }
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        request.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    // A server that refuses the head reads no body.
    let _ = stream.write_all(body);
    BufReader::new(stream)
}

fn head(reader: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let status = line(reader);
    let status = status
        .split(' ')
        .nth(1)
        .unwrap_or_else(|| panic!("{status}"));
    let status = status.parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let line = line(reader);
        let Some((name, value)) = line.split_once(':') else {
            return (status, headers);
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
}

fn line(reader: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.trim_end_matches(['\r', '\n']).to_owned()
}

/// Reads a chunk of a body; nothing at its end.
fn chunk(reader: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let length = usize::from_str_radix(&line(reader), 16).unwrap();
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes).unwrap();
    line(reader);
    (length > 0).then_some(bytes)
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<i64>,
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

impl Event {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

/// A stream of events.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
    pending: String,
}

impl Events {
    /// Begins to listen; the server has answered when this returns.
    #[track_caller]
    pub(crate) fn open(address: &str, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut reader = open(address, "GET", path, headers, b"");
        let (status, headers) = head(&mut reader);
        assert_eq!(status, 200, "{headers:?}");
        let kind = ("content-type".to_owned(), "text/event-stream".to_owned());
        assert!(headers.contains(&kind), "{headers:?}");
        Self {
            reader,
            pending: String::new(),
        }
    }

    /// Waits for the next event; comments are passed over.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Event {
        loop {
            if let Some((block, rest)) = self.pending.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.pending = rest;
                if let Some(event) = event(&block) {
                    return event;
                }
                continue;
            }
            let chunk = chunk(&mut self.reader).unwrap();
            self.pending.push_str(&String::from_utf8(chunk).unwrap());
        }
    }
}

fn event(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Some(Event {
        id: field("id").map(|id| id.parse().unwrap()),
        name: field("event").map(str::to_owned),
        data: field("data")?.to_owned(),
    })
}

/// A WebSocket.
pub(crate) struct Socket(WebSocket<TcpStream>);

/// What a server sends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Frame {
    Text(String),
    Ping,
    Close,
}

impl Socket {
    /// Opens one; the status comes back where it is refused.
    pub(crate) fn open(address: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let mut request = format!("ws://{address}/ws").into_client_request().unwrap();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(HandshakeError::Failure(Error::Http(response))) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends a text.
    pub(crate) fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap();
    }

    /// Waits for what comes next. A ping is answered with the next call.
    #[track_caller]
    pub(crate) fn next_frame(&mut self) -> Frame {
        match self.0.read() {
            Ok(Message::Text(text)) => Frame::Text(text.to_string()),
            Ok(Message::Ping(_)) => Frame::Ping,
            Ok(Message::Close(_))
            | Err(Error::ConnectionClosed | Error::Io(_) | Error::Protocol(_)) => Frame::Close,
            other => panic!("{other:?}"),
        }
    }

    /// Says nothing any more, and waits until the server hangs up.
    #[track_caller]
    pub(crate) fn fall_silent(mut self) {
        self.0.get_mut().read_to_end(&mut Vec::new()).unwrap();
    }

    /// Waits for the next message.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Value {
        loop {
            match self.next_frame() {
                Frame::Text(text) => return serde_json::from_str(&text).unwrap(),
                Frame::Ping => {}
                Frame::Close => panic!("the server closed the socket"),
            }
        }
    }
}
