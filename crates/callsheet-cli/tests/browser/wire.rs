//! The line to Chromium: commands and their answers, and what it says in between.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot talk to its browser has nothing to test"
)]

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client};

/// Far more than any command needs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A connection over which the `DevTools` protocol of Chrome is spoken.
pub(crate) struct Wire {
    socket: WebSocket<TcpStream>,
    /// The number of the last command.
    last: u64,
    /// What was said and nobody has looked at.
    events: Vec<Value>,
}

impl Wire {
    /// Connects to the address that Chromium has printed, `ws://HOST:PORT/PATH`.
    pub(crate) fn connect(address: &str) -> Self {
        let host = address.strip_prefix("ws://").unwrap();
        let (host, _) = host.split_once('/').unwrap();
        let stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = client(address, stream).unwrap();
        Self {
            socket,
            last: 0,
            events: Vec::new(),
        }
    }

    /// Sends a command and returns its result, or why there is none.
    pub(crate) fn ask(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<Value, String> {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let text = command.to_string();
        self.socket.send(Message::text(text)).unwrap();
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let Some(mut heard) = self.read() else {
                continue;
            };
            if heard["id"] == self.last {
                return match heard["error"]["message"].as_str() {
                    Some(error) => Err(error.to_owned()),
                    None => Ok(heard["result"].take()),
                };
            }
            if heard["method"].is_string() {
                self.events.push(heard);
            }
        }
        panic!("{method} takes too long");
    }

    /// Returns what was said since the last time.
    pub(crate) fn events(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    fn read(&mut self) -> Option<Value> {
        match self.socket.read().unwrap() {
            Message::Text(text) => Some(serde_json::from_str(&text).unwrap()),
            _ => None,
        }
    }
}
