//! Sealed prompts: each is four documents and the texts that they name, under one short id.
//!
//! A prompt is sealed once and never changed again. Sealing the same once more gives the same id.

mod contents;
mod documents;
mod links;
mod load;
mod seal;
mod series;
mod texts;
mod verify;

use std::collections::BTreeSet;
use std::thread;

use callsheet::seal::Parsed;
use callsheet::{Fingerprint, Manifest, Seal};
use serde::Serialize;

pub(crate) use load::{Texts, damaged_prompt, load};
pub(crate) use seal::{When, put};
pub(crate) use verify::verify;

use crate::db::{Row, Tx, Value, query_in};
use crate::project::Project;
use crate::{Id, Store, StoreError, mark};

/// A sealed prompt, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SealedPrompt {
    /// The id.
    pub id: Id,
    /// When it was sealed, in milliseconds since 1970.
    pub sealed_at: i64,
    /// The recipe.
    pub recipe: String,
    /// The version of the engine that composed it.
    pub engine: String,
    /// The fingerprint of the exact bytes.
    pub fingerprint: Fingerprint,
    /// How many bytes these are.
    pub bytes: i64,
    /// How many tokens, where they were counted.
    pub tokens: Option<i64>,
    #[serde(skip)]
    pub(crate) key: i64,
    #[serde(skip)]
    pub(crate) seal: Fingerprint,
}

impl SealedPrompt {
    /// Returns the columns that never change, in their order, of a project.
    fn values(&self, project: i64) -> Vec<Value<'_>> {
        vec![
            self.id.as_str().into(),
            project.into(),
            self.sealed_at.into(),
            (&self.recipe).into(),
            (&self.engine).into(),
            self.fingerprint.as_bytes().as_slice().into(),
            self.bytes.into(),
            self.tokens.into(),
            self.seal.as_bytes().as_slice().into(),
        ]
    }
}

/// Which prompts a list shows, the newest first.
#[derive(Clone, Debug, Default)]
pub struct PromptFilter {
    /// Those of this recipe only.
    pub recipe: Option<String>,
    /// Those that were sealed at this time or later.
    pub since: Option<i64>,
    /// Those that were sealed before this time.
    pub until: Option<i64>,
    /// Those that one of these went into, by the names that [`Store::sources`] lists.
    pub sources: Option<Vec<String>>,
    /// Those before this one, for the next page.
    pub before: Option<Id>,
}

/// The columns of a prompt.
pub(crate) const COLUMNS: &str = "p.id, p.sealed_at, p.recipe, p.engine, p.fingerprint, p.bytes, p.tokens, p.key, p.seal, p.project, p.mark";

/// How many rows are looked at in one go.
const PAGE: usize = 500;

const SOURCES: &str = "select s.name from source s where exists \
    (select 1 from prompt_source ps join series l on l.key = ps.series where ps.source = s.key and l.project = $1) \
    order by s.name";

fn not_proven(fault: &str) -> StoreError {
    let why = "the prompt cannot be sealed, because it could not be proven";
    StoreError::refused(format!("{why}: {fault}"))
}

impl Store {
    /// Seals a prompt; returns it, and whether it is new.
    ///
    /// A seal that could not be proven afterwards is refused, and what was stored is read again before it is acknowledged.
    pub async fn seal(
        &self,
        project: &Project,
        seal: Seal,
    ) -> Result<(SealedPrompt, bool), StoreError> {
        let parsed = seal.parsed().map_err(|error| not_proven(error.detail()))?;
        self.seal_parsed(project, seal, parsed).await
    }

