//! The index of logs: what damages it is reported, and stops neither searching nor indexing.

use std::time::Duration;

use callsheet_store::{Finding, HitPlace, Id, Project, Record, Store, Stream, Wait};
use serde_json::json;

use crate::on_both;
use crate::test_store::{TestStore, claim, findings};

on_both!(
    passages_that_do_not_follow_each_other_are_reported,
    what_is_lost_of_the_index_is_made_again,
    an_index_of_another_version_is_made_anew,
    no_number_stops_it,
    a_damaged_record_is_left_out,
    a_record_that_is_gone_is_left_out,
    a_log_that_grows_is_indexed_where_it_went_on,
    no_hits_are_wanted,
);

/// How many records each log has: two whole passages, and a part of one.
const RECORDS: i64 = 502;

/// Where the passages of a log begin.
const STARTS: [i64; 3] = [1, 189, 377];

/// Makes finished runs, each with a log whose lines are all different.
fn make(place: &TestStore, runs: usize) -> (Store, Project, Vec<Id>) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let ids = place.queue(&store, &project, runs);
    for id in &ids {
        let claim = claim(&store, &project, "w", Duration::from_mins(1)).unwrap();
        assert_eq!(claim.run.id, *id);
        let record = |n: i64| Record {
            stream: if n == 1 { Stream::Meta } else { Stream::Stdout },
            data: format!("line x{n}y of {id}").into_bytes(),
        };
        store
            .append_log(&claim, (1..=RECORDS).map(record).collect())
            .wait()
            .unwrap();
        store.finish_run(&claim, &json!({})).wait().unwrap();
    }
    (store, project, ids)
}

/// Makes one such run, and its index.
fn indexed(place: &TestStore) -> (Store, Project, Id) {
    let (store, project, ids) = make(place, 1);
    index(&store, &project);
    assert_eq!(starts(place), STARTS);
    assert_eq!(findings(&store), []);
    (store, project, ids[0])
}

fn starts(place: &TestStore) -> Vec<i64> {
    place.numbers("select first from passage where run is not null order by run, first")
}

fn index(store: &Store, project: &Project) {
    assert!(store.index(project, 1 << 30).wait().unwrap());
}

/// Returns which records hold a word.
fn seqs(store: &Store, project: &Project, word: &str) -> Vec<i64> {
    let hits = store.search(project, word, 10, None).wait().unwrap().hits;
    let seq = |place| match place {
        HitPlace::Log { seq, .. } => Some(seq),
        _ => None,
    };
    hits.into_iter().filter_map(|hit| seq(hit.place)).collect()
}

fn findings_of(store: &Store) -> Vec<String> {
    findings(store).into_iter().map(|one| one.what).collect()
}

const INDEX: &str = "the search index of project demo";

fn passages_that_do_not_follow_each_other_are_reported(place: &TestStore) {
    let (store, project, run) = indexed(place);
    let expected = [format!("the index of run {run}"), INDEX.to_owned()];
    let cases = [
        ("first = 2 where first = 1", &expected[..]),
        ("last = 187 where first = 1", &expected),
        ("last = 501 where first = 377", &expected),
        ("last = 503 where first = 377", &expected[..1]),
    ];
    for (change, expected) in cases {
        let kept = place.numbers("select last from passage where run is not null order by key");
        assert_eq!(place.raw(&format!("update passage set {change}")), 1);
        assert_eq!(findings_of(&store), expected, "{change}");
        seqs(&store, &project, "line");
        for (first, last) in STARTS.into_iter().zip(kept) {
            place.raw(&format!("update passage set first = {first}, last = {last} where run is not null and last between {} and {}", last - 1, last + 1));
        }
        assert_eq!(findings(&store), [], "{change}");
    }
}

fn what_is_lost_of_the_index_is_made_again(place: &TestStore) {
    let (store, project, _) = indexed(place);
    let all = place.numbers("select through from search_index");
    for lost in [
        "delete from search_index",
        "update search_index set through = through - 1",
        "update search_index set through = 0, runs = 0",
    ] {
        assert_eq!(place.raw(lost), 1);
        assert_eq!(findings_of(&store), [INDEX], "{lost}");
        assert_eq!(seqs(&store, &project, "x502y"), [502]);
        index(&store, &project);
        assert_eq!(findings(&store), [], "{lost}");
        assert_eq!(place.numbers("select through from search_index"), all);
        assert_eq!(seqs(&store, &project, "x502y"), [502]);
    }
    store.empty_index(&project).wait().unwrap();
    assert_eq!(starts(place), [0; 0]);
    assert_eq!(findings(&store), []);
    index(&store, &project);
    assert_eq!(starts(place), STARTS);
    assert_eq!(findings(&store), []);
}

