//! Runs as users name them: exported, imported, and wherever a prompt would do.

#![expect(
    clippy::unwrap_used,
    reason = "a run that cannot be made fails the test"
)]

use std::path::PathBuf;
use std::time::Duration;

use callsheet::{Event, Fingerprint};
use callsheet_store::{Access, Location, NewRun, Record, RunKind, Store, Stream, Wait};
use serde_json::json;

use crate::bundles::{Files, pack, unpack};
use crate::project::Project;
use crate::sealed::{STORE, export, said, seal, shop};

const TOKEN: &str = concat!("gh", "p_k7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7U");

/// Makes a run of a prompt, as a driver does, and returns its id.
fn run_of(project: &Project, prompt: &str, finish: bool) -> String {
    let store = Store::open(&Location::Sqlite(project.path(STORE)), Access::Write).unwrap();
    let owner = store.project(".").wait().unwrap();
    let new = NewRun {
        prompt: prompt.parse().unwrap(),
        kind: RunKind::First,
        parent: None,
        request: json!({"runner": "local"}),
        task: None,
        batch: None,
    };
    let lease = Duration::from_mins(1);
    let claim = store
        .start_run(&owner, new, "worker", lease, |_| Ok(()))
        .wait();
    let claim = claim.unwrap().unwrap();
    let record = |(stream, text): (Stream, String)| Record {
        stream,
        data: text.into_bytes(),
    };
    let records = [
        (Stream::Meta, "Review src/login.rs.".to_owned()),
        (Stream::Stdout, format!("the token is {TOKEN}\n")),
    ];
    let facts = [("text", json!(format!("the token is {TOKEN}")))];
    let event = Event::new("agent:text", facts, "the agent spoke");
    let records = records.map(record).to_vec();
    store
        .append_output(&claim, records, vec![(Some(1), event)])
        .wait()
        .unwrap();
    if finish {
        store
            .finish_run(&claim, &json!({"status": "succeeded"}))
            .wait()
            .unwrap();
    }
    claim.run.id.to_string()
}

