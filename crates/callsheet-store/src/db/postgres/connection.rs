//! A connection to a server on which every answer has a time limit.
//!
//! A server may accept a connection and say nothing more, or be cut off in the middle. The limits of the network do not
//! notice the first, and nobody waits for hours: after a silence the connection is lost.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Config, Error, Row, SimpleQueryMessage, Statement};

use super::tls;
use crate::db::Value;
use crate::location::Server;

/// How long a connection may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// What the server gets beyond its own limit for a statement, so that it is the one who tells.
const GRACE: Duration = Duration::from_secs(5);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum ConnectionError {
    /// The server or the client library says why.
    Said(Error),
    /// The server cancelled a statement, which may take this long.
    Cancelled(Error, Duration),
    /// Nothing came for this long.
    Silent(Duration),
    /// This machine has no means for a connection.
    System(io::Error),
    /// The encryption cannot be set up as it should be.
    Tls(String),
    /// The server asks for a password; with why the password file has none, if there is a file.
    NoPassword(Option<String>),
}

/// A connection, and the loop that drives it while somebody waits.
pub(super) struct Connection {
    /// There until the connection is dropped.
    client: Option<Client>,
    driver: Driver,
    /// Ends when the connection does.
    ended: JoinHandle<()>,
    /// What the server said last, where it closed the connection.
    farewell: Arc<Mutex<Option<Error>>>,
    notes: UnboundedReceiver<()>,
    /// How long a statement may take.
    limit: Cell<Duration>,
    is_silent: Cell<bool>,
}

/// A runtime that waits for nobody when it goes: a name that is still looked up would hold it.
struct Driver(Option<Runtime>);

