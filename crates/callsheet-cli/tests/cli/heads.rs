//! `head` and `verify --head`: a history that lost its end, or something that it tells of, does not pass for the old one.

use serde_json::Value;

use crate::project::Project;
use crate::sealed::{database, said, seal, shop};

/// Returns the head of the history.
fn head(project: &Project) -> String {
    let run = project.run(&["head"]);
    assert_eq!(run.code(), Some(0));
    run.text().trim_end().to_owned()
}

#[test]
fn a_head_is_printed_and_contained() {
    let project = shop();
    seal(&project, "you");
    let first = head(&project);
    assert!(first.starts_with("b3:") && first.len() == 67, "{first}");
    assert_eq!(said(&project.run(&["head"])), "event 1 of project .\n");
    seal(&project, "them");
    let second = head(&project);
    assert_ne!(first, second);
    let document: Value = serde_json::from_str(&project.run(&["head", "--json"]).text()).unwrap();
    let wanted =
        serde_json::json!({"schema": "callsheet.head/1", "project": ".", "seq": 2, "hash": second});
    assert_eq!(document, wanted);
    let run = project.run(&["verify", "--head", &first]);
    assert_eq!(run.code(), Some(0));
    let wanted = format!("{first} is event 1 of project .\n2 events, 1 project, 2 prompts, ");
    assert!(said(&run).starts_with(&wanted), "{}", said(&run));
    let document = project.run(&["verify", "--json", "--head", &first]).text();
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["head"]["hash"], second.as_str());
    assert_eq!(document["contains"]["seq"], 1);
    assert_eq!(document["contains"]["hash"], first.as_str());
}

#[test]
fn what_is_no_head_is_refused() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["head"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `[ROOT]/.callsheet/callsheet.db`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    seal(&project, "you");
    insta::assert_snapshot!(project.callsheet(&["verify", "--head", "b3:12"]), @"
    exit: 2
    --- stderr
    error: `b3:12` is not a head
    hint: `callsheet head` prints one, such as `b3:` and 64 digits
    ");
    insta::assert_snapshot!(project.callsheet(&["verify", "1m", "--head", "b3:12"]), @"
    exit: 2
    --- stderr
    error: the argument '[PROMPT]...' cannot be used with '--head <HASH>'

    Usage: callsheet verify <PROMPT>...

    For more information, try '--help'.
    ");
}

#[test]
fn a_cut_end_is_found_by_its_head() {
    let project = shop();
    seal(&project, "you");
    let before = head(&project);
    let id = seal(&project, "them");
    let noted = head(&project);
    let database = database(&project);
    database.pragma_update(None, "foreign_keys", "off").unwrap();
    // The prompt goes first, then the event that tells of it.
    let key: i64 = database
        .query_row("select key from prompt where id = $1", [&id], |row| {
            row.get(0)
        })
        .unwrap();
    for table in ["document", "prompt"] {
        database
            .execute(&format!("delete from {table} where key = $1"), [key])
            .unwrap();
    }
    let run = project.run(&["verify"]);
    assert_eq!(run.code(), Some(1));
    let gone = format!("prompt {id}: event 2 tells of it, and it is not there\n");
    assert!(run.text().contains(&gone), "{}", run.text());
    database
        .execute("delete from event where seq = 2", [])
        .unwrap();
    database
        .execute("update project set events = 1", [])
        .unwrap();
    let run = project.run(&["verify", "--head", &noted]);
    assert_eq!(run.code(), Some(1));
    let gone = format!(
        "head {noted}: the history does not contain it: its end was cut off, or it was made anew\n"
    );
    assert!(run.text().contains(&gone), "{}", run.text());
    let run = project.run(&["verify", "--head", &before]);
    assert!(!run.text().contains("head b3:"), "{}", run.text());
}
