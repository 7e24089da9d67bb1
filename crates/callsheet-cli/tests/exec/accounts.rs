//! Accounts and limits: what a failure means for the next run.

use std::process::Stdio;

use callsheet_run::account;
use serde_json::Value;

use crate::desk::{Desk, has, wait_for};
use crate::pauses::pass_time;

const OVERLOADED: &str =
    "[[steps]]\nerror = { class = \"overload\", text = \"busy\" }\n[[steps]]\nexit = 1\n";

#[test]
fn an_overload_parks_the_account_until_a_probe_succeeds() {
    let desk = Desk::with_script(OVERLOADED);
    let (document, code) = desk.document(&[]);
    assert_eq!((code, &document["class"]), (Some(1), &"overload".into()));
    assert_eq!(document["charged"], false);
    let refused = desk.exec(&[]);
    assert_eq!(refused.code(), Some(3));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("error: account `agent` is parked for another "),
        "{said}"
    );
    assert!(
        said.ends_with("hint: `--probe` tries account `agent` once; a success opens it again\n"),
        "{said}"
    );
    assert_eq!(desk.runs().len(), 1, "what is refused is not a run");
    desk.project
        .file("agent.toml", "[[steps]]\nsay = \"fine\"\n");
    assert_eq!(desk.exec(&["--probe"]).code(), Some(0));
    assert_eq!(desk.exec(&[]).code(), Some(0));
}

#[test]
fn refused_credentials_stop_the_account_and_other_accounts_go_on() {
    let script = "[[steps]]\nerror = { class = \"auth\", text = \"401\" }\n[[steps]]\nexit = 1\n";
    let desk = Desk::with_script(script);
    let runner = |name: &str, account: &str, script: &str| {
        format!(
            "[runners.{name}]\nadapter = \"scripted\"\nscript = \"{script}\"\naccount = \"{account}\"\n"
        )
    };
    let text = [
        runner("one", "mine", "agent.toml"),
        runner("two", "mine", "fine.toml"),
        runner("three", "other", "fine.toml"),
    ];
    desk.project
        .file("callsheet.toml", text.concat())
        .file("fine.toml", "[[steps]]\nsay = \"fine\"\n");
    assert_eq!(desk.exec(&["--runner", "one"]).code(), Some(1));
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&["--runner", "two"])), @"
    exit: 3
    --- stderr
    already sealed [ID1]
    runner two: a script of this project, permissions edit, no sandbox
    error: account `mine` is stopped (auth)
    hint: `--probe` tries account `mine` once; a success opens it again
    ");
    assert_eq!(desk.exec(&["--runner", "three"]).code(), Some(0));
    let doctor = desk.project.run(&["doctor"]).text();
    assert!(doctor.contains("account mine"), "{doctor}");
    assert_eq!(desk.exec(&["--runner", "two", "--probe"]).code(), Some(0));
    assert_eq!(desk.exec(&["--runner", "one", "--probe"]).code(), Some(1));
}

#[test]
fn a_quota_waits_until_the_time_that_the_provider_told() {
    let script = "[[steps]]\nerror = { class = \"quota\", text = \"used up\", resets_at = 4102444800 }\n[[steps]]\nexit = 1\n";
    let desk = Desk::with_script(script);
    let (document, _) = desk.document(&[]);
    assert_eq!(document["class"], "quota");
    assert_eq!(document["resets_at"], 4_102_444_800_i64);
    let doctor = desk.project.run(&["doctor"]).text();
    assert!(
        doctor.contains("parked until 2100-01-01 00:00:00Z (quota)"),
        "{doctor}"
    );
}

/// Two processes ask at the same moment for the one probe of an account whose time is over, or that a person wants to try.
#[test]
fn one_of_two_that_ask_at_once_tries_a_parked_account() {
    for (probe, time_is_over) in [(&["--probe"][..], false), (&[], true)] {
        let desk = Desk::with_script(OVERLOADED);
        desk.project
            .file(
                "callsheet.toml",
                "[runners.agent]\nadapter = \"scripted\"\nscript = \"agent.toml\"\naccount = \"mine\"\n\
                 [runners.held]\nadapter = \"command\"\ncommand = [\"./held\"]\naccount = \"mine\"\n",
            );
        desk.program(
            "held",
            "echo $$ >>up\nuntil [ -e go ]; do sleep 0.01; done\n",
        );
        assert_eq!(desk.exec(&["--runner", "agent"]).code(), Some(1));
        if time_is_over {
            pass_time(&desk, account::SETTING);
        }
        let args: Vec<&str> = ["--runner", "held"].iter().chain(probe).copied().collect();
        let ask = || {
            let mut command = desk.command(&args);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().unwrap()
        };
        let mut asking = [ask(), ask()];
        wait_for("one of them is refused", || {
            asking[0].try_wait().unwrap().is_some() || {
                asking.swap(0, 1);
                false
            }
        });
        let [refused, mut trying] = asking;
        let refused = refused.wait_with_output().unwrap();
        assert_eq!(refused.status.code(), Some(3));
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(
            said.lines().skip(1).collect::<Vec<_>>(),
            [
                "runner held: any program, permissions edit, no sandbox",
                "error: account `mine` was parked (overload), and another run is trying it",
            ]
        );
        let up = desk.project.path("up");
        wait_for("the other one is up", || has(&up));
        let states: Vec<Value> = desk.runs().iter().map(|run| run["state"].clone()).collect();
        assert_eq!(states, ["running", "finished"]);
        desk.project.file("go", "");
        assert!(trying.wait().unwrap().success());
        assert_eq!(desk.project.read("up").lines().count(), 1);
        assert_eq!(desk.exec(&["--runner", "held"]).code(), Some(0));
        desk.assert_clean();
    }
}

#[test]
fn limits_hold_for_runners_accounts_and_the_project() {
    let agent = "[runners.agent]\nadapter = \"command\"\ncommand = [\"sh\", \"-c\", \"echo up > up; sleep 600\"]\n";
    for (settings, said) in [
        (
            format!("{agent}limits = {{ runs = 1 }}\n"),
            "runner `agent` has 1 of at most 1 runs",
        ),
        (
            format!("{agent}account = \"me\"\n[accounts.me]\nruns = 1\n"),
            "account `me` has 1 of at most 1 runs",
        ),
        (
            format!("[limits]\nruns = 1\n{agent}"),
            "this project has 1 of at most 1 runs",
        ),
    ] {
        let desk = Desk::new(&settings);
        let mut first = desk.start(&[]);
        let up = desk.project.path("up");
        wait_for("the agent is up", || has(&up));
        let refused = desk.exec(&[]);
        assert_eq!(refused.code(), Some(3));
        let text = String::from_utf8(refused.stderr).unwrap();
        assert!(text.contains(&format!("error: {said}\n")), "{text}");
        let id = desk.runs()[0]["id"].as_str().unwrap().to_owned();
        assert_eq!(desk.project.run(&["stop", &id]).code(), Some(0));
        first.wait().unwrap();
        desk.assert_clean();
    }
}
