//! The index of logs: what damages it is told, and stops neither searching nor indexing.

use std::time::Duration;

use callsheet_store::{Finding, HitPlace, Id, Project, Record, Store, Stream, block_on};
use serde_json::json;

use crate::on_both;
use crate::place::{Place, claim, findings};

on_both!(
    a_piece_that_is_gone_is_told,
    a_count_that_is_wrong_is_told,
    what_is_lost_of_the_index_is_made_again,
    no_number_stops_it,
    a_damaged_record_is_left_out,
    a_record_that_is_gone_is_left_out,
    no_hits_are_wanted,
);

/// How many records each log has: two whole pieces, and a part of one.
const RECORDS: i64 = 502;

/// Makes finished runs, each with a log whose lines are all different.
fn make(place: &Place, runs: usize) -> (Store, Project, Vec<Id>) {
    let store = place.open();
    let project = block_on(store.project("demo")).unwrap();
    let ids = place.queue(&store, &project, runs);
    for id in &ids {
        let claim = claim(&store, &project, "w", Duration::from_mins(1)).unwrap();
        assert_eq!(claim.run.id, *id);
        let record = |n: i64| Record {
            stream: if n == 1 { Stream::Meta } else { Stream::Stdout },
            data: format!("line x{n}y of {id}").into_bytes(),
        };
        block_on(store.append_log(&claim, (1..=RECORDS).map(record).collect())).unwrap();
        block_on(store.finish_run(&claim, &json!({}))).unwrap();
    }
    (store, project, ids)
}

/// Makes one such run, and its index.
fn indexed(place: &Place) -> (Store, Project, Id) {
    let (store, project, ids) = make(place, 1);
    index(&store);
    assert_eq!(
        place.numbers("select start from log_leaf order by start"),
        [1, 201, 401]
    );
    assert_eq!(findings(&store), []);
    (store, project, ids[0])
}

fn index(store: &Store) {
    assert_eq!(block_on(store.index_logs(1 << 30)).unwrap(), 0);
}

/// Returns which records hold a word.
fn seqs(store: &Store, project: &Project, word: &str) -> Vec<i64> {
    let hits = block_on(store.search(project, word, 10)).unwrap();
    let seq = |place| match place {
        HitPlace::Log { seq, .. } => Some(seq),
        _ => None,
    };
    hits.into_iter().filter_map(|hit| seq(hit.place)).collect()
}

fn wrong(run: Id, start: Option<i64>) -> Finding {
    let from = start.map(|start| format!(" from record {start} on"));
    Finding {
        what: format!("the index of run {run}{}", from.unwrap_or_default()),
        detail: "it does not hold what it should".to_owned(),
    }
}

fn a_piece_that_is_gone_is_told(place: &Place) {
    let (store, project, run) = indexed(place);
    place.raw("create table kept as select * from log_leaf");
    let found = || -> Vec<Finding> {
        let all = findings(&store).into_iter();
        all.filter(|it| it.what != "the table `kept`").collect()
    };
    let cases: [(&str, &[i64]); 6] = [
        ("start = 1", &[1]),
        ("start = 201", &[1]),
        ("start = 401", &[201]),
        ("start > 1", &[1]),
        ("start < 401", &[1]),
        ("start > 0", &[1]),
    ];
    for (gone, starts) in cases {
        place.raw(&format!("delete from log_leaf where {gone}"));
        let expected: Vec<_> = starts.iter().map(|at| wrong(run, Some(*at))).collect();
        assert_eq!(found(), expected, "{gone}");
        seqs(&store, &project, "line");
        place.raw("delete from log_leaf");
        place.raw("insert into log_leaf select * from kept");
        assert_eq!(found(), []);
    }
    // Whoever moves the beginnings together changes what pieces hold.
    place.raw("delete from log_leaf where start = 201");
    place.raw("update log_leaf set start = 150 where start = 401");
    let expected = [1, 150].map(|at| wrong(run, Some(at)));
    assert_eq!(found(), expected);
}

fn a_count_that_is_wrong_is_told(place: &Place) {
    let (store, project, run) = indexed(place);
    let cases: [(&str, Option<i64>); 8] = [
        ("update indexed set records = records + 1", None),
        ("update indexed set records = records + 77", None),
        ("update indexed set records = 9223372036854775807", None),
        ("delete from indexed", None),
        ("update indexed set records = 0", Some(401)),
        ("update indexed set records = 400", Some(401)),
        ("update indexed set records = 450", Some(401)),
        ("update indexed set records = 501", Some(401)),
    ];
    for (sql, start) in cases {
        assert_eq!(place.raw(sql), 1);
        assert_eq!(findings(&store), [wrong(run, start)], "{sql}");
        seqs(&store, &project, "x502y");
        assert_eq!(seqs(&store, &project, "x7y"), [7], "{sql}");
        place.raw("delete from indexed");
        place.raw("insert into indexed select key, records from run");
        assert_eq!(findings(&store), []);
    }
}

