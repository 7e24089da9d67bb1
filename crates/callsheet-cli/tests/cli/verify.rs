//! `verify`: a byte that is not what it was is found and named.

#![expect(
    clippy::unwrap_used,
    reason = "a store that cannot be tampered with fails the test"
)]

use std::collections::BTreeSet;

use rusqlite::types::Value;

use crate::project::Project;
use crate::sealed::{STORE, database, said, seal, seal_by, shop};

#[test]
fn a_store_that_nobody_touched() {
    let project = shop();
    let id = seal(&project, "you");
    insta::assert_snapshot!(project.callsheet(&["verify"]), @"
    exit: 0
    --- stderr
    1 event, 1 project, 1 prompt, 6 texts checked: nothing was changed
    ");
    insta::assert_snapshot!(project.callsheet(&["verify", &id]), @"
    exit: 0
    --- stderr
    1 prompt checked: nothing was changed
    ");
    insta::assert_snapshot!(project.callsheet(&["verify", &id, "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.verify/1",
      "verified": true,
      "checked": {
        "prompts": 1
      },
      "findings": []
    }
    --- stderr
    1 prompt checked: nothing was changed
    "#);
    insta::assert_snapshot!(project.callsheet(&["verify", "-q"]), @"exit: 0");
}

/// Returns the columns of all tables that hold texts or bytes; `delta_base` only says what a new text is packed against.
fn cells(database: &rusqlite::Connection) -> Vec<(String, String)> {
    let sql = "select m.name, c.name from sqlite_schema m join pragma_table_info(m.name) c \
        where m.type = 'table' and m.name not like 'sqlite_%' and m.name <> 'delta_base' and m.name not like 'trigram%' and c.type in ('BLOB', 'TEXT') order by 1, 2";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Changes one bit of a value, in its middle.
fn flipped(value: Value) -> Option<Value> {
    let flip = |mut bytes: Vec<u8>| {
        let at = bytes.len() / 2;
        *bytes.get_mut(at)? ^= 1;
        Some(bytes)
    };
    match value {
        Value::Text(text) => String::from_utf8(flip(text.into_bytes())?)
            .ok()
            .map(Value::Text),
        Value::Blob(bytes) => flip(bytes).map(Value::Blob),
        _ => None,
    }
}

/// Tries one changed cell after the other; returns the columns that were tried and those that went unnoticed.
fn tamper(project: &Project, per_column: usize) -> (BTreeSet<String>, Vec<String>) {
    let whole = project.outside().join("whole.db");
    {
        let database = database(project);
        database
            .execute("vacuum into $1", [whole.to_str().unwrap()])
            .unwrap();
    }
    let (mut tried, mut unnoticed) = (BTreeSet::new(), Vec::new());
    let reader = rusqlite::Connection::open(&whole).unwrap();
    for (table, column) in cells(&reader) {
        let sql = format!(
            "select {column} from {table} where {column} is not null order by length({column}) desc"
        );
        let mut statement = reader.prepare(&sql).unwrap();
        let values = statement
            .query_map([], |row| row.get::<_, Value>(0))
            .unwrap();
        let values: Vec<Value> = values.map(Result::unwrap).collect();
        for value in values.into_iter().take(per_column) {
            let Some(changed) = flipped(value.clone()) else {
                continue;
            };
            for ending in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(project.path(&format!("{STORE}{ending}")));
            }
            std::fs::copy(&whole, project.path(STORE)).unwrap();
            {
                let database = database(project);
                let sql = format!("update {table} set {column} = $1 where {column} = $2");
                database.pragma_update(None, "foreign_keys", "off").unwrap();
                database
                    .execute(&sql, rusqlite::params![changed, value])
                    .unwrap();
            }
            let run = project.run(&["verify"]);
            tried.insert(format!("{table}.{column}"));
            if run.code() != Some(1) || run.text().is_empty() {
                let code = run.code();
                unnoticed.push(format!(
                    "{table}.{column}: exit {code:?}: {}{}",
                    run.text(),
                    said(&run)
                ));
            }
        }
    }
    (tried, unnoticed)
}

#[test]
fn a_changed_byte_in_any_table_is_found() {
    let project = shop();
    seal(&project, "you");
    seal(&project, "them");
    let (tried, unnoticed) = tamper(&project, 2);
    let tried: Vec<&str> = tried.iter().map(String::as_str).collect();
    insta::assert_snapshot!(tried.join("\n"), @"
    body.fingerprint
    body.packed
    document.packed
    event.kind
    event.mark
    event.payload
    project.mark
    project.name
    prompt.engine
    prompt.fingerprint
    prompt.id
    prompt.mark
    prompt.recipe
    prompt.seal
    series.recipe
    source.name
    ");
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}

#[test]
fn every_text_is_under_guard() {
    let project = shop();
    seal_by(&project, &["compose", "layers", "-D", "rules=a"]);
    let texts = {
        let database = database(&project);
        let sql = "select key from body order by key";
        let mut statement = database.prepare(sql).unwrap();
        let keys = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        keys.map(Result::unwrap).collect::<Vec<_>>()
    };
    assert!(texts.len() > 3);
    for key in texts {
        let packed = |change: &dyn Fn(&mut Vec<u8>)| {
            let database = database(&project);
            let mut bytes: Vec<u8> = database
                .query_row("select packed from body where key = $1", [key], |row| {
                    row.get(0)
                })
                .unwrap();
            change(&mut bytes);
            let sql = "update body set packed = $1 where key = $2";
            database
                .execute(sql, rusqlite::params![bytes, key])
                .unwrap();
        };
        packed(&|bytes| *bytes.last_mut().unwrap() ^= 1);
        let run = project.run(&["verify"]);
        assert_eq!(
            run.code(),
            Some(1),
            "text {key}: {}{}",
            run.text(),
            said(&run)
        );
        assert!(run.text().starts_with("text b3:"), "{}", run.text());
        packed(&|bytes| *bytes.last_mut().unwrap() ^= 1);
    }
    assert_eq!(project.run(&["verify"]).code(), Some(0));
}

#[test]
fn what_is_missing_is_found() {
    for (sql, what) in [
        ("delete from event where seq = 1", "events"),
        ("delete from document", "documents"),
        (
            "delete from prompt_body where rowid is not null or 1 = 1",
            "links to texts",
        ),
        ("delete from prompt_source", "links to sources"),
        ("delete from passage", "what can be found"),
        ("update event set seq = 7", "a number"),
        ("update event set at = at + 1", "a time"),
        ("update prompt set bytes = bytes + 1", "a size"),
        ("update prompt set sealed_at = sealed_at + 1", "a time"),
        ("update project set events = 9", "a counter"),
        ("update prompt_body set roles = 1 where roles = 2", "a role"),
    ] {
        let project = shop();
        seal(&project, "you");
        {
            let database = database(&project);
            database.pragma_update(None, "foreign_keys", "off").unwrap();
            let sql = sql.replace("rowid is not null or ", "");
            assert!(database.execute(&sql, []).unwrap() > 0, "{sql}");
        }
        let run = project.run(&["verify"]);
        assert_eq!(run.code(), Some(1), "{what}: {}{}", run.text(), said(&run));
    }
}

#[test]
fn a_finding_is_named() {
    let project = shop();
    seal(&project, "you");
    database(&project)
        .execute("update prompt set recipe = 'other'", [])
        .unwrap();
    insta::assert_snapshot!(project.callsheet(&["verify"]), @"
    exit: 1
    --- stdout
    prompt [ID1]: its row is not what was sealed
    --- stderr
    1 event, 1 project, 1 prompt, 6 texts checked: 1 thing not as sealed
    ");
    let head = project.run(&["head"]).text();
    let document = project.callsheet(&["verify", "--json"]);
    let document = document.replace(head.trim_end(), "[HEAD]");
    insta::assert_snapshot!(document, @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.verify/1",
      "verified": false,
      "checked": {
        "events": 1,
        "projects": 1,
        "prompts": 1,
        "texts": 6
      },
      "findings": [
        {
          "what": "prompt [ID1]",
          "detail": "its row is not what was sealed"
        }
      ],
      "head": {
        "project": ".",
        "seq": 1,
        "hash": "[HEAD]"
      }
    }
    --- stderr
    1 event, 1 project, 1 prompt, 6 texts checked: 1 thing not as sealed
    "#);
}

#[test]
fn an_event_that_was_changed_is_named() {
    let project = shop();
    let id = seal(&project, "you");
    database(&project)
        .execute(
            "update event set payload = replace(payload, 'is sealed', 'is seaked')",
            [],
        )
        .unwrap();
    insta::assert_snapshot!(project.callsheet(&["verify"]), @"
    exit: 1
    --- stdout
    event 1 of project .: does not match its mark: it has been changed
    --- stderr
    1 event, 1 project, 1 prompt, 6 texts checked: 1 thing not as sealed
    ");
    assert_eq!(
        project.run(&["verify", &id]).code(),
        Some(0),
        "the prompt is what it was"
    );
}

#[test]
fn a_prompt_that_was_changed_is_not_shown() {
    let project = shop();
    let id = seal(&project, "you");
    database(&project)
        .execute(
            "update body set packed = $1 where bytes = 36",
            [b"\x00Never push to mainX\nRun the checks.\n"],
        )
        .unwrap();
    for command in ["show", "replay", "explain"] {
        let run = project.run(&[command, &id]);
        assert_eq!(
            (run.code(), run.text().as_str()),
            (Some(3), ""),
            "{command}: {}",
            said(&run)
        );
    }
    let run = project.run(&["verify", &id]);
    assert_eq!(run.code(), Some(1), "{}", said(&run));
    insta::assert_snapshot!(project.callsheet(&["show", &id]), @"
    exit: 3
    --- stderr
    error: [ROOT]/.callsheet/callsheet.db: text b3:52ba3a7276d0904a7a6d9471dafa69e267a966a3a632bab49a02382e2f456356: hash mismatch
    ");
}

#[test]
fn files_that_are_no_database() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["verify"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `[ROOT]/.callsheet/callsheet.db`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    project.file(
        STORE,
        "This is not a database, and never was one; it only stands where one should.\n".repeat(20),
    );
    insta::assert_snapshot!(project.callsheet(&["verify"]), @"
    exit: 3
    --- stderr
    error: [ROOT]/.callsheet/callsheet.db: this file is not a database of Callsheet
    ");
    insta::assert_snapshot!(project.callsheet(&["prompts"]), @"
    exit: 3
    --- stderr
    error: [ROOT]/.callsheet/callsheet.db: this file is not a database of Callsheet
    ");
    insta::assert_snapshot!(project.callsheet(&["compose", "layers", "-D", "rules=a", "--seal"]), @"
    exit: 3
    --- stderr
    error: [ROOT]/.callsheet/callsheet.db: this file is not a database of Callsheet
    ");
    project.file(STORE, "");
    insta::assert_snapshot!(project.callsheet(&["verify"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `[ROOT]/.callsheet/callsheet.db`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    std::fs::remove_file(project.path(STORE)).unwrap();
    std::fs::create_dir(project.path(STORE)).unwrap();
    insta::assert_snapshot!(project.callsheet(&["verify"]), @"
    exit: 3
    --- stderr
    error: the store `[ROOT]/.callsheet/callsheet.db` cannot be opened: it is a folder
    ");
}

#[test]
fn a_database_that_is_cut_short() {
    let project = shop();
    seal(&project, "you");
    database(&project)
        .query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
        .unwrap();
    let bytes = std::fs::read(project.path(STORE)).unwrap();
    for part in [1, 2, 3] {
        for ending in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(project.path(&format!("{STORE}{ending}")));
        }
        project.file(STORE, &bytes[..bytes.len() * part / 4 + 100]);
        let run = project.run(&["verify"]);
        assert_eq!(run.code(), Some(3), "{}{}", run.text(), said(&run));
        assert!(said(&run).contains(STORE), "{}", said(&run));
    }
}
