//! Run prompts and profiles as a user meets them: whole output, exit code, stdout and stderr.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

/// A project folder that goes away with its value.
struct Project(tempfile::TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = project.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        project
    }

    fn output(&self, args: &[&str]) -> std::process::Output {
        Command::new(env!("CARGO_BIN_EXE_callsheet"))
            .args(args)
            .current_dir(self.0.path())
            .env_clear()
            .output()
            .unwrap()
    }

    /// Runs the program and returns everything that a user sees.
    fn callsheet(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut seen = format!("exit: {}\n", output.status.code().unwrap());
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                seen.push_str(&format!("--- {name}\n{}", text(bytes)));
            }
        }
        seen
    }

    fn document(&self, args: &[&str]) -> Value {
        let output = self.output(args);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn prompt(&self, args: &[&str]) -> String {
        let output = self.output(args);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

const SETTINGS: &str = r#"
[scope]
default_exclude = ["**/*.env"]

[profiles.coder]
description = "Writes code"
runner = "claude"
model = "opus"
prompt_template = "You write code for task {{task.id}} as {{profile.name}}."
default_exclude = ["infra/**", "**/*.env"]
default_write_scope = ["src/**"]

[profiles.coder.config]
max_turns = 30
"#;

const REVIEWER: &str = "runner = \"codex\"\nprompt_template = \"\"\"\nYou review.\n\"\"\"\n";

const TASK: &str = "task: {id: 7, title: Log in, write_scope: [src/**]}\n";

fn project() -> Project {
    Project::new(&[
        ("callsheet.toml", SETTINGS),
        ("callsheet/profiles/reviewer.toml", REVIEWER),
        ("callsheet/profiles/README.md", "no profile"),
        ("task.yaml", TASK),
    ])
}

/// Returns the lines of a section.
fn section<'a>(prompt: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = prompt.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

fn scope(prompt: &str) -> Vec<&str> {
    let lines = section(prompt, "## Constraints").into_iter();
    lines
        .filter(|line| line.starts_with("- write:") || line.starts_with("- exclude:"))
        .collect()
}

#[test]
fn a_profile_fills_what_the_input_leaves_open() {
    let project = project();
    let prompt = project.prompt(&[
        "compose",
        "run",
        "--input",
        "task.yaml",
        "-D",
        "profile=coder",
    ]);
    assert_eq!(
        section(&prompt, "## Role"),
        ["You write code for task 7 as coder."]
    );
    assert_eq!(
        scope(&prompt),
        [
            "- write: src/**",
            "- exclude: **/*.env",
            "- exclude: infra/**"
        ]
    );
    assert!(!prompt.contains("claude") && !prompt.contains("opus"));

    let other = [
        "-D",
        "profile=coder",
        "-D",
        "role.prompt_template=Mine.",
        "-D",
        "scope.exclude:=[\"x\"]",
    ];
    let prompt =
        project.prompt(&[&["compose", "run", "--input", "task.yaml"][..], &other].concat());
    assert_eq!(section(&prompt, "## Role"), ["Mine."]);
    assert_eq!(
        scope(&prompt),
        [
            "- write: src/**",
            "- exclude: **/*.env",
            "- exclude: infra/**",
            "- exclude: x"
        ],
        "what the input excludes comes on top"
    );
}

#[test]
fn the_settings_exclude_without_a_profile_too() {
    let project = project();
    let prompt = project.prompt(&["compose", "run", "--input", "task.yaml"]);
    assert_eq!(scope(&prompt), ["- write: src/**", "- exclude: **/*.env"]);
    let with = |exclude: &str| {
        let exclude = format!("scope.exclude:={exclude}");
        let args = ["compose", "run", "--input", "task.yaml", "-D", &exclude];
        project.prompt(&args)
    };
    let none = with("[]");
    assert_eq!(scope(&none), ["- write: src/**", "- exclude: **/*.env"]);
    let more = with("[\"z\", \"**/*.env\"]");
    let expected = ["- write: src/**", "- exclude: **/*.env", "- exclude: z"];
    assert_eq!(scope(&more), expected);
}

#[test]
fn what_the_digest_does_not_show_is_a_loss() {
    let project = project();
    let numbered = |count: usize, make: &dyn Fn(usize) -> Value| -> Vec<Value> {
        (0..count).map(make).collect()
    };
    let checks = numbered(30, &|n| {
        let status = if n < 4 { "failed" } else { "passed" };
        json!({"name": format!("c{n:02}"), "status": status})
    });
    let violations = numbered(
        30,
        &|n| json!({"path": format!("v{n:02}"), "reason": "outside_write"}),
    );
    let changed = numbered(50, &|n| json!(format!("f{n:02}")));
    let previous = json!({
        "kind": "retry", "status": "failed",
        "checks": checks, "violations": violations, "changed_files": changed,
    });
    let previous = format!("previous:={previous}");
    let args = ["compose", "run", "--input", "task.yaml", "-D", &previous];
    assert_snapshot!(project.callsheet(&[&args[..], &["--fail-on-loss"]].concat()), @r"
    exit: 1
    --- stderr
    warning: `previous.checks` is cut at its limit: 20 of 30 are shown
    warning: `previous.violations` is cut at its limit: 20 of 30 are shown
    warning: `previous.changed_files` is cut at its limit: 20 of 50 are shown
    error: 3 things that were asked for are not in the prompt, and `--fail-on-loss` is set
    ");
    let document = project.document(&[&args[..], &["--format", "json"]].concat());
    let bytes: Vec<&Value> = document["omissions"].as_array().unwrap().iter().collect();
    let bytes: Vec<u64> = bytes
        .iter()
        .map(|one| one["bytes"].as_u64().unwrap())
        .collect();
    assert_eq!(bytes, [30, 30, 90]);
}

#[test]
fn a_copy_of_the_recipe_takes_profiles_as_well() {
    let project = project();
    project.output(&["recipe", "eject", "run", "--as", "mine"]);
    assert_snapshot!(project.callsheet(&["recipe", "check"]), @r"
    exit: 0
    --- stderr
    1 recipe checked, no problem found
    ");
    let args = [
        "compose",
        "mine",
        "--input",
        "task.yaml",
        "-D",
        "profile=reviewer",
    ];
    assert_eq!(section(&project.prompt(&args), "## Role"), ["You review."]);
}

#[test]
fn every_byte_of_a_role_leads_back() {
    let project = project();
    let args = [
        "why",
        "run",
        "--input",
        "task.yaml",
        "-D",
        "profile=coder",
        "--text",
    ];
    assert_snapshot!(project.callsheet(&[&args[..], &["You write"]].concat()), @r"
    exit: 0
    --- stdout
    bytes 8 to 17 (line 2 of the prompt)
      layer role: input:profile.prompt_template:1
    ");
    assert_snapshot!(project.callsheet(&[&args[..], &["Log in"]].concat()), @r"
    exit: 0
    --- stdout
    bytes 70 to 76 (line 6 of the prompt)
      layer task: input:task.title:1
    ");
}

#[test]
fn bad_input_is_named_with_its_field() {
    let project = project();
    let compose = |args: &[&str]| {
        project.callsheet(&[&["compose", "run", "--input", "task.yaml"][..], args].concat())
    };
    assert_snapshot!(compose(&["-D", "read_first:=[\"../x\"]"]), @r"
    exit: 2
    --- stderr
    error: task.yaml: `read_first[0]`: bad path `../x`: `..` could lead out of the root
    hint: `callsheet schema run` prints what the recipe takes
    ");
    assert_snapshot!(compose(&["-D", "additional_input=x"]), @r"
    exit: 2
    --- stderr
    error: task.yaml: `additional_input` is for `previous.kind` `continue` only
    hint: `callsheet schema run` prints what the recipe takes
    ");
    assert_snapshot!(compose(&["-D", "previous.kind=continue"]), @r"
    exit: 2
    --- stderr
    error: task.yaml: missing field `additional_input`; `previous.kind` `continue` needs it
    hint: `callsheet schema run` prints what the recipe takes
    ");
    assert_snapshot!(compose(&["-D", "role.prompt_template={{task.titel}}"]), @r"
    exit: 2
    --- stderr
    error: task.yaml: `role.prompt_template`: no variable named `task.titel`
    hint: did you mean `task.title`?
    hint: `callsheet schema run` prints what the recipe takes
    ");
    assert_snapshot!(compose(&["-D", "profile=codr"]), @r"
    exit: 2
    --- stderr
    error: no profile named `codr`
    hint: did you mean `coder`?
    ");
    assert_snapshot!(compose(&["-D", "task.write_scope:=[\"!a\"]"]), @r"
    exit: 2
    --- stderr
    error: task.yaml: `task.write_scope[0]`: bad scope pattern `!a`: a leading `!` negates in some tools and not in others; use an exclude list
    hint: `callsheet schema run` prints what the recipe takes
    ");
}

#[test]
fn profiles_are_listed_and_shown() {
    let project = project();
    assert_snapshot!(project.callsheet(&["profile", "list"]), @r"
    exit: 0
    --- stdout
    NAME      HOME                              RUNNER  MODEL  VERSION          DESCRIPTION
    coder     callsheet.toml                    claude  opus   b3:04e89007d272  Writes code
    reviewer  callsheet/profiles/reviewer.toml  codex          b3:87815a263c34
    ");
    assert_snapshot!(project.callsheet(&["profile", "show", "coder"]), @r#"
    exit: 0
    --- stdout
    coder (callsheet.toml): Writes code
    b3:04e89007d2723eb27400b7d13141516c9001fc7a082935f261cc6bc24251777a

    runner: claude
    model: opus
    default_exclude: infra/**
    default_exclude: **/*.env
    default_write_scope: src/**
    config: {"max_turns":30}

    You write code for task {{task.id}} as {{profile.name}}.
    "#);
    let list = project.document(&["profile", "list", "--json"]);
    assert_eq!(list["schema"], "callsheet.profiles/1");
    let names: Vec<&Value> = list["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, [&json!("coder"), &json!("reviewer")]);
    let shown = project.document(&["profile", "show", "coder", "--json"]);
    assert_eq!(shown["schema"], "callsheet.profile/1");
    assert_eq!(shown["fingerprint"], list["profiles"][0]["fingerprint"]);
    assert_eq!(shown["config"], json!({"max_turns": 30}));
}

#[test]
fn a_version_is_what_a_profile_says_and_not_where() {
    let project = project();
    let version =
        |name: &str| project.document(&["profile", "show", name, "--json"])["fingerprint"].clone();
    let before = version("reviewer");
    let file = project.0.path().join("callsheet/profiles/reviewer.toml");
    fs::write(&file, format!("# a comment\n{REVIEWER}")).unwrap();
    assert_eq!(version("reviewer"), before);
    fs::write(&file, format!("model = \"m\"\n{REVIEWER}")).unwrap();
    assert_ne!(version("reviewer"), before);
}

#[test]
fn a_check_finds_all_problems_and_exits_with_1() {
    let project = project();
    assert_snapshot!(project.callsheet(&["profile", "check"]), @r"
    exit: 0
    --- stderr
    2 profiles checked, no problem found
    ");
    let write = |name: &str, text: &str| {
        fs::write(
            project
                .0
                .path()
                .join(Path::new("callsheet/profiles").join(name)),
            text,
        )
        .unwrap();
    };
    write("a.toml", "runner = \"x\"\nmodle = \"y\"\n");
    write(
        "b.toml",
        "runner = \"x\"\nprompt_template = \"{{task.titel}}\"\ndefault_exclude = [\"/x\"]\n",
    );
    write("coder.toml", "runner = \"x\"\n");
    assert_snapshot!(project.callsheet(&["profile", "check"]), @r"
    exit: 1
    --- stdout
    callsheet/profiles/a.toml:2: unknown field `modle`, expected one of `description`, `runner`, `model`, `prompt_template`, `default_exclude`, `default_write_scope`, `config`
      did you mean `model`?
    callsheet/profiles/b.toml:3: `default_exclude[0]`: bad scope pattern `/x`: patterns are relative to the root; leave the leading `/` out
    callsheet/profiles/b.toml:2: `prompt_template`: no variable named `task.titel`
      did you mean `task.title`?
    callsheet/profiles/coder.toml: the profile `coder` stands in `callsheet.toml` too
    --- stderr
    error: 4 profiles checked, 4 problems found
    ");
    let checked = project.output(&["profile", "check", "a", "--json"]);
    assert_eq!(checked.status.code(), Some(1));
    let checked: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(checked["schema"], "callsheet.check/1");
    assert_eq!(checked["problems"].as_array().unwrap().len(), 1);
    assert_snapshot!(project.callsheet(&["compose", "run", "--input", "task.yaml", "-D", "profile=coder"]), @r"
    exit: 2
    --- stderr
    error: callsheet/profiles/coder.toml: the profile `coder` stands in `callsheet.toml` too
    ");
}

#[test]
fn a_bad_profile_in_the_settings_is_in_nobody_elses_way() {
    let settings = "[profiles.a]\nrunnr = \"x\"\n[scope]\ndefault_exclude = [\"./x\"]\n";
    let project = Project::new(&[("callsheet.toml", settings), ("task.yaml", TASK)]);
    assert!(project.output(&["recipe", "list"]).status.success());
    assert_snapshot!(project.callsheet(&["profile", "check"]), @r"
    exit: 1
    --- stdout
    callsheet.toml:2: unknown field `runnr`, expected one of `description`, `runner`, `model`, `prompt_template`, `default_exclude`, `default_write_scope`, `config`
      did you mean `runner`?
    --- stderr
    error: 0 profiles checked, 1 problem found
    ");
    assert_snapshot!(project.callsheet(&["compose", "run", "--input", "task.yaml"]), @r"
    exit: 2
    --- stderr
    error: callsheet.toml: `scope.default_exclude[0]`: bad scope pattern `./x`: paths have no leading `./`; leave it out
    ");
}

#[test]
fn the_document_names_every_section() {
    let project = project();
    let document =
        project.document(&["compose", "run", "--input", "task.yaml", "--format", "json"]);
    assert_eq!(document["recipe"], "run");
    let layers: Vec<&str> = document["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["layer"].as_str().unwrap())
        .collect();
    assert_eq!(
        layers,
        [
            "default-role",
            "task",
            "workspace",
            "read-first",
            "read-first-nothing",
            "constraints",
            "prohibited",
            "approval",
            "output-format",
        ]
    );
}
