//! Places for stores that are measured, which go afterwards.

use std::path::{Path, PathBuf};

use callsheet::recipe::Folder;
use callsheet::{Inputs, Options, Recipe, Seal, compose};
use callsheet_store::{Access, Claim, Id, Location, NewRun, Project, RunKind, Store, Wait};
use postgres::{Client, NoTls};
use rusqlite::Connection;
use serde_json::json;

use crate::text::LEASE;

/// The variable with the URL of a server on which databases may be made.
const SERVER: &str = "CALLSHEET_TEST_POSTGRES";

const SQLITE_TABLES: &str = "select name, sum(pgsize) from dbstat group by name order by 2 desc";

const POSTGRES_TABLES: &str = "select c.relname::text, \
    case when c.relkind = 'r' then pg_table_size(c.oid) else pg_relation_size(c.oid) end \
    from pg_class c join pg_namespace n on n.oid = c.relnamespace \
    where n.nspname = 'callsheet' and c.relkind in ('r', 'i') order by 2 desc";

/// A program that keeps databases.
#[derive(Clone)]
pub(crate) enum Database {
    Sqlite,
    /// The server with this URL.
    Postgres(String),
}

impl Database {
    /// Returns those that can be measured here.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::Sqlite];
        match std::env::var(SERVER) {
            Ok(server) => all.push(Self::Postgres(server)),
            Err(_) => eprintln!("PostgreSQL is left out: `{SERVER}` is not set"),
        }
        all
    }

    /// Returns the name for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }
}

/// Where one store is.
pub(crate) struct BenchStore {
    pub(crate) database: Database,
    /// A folder of its own, which for SQLite holds the store as a project would.
    pub(crate) folder: PathBuf,
    /// The file or the URL.
    address: String,
    kept: bool,
}

impl BenchStore {
    /// Makes an empty place.
    pub(crate) fn new(database: &Database, folder: &Path, name: &str) -> Self {
        let folder = folder.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let address = match database {
            Database::Sqlite => {
                let file = folder.join(".callsheet/callsheet.db");
                file.to_str().unwrap().to_owned()
            }
            Database::Postgres(server) => {
                let name = format!("callsheet_bench_{name}_{}", std::process::id());
                admin(server, &format!("create database {name}"));
                format!("{}/{name}", server.rsplit_once('/').unwrap().0)
            }
        };
        Self {
            database: database.clone(),
            folder,
            address,
            kept: false,
        }
    }

    /// Leaves the folder where it is.
    pub(crate) fn kept(mut self) -> Self {
        self.kept = true;
        self
    }

    /// Opens the store, and makes it at the first time.
    pub(crate) fn open(&self) -> Store {
        Store::open(&Location::parse(&self.address).unwrap(), Access::Write).unwrap()
    }

    /// Runs statements behind the back of the store.
    pub(crate) fn batch(&self, statements: &mut dyn Iterator<Item = String>) {
        match self.database {
            Database::Sqlite => {
                let connection = Connection::open(&self.address).unwrap();
                for sql in statements {
                    connection.execute_batch(&sql).unwrap();
                }
            }
            Database::Postgres(_) => {
                let mut client = Client::connect(&self.address, NoTls).unwrap();
                client.batch_execute("set search_path = callsheet").unwrap();
                for sql in statements {
                    client.batch_execute(&sql).unwrap();
                }
            }
        }
    }

    /// Returns what each table and index takes, the largest first. The store has to be closed.
    pub(crate) fn tables(&self) -> Vec<(String, i64)> {
        match self.database {
            Database::Sqlite => {
                let connection = Connection::open(&self.address).unwrap();
                let mut statement = connection.prepare(SQLITE_TABLES).unwrap();
                let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
                rows.unwrap().map(Result::unwrap).collect()
            }
            Database::Postgres(_) => {
                let mut client = Client::connect(&self.address, NoTls).unwrap();
                let rows = client.query(POSTGRES_TABLES, &[]).unwrap();
                rows.iter().map(|row| (row.get(0), row.get(1))).collect()
            }
        }
    }

    /// Returns how many bytes the store takes on the disk; it has to be closed.
    pub(crate) fn bytes(&self) -> u64 {
        match self.database {
            Database::Sqlite => std::fs::metadata(&self.address).unwrap().len(),
            Database::Postgres(_) => self.tables().iter().map(|(_, size)| *size as u64).sum(),
        }
    }
}

impl Drop for BenchStore {
    fn drop(&mut self) {
        if let Database::Postgres(server) = &self.database {
            let name = self.address.rsplit_once('/').unwrap().1;
            admin(server, &format!("drop database {name} with (force)"));
        }
        if !self.kept {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn admin(server: &str, sql: &str) {
    let mut client = Client::connect(server, NoTls).unwrap();
    client.batch_execute(sql).unwrap();
}

/// Seals a small prompt, as runs need one.
pub(crate) fn small_prompt(store: &Store, project: &Project) -> Id {
    let toml = "[[layers]]\nname = \"task\"\nvalue = \"task\"\n".to_owned();
    let folder = Folder::from([("recipe.toml".to_owned(), toml)]);
    let recipe = Recipe::parse("small", "recipes/small", folder).unwrap();
    let (input, inputs) = (json!({"task": "Count the open items."}), Inputs::nowhere());
    let options = Options::default();
    let composition = compose(&recipe, &input, &inputs, &options).unwrap();
    let seal = Seal::of(&composition, &recipe, &input, &inputs, &options).unwrap();
    store.seal(project, seal).wait().unwrap().0.id
}

/// Queues first runs of a small prompt.
pub(crate) fn queue(store: &Store, project: &Project, count: usize) {
    let new = NewRun {
        prompt: small_prompt(store, project),
        kind: RunKind::First,
        parent: None,
        request: serde_json::Value::Null,
        task: None,
        batch: None,
    };
    for _ in 0..count {
        store.queue_run(project, new.clone()).wait().unwrap();
    }
}

/// Claims the run that waits longest.
pub(crate) fn claim(store: &Store, project: &Project) -> Claim {
    let claim = store
        .claim_queued(project, "bench", LEASE, |_, _| true)
        .wait();
    claim.unwrap().unwrap()
}
