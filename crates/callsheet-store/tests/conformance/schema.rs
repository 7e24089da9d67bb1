//! `verify` knows the schema that the program made: whatever is added, missing or changed in it is named.

use std::fmt::Write as _;
use std::path::Path;

use callsheet_store::Wait;

use crate::on_both;
use crate::test_store::{TestStore, event, findings};

on_both!(
    a_schema_that_was_changed_is_named,
    what_is_missing_is_named_before_rows_are_read,
);

const LISTING: &str = include_str!("../../schema/postgres.sql");

/// A server with a new store has exactly what the file says; with `UPDATE_SCHEMA` the file is written anew.
#[test]
fn the_schema_of_a_server_is_on_file() {
    let Some(place) = TestStore::postgres() else {
        return;
    };
    drop(place.open());
    let mut client = place.client();
    let mut found = String::new();
    for row in client.query(LISTING, &[]).unwrap() {
        let [table, thing, definition] = [0, 1, 2].map(|at| row.get::<_, String>(at));
        let definition = definition.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(found, "{table}\t{thing}\t{definition}");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/postgres.txt");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&file, &found).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), found);
}

/// What is done to the schema on each database, what takes it back, and what is said.
struct Change {
    sqlite: [&'static str; 2],
    postgres: [&'static str; 2],
    said: [&'static str; 2],
}

const CHANGES: &[Change] = &[
    Change {
        sqlite: [
            "create trigger steal after insert on event begin delete from prompt; end",
            "drop trigger steal",
        ],
        postgres: [
            "create trigger steal after insert on event execute function suppress_redundant_updates_trigger()",
            "drop trigger steal on event",
        ],
        said: ["the table `event`", "its trigger `steal` was added"],
    },
    Change {
        sqlite: [
            "drop index run_of_parent",
            "create index run_of_parent on run (parent) where parent is not null",
        ],
        postgres: [
            "drop index run_of_parent",
            "create index run_of_parent on run (parent) where parent is not null",
        ],
        said: ["the table `run`", "its index `run_of_parent` is missing"],
    },
    Change {
        sqlite: [
            "create unique index one_task on task (title)",
            "drop index one_task",
        ],
        postgres: [
            "create unique index one_task on task (title)",
            "drop index one_task",
        ],
        said: ["the table `task`", "its index `one_task` was added"],
    },
    Change {
        sqlite: [
            "alter table setting add column note text",
            "alter table setting drop column note",
        ],
        postgres: [
            "alter table setting add column note text",
            "alter table setting drop column note",
        ],
        said: ["the table `setting`", "its column `note` was added"],
    },
];

/// Names that look like those that SQLite keeps for itself do not hide anything.
const IN_FILE: &[[&str; 4]] = &[
    [
        "create trigger sqlitezstat1 after insert on event begin delete from prompt; end",
        "drop trigger sqlitezstat1",
        "the table `event`",
        "its trigger `sqlitezstat1` was added",
    ],
    [
        "create view seen as select * from event",
        "drop view seen",
        "the table `seen`",
        "it was added",
    ],
    [
        "create table sqlitezstat1 (a)",
        "drop table sqlitezstat1",
        "the table `sqlitezstat1`",
        "it was added",
    ],
];

const ON_SERVER: &[[&str; 4]] = &[
    [
        "alter table run drop constraint run_prompt_fkey",
        "alter table run add constraint run_prompt_fkey foreign key (prompt) references prompt (key)",
        "the table `run`",
        "its constraint `run_prompt_fkey` is missing",
    ],
    [
        "alter table run drop constraint run_kind_check",
        "alter table run add constraint run_kind_check check (kind in ('first', 'retry', 'continue'))",
        "the table `run`",
        "its constraint `run_kind_check` is missing",
    ],
    [
        "alter table task disable trigger all",
        "alter table task enable trigger all",
        "the table `task`",
        "was added",
    ],
    [
        "alter table event alter column payload drop not null",
        "alter table event alter column payload set not null",
        "the table `event`",
        "its column `payload` is not as it was made: `text storage x`",
    ],
    [
        "alter table setting set unlogged",
        "alter table setting set logged",
        "the table `setting`",
        "it is not as it was made: `not logged`",
    ],
    [
        "create rule quiet as on delete to event do instead nothing",
        "drop rule quiet on event",
        "the table `event`",
        "its rule `quiet` was added",
    ],
    [
        "alter table event enable row level security",
        "alter table event disable row level security",
        "the table `event`",
        "it is not as it was made: `logged, row security`",
    ],
    [
        "create table more () inherits (setting)",
        "drop table more",
        "the table `setting`",
        "its heir `more` was added",
    ],
    [
        "insert into callsheet_schema values (1)",
        "delete from callsheet_schema where version = 1",
        "the table `callsheet_schema`",
        "it says that the schema is ",
    ],
];

fn a_schema_that_was_changed_is_named(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    store
        .append_events(&project, vec![event(1)])
        .wait()
        .unwrap();
    assert_eq!(findings(&store), []);
    let mut changes: Vec<[&str; 4]> = Vec::new();
    for Change {
        sqlite,
        postgres,
        said,
    } in CHANGES
    {
        let [make, back] = if place.is_sqlite() { sqlite } else { postgres };
        changes.push([make, back, said[0], said[1]]);
    }
    changes.extend(if place.is_sqlite() {
        IN_FILE
    } else {
        ON_SERVER
    });
    if place.is_sqlite() {
        // What the planner notes is not part of it.
        place.raw("analyze");
        assert_eq!(findings(&store), []);
    }
    for [make, back, what, said] in changes {
        place.raw(make);
        let found = findings(&store);
        let named = |finding: &callsheet_store::Finding| {
            finding.what == what
                && (finding.detail.starts_with(said) || finding.detail.ends_with(said))
        };
        assert!(found.iter().any(named), "{make}: {found:?}");
        place.raw(back);
        assert_eq!(findings(&store), [], "{back}");
    }
}

fn what_is_missing_is_named_before_rows_are_read(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    store
        .append_events(&project, vec![event(1)])
        .wait()
        .unwrap();
    let changes = [
        (
            "alter table run rename column worker to workers",
            "alter table run rename column workers to worker",
            "the table `run`: its column `worker` is missing",
        ),
        (
            "alter table journal rename to journals",
            "alter table journals rename to journal",
            "the table `journal`: it is missing",
        ),
    ];
    for (make, back, wanted) in changes {
        place.raw(make);
        let found = findings(&store);
        let said =
            |finding: &callsheet_store::Finding| format!("{}: {}", finding.what, finding.detail);
        assert!(
            found.iter().any(|finding| said(finding) == wanted),
            "{make}: {found:?}"
        );
        place.raw(back);
    }
}
