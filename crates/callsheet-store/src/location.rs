//! Where a store is: a file, or a database of a PostgreSQL server.
//!
//! A password goes in and never comes out: neither `Display` nor `Debug` nor any error shows it, and a URL that cannot
//! be read is not repeated.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use postgres::config::{Config, Host, SslMode};

use crate::StoreError;

/// How long to wait for a server where the URL does not say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

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
pub struct Server(Box<Config>);

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
        &self.0
    }
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
        let mut config = Config::from_str(url).map_err(|_| bad("cannot be read"))?;
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
        Ok(Self(Box::new(config)))
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.0.get_user() {
            write!(f, "{user}@")?;
        }
        let ports = self.0.get_ports();
        for (at, host) in self.0.get_hosts().iter().enumerate() {
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
        match self.0.get_dbname() {
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