#[test]
fn a_run_travels_with_its_prompt() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let prompt = seal(&project, "you");
    let run = run_of(&project, &prompt, true);
    let file = project.outside().join("b.tar.zst");
    let file = file.to_str().unwrap();
    let exported = project.run(&["export", &run, "-o", file]);
    assert!(
        said(&exported).starts_with("exported 1 prompt, 1 run, "),
        "{}",
        said(&exported)
    );
    let names: Vec<String> = unpack(&std::fs::read(file).unwrap())
        .into_iter()
        .map(|(path, _)| path.replace(&run, "RUN"))
        .collect();
    assert_eq!(
        names[names.len() - 3..],
        [
            "runs/RUN/run.json",
            "runs/RUN/events.ndjson",
            "runs/RUN/log.ndjson"
        ]
    );
    insta::assert_snapshot!(other.callsheet(&["verify", file]), @"
    exit: 0
    --- stderr
    4 events, 1 prompt, 2 records, 1 run checked: nothing was changed
    ");
    insta::assert_snapshot!(other.callsheet(&["import", file]), @"
    exit: 0
    --- stderr
    imported [ID1]
    imported run [ID2]
    ");
    insta::assert_snapshot!(other.callsheet(&["import", file]), @"
    exit: 0
    --- stderr
    already here [ID1]
    already here run [ID2]
    ");
    insta::assert_snapshot!(other.callsheet(&["import", file, "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.import/1",
      "prompts": [
        {
          "id": "[ID1]",
          "new": false
        }
      ],
      "runs": [
        {
          "id": "[ID2]",
          "new": false
        }
      ]
    }
    "#);
}

#[test]
fn a_run_that_travelled_is_whole() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let prompt = seal(&project, "you");
    let run = run_of(&project, &prompt, true);
    let file = export(&project, &[&run]);
    let file = file.to_str().unwrap();
    assert_eq!(other.run(&["import", file]).code(), Some(0));
    insta::assert_snapshot!(other.callsheet(&["verify"]), @"
    exit: 0
    --- stderr
    6 events, 1 project, 1 prompt, 2 records, 1 run, 6 texts checked: nothing was changed
    ");
    insta::assert_snapshot!(other.callsheet(&["search", "token"]).replace(TOKEN, "TOKEN"), @"
    exit: 0
    --- stdout
    run [ID1], record 2 of stdout
      the token is TOKEN
    ");
    let again = other.outside().join("again.tar.zst");
    let exported = other.run(&["export", &run, "-o", again.to_str().unwrap()]);
    assert_eq!(exported.code(), Some(0), "{}", said(&exported));
    assert_eq!(std::fs::read(again).unwrap(), std::fs::read(file).unwrap());
    assert_eq!(
        project.run(&["export", &run]).stdout,
        std::fs::read(file).unwrap()
    );
}

#[test]
fn a_run_will_do_wherever_a_prompt_does() {
    let project = shop();
    let prompt = seal(&project, "you");
    let run = run_of(&project, &prompt, true);
    let other = seal(&project, "me");
    for command in [
        vec!["why", "ID", "--text", "push"],
        vec!["explain", "ID"],
        vec!["cache", "ID", &other],
        vec!["diff", "ID", &other],
        vec!["replay", "ID"],
        vec!["verify", "ID"],
    ] {
        let by = |id: &str| {
            let args: Vec<&str> = command
                .iter()
                .map(|arg| if *arg == "ID" { id } else { *arg })
                .collect();
            project.run(&args)
        };
        let (of_run, of_prompt) = (by(&run), by(&prompt));
        assert_eq!(of_run, of_prompt, "{command:?}");
        assert_eq!(of_run.stdout.is_empty(), command[0] == "verify");
    }
    assert_eq!(
        project.run(&["replay", &run[..run.len() - 1]]),
        project.run(&["replay", &prompt])
    );
    insta::assert_snapshot!(project.callsheet(&["replay", &run[..2]]), @"
    exit: 2
    --- stderr
    error: more than one prompt or run begins with `1m`: `[ID1]`, `[ID2]`, `[ID3]`
    hint: write one more character
    ");
    insta::assert_snapshot!(project.callsheet(&["replay", "zzzz"]), @"
    exit: 2
    --- stderr
    error: no prompt or run `zzzz`
    hint: `callsheet prompts` lists what there is
    ");
}

#[test]
fn a_run_that_goes_on_stays_at_home() {
    let project = shop();
    let prompt = seal(&project, "you");
    let run = run_of(&project, &prompt, false);
    insta::assert_snapshot!(project.callsheet(&["export", &run, "-o", "b"]), @"
    exit: 2
    --- stderr
    error: run `[ID1]` has not finished, so it cannot go into a bundle
    ");
    assert!(!project.path("b").exists());
}

#[test]
fn secrets_of_a_log_stay_at_home_on_request() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let prompt = seal(&project, "you");
    let run = run_of(&project, &prompt, true);
    let holds = |file: &PathBuf| {
        unpack(&std::fs::read(file).unwrap())
            .iter()
            .any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(&TOKEN[4..]))
    };
    let whole = export(&project, &[&run]);
    assert!(holds(&whole));
    let file = project.outside().join("redacted.tar.zst");
    let exported = project.run(&["export", &run, "--redact", "-o", file.to_str().unwrap()]);
    assert_eq!(exported.code(), Some(0), "{}", said(&exported));
    assert!(!holds(&file));
    let file = file.to_str().unwrap();
    assert_eq!(other.run(&["import", file]).code(), Some(0));
    insta::assert_snapshot!(other.callsheet(&["search", "token"]), @"
    exit: 0
    --- stdout
    run [ID1], record 2 of stdout
      the token is ‹secret:github-token:9004›
    ");
    assert_eq!(other.run(&["verify"]).code(), Some(0));
    // The same run with its secrets is not the same.
    insta::assert_snapshot!(other.callsheet(&["import", whole.to_str().unwrap()]), @"
    exit: 2
    --- stderr
    error: run `[ID1]` is here already with other contents
    ");
}

/// Changes one file of a bundle and, if asked to, the hash that the index has of it.
pub(crate) fn changed(
    files: &Files,
    name: &str,
    rehash: bool,
    change: impl Fn(String) -> String,
) -> Files {
    let mut files = files.clone();
    let file = files
        .iter_mut()
        .find(|(path, _)| path.ends_with(name))
        .unwrap();
    let before = Fingerprint::of(&file.1).to_string();
    file.1 = change(String::from_utf8(file.1.clone()).unwrap()).into_bytes();
    let after = Fingerprint::of(&file.1).to_string();
    if rehash {
        let index = String::from_utf8(files[0].1.clone()).unwrap();
        files[0].1 = index.replace(&before, &after).into_bytes();
    }
    files
}

/// A change of one file: its name, whether the index gets the new hash, and what becomes what.
const CHANGES: &[(&str, bool, &str, &str)] = &[
    ("run.json", false, "1", "2"),
    ("events.ndjson", false, "1", "2"),
    ("log.ndjson", false, "1", "2"),
    ("log.ndjson", false, "the token", "thy token"),
    ("log.ndjson", true, "\"seq\":2", "\"seq\":3"),
    ("log.ndjson", true, ":\"meta\"", ":\"stdout\""),
    ("log.ndjson", true, ":\"meta\"", ":\"stdin\""),
    ("log.ndjson", true, "\"seq\":1", "\"seq\": 1"),
    ("log.ndjson", true, "\"text\"", "\"hex\":\"0g\",\"text\""),
    ("log.ndjson", true, "src/login.rs.\"}\n", ""),
    ("events.ndjson", true, "\"payload\":{", "\"payload\":[{"),
    ("events.ndjson", true, "\"payload\":{", "{deep}"),
    ("run.json", true, "\"attempt\":1", "\"attempt\":0"),
    ("run.json", true, "\"records\":2", "\"records\":3"),
    ("run.json", true, "\"parent\":null", "\"parent\":\"{run}\""),
    (
        "run.json",
        true,
        "first\",\"parent\":null",
        "retry\",\"parent\":\"{run}\"",
    ),
    ("run.json", true, "{prompt}", "{run}"),
    ("run.json", true, "\"queued_at\":1", "\"queued_at\":2"),
    ("run.json", true, "\"finished_at\":", "\"finished_at\":-"),
    ("run.json", true, "\"id\"", "\"more\":1,\"id\""),
    ("bundle.json", false, "bundle/2", "bundle/1"),
];

#[test]
fn hostile_runs_are_refused_and_named() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let prompt = seal(&project, "you");
    let run = run_of(&project, &prompt, true);
    let files = unpack(&std::fs::read(export(&project, &[&run])).unwrap());
    let said_of = |files: &Files| {
        other.file("b.tar.zst", pack(files));
        let output = said(&other.run(&["import", "b.tar.zst"]));
        let proven = other.run(&["verify", "b.tar.zst"]);
        assert_eq!(proven.code(), Some(1), "{output}");
        assert!(!other.path(STORE).exists());
        let output = output.replace(&run, "RUN").replace(&prompt, "PROMPT");
        let cut = output.find("expected b3:").unwrap_or(output.len());
        output[..cut].trim_end().to_owned() + "\n"
    };
    let (opened, closed) = ("[".repeat(200), "]".repeat(200));
    let deep = format!("\"payload\":{{\"a\":{opened}{closed},");
    let full = |text: &str| {
        let text = text.replace("{run}", &run).replace("{prompt}", &prompt);
        text.replace("{deep}", &deep)
    };
    let mut output = String::new();
    for (name, rehash, from, to) in CHANGES {
        output += &said_of(&changed(&files, name, *rehash, |text| {
            assert!(text.contains(&full(from)), "{text}");
            text.replacen(&full(from), &full(to), 1)
        }));
    }
    for name in ["run.json", "events.ndjson", "log.ndjson"] {
        let kept = files.iter().filter(|(path, _)| !path.ends_with(name));
        output += &said_of(&kept.cloned().collect());
    }
    let log = format!("runs/{run}/log.ndjson");
    let more = format!("runs/{run}/more");
    for path in [
        &log,
        "runs/0000000000000z/log.ndjson",
        "runs/../log.ndjson",
        &more,
    ] {
        let more = (path.to_owned(), Vec::new());
        output += &said_of(&[&files[..], &[more]].concat());
    }
    assert_refused(&output);
}

/// What is said of each, in order.
#[track_caller]
fn assert_refused(output: &str) {
    insta::assert_snapshot!(output, @"
    error: b.tar.zst: `runs/RUN/run.json`: hash mismatch:
    error: b.tar.zst: `runs/RUN/events.ndjson`: hash mismatch:
    error: b.tar.zst: `runs/RUN/log.ndjson`, line 1: expected record 1, found 2
    error: b.tar.zst: `runs/RUN/log.ndjson`: hash mismatch:
    error: b.tar.zst: `runs/RUN/log.ndjson`, line 2: expected record 2, found 3
    error: b.tar.zst: `runs/RUN/log.ndjson`, line 1: a log begins with its prompt, as `meta`
    error: b.tar.zst: `runs/RUN/log.ndjson`, line 1: unknown variant `stdin`, expected one of `meta`, `stdout`, `stderr` at line 1 column 44
    error: b.tar.zst: `runs/RUN/log.ndjson`, line 1: it is not in canonical form
    error: b.tar.zst: `runs/RUN/log.ndjson`, line 1: it has no text and no bytes
    error: b.tar.zst: `runs/RUN/log.ndjson`, line 1: expected `,` or `}` at line 1 column 62
    error: b.tar.zst: `runs/RUN/events.ndjson`, line 1: expected `,` or `]` at line 1 column 172
    error: b.tar.zst: `runs/RUN/events.ndjson`, line 1: recursion limit exceeded at line 1 column 132
    error: b.tar.zst: `runs/RUN/run.json`: it says what no store can keep
    error: b.tar.zst: `runs/RUN/run.json`: it is not about this run and its log
    error: b.tar.zst: `runs/RUN/run.json`: a first run has no parent
    error: b.tar.zst: run RUN: its parent does not come before it
    error: b.tar.zst: run RUN: its prompt is not in the bundle
    error: b.tar.zst: `runs/RUN/run.json`: its id is not that of its time
    error: b.tar.zst: `runs/RUN/run.json`: it has a time that cannot be
    error: b.tar.zst: `runs/RUN/run.json`: unknown field `more`, expected one of `id`, `prompt`, `kind`, `parent`, `request`, `worker`, `attempt`, `queued_at`, `started_at`, `stop_requested_at`, `finished_at`, `outcome`, `records`, `task`, `annotations` at line 1 column 7
    error: b.tar.zst: its schema is `callsheet.bundle/1`, but its contents are those of `callsheet.bundle/2`
    error: b.tar.zst: `runs/RUN/run.json` is not there
    error: b.tar.zst: `runs/RUN/events.ndjson` is not there
    error: b.tar.zst: `runs/RUN/log.ndjson` is not there
    error: b.tar.zst: `runs/RUN/log.ndjson` is in it twice
    error: b.tar.zst: `runs/0000000000000z/log.ndjson` belongs to no run of it
    error: b.tar.zst: `runs/../log.ndjson` has no place in a bundle
    error: b.tar.zst: `runs/RUN/more` has no place in a bundle
    ");
}