fn what_is_lost_of_the_index_is_made_again(place: &Place) {
    let (store, project, _) = indexed(place);
    for lost in [
        "delete from indexed",
        "update indexed set records = 0",
        "update indexed set records = 200",
    ] {
        assert_eq!(place.raw(lost), 1);
        index(&store);
        assert_eq!(findings(&store), [], "{lost}");
        assert_eq!(seqs(&store, &project, "x502y"), [502]);
    }
    // Pieces that were shorter are not in the way.
    place.raw("update log_leaf set start = start - 50 where start > 1");
    place.raw("delete from indexed");
    index(&store);
    assert_eq!(findings(&store), []);
}

fn no_number_stops_it(place: &Place) {
    let (store, project, ids) = make(place, 2);
    place.raw("update run set records = 9223372036854775807");
    assert_eq!(
        block_on(store.unindexed_records()).unwrap(),
        i64::MAX,
        "nobody can count so far"
    );
    index(&store);
    assert_eq!(seqs(&store, &project, "x502y"), [502, 502]);
    let told = |findings: &[Finding]| {
        let named = |id: &Id| findings.iter().any(|one| one.what == format!("run {id}"));
        ids.iter().all(named)
    };
    let found = findings(&store);
    assert!(told(&found), "{found:?}");
    place.raw("update indexed set records = 9223372036854775807");
    place.raw("update log_leaf set start = 9223372036854775807 where start = 401");
    let found = findings(&store);
    assert!(told(&found), "{found:?}");
    assert!(found.contains(&wrong(ids[0], Some(201))), "{found:?}");
    seqs(&store, &project, "line");
    assert_eq!(seqs(&store, &project, "x7y"), [7, 7]);
    index(&store);
}

fn a_damaged_record_is_left_out(place: &Place) {
    let (store, project, ids) = make(place, 2);
    let first = "run = (select min(run) from log)";
    let damage = |seq: i64| {
        let bytes = place.literal(&[7, 7, 7]);
        let sql = format!("update log set packed = {bytes} where seq = {seq} and {first}");
        assert_eq!(place.raw(&sql), 1);
    };
    let told = || -> Vec<_> { findings(&store).into_iter().map(|one| one.what).collect() };
    damage(250);
    index(&store);
    let record = |seq: i64| format!("record {seq} of run {}", ids[0]);
    assert_eq!(told(), [record(250)]);
    assert_eq!(seqs(&store, &project, "x250y"), [250], "of the other run");
    assert_eq!(seqs(&store, &project, "x251y"), [251, 251]);
    // One that was whole when it was indexed.
    damage(440);
    assert_eq!(told(), [record(250), record(440)]);
    assert_eq!(seqs(&store, &project, "x440y"), [440]);
    assert_eq!(seqs(&store, &project, "x441y"), [441, 441]);
    assert_eq!(seqs(&store, &project, "line").len(), 6);
}

fn a_record_that_is_gone_is_left_out(place: &Place) {
    let (store, project, ids) = make(place, 1);
    place.raw("delete from log where seq in (5, 200, 300, 502)");
    index(&store);
    assert_eq!(
        place.numbers("select start from log_leaf order by start"),
        [1, 201, 401]
    );
    place.raw("delete from log where seq = 7");
    let found = findings(&store);
    let about_index = |one: &&Finding| one.what.starts_with("the index");
    assert_eq!(found.iter().find(about_index), None);
    let after = format!("record 6 of run {}", ids[0]);
    assert!(found.iter().any(|one| one.what == after), "{found:?}");
    assert_eq!(seqs(&store, &project, "x501y"), [501]);
    assert_eq!(seqs(&store, &project, "x5y"), [0; 0]);
}

fn no_hits_are_wanted(place: &Place) {
    let (store, project, _) = indexed(place);
    for (limit, count) in [(0, 0), (1, 1), (2, 2)] {
        let hits = block_on(store.search(&project, "line", limit)).unwrap();
        assert_eq!(hits.len(), count);
    }
}
