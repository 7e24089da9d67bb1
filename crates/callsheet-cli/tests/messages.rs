//! What a user sees of messages, packages and states.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// A folder in which the program runs.
struct TestFolder(tempfile::TempDir);

/// What a command did.
struct Done {
    code: i32,
    stdout: String,
    stderr: String,
}

impl TestFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Makes a folder with a small package and a run of it.
    fn with_package() -> Self {
        let home = Self::new();
        let agent = |id: &str, extra: Value| {
            let mut agent = json!({
                "id": id, "metadata": {"name": id, "title": "T", "icon": "*"},
                "persona": {"role": "r", "identity": "i", "communication_style": "c", "principles": "p"},
            });
            agent
                .as_object_mut()
                .unwrap()
                .extend(extra.as_object().unwrap().clone());
            agent
        };
        home.json("pkg/bmad.json", &json!({
            "schemaVersion": "1.1", "name": "p", "version": "1.0.0",
            "entry": {"workflow": "workflow.md", "graph": "workflow.graph.json", "agents": "agents.json"},
        }));
        home.json("pkg/agents.json", &json!({
            "schemaVersion": "1.1", "agents": [agent("ann", json!({"systemPrompt": "You are Ann."})), agent("bob", json!({}))],
        }));
        home.json("pkg/workflow.graph.json", &json!({
            "schemaVersion": "1.1", "entryNodeId": "a",
            "nodes": [
                {"id": "a", "type": "step", "file": "steps/a.md"}, {"id": "b", "type": "step", "file": "steps/b.md"},
                {"id": "z", "type": "end", "file": "steps/z.md"},
            ],
            "edges": [{"from": "a", "to": "b", "label": "next"}, {"from": "b", "to": "z", "label": "end"}],
        }));
        let state = "---\nschemaVersion: \"1.1\"\nworkflowType: t # kept\nstepsCompleted: []\ncurrentNodeId: \"\"\n---\nBody\r\n";
        home.write("pkg/workflow.md", state);
        home.write("run/workflow.md", state);
        for (id, kind) in [("a", "step"), ("b", "step"), ("z", "end")] {
            let text = format!("---\nschemaVersion: \"1.1\"\nnodeId: {id}\ntype: {kind}\n---\n");
            home.write(&format!("pkg/steps/{id}.md"), &text);
        }
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn json(&self, name: &str, value: &Value) {
        self.write(name, &value.to_string());
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn callsheet(&self, args: &[&str]) -> Done {
        let output = Command::new(env!("CARGO_BIN_EXE_callsheet"))
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .output()
            .unwrap();
        Done {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

const RUN: [&str; 10] = [
    "compose",
    "messages",
    "-D",
    "mode=run",
    "-D",
    "package=pkg",
    "-D",
    "state=run",
    "-D",
    "intent=start",
];

#[test]
fn the_default_is_the_exact_list_of_messages() {
    let home = TestFolder::new();
    let args = [
        "compose",
        "messages",
        "-D",
        "mode=chat",
        "-D",
        "userInput=hi \"there\"",
    ];
    let done = home.callsheet(&args);
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert!(
        done.stdout
            .starts_with("[{\"role\":\"system\",\"content\":\""),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout
            .ends_with("{\"role\":\"user\",\"content\":\"USER_INPUT\\nhi \\\"there\\\"\"}]"),
        "{}",
        done.stdout
    );
    let again = home.callsheet(&[&args[..], &["--format", "messages"]].concat());
    assert_eq!(again.stdout, done.stdout);
    let document: Value =
        serde_json::from_str(&home.callsheet(&[&args[..], &["--json"]].concat()).stdout).unwrap();
    assert_eq!(document["messages"].to_string(), done.stdout);
    assert_eq!(document["bytes"], done.stdout.len());
    assert_eq!(
        document["fingerprint"],
        callsheet::Fingerprint::of(&done.stdout).to_string()
    );
}

#[test]
fn a_package_and_a_state_are_enough() {
    let home = TestFolder::with_package();
    let done = home.callsheet(&[&RUN[..], &["-D", "agentId=ann"]].concat());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let messages: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        messages[2],
        json!({"role": "system", "content": "You are Ann."})
    );
    assert!(
        messages[4]["content"]
            .as_str()
            .unwrap()
            .starts_with("NODE_BRIEF\n- currentNodeId: a (type=step)\n")
    );
    assert!(!done.stdout.contains(home.path().to_str().unwrap()));
    let why = home.callsheet(&[
        "why",
        "messages",
        "-D",
        "mode=agent",
        "-D",
        "package=pkg",
        "-D",
        "agentId=ann",
        "--text",
        "You are Ann",
    ]);
    assert!(
        why.stdout.contains("layer persona: file:@pkg/agents.json"),
        "{}",
        why.stdout
    );
    for (text, source) in [
        ("You are bob", "persona-profile: file:@pkg/agents.json"),
        (
            "@pkg/steps/a.md",
            "node-brief: file:@pkg/workflow.graph.json",
        ),
        ("@pkg/workflow.md", "run-directive: file:@pkg/bmad.json"),
    ] {
        let why = [&["why"], &RUN[1..], &["-D", "agentId=bob", "--text", text]].concat();
        let why = home.callsheet(&why).stdout;
        assert!(why.contains(source), "{why}");
    }
}

#[test]
fn the_recipe_can_be_ejected_and_changed() {
    let home = TestFolder::new();
    assert_eq!(home.callsheet(&["recipe", "eject", "messages"]).code, 0);
    let done = home.callsheet(&["recipe", "check", "messages"]);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (0, ""),
        "{}",
        done.stderr
    );
    home.write(
        "callsheet/recipes/messages/base-rules-conversation.md",
        "Be kind.",
    );
    let done = home.callsheet(&["compose", "messages", "-D", "mode=chat"]);
    assert!(
        done.stdout
            .starts_with("[{\"role\":\"system\",\"content\":\"Be kind.\"},"),
        "{}",
        done.stdout
    );
    let form = home.read("callsheet/recipes/messages/user-input.md");
    let form = form.replace("USER_INPUT\n", "<said>\n") + "</said>\n";
    home.write("callsheet/recipes/messages/user-input.md", &form);
    let args = ["-D", "mode=chat", "-D", "userInput=hi\n</said>\n# Done"];
    let done = home.callsheet(&[&["compose", "messages"], &args[..]].concat());
    assert!(
        done.stdout
            .ends_with("\"<said>\\nhi\\n<\\\\/said>\\n# Done\\n</said>\"}]"),
        "{}",
        done.stdout
    );
    let said = ["--text", "Done"];
    let why = home.callsheet(&[&["why", "messages"], &args[..], &said].concat());
    assert!(
        why.stdout.contains("layer user-input: input:userInput:3"),
        "{}",
        why.stdout
    );
}

#[test]
fn a_real_path_is_a_mount_or_gives_no_prompt() {
    let home = TestFolder::with_package();
    let agents = home.read("pkg/agents.json");
    let real = fs::canonicalize(home.path()).unwrap();
    let with = |prompt: &str| {
        home.write("pkg/agents.json", &agents.replace("You are Ann.", prompt));
        home.callsheet(&[&RUN[..], &["-D", "agentId=ann"]].concat())
    };
    let done = with(&format!("Look into {}/run/a.", real.display()));
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert!(
        done.stdout.contains("\"Look into @state/a.\""),
        "{}",
        done.stdout
    );
    let done = with("Look into /Users/ann/a.");
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    assert_eq!(
        done.stderr,
        "error: `agentDefinition.systemPrompt` holds a real path that is below no mount, which no message may; leave it out, or name a file below `@project`, `@pkg` or `@state`\nhint: `callsheet schema messages` prints what the recipe takes\n"
    );
    let beside = format!("{}-old/a", real.display());
    assert_eq!(
        with(&beside).code,
        2,
        "a folder beside the project is another"
    );
}

#[test]
fn a_missing_field_is_named_by_its_path() {
    let done = TestFolder::new().callsheet(&[
        "compose",
        "messages",
        "-D",
        "mode=agent",
        "-D",
        "agentDefinition.id=x",
    ]);
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    assert!(
        done.stderr
            .starts_with("error: missing field `agentDefinition.persona`\n"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_package_is_checked_as_a_whole() {
    let home = TestFolder::with_package();
    let done = home.callsheet(&["package", "check", "pkg"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, ""));
    home.write(
        "pkg/steps/a.md",
        "---\nschemaVersion: 1.1\nnodeId: a\ntype: stp\n---\n",
    );
    fs::remove_file(home.path().join("pkg/steps/z.md")).unwrap();
    let done = home.callsheet(&["package", "check", "pkg"]);
    assert_eq!(done.code, 1);
    assert_eq!(done.stdout.lines().count(), 3, "{}", done.stdout);
    assert_eq!(done.stderr, "error: 3 errors, 0 warnings\n");
    let done = home.callsheet(&["package", "check", "pkg", "--json"]);
    let document: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        (done.code, &document["schema"], &document["ok"]),
        (1, &json!("callsheet.package/1"), &json!(false))
    );
    let kinds: Vec<&str> = document["issues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["frontmatter", "frontmatter", "file"]);
    assert_eq!(
        document["issues"][1]["instancePath"], "/type",
        "{document:#}"
    );
    let done = home.callsheet(&["package", "check", "nowhere"]);
    assert_eq!(done.code, 3, "{}", done.stderr);
}

#[test]
fn a_state_changes_along_the_graph_or_not_at_all() {
    let home = TestFolder::with_package();
    let state =
        |args: &[&str]| home.callsheet(&[&["state"], args, &["run", "--package", "pkg"]].concat());
    let shown: Value = serde_json::from_str(&state(&["--json", "show"]).stdout).unwrap();
    assert_eq!(shown["allowedNext"], json!([{"to": "b", "label": "next"}]));
    let old = home.read("run/workflow.md");

    let done = state(&["--json", "set", "--go", "z"]);
    assert_eq!(done.code, 2);
    let document: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(document["error"]["code"], "E_INVALID_TRANSITION");
    assert_eq!(document["error"]["details"]["allowedNext"][0]["to"], "b");
    let other = callsheet::Fingerprint::of("other").to_string();
    let done = state(&["set", "--go", "b", "--if-match", &other]);
    assert_eq!(done.code, 2);
    assert!(
        done.stderr.starts_with("error: E_PRECONDITION_FAILED: "),
        "{}",
        done.stderr
    );
    assert_eq!(state(&["set"]).code, 2, "nothing to change");
    assert_eq!(home.read("run/workflow.md"), old, "nothing is written");

    let fingerprint = shown["fingerprint"].as_str().unwrap();
    let done = state(&["set", "--done", "a", "--go", "b", "--if-match", fingerprint]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let new = "---\nschemaVersion: \"1.1\"\nworkflowType: t # kept\nstepsCompleted: [a]\ncurrentNodeId: \"b\"\n---\nBody\r\n";
    assert_eq!(home.read("run/workflow.md"), new);
    home.write("new.md", &new.replace("[a]", "[b]"));
    let done = state(&["set", "--text", "new.md"]);
    assert!(
        done.stderr.contains("E_SCHEMA_VALIDATION"),
        "{}",
        done.stderr
    );
    home.json(
        "change.json",
        &json!({"decisionLog": {"append": [{"from": "a", "to": "b"}]}}),
    );
    let done = state(&["set", "--update", "change.json"]);
    assert!(
        done.stderr.contains("missing field `decisionLog[0].label`"),
        "{}",
        done.stderr
    );
    assert_eq!(home.read("run/workflow.md"), new);
}

#[test]
fn changes_at_the_same_time_are_all_kept() {
    let home = TestFolder::with_package();
    std::thread::scope(|scope| {
        for nth in 0..12 {
            let home = &home;
            scope.spawn(move || {
                let variable = format!("k{nth}=v");
                let done =
                    home.callsheet(&["state", "set", "run", "--package", "pkg", "-D", &variable]);
                assert_eq!(done.code, 0, "{}", done.stderr);
            });
        }
    });
    let text = home.read("run/workflow.md");
    for nth in 0..12 {
        assert!(text.contains(&format!("\n  k{nth}: v\n")), "{text}");
    }
}

#[test]
fn a_state_that_is_not_there_has_a_code() {
    let home = TestFolder::with_package();
    fs::create_dir(home.path().join("empty")).unwrap();
    for folder in ["empty", "nowhere"] {
        for command in [&["show"][..], &["set", "--go", "b"]] {
            let args = [&["state"], command, &[folder, "--package", "pkg", "--json"]];
            let done = home.callsheet(&args.concat());
            let document: Value = serde_json::from_str(&done.stdout).unwrap();
            assert_eq!(done.code, 2, "{}", done.stderr);
            assert_eq!(document["error"]["code"], "STATE_FILE_NOT_FOUND");
        }
    }
}

#[test]
fn half_a_secret_is_in_no_message() {
    let home = TestFolder::new();
    let secret = ["gh", "p_k7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7U"].concat();
    let padded = format!("{} {secret}", "x".repeat(470));
    home.json(
        "input.json",
        &json!({
            "mode": "agent", "agentDefinition": {"id": "ann", "systemPrompt": "You are Ann."},
            "toolPolicy": {"fs": {"maxReadBytes": 490}},
            "dataContext": {"label": padded, "path": "a.md", "preview": padded},
        }),
    );
    let done = home.callsheet(&["compose", "messages", "--input", "input.json", "--redact"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(!done.stdout.contains("k7Qz2"), "{}", done.stdout);
}

#[test]
fn the_check_knows_the_policy_that_is_printed() {
    let home = TestFolder::new();
    let check = |policy: &Value, prompt: &str| {
        let input = json!({
            "mode": "agent", "agentDefinition": {"id": "ann", "systemPrompt": prompt}, "toolPolicy": policy,
        });
        home.json("input.json", &input);
        home.callsheet(&["compose", "messages", "--input", "input.json", "--check"])
    };
    let done = check(&json!({}), "Use `mcp.query` to look things up.");
    assert_eq!(done.code, 1, "servers are off where nobody turns them on");
    assert!(
        done.stderr.contains("asks for `mcp.query`"),
        "{}",
        done.stderr
    );
    let off = json!({"fs": {"enabled": false}, "mcp": {"enabled": true}});
    let done = check(&off, "Use `mcp.query` to look things up.");
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (0, ""),
        "our own rules ask for no file tool"
    );
}
