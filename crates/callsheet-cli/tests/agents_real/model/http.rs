//! As much of HTTP/1.1 as the agent CLIs need of a server: one request after the other, an answer whole or in chunks.

#![expect(clippy::unwrap_used, reason = "a CLI that breaks HTTP fails the test")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Reads a request; none where the client has closed the connection.
    pub(crate) fn read(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self {
            method,
            path,
            headers,
            body: Vec::new(),
        };
        request.body = if request.header("transfer-encoding") == Some("chunked") {
            unchunked(reader)?
        } else {
            let length = request.header("content-length").unwrap_or("0");
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body)?;
            body
        };
        Ok(Some(request))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|header| header.0 == name);
        found.next().map(|header| header.1.as_str())
    }
}

fn unchunked(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk)?;
        if length == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

/// Sends an answer whole.
pub(crate) fn send(
    mut stream: &TcpStream,
    status: u16,
    headers: &[(&str, String)],
    body: &str,
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let length = body.len();
    head.push_str(&format!(
        "content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    ));
    stream.write_all((head + body).as_bytes())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        _ => "Overloaded",
    }
}

/// An answer that is sent in pieces. Dropped before its end, it is a connection that was cut.
pub(crate) struct Stream<'a>(&'a TcpStream);

impl<'a> Stream<'a> {
    pub(crate) fn open(mut stream: &'a TcpStream) -> io::Result<Self> {
        stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
              transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        )?;
        Ok(Self(stream))
    }

    pub(crate) fn send(&mut self, frame: &str) -> io::Result<()> {
        write!(self.0, "{:x}\r\n{frame}\r\n", frame.len())
    }

    pub(crate) fn end(self) -> io::Result<()> {
        let mut stream = self.0;
        stream.write_all(b"0\r\n\r\n")
    }
}