    /// Does the same with a seal whose documents are known as values, as [`Seal::with_parsed`] gives them.
    pub async fn seal_parsed(
        &self,
        project: &Project,
        seal: Seal,
        parsed: Parsed,
    ) -> Result<(SealedPrompt, bool), StoreError> {
        let project = project.clone();
        self.write(move |tx| {
            thread::scope(|scope| {
                // Beside the writing, because both take long for a prompt of very many files.
                let check = || seal.check_parsed(&parsed).first().map(ToString::to_string);
                let check = thread::Builder::new().spawn_scoped(scope, check);
                let check = check.map_err(|error| not_proven(&error.to_string()))?;
                let stored = put(tx, &project, (&seal, &parsed), When::Now);
                match check.join() {
                    Ok(None) => stored,
                    Ok(Some(fault)) => Err(not_proven(&fault)),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            })
        })
        .await
    }

    /// Returns the prompt that an id, or a prefix that no other has, means.
    pub async fn prompt(&self, project: &Project, id: &str) -> Result<SealedPrompt, StoreError> {
        let (project, id) = (project.clone(), id.to_owned());
        self.read(move |tx| find(tx, &project, &id)).await
    }

    /// Returns everything that was sealed with a prompt, after proving that it is what was sealed.
    pub async fn sealed(&self, prompt: &SealedPrompt) -> Result<Seal, StoreError> {
        let prompt = prompt.clone();
        self.read(move |tx| load(tx, &prompt)).await
    }

    /// Returns the manifest of a prompt, without what else was sealed with it.
    pub async fn manifest(&self, prompt: &SealedPrompt) -> Result<Manifest, StoreError> {
        let prompt = prompt.clone();
        self.read(move |tx| load::manifest(tx, &prompt)).await
    }

    /// Returns up to `limit` prompts, the newest first.
    pub async fn prompts(
        &self,
        project: &Project,
        filter: PromptFilter,
        limit: usize,
    ) -> Result<Vec<SealedPrompt>, StoreError> {
        let project = project.clone();
        self.read(move |tx| list(tx, &project, &filter, limit))
            .await
    }

    /// Returns the names of everything that went into prompts, such as `file:src/a.rs`.
    pub async fn sources(&self, project: &Project) -> Result<Vec<String>, StoreError> {
        let key = project.key;
        self.read(move |tx| {
            let rows = tx.query(SOURCES, &[key.into()])?;
            rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
        })
        .await
    }
}

/// Finds a prompt by its id or a unique prefix.
pub(crate) fn find(
    tx: &mut dyn Tx,
    project: &Project,
    id: &str,
) -> Result<SealedPrompt, StoreError> {
    let sql = format!(
        "select {COLUMNS} from prompt p where p.id >= $1 and p.id < $2 and p.project = {} order by p.id limit 6",
        project.key
    );
    read(&crate::id::find(tx, "prompt", id, &sql)?)
}

/// Reads the columns of a prompt.
pub(crate) fn read(row: &Row) -> Result<SealedPrompt, StoreError> {
    let fingerprint = |at: usize| {
        let bytes: Result<[u8; 32], _> = row.bytes(at)?.try_into();
        bytes
            .map(Fingerprint::from_bytes)
            .map_err(|_| row.damaged("a prompt has a fingerprint of the wrong size"))
    };
    let id = row.text(0)?.parse::<Id>();
    let prompt = SealedPrompt {
        id: id.map_err(|_| row.damaged("a prompt has an id that is not valid"))?,
        sealed_at: row.int(1)?,
        recipe: row.text(2)?.to_owned(),
        engine: row.text(3)?.to_owned(),
        fingerprint: fingerprint(4)?,
        bytes: row.int(5)?,
        tokens: row.maybe(6, Row::int)?,
        key: row.int(7)?,
        seal: fingerprint(8)?,
    };
    // Whoever shows a prompt shows what was sealed.
    if row.bytes(10)? != mark::of("prompt", &prompt.values(row.int(9)?)) {
        let why = format!("prompt {}: its row is not what was sealed", prompt.id);
        return Err(row.damaged(why));
    }
    Ok(prompt)
}

fn list(
    tx: &mut dyn Tx,
    project: &Project,
    filter: &PromptFilter,
    limit: usize,
) -> Result<Vec<SealedPrompt>, StoreError> {
    let carriers = match &filter.sources {
        Some(names) => Some(carriers(tx, names)?),
        None => None,
    };
    let mut before = filter.before;
    let mut found = Vec::new();
    loop {
        let most = if carriers.is_some() { PAGE } else { limit };
        let page = page(
            tx,
            project,
            &PromptFilter {
                before,
                ..filter.clone()
            },
            most,
        )?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        before = Some(last.id);
        let ended = page.len() < most || carriers.is_none();
        let wanted = |prompt: &SealedPrompt| {
            let carriers = carriers.as_ref();
            carriers.is_none_or(|carriers| carriers.contains(&prompt.key))
        };
        found.extend(page.into_iter().filter(wanted));
        found.truncate(limit);
        if ended || found.len() == limit {
            return Ok(found);
        }
    }
}

/// Returns the prompts that one of the named things went into.
fn carriers(tx: &mut dyn Tx, names: &[String]) -> Result<BTreeSet<i64>, StoreError> {
    let rows = query_in(tx, &[], names.iter().map(Into::into), |list| {
        format!(
            "select distinct p.key from prompt_source ps join source s on s.key = ps.source \
            join prompt p on p.series = ps.series and p.key between ps.first and ps.last where s.name in {list}"
        )
    })?;
    rows.iter().map(|row| row.int(0)).collect()
}

fn page(
    tx: &mut dyn Tx,
    project: &Project,
    filter: &PromptFilter,
    limit: usize,
) -> Result<Vec<SealedPrompt>, StoreError> {
    let mut sql = format!("select {COLUMNS} from prompt p where p.project = $1");
    let mut values: Vec<Value<'_>> = vec![project.key.into()];
    // The first digits of an id are its time, so that all of these use the index.
    let conditions = [
        ("p.recipe =", filter.recipe.clone()),
        ("p.id >=", filter.since.map(crate::id::lowest)),
        ("p.id <", filter.until.map(crate::id::lowest)),
        ("p.id <", filter.before.map(|id| id.to_string())),
    ];
    for (condition, value) in conditions {
        if let Some(value) = value {
            values.push(value.into());
            sql.push_str(&format!(" and {condition} ${}", values.len()));
        }
    }
    values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
    sql.push_str(&format!(" order by p.id desc limit ${}", values.len()));
    let rows = tx.query(&sql, &values)?;
    rows.iter().map(read).collect()
}