fn an_index_of_another_version_is_made_anew(place: &TestStore) {
    let (store, project, _) = indexed(place);
    place.raw("update search_index set version = version + 1");
    assert_eq!(findings(&store), []);
    // Nothing of it is believed.
    place.raw("delete from trigram");
    assert_eq!(seqs(&store, &project, "x502y"), [502]);
    let left = store.unindexed(&project).wait().unwrap();
    assert!(left.passages > 3, "{left:?}");
    assert_eq!((left.records, left.other_version), (0, true));
    index(&store, &project);
    let left = store.unindexed(&project).wait().unwrap();
    assert_eq!(
        (left.passages, left.records, left.other_version),
        (0, 0, false)
    );
    assert_eq!(findings(&store), []);
    assert_eq!(seqs(&store, &project, "x502y"), [502]);
}

fn no_number_stops_it(place: &TestStore) {
    let (store, project, ids) = make(place, 2);
    place.raw("update run set records = 9223372036854775807");
    assert_eq!(
        store.unindexed(&project).wait().unwrap().records,
        i64::MAX,
        "nobody can count so far"
    );
    index(&store, &project);
    assert_eq!(seqs(&store, &project, "x502y"), [502, 502]);
    let names_all = |findings: &[Finding]| {
        let named = |id: &Id| findings.iter().any(|one| one.what == format!("run {id}"));
        ids.iter().all(named)
    };
    let found = findings(&store);
    assert!(names_all(&found), "{found:?}");
    place.raw("update search_index set runs = 9223372036854775807, through = 9223372036854775807");
    place.raw("update passage set first = 9223372036854775807 where first = 377");
    let found = findings(&store);
    assert!(names_all(&found), "{found:?}");
    seqs(&store, &project, "line");
    assert_eq!(seqs(&store, &project, "x7y"), [7, 7]);
    index(&store, &project);
}

fn a_damaged_record_is_left_out(place: &TestStore) {
    let (store, project, ids) = make(place, 2);
    let first = "run = (select min(run) from log)";
    let damage = |seq: i64| {
        let bytes = place.literal(&[7, 7, 7]);
        let sql = format!("update log set packed = {bytes} where seq = {seq} and {first}");
        assert_eq!(place.raw(&sql), 1);
    };
    damage(250);
    index(&store, &project);
    let record = |seq: i64| format!("record {seq} of run {}", ids[0]);
    assert_eq!(findings_of(&store), [record(250)]);
    assert_eq!(seqs(&store, &project, "x250y"), [250], "of the other run");
    assert_eq!(seqs(&store, &project, "x251y"), [251, 251]);
    // One that was whole when it was indexed.
    damage(440);
    assert_eq!(
        findings_of(&store),
        [record(250), record(440), INDEX.to_owned()]
    );
    assert_eq!(seqs(&store, &project, "x440y"), [440]);
    assert_eq!(seqs(&store, &project, "x441y"), [441, 441]);
    assert_eq!(seqs(&store, &project, "line").len(), 6);
}

fn a_record_that_is_gone_is_left_out(place: &TestStore) {
    let (store, project, ids) = make(place, 1);
    place.raw("delete from log where seq in (5, 200, 300, 502)");
    index(&store, &project);
    let found = findings(&store);
    let about_index = |one: &&Finding| one.what.contains("index");
    assert_eq!(found.iter().find(about_index), None);
    let after = format!("record 6 of run {}", ids[0]);
    assert!(found.iter().any(|one| one.what == after), "{found:?}");
    assert_eq!(seqs(&store, &project, "x501y"), [501]);
    assert_eq!(seqs(&store, &project, "x5y"), [0; 0]);
}

fn a_log_that_grows_is_indexed_where_it_went_on(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    place.queue(&store, &project, 1);
    let claim = claim(&store, &project, "w", Duration::from_mins(1)).unwrap();
    let mut expected: Vec<i64> = Vec::new();
    for (from, to, starts) in [(1, 3, &[1][..]), (4, 250, &[4, 202]), (251, 252, &[251])] {
        let record = |n: i64| Record {
            stream: if n == 1 { Stream::Meta } else { Stream::Stdout },
            data: format!("line x{n}y").into_bytes(),
        };
        store
            .append_log(&claim, (from..=to).map(record).collect())
            .wait()
            .unwrap();
        assert_eq!(
            store.unindexed(&project).wait().unwrap().records,
            to - from + 1
        );
        index(&store, &project);
        assert_eq!(seqs(&store, &project, &format!("x{to}y")), [to]);
        expected.extend(starts);
        assert_eq!(self::starts(place), expected);
        assert_eq!(findings(&store), []);
    }
}

fn no_hits_are_wanted(place: &TestStore) {
    let (store, project, _) = indexed(place);
    for (limit, count, more) in [(0, 0, true), (1, 1, true), (2, 2, true), (3, 3, false)] {
        let found = store.search(&project, "line", limit, None).wait().unwrap();
        assert_eq!((found.hits.len(), found.more), (count, more));
    }
}
