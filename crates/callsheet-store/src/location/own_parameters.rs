//! The parameters of a URL that only this program understands.

use std::time::Duration;

use super::url::Params;
use crate::StoreError;

/// How long a server may take for one statement where the URL does not say.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// The schema of the database that holds the tables where the URL does not say.
const SCHEMA: &str = "callsheet";

/// What a URL says that only this program understands.
#[derive(Clone)]
pub(super) struct OwnParameters {
    pub(super) schema: String,
    pub(super) durability: Durability,
    pub(super) answer: Duration,
}

/// What a server has to promise before anything is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// What it has acknowledged is on its disk.
    Full,
    /// Whatever it is set to.
    Server,
}

impl OwnParameters {
    /// Takes the parameters that are ours.
    pub(super) fn take(params: &mut Params) -> Result<Self, StoreError> {
        let mut own_parameters = Self {
            schema: SCHEMA.to_owned(),
            durability: Durability::Full,
            answer: ANSWER_TIMEOUT,
        };
        for name in ["schema", "durability", "answer_timeout"] {
            let Some(value) = params.remove(name) else {
                continue;
            };
            let taken = match name {
                "schema" => own_parameters.set_schema(&value),
                "durability" => own_parameters.set_durability(&value),
                _ => own_parameters.set_answer(&value),
            };
            if taken.is_none() {
                return Err(StoreError::refused(format!(
                    "the URL of the store has a `{name}` that cannot be read; {FORMS}"
                )));
            }
        }
        if let Some(options) = params.get("options") {
            refuse_options(options)?;
        }
        Ok(own_parameters)
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
