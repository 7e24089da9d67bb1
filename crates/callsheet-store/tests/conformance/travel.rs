//! Runs that travel: a bundle holds them whole, proves them without a store, and adds them to another one once.

use std::io::Cursor;
use std::time::Duration;

use callsheet::redact::{Key, Redactor};
use callsheet::{Event, Fingerprint};
use callsheet_store::{
    Bundle, Bundled, Claim, Id, NewRun, Project, Record, RunKind, Store, StoredRecord, Stream, Wait,
};
use serde_json::{Value, json};

use crate::on_both;
use crate::prompts;
use crate::test_store::{TestStore, assert_gapless, findings, seqs};

on_both!(
    a_run_travels_whole_and_once,
    a_run_whose_parent_stays_at_home_travels,
    a_run_with_other_contents_is_refused,
    only_finished_runs_travel,
    a_run_travels_without_its_secrets,
    a_long_log_travels_in_pieces,
);

const LEASE: Duration = Duration::from_mins(1);

pub(crate) const TOKEN: &str = concat!("gh", "p_k7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7U");

fn record(stream: Stream, data: impl Into<Vec<u8>>) -> Record {
    Record {
        stream,
        data: data.into(),
    }
}

fn start(store: &Store, project: &Project, parent: Option<Id>) -> Claim {
    let run = NewRun {
        prompt: prompts::seal(store, project, "A task.").0.id,
        kind: parent.map_or(RunKind::First, |_| RunKind::Retry),
        parent,
        request: json!({"runner": "local", "price": 0.123_456_789_012_3}),
        task: None,
        batch: None,
    };
    store
        .start_run(project, run, "w", LEASE, |_| Ok(()))
        .wait()
        .unwrap()
        .unwrap()
}

/// Makes a finished run that was asked to stop and has said all kinds of things.
fn finished(store: &Store, project: &Project, parent: Option<Id>, output: Vec<Record>) -> Id {
    let claim = start(store, project, parent);
    let mut records = vec![record(Stream::Meta, "the prompt")];
    records.extend(output);
    let facts = [
        ("cost", json!(0.100_000_000_000_000_02)),
        ("text", json!("ä\u{0}")),
    ];
    let events = vec![(Some(0), Event::new("agent:text", facts, "it spoke"))];
    store.append_output(&claim, records, events).wait().unwrap();
    store.request_stop(claim.run.id).wait().unwrap();
    let outcome = json!({"status": "succeeded", "cost": 1e-7});
    assert!(store.finish_run(&claim, &outcome).wait().unwrap());
    claim.run.id
}

fn output() -> Vec<Record> {
    vec![
        record(Stream::Stdout, "{\"type\":\"text\"}\n"),
        record(Stream::Stderr, b"\xff\xfe\0 not text".as_slice()),
        record(Stream::Stdout, ""),
        record(Stream::Stdout, "bell \u{7} and \u{1b}[1mbold\u{7f}\n"),
        record(Stream::Stdout, "line \"of\" \\ many\t\r\n".repeat(9000)),
    ]
}

pub(crate) fn bundle(
    store: &Store,
    project: &Project,
    runs: &[Id],
    redactor: Option<&Redactor>,
) -> Bundle {
    let mut bundle = Bundle::default();
    for id in runs {
        let mut bundled = store.bundled_run(project, *id, redactor).unwrap();
        let prompt = store
            .prompt(project, bundled.run.prompt.as_str())
            .wait()
            .unwrap();
        let seal = store.sealed(&prompt).wait().unwrap();
        let sealed = Bundled::new(prompt.sealed_at, seal);
        bundled.run.prompt = sealed.id;
        bundle.prompts.push(sealed);
        bundle.runs.push(bundled);
    }
    bundle.arrange();
    bundle
}

pub(crate) fn written(store: &Store, project: &Project, runs: &[Id]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let bundle = bundle(store, project, runs, None);
    bundle.write_from(store, project, None, &mut bytes).unwrap();
    assert_eq!(Bundle::read("x", bytes.as_slice()), Ok(bundle));
    bytes
}

pub(crate) fn import(
    store: &Store,
    project: &Project,
    bytes: &[u8],
) -> Result<Vec<(Id, bool)>, String> {
    let source = Cursor::new(bytes.to_vec());
    let bundle = Bundle::read("x", bytes).unwrap();
    let imported = store.import_from(project, bundle, "x", source).wait();
    imported
        .map(|it| it.runs)
        .map_err(|error| error.to_string())
}

fn log(store: &Store, run: Id) -> Vec<StoredRecord> {
    store.log_since(run, 0, usize::MAX, None).wait().unwrap()
}