impl Driver {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self(Some(runtime)))
    }

    /// Waits for a future; none if it takes too long.
    fn within<T>(&self, limit: Duration, future: impl Future<Output = T>) -> Option<T> {
        // There until it goes.
        let runtime = self.0.as_ref()?;
        runtime.block_on(async { timeout(limit, future).await.ok() })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Connection {
    /// Connects to a server and logs in.
    pub(super) fn connect(server: &Server) -> Result<Self, ConnectionError> {
        let driver = Driver::start().map_err(ConnectionError::System)?;
        let limit = server.connect_limit();
        let tls = tls::connector(server.encryption()).map_err(ConnectionError::Tls)?;
        let connect = |config: &Config| {
            let connected = driver.within(limit, config.connect(tls.clone()));
            connected.ok_or(ConnectionError::Silent(limit))
        };
        let mut connected = connect(server.config())?;
        if let Err(error) = &connected
            && is_worth_plain(server, error)
        {
            let mut plain = server.config().clone();
            plain.ssl_mode(SslMode::Disable);
            connected = connect(&plain)?.or(connected);
        }
        let (client, mut connection) = connected.map_err(|error| why(server, error))?;
        let (tell, notes) = unbounded_channel();
        let farewell = Arc::new(Mutex::new(None));
        let last = Arc::clone(&farewell);
        let drive = async move {
            loop {
                match poll_fn(|cx| connection.poll_message(cx)).await {
                    // Nobody listens most of the time.
                    Some(Ok(AsyncMessage::Notification(_))) => drop(tell.send(())),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => {
                        *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        return;
                    }
                    None => return,
                }
            }
        };
        let runtime = driver.0.as_ref().ok_or(ConnectionError::Silent(limit))?;
        Ok(Self {
            ended: runtime.spawn(drive),
            client: Some(client),
            driver,
            farewell,
            notes,
            limit: Cell::new(server.answer_limit()),
            is_silent: Cell::new(false),
        })
    }

    /// Tells whether the connection is good for nothing more.
    pub(super) fn is_lost(&self) -> bool {
        self.is_silent.get() || self.client.as_ref().is_none_or(Client::is_closed)
    }

    /// Returns how long a statement may take.
    pub(super) fn limit(&self) -> Duration {
        self.limit.get()
    }

    /// Changes how long a statement may take; the server has its own limit, which is told apart.
    pub(super) fn set_limit(&self, limit: Duration) {
        self.limit.set(limit);
    }

    /// Runs statements without values.
    pub(super) fn batch(&self, sql: &str) -> Result<(), ConnectionError> {
        self.wait(async |client| client.batch_execute(sql).await)
    }

    /// Runs statements without values and returns the texts of all rows.
    pub(super) fn texts(&self, sql: &str) -> Result<Vec<Vec<String>>, ConnectionError> {
        let messages = self.wait(async |client| client.simple_query(sql).await)?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let text = |row: &tokio_postgres::SimpleQueryRow, at| row.get(at).unwrap_or("").to_owned();
        Ok(rows
            .map(|row| (0..row.len()).map(|at| text(row, at)).collect())
            .collect())
    }

    /// Prepares a statement.
    pub(super) fn prepare(&self, sql: &str) -> Result<Statement, ConnectionError> {
        self.wait(async |client| client.prepare(sql).await)
    }

    /// Runs a statement, hands out its rows until `take` has enough, and returns how many rows it changed.
    pub(super) fn query(
        &self,
        statement: &Statement,
        values: &[Value<'_>],
        mut take: impl FnMut(&Row) -> Result<bool, Error>,
    ) -> Result<u64, ConnectionError> {
        let rows = self.wait(async |client| client.query_raw(statement, values).await)?;
        let mut rows = pin!(rows);
        loop {
            let next =
                self.wait(async |_| poll_fn(|cx| rows.as_mut().poll_next(cx)).await.transpose());
            match next? {
                Some(row) if take(&row).map_err(ConnectionError::Said)? => {}
                Some(_) => return Ok(0),
                None => return Ok(rows.rows_affected().unwrap_or(0)),
            }
        }
    }

    /// Waits for news of a channel that is listened to, and tells whether there are some.
    pub(super) fn hear(&mut self, time: Duration) -> bool {
        let heard = self.driver.within(time, self.notes.recv());
        // One is enough for all that have arrived.
        while self.notes.try_recv().is_ok() {}
        matches!(heard, Some(Some(())))
    }

    fn wait<'c, T, W>(&'c self, ask: W) -> Result<T, ConnectionError>
    where
        W: AsyncFnOnce(&'c Client) -> Result<T, Error>,
    {
        let limit = self.limit.get().saturating_add(GRACE);
        let Some(client) = self.client.as_ref().filter(|_| !self.is_silent.get()) else {
            return Err(ConnectionError::Silent(limit));
        };
        match self.driver.within(limit, ask(client)) {
            Some(answer) => answer.map_err(|error| match error.code() {
                Some(&SqlState::QUERY_CANCELED) => {
                    ConnectionError::Cancelled(error, self.limit.get())
                }
                _ => ConnectionError::Said(self.cause(error)),
            }),
            None => {
                self.is_silent.set(true);
                Err(ConnectionError::Silent(limit))
            }
        }
    }

    /// Returns why the connection was closed, where that is all that an error says.
    fn cause(&self, error: Error) -> Error {
        if !error.is_closed() {
            return error;
        }
        let mut farewell = self.farewell.lock().unwrap_or_else(PoisonError::into_inner);
        farewell.take().unwrap_or(error)
    }
}

/// Tells whether to try without encryption, because it was only preferred: it failed, or this user may not log in with it.
fn is_worth_plain(server: &Server, error: &Error) -> bool {
    let is_refused = error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
    server.config().get_ssl_mode() == SslMode::Prefer && (is_refused || tls::is_handshake(error))
}

/// Returns why a connection could not be made.
fn why(server: &Server, error: Error) -> ConnectionError {
    if tls::is_handshake(&error) {
        return ConnectionError::Tls(tls::error_text(&error));
    }
    let is_bare = server.config().get_password().is_none();
    // The library has no other way to tell.
    let is_asked = |cause: &dyn std::error::Error| cause.to_string() == "password missing";
    if is_bare && std::error::Error::source(&error).is_some_and(is_asked) {
        return ConnectionError::NoPassword(server.no_password().map(str::to_owned));
    }
    ConnectionError::Said(error)
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.client.take());
        if !self.is_silent.get() {
            // What is left to be sent is sent, if the server takes it.
            let _ = self.driver.within(GOODBYE, &mut self.ended);
        }
    }
}
