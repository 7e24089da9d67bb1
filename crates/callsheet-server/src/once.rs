//! Starting a run once: a request that is sent again under the same key gets the answer of the first one.
//!
//! A key is put on record in the store before anything is started, and the answer with it afterwards. So neither two
//! requests at once nor a restart of the server start anything twice. A server that is killed in between leaves a key
//! without an answer: whoever asks next looks for the run that came of it, and starts one only if there is none.

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use axum::response::Response;
use callsheet::Fingerprint;
use callsheet_store::{Id, RunKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::created;
use crate::error::ApiError;
use crate::server::Server;
use crate::view::run;

/// The header with the key.
pub(crate) const HEADER: &str = "idempotency-key";

/// The header of an answer that was given before.
const REPLAYED: &str = "idempotency-replayed";

/// How long another machine may take to answer, in milliseconds; far longer than a start takes.
const PATIENCE: i64 = 180_000;

/// How long a key may be.
const LONGEST: usize = 255;

/// The key of a request, if it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key(Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get(HEADER) else {
            return Ok(Self(None));
        };
        let fits = |key: &&str| !key.is_empty() && key.len() <= LONGEST;
        match value.to_str().ok().filter(fits) {
            Some(key) => Ok(Self(Some(key.to_owned()))),
            None => Err(ApiError::validation(format!(
                "`Idempotency-Key` has to have 1 to {LONGEST} visible characters"
            ))),
        }
    }
}

/// A run that is to be queued.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// The task.
    pub(crate) task: Id,
    /// How the run comes to be.
    pub(crate) kind: RunKind,
    /// The run before it.
    pub(crate) parent: Option<Id>,
    /// The arguments of the program.
    pub(crate) args: Vec<String>,
    /// What the program reads.
    pub(crate) input: Option<String>,
}

/// What the store has of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    /// What was asked for.
    request: String,
    /// The server that answers, and its machine.
    by: String,
    place: String,
    /// When it began, in milliseconds since 1970.
    at: i64,
    /// The newest run of the task by then.
    before: Option<Id>,
    /// The answer.
    answer: Option<Value>,
}

impl Start {
    /// Returns what tells one request from another.
    fn fingerprint(&self) -> String {
        let whole = json!([self.task, self.kind, self.parent, self.args, self.input]);
        Fingerprint::of(whole.to_string()).to_string()
    }

    /// Queues the run and returns its document.
    async fn queue(&self, server: &Server) -> Result<Value, ApiError> {
        let task = self.task;
        let check = server.blocking(move |site| run::startable(site, task));
        check.await?;
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let input = self.input.as_deref().map(str::as_bytes);
        server.program.ask(&args, input).await
    }
}

/// Queues a run, once for each key, and answers with its document.
pub(crate) async fn start(server: &Server, key: Key, start: Start) -> Result<Response, ApiError> {
    let server = server.clone();
    // Whoever goes away while it is started stops nothing.
    let started = tokio::spawn(async move {
        match key.0 {
            None => start.queue(&server).await.map(created),
            Some(key) => keyed(&server, &key, &start).await,
        }
    });
    started
        .await
        .map_err(|_| ApiError::internal("the server failed; this is a bug"))?
}

async fn keyed(server: &Server, key: &str, start: &Start) -> Result<Response, ApiError> {
    let _alone = server.starts.lock().await;
    let name = name_of(key);
    let mine = server.kept(start).await?;
    let (store, project) = (&server.site.store, &server.site.project);
    let put = json!(mine);
    let claim = store.change_setting(project, &name, move |now| {
        now.is_none_or(|now| now.is_null()).then(|| put.clone())
    });
    claim.await?;
    let there = store.setting(project, &name).await?.unwrap_or_default();
    let there: Kept = serde_json::from_value(there).map_err(|error| {
        ApiError::internal(format!("the key is kept in a way unknown: {error}"))
    })?;
    if there.request != mine.request {
        let why = "this `Idempotency-Key` was used for another request";
        return Err(ApiError::conflict(why));
    }
    if let Some(answer) = there.answer {
        return Ok(replayed(answer));
    }
    if there != mine {
        if let Some(document) = server.came_of(start, there.before).await? {
            let found = Kept {
                answer: Some(document.clone()),
                ..there
            };
            store.set_setting(project, &name, &json!(found)).await?;
            return Ok(replayed(document));
        }
        // There is one server on a machine, so that another one of this machine is gone.
        if there.place != mine.place && mine.at - there.at < PATIENCE {
            let why = "a request with this `Idempotency-Key` is being answered; ask again";
            return Err(ApiError::conflict(why));
        }
        store.set_setting(project, &name, &json!(mine)).await?;
    }
    match start.queue(server).await {
        Ok(document) => {
            let done = Kept {
                answer: Some(document.clone()),
                ..mine
            };
            store.set_setting(project, &name, &json!(done)).await?;
            Ok(created(document))
        }
        Err(error) => {
            // Nothing was started, so the key is free.
            store.set_setting(project, &name, &Value::Null).await?;
            Err(error)
        }
    }
}

/// Returns the name of the setting that a key is kept in.
fn name_of(key: &str) -> String {
    let fingerprint = Fingerprint::of(key).to_string();
    let digits = fingerprint.trim_start_matches("b3:");
    format!("requests.k{digits}")
}

fn replayed(document: Value) -> Response {
    let mut response = created(document);
    let name = HeaderName::from_static(REPLAYED);
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static("true"));
    response
}

impl Server {
    async fn kept(&self, start: &Start) -> Result<Kept, ApiError> {
        let (store, project) = (&self.site.store, &self.site.project);
        let runs = store.runs_of_task(project, start.task).await?;
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Ok(Kept {
            request: start.fingerprint(),
            by: format!("{} {}", std::process::id(), self.began),
            place: format!("{} {}", host.trim(), self.site.home.display()),
            at: crate::server::now(),
            before: runs.last().map(|run| run.id),
            answer: None,
        })
    }

    /// Returns the document of the run that came of a start, if there is one; `before` is the newest run before it.
    async fn came_of(&self, start: &Start, before: Option<Id>) -> Result<Option<Value>, ApiError> {
        let (store, project) = (&self.site.store, &self.site.project);
        let runs = store.runs_of_task(project, start.task).await?;
        let known = before.and_then(|before| runs.iter().position(|run| run.id == before));
        let mut later = runs.into_iter().skip(known.map_or(0, |at| at + 1));
        let found = later.find(|run| run.kind == start.kind && run.parent == start.parent);
        match found {
            Some(found) => run::document(store, project, &found).await.map(Some),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_name_that_a_setting_can_have() {
        let name = name_of("a key\n with …");
        assert!(
            name.starts_with("requests.k") && name.len() == "requests.k".len() + 64,
            "{name}"
        );
        assert!(
            name["requests.".len()..]
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric())
        );
        assert_ne!(name, name_of("another"));
    }
}