/// Returns the events of a run, but for their numbers.
fn events_of(store: &Store, run: Id) -> Vec<(i64, Event)> {
    let events = store.events_of_run(run, 0, usize::MAX).wait().unwrap();
    events.into_iter().map(|it| (it.at, it.event)).collect()
}

fn a_run_travels_whole_and_once(place: &TestStore) {
    let (home, away) = (place.open(), TestStore::sqlite());
    let away = away.open();
    let from = home.project("demo").wait().unwrap();
    let to = away.project("other").wait().unwrap();
    let first = finished(&home, &from, None, output());
    let second = finished(&home, &from, Some(first), vec![]);
    let bytes = written(&home, &from, &[second, first, second]);
    assert_eq!(bytes, written(&home, &from, &[first, second]));

    assert_eq!(
        import(&away, &to, &bytes),
        Ok(vec![(first, true), (second, true)])
    );
    for id in [first, second] {
        let mut here = away.run(&to, id.as_str()).wait().unwrap();
        let there = home.run(&from, id.as_str()).wait().unwrap();
        assert!(here.imported_at.take().is_some());
        here.project.clone_from(&there.project);
        assert_eq!(here, there);
        assert_eq!(log(&away, id), log(&home, id));
        let mut events = events_of(&away, id);
        let (_, last) = events.pop().unwrap();
        assert_eq!(last.kind, "run:imported");
        assert_eq!(last.message(), format!("run {id} is imported"));
        assert_eq!(events, events_of(&home, id));
    }
    assert_gapless(&seqs(&away, &to));
    assert_eq!(findings(&away), []);

    let before = seqs(&away, &to).len();
    assert_eq!(
        import(&away, &to, &bytes),
        Ok(vec![(first, false), (second, false)])
    );
    assert_eq!(seqs(&away, &to).len(), before);
    assert_eq!(
        written(&away, &to, &[first, second]),
        bytes,
        "and on it goes"
    );
    // Where it came from it is known, too.
    assert_eq!(
        import(&home, &from, &bytes),
        Ok(vec![(first, false), (second, false)])
    );
    assert!(away.index(&to, usize::MAX).wait().unwrap());
    let hits = away.search(&to, "many", 5, None).wait().unwrap();
    assert_eq!(hits.hits.len(), 1);
    let elsewhere = away.project("third").wait().unwrap();
    assert_eq!(
        import(&away, &elsewhere, &bytes),
        Err(format!("run `{first}` cannot be imported: its id is taken"))
    );
    assert_eq!(seqs(&away, &elsewhere).len(), 0, "all or nothing");
    assert_eq!(findings(&away), []);
}

fn a_run_whose_parent_stays_at_home_travels(place: &TestStore) {
    let home = TestStore::sqlite();
    let (home, away) = (home.open(), place.open());
    let from = home.project("demo").wait().unwrap();
    let to = away.project("demo").wait().unwrap();
    let first = finished(&home, &from, None, vec![]);
    let second = finished(&home, &from, Some(first), vec![]);
    let bytes = written(&home, &from, &[second]);
    assert_eq!(import(&away, &to, &bytes), Ok(vec![(second, true)]));
    let here = away.run(&to, second.as_str()).wait().unwrap();
    assert_eq!((here.kind, here.parent), (RunKind::Retry, None));
    assert_eq!(import(&away, &to, &bytes), Ok(vec![(second, false)]));
    assert_eq!(findings(&away), []);
    // With its parent it is still the same run.
    let both = written(&home, &from, &[first, second]);
    assert_eq!(
        import(&away, &to, &both),
        Ok(vec![(first, true), (second, false)])
    );
    assert_eq!(findings(&away), []);
}

fn a_run_with_other_contents_is_refused(place: &TestStore) {
    let home = TestStore::sqlite();
    let (home, away) = (home.open(), place.open());
    let from = home.project("demo").wait().unwrap();
    let to = away.project("demo").wait().unwrap();
    let run = finished(&home, &from, None, output());
    let bytes = written(&home, &from, &[run]);
    import(&away, &to, &bytes).unwrap();
    let more = Event::new("note:added", [("a", Value::Null)], "later");
    let more = callsheet_store::NewEvent {
        event: more,
        run: Some(run),
    };
    home.append_events(&from, vec![more]).wait().unwrap();
    let other = written(&home, &from, &[run]);
    let before = seqs(&away, &to).len();
    assert_eq!(
        import(&away, &to, &other),
        Err(format!("run `{run}` is here already with other contents"))
    );
    assert_eq!(seqs(&away, &to).len(), before);
    assert_eq!(findings(&away), []);
}

fn only_finished_runs_travel(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let id = start(&store, &project, None).run.id;
    let said = |project| {
        store
            .bundled_run(project, id, None)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        said(&project),
        format!("run `{id}` has not finished, so it cannot go into a bundle")
    );
    assert_eq!(said(&other), format!("no run `{id}`"));
}

