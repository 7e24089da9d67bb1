//! A database of a PostgreSQL server, from a URL and from what the user's environment adds to it.
//!
//! A password goes in and never comes out, and a URL that cannot be read is not repeated.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ClientConfig;
use tokio_postgres::config::{Config, Host};

use super::environment::{Environment, Origin};
use super::own_parameters::{Durability, OwnParameters};
use super::tls::{SslMode, Tls};
use super::url::{self, Params};
use crate::StoreError;

/// How long to wait for a server where the URL does not say, until it has accepted the login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a server may leave what was sent to it without an answer of its network.
const SILENCE: Duration = Duration::from_secs(10);

/// How long a connection may be quiet before it is tried whether the server is still there.
const QUIET: Duration = Duration::from_secs(5);

/// A database of a PostgreSQL server, with what it takes to log in.
#[derive(Clone)]
pub struct Server {
    config: Box<Config>,
    own_parameters: OwnParameters,
    tls: Arc<Encryption>,
    /// Why there is no password of the password file, for when the server asks for one.
    no_password: Option<Arc<str>>,
}

/// How connections are encrypted, and what was read for it once.
pub(crate) struct Encryption {
    pub(crate) tls: Tls,
    pub(crate) config: OnceLock<Arc<ClientConfig>>,
}

impl Server {
    /// Returns the database that a URL names, with what the environment adds to it.
    pub(super) fn new(
        url: &str,
        origin: Origin,
        environment: &Environment,
    ) -> Result<Self, StoreError> {
        refuse_bare_signs(url)?;
        let mut params = url::parse(url).ok_or_else(|| bad("cannot be read"))?;
        // Whatever is wrong here is in the URL.
        config(&without_ours(&params)).ok_or_else(|| bad("cannot be read"))?;
        environment.complete(&mut params, origin)?;
        let mut no_password = None;
        if !params.contains_key("password") {
            let (password, why) = environment.password(&params, origin);
            params.extend(password.map(|password| ("password".to_owned(), password)));
            no_password = why.map(Arc::from);
        }
        params.remove("passfile");
        let home = environment.home.as_deref();
        let mut tls = Tls::take(&mut params, home, std::path::Path::is_file)?;
        let own_parameters = OwnParameters::take(&mut params)?;
        let mut config = config(&params).ok_or_else(|| {
            StoreError::refused(
                "a service or a variable of PostgreSQL says something about the store that this program does not understand",
            )
        })?;
        if config.get_hosts().is_empty() {
            return Err(bad("names no host, and neither does PGHOST"));
        }
        // A socket of this machine is never encrypted.
        if config
            .get_hosts()
            .iter()
            .all(|host| matches!(host, Host::Unix(_)))
        {
            tls.mode = SslMode::Disable;
        }
        complete(&mut config, &params, tls.mode);
        Ok(Self {
            config: Box::new(config),
            own_parameters,
            tls: Arc::new(Encryption {
                tls,
                config: OnceLock::new(),
            }),
            no_password,
        })
    }

    /// Returns what the client library needs.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns how connections are encrypted.
    pub(crate) fn encryption(&self) -> &Encryption {
        &self.tls
    }

    /// Returns why the password file has no password, if there is a file.
    pub(crate) fn no_password(&self) -> Option<&str> {
        self.no_password.as_deref()
    }

    /// Returns the schema that holds the tables, which is a plain name.
    pub(crate) fn schema(&self) -> &str {
        &self.own_parameters.schema
    }

    /// Returns what the server has to promise.
    pub(crate) fn durability(&self) -> Durability {
        self.own_parameters.durability
    }

    /// Returns how long the server may take until it has accepted the login.
    pub(crate) fn connect_limit(&self) -> Duration {
        let each = self.config.get_connect_timeout();
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(1);
        each.map_or(CONNECT_TIMEOUT, |each| each.saturating_mul(hosts))
    }

    /// Returns how long the server may take for one statement.
    pub(crate) fn answer_limit(&self) -> Duration {
        self.own_parameters.answer
    }
}

fn bad(why: &str) -> StoreError {
    StoreError::refused(format!(
        "the URL of the store {why}; it reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE`"
    ))
}

/// Refuses a URL whose password has a sign that ends it: the rest of the password would be printed as host.
fn refuse_bare_signs(url: &str) -> Result<(), StoreError> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if rest.matches('@').count() > authority.matches('@').count().min(1) {
        return Err(bad(
            "has a sign in its password that must be written as `%40` (@), `%2F` (/), `%3F` (?) or `%23` (#)",
        ));
    }
    Ok(())
}

/// The parameters that the client library does not get.
const OURS: [&str; 9] = [
    "answer_timeout",
    "durability",
    "passfile",
    "schema",
    "service",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
];

fn without_ours(params: &Params) -> Params {
    let mut params = params.clone();
    params.retain(|name, _| !OURS.contains(&name.as_str()));
    params
}

/// Returns what the client library makes of parameters.
fn config(params: &Params) -> Option<Config> {
    let mut text = String::new();
    for (name, value) in params.iter().filter(|(name, _)| *name != "password") {
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        text.push_str(&format!("{name}='{value}' "));
    }
    let mut config: Config = text.parse().ok()?;
    if let Some(password) = params.get("password") {
        config.password(password);
    }
    Some(config)
}

/// Sets what nobody has said.
fn complete(config: &mut Config, params: &Params, mode: SslMode) {
    use tokio_postgres::config::SslMode as Theirs;
    config.ssl_mode(match mode {
        SslMode::Disable => Theirs::Disable,
        SslMode::Prefer => Theirs::Prefer,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => Theirs::Require,
    });
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
    if !params.keys().any(|name| name.starts_with("keepalives")) {
        config.keepalives_idle(QUIET);
        config.keepalives_interval(QUIET);
        config.keepalives_retries(2);
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
