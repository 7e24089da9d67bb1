//! What the user's environment and home directory add to a URL, as libpq does: variables, services and passwords.
//!
//! A URL that a project names is not the user's word. It gets nothing from here that is secret and not meant for its host.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::passfile::{self, Login};
use super::service;
use super::tls::SslMode;
use super::url::Params;
use crate::StoreError;

/// Who has written a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Whoever runs the program.
    User,
    /// The settings of a project, which may be somebody else's.
    Project,
}

/// The variables that set what a URL leaves out.
const VARIABLES: [(&str, &str); 11] = [
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGDATABASE", "dbname"),
    ("PGHOST", "host"),
    ("PGPASSFILE", "passfile"),
    ("PGPASSWORD", "password"),
    ("PGPORT", "port"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGUSER", "user"),
];

/// What a URL of a project does not get: a server of its choice could ask for it.
const PRIVATE: [&str; 3] = ["password", "sslcert", "sslkey"];

/// What a URL of a project may not say, because it names files and services of the user, or sends a password of one host to another.
const OWN: [&str; 6] = [
    "hostaddr",
    "passfile",
    "service",
    "sslcert",
    "sslkey",
    "sslrootcert",
];

/// Why a URL of a project has no password.
const STRICT: &str = "for a URL in the settings of a project, only a line of your password file that names the host counts";

/// The directories in which a server of this machine has its socket, which a password file calls `localhost`.
const SOCKETS: [&str; 3] = ["/tmp", "/run/postgresql", "/var/run/postgresql"];

/// The variables and the home directory of whoever runs the program.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    pub(super) variables: BTreeMap<String, String>,
    pub(super) home: Option<PathBuf>,
    /// The name of the user, who is the one to log in where nothing else is said.
    pub(super) user: Option<String>,
}

impl Environment {
    /// Returns those of this process.
    pub(super) fn of_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, value)| name.starts_with("PG") && !value.is_empty());
        Self {
            variables: variables.collect(),
            home: std::env::home_dir(),
            user: whoami::username().ok(),
        }
    }

    /// Adds what a URL leaves out, but for what is in the password file.
    pub(super) fn complete(&self, params: &mut Params, origin: Origin) -> Result<(), StoreError> {
        let is_own = |name: &&&str| match params.get(**name).map(String::as_str) {
            Some("system") => **name != "sslrootcert",
            value => value.is_some(),
        };
        if origin == Origin::Project
            && let Some(name) = OWN.iter().find(is_own)
        {
            let why = format!(
                "the URL of the store has `{name}`, which the settings of a project may not say; \
                your own environment may"
            );
            return Err(StoreError::refused(why));
        }
        if origin == Origin::User
            && let Some(name) = params
                .remove("service")
                .or_else(|| self.variables.get("PGSERVICE").cloned())
        {
            add(params, service::read(&name, &self.service_files())?);
        }
        let given = VARIABLES.iter().filter_map(|(variable, name)| {
            let is_kept = origin == Origin::Project && PRIVATE.contains(name);
            let value = self.variables.get(*variable).filter(|_| !is_kept)?;
            Some(((*name).to_owned(), value.clone()))
        });
        let given: Params = given.collect();
        if origin == Origin::Project {
            keep_strict(params, &given);
        }
        add(params, given);
        Ok(())
    }

    /// Returns the password of the user's password file for all hosts of a connection; and why the file is not used.
    pub(super) fn password(
        &self,
        params: &Params,
        origin: Origin,
    ) -> (Option<String>, Option<String>) {
        let kept = (origin == Origin::Project).then(|| STRICT.to_owned());
        let named = params.get("passfile").map(PathBuf::from);
        let Some(path) = named.or_else(|| Some(self.home.as_ref()?.join(".pgpass"))) else {
            return (None, kept);
        };
        let text = match passfile::read(&path) {
            Ok(Some(text)) => text,
            Ok(None) => return (None, kept),
            Err(why) => return (None, Some(why)),
        };
        let get = |name: &str| params.get(name).map_or("", String::as_str);
        let user = params.get("user").or(self.user.as_ref());
        let user = user.map_or("", String::as_str);
        let ports: Vec<&str> = get("port").split(',').collect();
        let passwords = get("host").split(',').enumerate().map(|(nth, host)| {
            let port = *ports.get(nth).or(ports.first()).unwrap_or(&"");
            let login = Login {
                host: if SOCKETS.contains(&host) {
                    "localhost"
                } else {
                    host
                },
                port: if port.is_empty() { "5432" } else { port },
                database: params.get("dbname").map_or(user, String::as_str),
                user,
                is_strict: origin == Origin::Project,
            };
            passfile::password(&text, login)
        });
        // One password goes to all hosts, and none gets that of another.
        let mut passwords = passwords.collect::<Vec<_>>();
        passwords.dedup();
        match passwords.as_slice() {
            [password] => (password.clone(), kept),
            _ => {
                let why = format!(
                    "the password file `{}` does not have the same password for all hosts of the URL",
                    path.display()
                );
                (None, Some(why))
            }
        }
    }

    /// Returns the service files, and whether each has to be there.
    fn service_files(&self) -> Vec<(PathBuf, bool)> {
        let named = self.variables.get("PGSERVICEFILE").map(PathBuf::from);
        let of_home = || Some(self.home.as_ref()?.join(".pg_service.conf"));
        let first = named.map(|path| (path, true));
        let first = first.or_else(|| Some((of_home()?, false)));
        let shared = self.variables.get("PGSYSCONFDIR");
        let shared = shared.map(|folder| (PathBuf::from(folder).join("pg_service.conf"), false));
        first.into_iter().chain(shared).collect()
    }
}

/// Drops what a URL of a project says about encryption where the user is stricter, or trusts others.
fn keep_strict(params: &mut Params, given: &Params) {
    let mode = |params: &Params| params.get("sslmode").and_then(|mode| SslMode::parse(mode));
    if given.contains_key("sslrootcert") && params.remove("sslrootcert").is_some() {
        // It was `system`, which implies this.
        let full = SslMode::VerifyFull.as_str().to_owned();
        params.entry("sslmode".to_owned()).or_insert(full);
    }
    if mode(given) > mode(params) {
        params.remove("sslmode");
    }
}

/// Adds what is not said yet.
fn add(params: &mut Params, more: Params) {
    for (name, value) in more {
        params.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests;
