//! Where a project is stays on its machine: no bundle holds the path of its root.

#![expect(
    clippy::unwrap_used,
    reason = "a run that cannot be made fails the test"
)]

use std::path::Path;
use std::time::Duration;

use callsheet::Event;
use callsheet_store::{Access, Location, NewRun, Record, RunKind, Store, Stream, Wait};
use serde_json::json;

use crate::bundles::unpack;
use crate::project::{Project, finish};
use crate::sealed::{STORE, id_of, said, seal_by, shop};

/// Exports and returns the file, in which none of the paths is, in no entry and no name of one.
#[track_caller]
fn exported(project: &Project, args: &[&str], paths: &[&Path]) -> String {
    let file = project.outside().join("bundle.tar.zst");
    let file = file.to_str().unwrap().to_owned();
    let run = project.run(&[&["export"], args, &["-o", &file]].concat());
    assert_eq!(run.code(), Some(0), "{}", said(&run));
    for (name, bytes) in unpack(&std::fs::read(&file).unwrap()) {
        for path in paths {
            let path = path.to_str().unwrap();
            let found = bytes
                .windows(path.len())
                .any(|part| part == path.as_bytes());
            let shown = String::from_utf8_lossy(&bytes);
            assert!(!found && !name.contains(path), "{name}: {shown}");
        }
    }
    file
}

