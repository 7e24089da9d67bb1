//! Where a store is: a file, or a database of a PostgreSQL server.
//!
//! A password goes in and never comes out: neither `Display` nor `Debug` nor any error shows it, and a URL that cannot
//! be read is not repeated.

#[cfg(feature = "postgres")]
mod environment;
#[cfg(feature = "postgres")]
mod own_parameters;
#[cfg(feature = "postgres")]
mod passfile;
#[cfg(feature = "postgres")]
mod server;
#[cfg(feature = "postgres")]
mod service;
#[cfg(feature = "postgres")]
mod tls;
#[cfg(feature = "postgres")]
mod url;

use std::fmt;
use std::path::{Path, PathBuf};

#[cfg(feature = "postgres")]
pub(crate) use own_parameters::Durability;
#[cfg(feature = "postgres")]
pub(crate) use server::Encryption;
#[cfg(feature = "postgres")]
pub use server::Server;
#[cfg(feature = "postgres")]
pub(crate) use tls::{Roots, SslMode, Tls};

#[cfg(feature = "postgres")]
use self::environment::{Environment, Origin};
use crate::StoreError;

/// The place of a store.
#[derive(Clone)]
#[non_exhaustive]
pub enum Location {
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// A database of a PostgreSQL server.
    #[cfg(feature = "postgres")]
    Postgres(Server),
}

impl Location {
    /// Returns the place that a text names: a URL with `postgres://` or `postgresql://`, or else a path.
    ///
    /// What a URL leaves out is added as libpq does it: from a service, the variables `PGHOST`, `PGUSER`, `PGPASSWORD`,
    /// `PGSSLMODE` and so on, and the password file.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        #[cfg(feature = "postgres")]
        let server = |url: &str| Server::new(url, Origin::User, &Environment::of_process());
        #[cfg(not(feature = "postgres"))]
        let server = without_servers;
        Self::read(text, server)
    }

    /// Returns the place that a text names which whoever runs the program has not written, such as the settings of a project.
    ///
    /// A URL may name neither files nor services of the user then. It gets a password only from a line of the password file that
    /// names its host, and cannot ask for less encryption than `PGSSLMODE` does.
    pub fn parse_of_project(text: &str) -> Result<Self, StoreError> {
        #[cfg(feature = "postgres")]
        let server = |url: &str| Server::new(url, Origin::Project, &Environment::of_process());
        #[cfg(not(feature = "postgres"))]
        let server = without_servers;
        Self::read(text, server)
    }

    fn read<S: Into<Self>>(
        text: &str,
        server: impl Fn(&str) -> Result<S, StoreError>,
    ) -> Result<Self, StoreError> {
        if ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
        {
            return server(text).map(Into::into);
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
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => None,
        }
    }
}

#[cfg(feature = "postgres")]
impl From<Server> for Location {
    fn from(server: Server) -> Self {
        Self::Postgres(server)
    }
}

/// Refuses a URL, because this program was built without what it takes.
#[cfg(any(test, not(feature = "postgres")))]
fn without_servers(_: &str) -> Result<Location, StoreError> {
    Err(StoreError::refused(
        "the store is on a PostgreSQL server, and this program was built without PostgreSQL (its Cargo feature `postgres` is off)",
    ))
}

/// Tells whether somebody else than the owner has access to a file.
#[cfg(feature = "postgres")]
pub(crate) fn is_open_to_others(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o077 != 0
}

/// Returns why something failed, on one line within a sentence.
#[cfg(feature = "postgres")]
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    let text = error.to_string().replace('\n', " ");
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => fmt::Display::fmt(&path.display(), f),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => fmt::Display::fmt(server, f),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => f.debug_tuple("Postgres").field(server).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_refused_where_there_is_no_postgresql() {
        let wanted = "the store is on a PostgreSQL server, and this program was built without PostgreSQL (its Cargo feature `postgres` is off)";
        let refused = Location::read("postgres://me:hunter2@h/x", without_servers).unwrap_err();
        assert_eq!(refused.to_string(), wanted);
    }
}
