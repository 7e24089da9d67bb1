//! Requests of every kind that the document allows, and of many that it does not, by schemathesis: none of them is answered
//! with an error of the server. `scripts/schemathesis run` installs it.

#![expect(
    clippy::unwrap_used,
    reason = "a program that cannot be started fails the test"
)]

use std::path::Path;
use std::process::Command;

use crate::project::{Project, skip};
use crate::served::{Served, demo};

/// The variable with the program.
const PROGRAM: &str = "CALLSHEET_TEST_SCHEMATHESIS";

/// How long it may ask, in seconds: each of two times.
const SECONDS: &str = "25";

/// Returns the settings with which it asks for what is there, instead of making names up.
fn known(project: &Project) -> String {
    let first = |args: &[&str], list: &str| {
        let document = project.run(args).json();
        document[list][0]["id"].as_str().unwrap().to_owned()
    };
    let run = project.run(&["task", "add", "--title", "one", "--write", "src/**"]);
    let ids = [
        ("projects", "project".to_owned()),
        ("tasks", run.text().trim().to_owned()),
        ("runs", first(&["runs", "--limit", "1", "--json"], "runs")),
        (
            "prompts",
            first(&["prompts", "--limit", "1", "--json"], "prompts"),
        ),
        (
            "batches",
            first(&["sprint", "batches", "--json"], "batches"),
        ),
    ];
    let of = |(noun, id): &(&str, String)| {
        format!(
            "[[operations]]\ninclude-path-regex = '^/api/{noun}/\\{{id\\}}'\n\
            parameters = {{ \"path.id\" = '{id}', \"path.other\" = '{id}' }}\n\n"
        )
    };
    ids.iter().map(of).collect()
}

#[track_caller]
fn ask(program: &Path, project: &Project, settings: &str) {
    let file = project.outside().join("schemathesis.toml");
    std::fs::write(&file, settings).unwrap();
    let served = Served::start(project);
    let mut command = Command::new(program);
    command.arg("--config-file").arg(&file).arg("run");
    command.args([
        "--header",
        &format!("Authorization: Bearer {}", served.token),
    ]);
    command.args(["--checks", "not_a_server_error"]);
    command.args(["--max-time", SECONDS, "--max-examples", "30"]);
    // The same tree gives the same requests.
    command.arg("--generation-deterministic");
    // Some versions of Python lose count of the depth of a program that several threads read at once.
    command.args(["--request-timeout", "60", "--workers", "1"]);
    command.args(["--warnings", "off", "--no-color"]);
    // A stream has no end.
    command.args(["--exclude-path", "/api/events"]);
    command.arg(format!("http://{}/openapi.json", served.address));
    command.current_dir(project.outside());
    let asked = command.output().unwrap();
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert_eq!(
        asked.status.code(),
        Some(0),
        "{said}\n{}",
        String::from_utf8_lossy(&asked.stderr)
    );
    // It still answers.
    served.get("/api/orchestrator/status").expect(200);
}

#[test]
fn no_request_is_an_error_of_the_server() {
    let Some(program) = std::env::var_os(PROGRAM) else {
        skip("no schemathesis, see `scripts/schemathesis --help`");
        return;
    };
    let project = demo();
    ask(Path::new(&program), &project, "");
    // The first may have changed everything.
    let project = demo();
    let settings = known(&project);
    ask(Path::new(&program), &project, &settings);
}