/// Makes a project whose files, inputs and templates name its root.
fn telling() -> (Project, Vec<(&'static str, Vec<String>)>) {
    let project = shop();
    let root = project.root().to_str().unwrap().to_owned();
    project.file("plain.txt", "nothing to tell\n");
    project.file(
        "build.log",
        format!(
            "built in {root}/target, see file:{}\n",
            root.replace('/', "%2F")
        ),
    );
    project.file(
        "prompts/identity.md",
        "---\nname: identity\n---\nYou are here.\n",
    );
    project.file(
        "callsheet/recipes/where/recipe.toml",
        "[[layers]]\nname = 'where'\ntext = 'Work in {{dir}}.'\n",
    );
    let args = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    let commands = vec![
        ("a file", args(&["pack", "plain.txt"])),
        ("a file that names it", args(&["pack", "build.log"])),
        (
            "an input that is printed",
            args(&["compose", "where", "-D", &format!("dir={root}/src")]),
        ),
        (
            "a folder of the command line",
            args(&[
                "compose",
                "layers",
                "--prompts-dir",
                "prompts",
                "-D",
                "identity.name=identity",
            ]),
        ),
        (
            "a folder of the input",
            args(&[
                "compose",
                "layers",
                "-D",
                &format!("prompts_dir={root}/prompts"),
                "-D",
                "identity.name=identity",
            ]),
        ),
    ];
    (project, commands)
}

#[test]
fn no_prompt_takes_the_path_along() {
    let (project, commands) = telling();
    let root = project.root().to_owned();
    let other = Project::named("elsewhere");
    for (what, args) in commands {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let id = seal_by(&project, &args);
        assert_eq!(project.run(&["replay", &id]).code(), Some(0), "{what}");
        for more in [&[][..], &["--redact"]] {
            let file = exported(&project, &[&[id.as_str()], more].concat(), &[&root]);
            for command in ["verify", "replay", "import"] {
                let run = other.run(&[command, &file]);
                assert_eq!(run.code(), Some(0), "{what}: {}{}", run.text(), said(&run));
            }
        }
    }
}

#[test]
fn a_prompt_that_does_not_print_the_path_keeps_its_id() {
    let (project, commands) = telling();
    for (what, args) in commands {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let id = seal_by(&project, &args);
        let shown = project.run(&["show", &id]).text();
        let file = exported(&project, &[&id], &[project.root()]);
        let again = project.run(&["show", &file]).text();
        let root = project.root().to_str().unwrap();
        let percent = root.replace('/', "%2F");
        assert_eq!(
            again,
            shown
                .replace(root, "/@project")
                .replace(&percent, "/@project"),
            "{what}"
        );
        let imported = said(&project.run(&["import", &file]));
        assert_eq!(
            imported.starts_with("already here"),
            again == shown,
            "{what}: {imported}"
        );
    }
}

#[test]
fn a_project_behind_a_link_tells_neither_path() {
    let (project, commands) = telling();
    let link = project.outside().join("link");
    std::os::unix::fs::symlink(project.root(), &link).unwrap();
    for (what, args) in commands {
        let folder = link.to_str().unwrap();
        let mut all = vec!["-C", folder];
        all.extend(args.iter().map(String::as_str));
        all.push("--seal");
        let mut command = project.command(&all);
        command.current_dir(project.outside());
        let run = finish(&mut command);
        assert_eq!(run.code(), Some(0), "{what}: {}", said(&run));
        exported(
            &project,
            &["-C", folder, &id_of(&run)],
            &[project.root(), &link],
        );
    }
}

/// Makes a run that says where it is, in all that is kept of it and across two records of its log.
fn run_of(project: &Project, prompt: &str) -> String {
    let root = project.root().to_str().unwrap();
    let store = Store::open(&Location::Sqlite(project.path(STORE)), Access::Write).unwrap();
    let owner = store.project(".").wait().unwrap();
    let new = NewRun {
        prompt: prompt.parse().unwrap(),
        kind: RunKind::First,
        parent: None,
        request: json!({"cwd": root}),
        task: None,
        batch: None,
    };
    let lease = Duration::from_mins(1);
    let claim = store
        .start_run(&owner, new, "worker", lease, |_| Ok(()))
        .wait();
    let claim = claim.unwrap().unwrap();
    let record = |(stream, text): (Stream, &str)| Record {
        stream,
        data: text.as_bytes().to_vec(),
    };
    let (half, rest) = root.split_at(root.len() / 2);
    let records = [
        (Stream::Meta, format!("{{\"cwd\":\"{root}\"}}")),
        (Stream::Stdout, format!("I am in {root}/src and {half}")),
        (Stream::Stderr, "in between\n".to_owned()),
        (
            Stream::Stdout,
            format!("{rest}/tests\n\u{1b}[31m{root}\u{1b}[0m ends in {half}"),
        ),
    ];
    let records = records.iter().map(|(stream, text)| record((*stream, text)));
    let facts = [("text", json!(format!("in {root}")))];
    let event = Event::new("agent:text", facts, format!("the agent is in {root}"));
    let records = records.collect();
    store
        .append_output(&claim, records, vec![(Some(1), event)])
        .wait()
        .unwrap();
    let outcome = json!({"status": "succeeded", "worktree": root});
    store.finish_run(&claim, &outcome).wait().unwrap();
    claim.run.id.to_string()
}

#[test]
fn no_run_takes_the_path_along() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let prompt = seal_by(&project, &["pack", "rules.md"]);
    let run = run_of(&project, &prompt);
    let file = exported(&project, &[&run], &[project.root()]);
    assert_eq!(project.run(&["verify", &file]).code(), Some(0));
    let again = said(&project.run(&["import", &file]));
    assert!(
        again.contains(&format!("already here run {run}")),
        "{again}"
    );
    let imported = said(&other.run(&["import", &file]));
    assert!(
        imported.contains(&format!("imported run {run}")),
        "{imported}"
    );
    let log = unpack(&std::fs::read(&file).unwrap());
    let log = log.iter().find(|(name, _)| name.ends_with("log.ndjson"));
    let log = String::from_utf8(log.unwrap().1.clone()).unwrap();
    let half = &project.root().to_str().unwrap()[..project.root().to_str().unwrap().len() / 2];
    let shown: Vec<String> = log
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = line["text"]
                .as_str()
                .unwrap_or("bytes")
                .replace(half, "HALF");
            format!("{} {} {text:?}", line["seq"], line["stream"])
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    1 "meta" "{\"cwd\":\"/@project\"}"
    2 "stdout" "I am in /@project/src and "
    3 "stderr" "in between\n"
    4 "stdout" "bytes"
    5 "stdout" "HALF"
    "#);
    exported(&project, &[&run, "--redact"], &[project.root()]);
}
