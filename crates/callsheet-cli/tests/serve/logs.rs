//! Long logs are read in parts, from either end.

use serde_json::{Value, json};

use crate::api::desk;
use crate::server::Server;

#[test]
fn a_log_of_many_records_is_read_in_parts() {
    let server = Server::start(desk("cat > /dev/null; seq 1 100000; echo end >&2", ""));
    let task = server.task("Count");
    let run = server.run(&task);
    assert_eq!(server.over(&run)["status"], "completed");
    let log = |query: &str| server.get(&format!("/api/runs/{run}/log{query}")).data(200);
    let numbers = |log: &Value| {
        let lines = log["lines"].as_array().unwrap().iter();
        let numbers = lines.map(|line| line["line_number"].as_i64().unwrap());
        numbers.collect::<Vec<_>>()
    };
    let first = log("?limit=1000");
    assert_eq!(first["lines"][0]["stream"], "meta");
    assert_eq!(first["has_more"], true);
    let total = first["total_lines"].as_i64().unwrap();
    assert!(total > 1, "{total}");

    // All parts together are the whole, whatever a record is.
    let mut said = String::new();
    let (mut since, mut parts) = (0, 0);
    loop {
        let part = log(&format!("?stream=stdout&limit=1000&since_line={since}"));
        for line in part["lines"].as_array().unwrap() {
            assert_eq!(line["stream"], "stdout");
            said.push_str(line["data"].as_str().unwrap());
            since = line["line_number"].as_i64().unwrap();
        }
        parts += 1;
        if part["has_more"] == false {
            break;
        }
    }
    let wanted: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert!(said == wanted, "{parts} parts, {} bytes", said.len());

    let last = log("?tail=3");
    assert_eq!(numbers(&last), [total - 2, total - 1, total]);
    assert_eq!(last["has_more"], true);
    let errors = log("?tail=1000&stream=stderr");
    assert_eq!(errors["has_more"], false);
    assert_eq!(errors["lines"][0]["data"], "end\n");
    assert_eq!(errors["lines"][0]["bytes"], 4);
    let beyond = log(&format!("?since_line={}", i64::MAX));
    assert_eq!(
        (&beyond["lines"], &beyond["has_more"]),
        (&json!([]), &json!(false))
    );
    let refused = |query: &str| server.get(&format!("/api/runs/{run}/log{query}")).error();
    assert_eq!(
        refused("?tail=0"),
        "400 VALIDATION_ERROR: `tail` is 0; it has to be from 1 to 1000"
    );
    assert_eq!(
        refused("?tail=1&since_line=1"),
        "400 VALIDATION_ERROR: name `tail` or `since_line`, not both"
    );
    assert_eq!(
        refused("?stream=all2"),
        "400 VALIDATION_ERROR: the query: stream: unknown variant `all2`, expected one of `all`, `meta`, `stdout`, `stderr`"
    );
}

#[test]
fn what_is_not_text_is_shown_as_far_as_it_is() {
    let server = Server::start(desk(
        "cat > /dev/null; printf 'a\\377b\\033[31m<script>\\n'",
        "",
    ));
    let run = server.run(&server.task("Bytes"));
    server.over(&run);
    let log = server
        .get(&format!("/api/runs/{run}/log?stream=stdout"))
        .data(200);
    assert_eq!(log["lines"][0]["data"], "a\u{fffd}b\u{1b}[31m<script>\n");
    assert_eq!(log["lines"][0]["bytes"], 17);
}
