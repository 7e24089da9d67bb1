//! Long logs are read in parts, from either end.

#![expect(
    clippy::unwrap_used,
    reason = "a store that cannot be filled fails the test"
)]

use std::time::Duration;

use callsheet_store::{Access, Location, Record, Store, Stream, Wait as _};
use serde_json::{Value, json};

use crate::api::desk;
use crate::desk::Desk;
use crate::server::Server;

/// Gives a run that is queued so many records, a number in each, and finishes it.
fn fill(desk: &Desk, records: usize) {
    let place = Location::Sqlite(desk.project.path(".callsheet/callsheet.db"));
    let store = Store::open(&place, Access::Write).unwrap();
    let project = store.projects().wait().unwrap().remove(0);
    let lease = Duration::from_mins(10);
    let claim = store.claim_queued(&project, "nobody", lease, |_, _| true);
    let claim = claim.wait().unwrap().unwrap();
    let record = |number: usize| {
        let stream = match number {
            1 => Stream::Meta,
            _ if number.is_multiple_of(1000) => Stream::Stderr,
            _ => Stream::Stdout,
        };
        let data = format!("{number}\n").into_bytes();
        Record { stream, data }
    };
    let numbers: Vec<usize> = (1..=records).collect();
    for some in numbers.chunks(5000) {
        let some = some.iter().map(|number| record(*number)).collect();
        store.append_log(&claim, some).wait().unwrap();
    }
    let outcome = json!({"status": "completed"});
    let ended = store.finish_run(&claim, &outcome);
    assert!(ended.wait().unwrap());
}

#[test]
fn a_log_of_many_records_is_read_in_parts() {
    let server = Server::with(desk("cat > /dev/null", ""), &["--port", "0", "--no-worker"]);
    let run = server.run(&server.task("Count"));
    fill(&server.desk, 100_000);
    let log = |query: &str| {
        let target = format!("/api/runs/{run}/log{query}");
        let log = server.get(&target).data(200);
        let lines = log["lines"].as_array().unwrap().iter();
        let number = |line: &Value| {
            let number = line["line_number"].as_i64().unwrap();
            assert_eq!(line["data"], format!("{number}\n"));
            number
        };
        let numbers: Vec<i64> = lines.map(number).collect();
        assert_eq!(log["total_lines"], 100_000);
        (numbers, log["has_more"] == true)
    };
    assert_eq!(log(""), ((1..=200).collect(), true));
    assert_eq!(
        log("?since_line=50000&limit=1000"),
        ((50_001..=51_000).collect(), true)
    );
    assert_eq!(
        log("?since_line=99990&limit=10"),
        ((99_991..=100_000).collect(), false)
    );
    assert_eq!(log("?tail=3"), (vec![99_998, 99_999, 100_000], true));
    assert_eq!(log("?tail=1000&stream=meta"), (vec![1], false));
    let errors: Vec<i64> = (1..=100).map(|number| number * 1000).collect();
    assert_eq!(log("?stream=stderr"), (errors.clone(), false));
    assert_eq!(log("?stream=stderr&limit=99").0, errors[..99]);
    assert_eq!(log("?stream=stderr&tail=2"), (errors[98..].to_vec(), true));
    assert_eq!(log(&format!("?since_line={}", i64::MAX)), (vec![], false));
    assert_eq!(log("?since_line=-5&limit=1"), (vec![1], true));

    // All parts together are the whole.
    let (mut since, mut all) = (0, Vec::new());
    loop {
        let (numbers, has_more) = log(&format!("?limit=1000&since_line={since}"));
        since = numbers.last().copied().unwrap_or(since);
        all.extend(numbers);
        if !has_more {
            break;
        }
    }
    assert!(all == (1..=100_000).collect::<Vec<i64>>(), "{}", all.len());
    refusals(&server, &run);
}

fn refusals(server: &Server, run: &str) {
    let refused = |query: &str| server.get(&format!("/api/runs/{run}/log{query}")).error();
    assert_eq!(
        refused("?tail=0"),
        "400 VALIDATION_ERROR: `tail` is 0; it has to be from 1 to 1000"
    );
    assert_eq!(
        refused("?limit=1001"),
        "400 VALIDATION_ERROR: `limit` is 1001; it has to be from 1 to 1000"
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