/// A key that has begun in one record and ends in the next; the digits of it are the secret.
fn key() -> [String; 2] {
    let line = |letter: &str| letter.repeat(64) + "\n";
    let kind = "RSA PRIVATE KEY-----\n";
    [
        format!("-----BEGIN {kind}{}", line("A")),
        format!("{}-----END {kind}done\n", line("B")),
    ]
}

fn a_run_travels_without_its_secrets(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let (begin, end) = TOKEN.split_at(11);
    let [opens, closes] = key();
    let run = finished(
        &store,
        &project,
        None,
        vec![
            record(Stream::Stdout, format!("TOKEN={begin}")),
            record(Stream::Stderr, "other\n"),
            record(Stream::Stdout, format!("{end}\nafter ")),
            record(
                Stream::Stdout,
                format!("all\n{{\"text\":\"a\\n{TOKEN}\"}}\n"),
            ),
            record(
                Stream::Stdout,
                [b"\xff ", TOKEN.as_bytes(), b" \xff\n"].concat(),
            ),
            record(Stream::Stdout, opens),
            record(Stream::Stdout, closes),
            record(Stream::Stdout, "the end"),
        ],
    );
    let redactor = Redactor::new(Key::default());
    let bundle = bundle(&store, &project, &[run], Some(&redactor));
    let mut bytes = Vec::new();
    bundle
        .write_from(&store, &project, Some(&redactor), &mut bytes)
        .unwrap();
    let away = TestStore::sqlite();
    let away = away.open();
    let to = away.project("demo").wait().unwrap();
    assert_eq!(import(&away, &to, &bytes), Ok(vec![(run, true)]));
    let texts: Vec<(Stream, String)> = log(&away, run)
        .iter()
        .map(|it| (it.stream, String::from_utf8_lossy(&it.data).into_owned()))
        .collect();
    let secret = "‹secret:github-token:9004›";
    let key = "‹secret:private-key:";
    assert_eq!(texts[1], (Stream::Stdout, String::new()));
    assert_eq!(texts[2], (Stream::Stderr, "other\n".to_owned()));
    assert_eq!(texts[3], (Stream::Stdout, format!("TOKEN={secret}\n")));
    assert_eq!(
        texts[4].1,
        format!("after all\n{{\"text\":\"a\\n{secret}\"}}\n")
    );
    assert_eq!(texts[5].1, format!("\u{fffd} {secret} \u{fffd}\n"));
    assert_eq!(texts[6].1, "");
    assert!(texts[7].1.starts_with(key), "{texts:?}");
    assert!(texts[7].1.ends_with("›\ndone\n"), "{texts:?}");
    assert_eq!(texts[8].1, "");
    assert_eq!(texts[0], (Stream::Meta, "the prompt".to_owned()));
    assert_eq!(texts[9], (Stream::Stdout, "the end".to_owned()));
    assert_eq!(texts.len(), 10);
    assert_eq!(findings(&away), []);
}

fn a_long_log_travels_in_pieces(place: &TestStore) {
    let home = TestStore::sqlite();
    let (home, away) = (home.open(), place.open());
    let from = home.project("demo").wait().unwrap();
    let to = away.project("demo").wait().unwrap();
    let mut output: Vec<Record> = (0..200)
        .map(|number| record(Stream::Stdout, format!("line {number}\n").repeat(900)))
        .collect();
    output.push(record(Stream::Stderr, vec![7; 5 << 20]));
    output.push(record(Stream::Stdout, "end\n"));
    let run = finished(&home, &from, None, output);
    let bytes = written(&home, &from, &[run]);
    assert_eq!(import(&away, &to, &bytes), Ok(vec![(run, true)]));
    let hash = |store: &Store| {
        let log = log(store, run);
        Fingerprint::of(
            log.iter()
                .flat_map(|it| it.data.clone())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(hash(&away), hash(&home));
    assert_eq!(findings(&away), []);
}

#[test]
fn no_byte_of_a_bundle_with_a_run_can_be_changed() {
    let place = TestStore::sqlite();
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let small = vec![record(Stream::Stdout, "hello\n")];
    let run = finished(&store, &project, None, small);
    let bytes = written(&store, &project, &[run]);
    let whole = Bundle::read("x", bytes.as_slice()).unwrap();
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        let read = Bundle::read("x", other.as_slice());
        // A few bits of the container say nothing; the contents are the same then.
        assert!(read.is_err() || read.as_ref() == Ok(&whole), "byte {at}");
    }
    for end in (0..bytes.len()).step_by(7) {
        assert!(Bundle::read("x", &bytes[..end]).is_err(), "{end} bytes");
    }
}
