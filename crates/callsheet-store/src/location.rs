//! Where a store is: a file, or a database of a PostgreSQL server.
//!
//! A password goes in and never comes out: neither `Display` nor `Debug` nor any error shows it, and a URL that cannot
//! be read is not repeated.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::config::{Config, Host, SslMode};

use crate::StoreError;

/// How long to wait for a server where the URL does not say, until it has accepted the login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server may take for one statement where the URL does not say.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// The schema of the database that holds the tables where the URL does not say.
const SCHEMA: &str = "callsheet";

/// How long a server may leave what was sent to it without an answer of its network.
const SILENCE: Duration = Duration::from_secs(10);

/// How long a connection may be quiet before it is tried whether the server is still there.
const QUIET: Duration = Duration::from_secs(5);

/// The place of a store.
#[derive(Clone)]
#[non_exhaustive]
pub enum Location {
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// A database of a PostgreSQL server.
    Postgres(Server),
}

/// A database of a PostgreSQL server, with what it takes to log in.
#[derive(Clone)]
pub struct Server {
    config: Box<Config>,
    ours: Ours,
}

/// What a URL says that only this program understands.
#[derive(Clone)]
struct Ours {
    schema: String,
    durability: Durability,
    answer: Duration,
}

/// What a server has to promise before anything is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// What it has acknowledged is on its disk.
    Full,
    /// Whatever it is set to.
    Server,
}

impl Location {
    /// Returns the place that a text names: a URL with `postgres://` or `postgresql://`, or else a path.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        if ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
        {
            return text.parse().map(Self::Postgres);
        }
        if text.is_empty() {
            return Err(StoreError::refused("the place of the store is empty"));
        }
        Ok(Self::Sqlite(PathBuf::from(text)))
    }

    /// Returns the file, where the store is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => fmt::Display::fmt(&path.display(), f),
            Self::Postgres(server) => fmt::Display::fmt(server, f),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(server) => f.debug_tuple("Postgres").field(server).finish(),
        }
    }
}

impl Server {
    /// Returns what the client library needs.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the schema that holds the tables, which is a plain name.
    pub(crate) fn schema(&self) -> &str {
        &self.ours.schema
    }

    /// Returns what the server has to promise.
    pub(crate) fn durability(&self) -> Durability {
        self.ours.durability
    }

    /// Returns how long the server may take until it has accepted the login.
    pub(crate) fn connect_limit(&self) -> Duration {
        let each = self.config.get_connect_timeout();
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(1);
        each.map_or(CONNECT_TIMEOUT, |each| each.saturating_mul(hosts))
    }

    /// Returns how long the server may take for one statement.
    pub(crate) fn answer_limit(&self) -> Duration {
        self.ours.answer
    }
}

impl Ours {
    /// Takes what is ours out of a URL and returns the rest of it.
    fn split(url: &str) -> Result<(Self, String), StoreError> {
        let mut ours = Self {
            schema: SCHEMA.to_owned(),
            durability: Durability::Full,
            answer: ANSWER_TIMEOUT,
        };
        let Some((address, query)) = url.split_once('?') else {
            return Ok((ours, url.to_owned()));
        };
        let mut rest = Vec::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let taken = match name {
                "schema" => ours.set_schema(value),
                "durability" => ours.set_durability(value),
                "answer_timeout" => ours.set_answer(value),
                "options" => {
                    refuse_options(value)?;
                    rest.push(pair);
                    Some(())
                }
                _ => {
                    rest.push(pair);
                    Some(())
                }
            };
            if taken.is_none() {
                return Err(StoreError::refused(format!(
                    "the URL of the store has a `{name}` that cannot be read; {FORMS}"
                )));
            }
        }
        let mark = if rest.is_empty() { "" } else { "?" };
        Ok((ours, format!("{address}{mark}{}", rest.join("&"))))
    }

    fn set_schema(&mut self, name: &str) -> Option<()> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let fits = name.len() < 64
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(plain)
            && !name.starts_with("pg_");
        name.clone_into(&mut self.schema);
        fits.then_some(())
    }

    fn set_durability(&mut self, name: &str) -> Option<()> {
        self.durability = match name {
            "full" => Durability::Full,
            "server" => Durability::Server,
            _ => return None,
        };
        Some(())
    }

    fn set_answer(&mut self, seconds: &str) -> Option<()> {
        let seconds = seconds.parse().ok().filter(|n| (1..=86400).contains(n))?;
        self.answer = Duration::from_secs(seconds);
        Some(())
    }
}

/// What the parameters look like that only this program understands.
const FORMS: &str = "they read `schema=NAME` (lower-case letters, digits and `_`), `durability=full` or \
    `durability=server`, and `answer_timeout=SECONDS`";

/// Refuses what would be set otherwise anyway, so that nobody believes that it holds.
fn refuse_options(options: &str) -> Result<(), StoreError> {
    let options = options.to_ascii_lowercase().replace('-', "_");
    let refused = |name, instead| {
        StoreError::refused(format!(
            "the URL of the store sets `{name}` by `options`, which this program sets itself; {instead}"
        ))
    };
    if options.contains("search_path") {
        let instead = "`schema=NAME` says which schema holds the tables";
        return Err(refused("search_path", instead));
    }
    if options.contains("synchronous_commit") {
        let instead = "`durability=server` takes the server as it is";
        return Err(refused("synchronous_commit", instead));
    }
    Ok(())
}

impl FromStr for Server {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self, StoreError> {
        let bad = |why: &str| {
            StoreError::refused(format!(
                "the URL of the store {why}; it reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE`"
            ))
        };
        let rest = url
            .split_once("://")
            .map(|(_, rest)| rest)
            .ok_or_else(|| bad("is none of PostgreSQL"))?;
        // The client library splits at the first `@`, wherever it stands; what comes after it would be printed as host.
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if rest.matches('@').count() > authority.matches('@').count().min(1) {
            return Err(bad(
                "has a sign in its password that must be written as `%40` (@), `%2F` (/), `%3F` (?) or `%23` (#)",
            ));
        }
        let tls = ["require", "verify-ca", "verify-full"];
        if tls
            .iter()
            .any(|mode| rest.contains(&format!("sslmode={mode}")))
        {
            return Err(StoreError::refused(
                "the URL of the store asks for TLS by `sslmode`, which this program does not speak",
            ));
        }
        let (ours, url) = Ours::split(url)?;
        let mut config = Config::from_str(&url).map_err(|_| bad("cannot be read"))?;
        if config.get_hosts().is_empty() {
            return Err(bad("names no host"));
        }
        config.ssl_mode(SslMode::Disable);
        if config.get_application_name().is_none() {
            config.application_name("callsheet");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        // A server that took a request and is cut off before it answers would be waited for for hours.
        if !rest.contains("keepalives") {
            config.keepalives_idle(QUIET);
            config.keepalives_interval(QUIET);
            config.keepalives_retries(2);
        }
        Ok(Self {
            config: Box::new(config),
            ours,
        })
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        let ports = self.config.get_ports();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match host {
                Host::Tcp(name) => f.write_str(name)?,
                Host::Unix(folder) => write!(f, "{}", folder.display())?,
            }
            if let Some(port) = ports.get(at).or(ports.first()) {
                write!(f, ":{port}")?;
            }
        }
        match self.config.get_dbname() {
            Some(name) => write!(f, "/{name}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}

#[cfg(test)]
mod tests;
