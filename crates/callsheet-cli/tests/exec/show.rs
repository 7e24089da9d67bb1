//! What a person sees of a run: while it is started, afterwards, and when something is wrong with the settings.

use serde_json::json;

use crate::desk::Desk;

const SCRIPT: &str = "[[steps]]\nread_prompt = true\n[[steps]]\nsay = \"I fix it.\"\n\
    [[steps]]\nwrite = { path = \"src/login.rs\", text = \"fn login() -> bool { true }\\n\" }\n\
    [[steps]]\ncall = { tool = \"Bash\", input = { command = \"./test\" }, output = \"ok\", exit_code = 0 }\n\
    [[steps]]\nusage = { input_tokens = 12340, output_tokens = 56, cached_tokens = 7000, cost_usd = 0.0421 }\n";

#[test]
fn a_run_from_the_recipe_to_the_facts() {
    let desk = Desk::with_script(SCRIPT);
    let shown = desk.project.shown(&desk.exec(&[]));
    insta::assert_snapshot!(shown, @"
    exit: 0
    --- stdout
    status     completed
    process    exit code 0
    runner     agent
    took       [TOOK]
    usage      12.3k tokens in (7.0k cached), 56 out, $0.0421
    prompt     [ID1]
    delivered  920 bytes, all of it read
    head       [HEAD], dirty
    changed    src/login.rs
    [ID2]
    --- stderr
    sealed [ID1]
    runner agent: a script of this project, permissions edit, no sandbox
    agent  0:00  write
    agent  0:00  Bash
    ");
    let runs = desk.runs();
    let document = &runs[0];
    let fingerprint = &document["delivered"]["prompt"]["fingerprint"];
    let prompt = document["prompt"].as_str().unwrap();
    let sealed = desk.project.run(&["show", prompt, "--json"]).json();
    assert_eq!(
        &sealed["fingerprint"], fingerprint,
        "what is sealed is what was handed over"
    );
    assert_eq!(document["changed_files"], json!(["src/login.rs"]));
    assert_eq!(document["start_head"], document["head"]);
    assert_eq!(document["dirty"], true);
    assert_eq!(document["branch"], "main");
    // The log begins with the prompt, byte by byte.
    let id = document["id"].as_str().unwrap();
    let log = desk.project.run(&["log", id, "--json"]).text();
    let first: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(first["stream"], "meta");
    assert_eq!(
        first["data"].as_str().unwrap(),
        desk.project.run(&["show", prompt]).text()
    );
}

#[test]
fn files_that_were_changed_before_are_not_the_agents() {
    let script = "[[steps]]\nwrite = { path = \"new.txt\", text = \"n\" }\n\
        [[steps]]\ndelete = \"gone.txt\"\n[[steps]]\nwrite = { path = \"both.txt\", text = \"agent\" }\n";
    let desk = Desk::with_script(script);
    desk.project
        .file("gone.txt", "g")
        .file("both.txt", "b")
        .file("mine.txt", "m")
        .file(".gitignore", "ignored.txt\n");
    desk.commit("files");
    desk.project
        .file("mine.txt", "changed by me")
        .file("both.txt", "changed by me")
        .file("untracked.txt", "by me")
        .file("ignored.txt", "by me");
    let (document, _) = desk.document(&[]);
    assert_eq!(
        document["changed_files"],
        json!(["both.txt", "gone.txt", "new.txt"])
    );
    assert_eq!(
        desk.git(&["status", "--porcelain", "mine.txt"]),
        "M mine.txt"
    );
}

#[test]
fn an_agent_that_commits() {
    let line =
        "echo x > src/new.rs; git add -A; git -c user.name=a -c user.email=a@x commit -qm work";
    let desk = Desk::with_shell(line, "");
    let (document, _) = desk.document(&[]);
    assert_ne!(document["start_head"], document["head"]);
    assert_eq!(document["head"], desk.git(&["rev-parse", "HEAD"]));
    assert_eq!(document["dirty"], false);
    assert_eq!(document["changed_files"], json!(["src/new.rs"]));
}

#[test]
fn outside_of_a_repository_what_is_not_known_is_null() {
    let desk = Desk::with_script("[[steps]]\nsay = \"hi\"\n");
    std::fs::remove_dir_all(desk.project.path(".git")).unwrap();
    let (document, code) = desk.document(&[]);
    assert_eq!(code, Some(0));
    for field in [
        "start_head",
        "head",
        "dirty",
        "changed_files",
        "branch",
        "task",
        "parent",
        "usage",
    ] {
        assert_eq!(document[field], json!(null), "{field}");
    }
    assert_eq!(document["schema"], "callsheet.run/1");
    assert_eq!(document["checks"], json!([]));
    assert_eq!(document["violations"], json!([]));
}

#[test]
fn an_agent_gets_what_its_runner_lists_and_nothing_else() {
    let line = "env | cut -d= -f1 | sort; test -n \"$CALLSHEET_RUN\"; test -d \"$TMPDIR\"";
    let mut desk = Desk::new(&format!(
        "[runners.agent]\nadapter = \"command\"\ncommand = [\"sh\", \"-c\", {}]\npass_env = [\"TOKEN\"]\nenv = {{ MINE = \"1\" }}\n",
        toml::Value::from(line)
    ));
    for name in ["TOKEN", "SECRET", "CLAUDECODE", "HOME"] {
        desk.project.variable(name, "x");
    }
    let (document, _) = desk.document(&[]);
    let id = document["id"].as_str().unwrap();
    let names = desk.project.run(&["log", id, "--stream", "stdout"]).text();
    let names: Vec<&str> = names
        .lines()
        .filter(|name| !matches!(*name, "PWD" | "OLDPWD" | "SHLVL" | "_"))
        // What keeps git from tidying up is tested where it is made.
        .filter(|name| !name.starts_with("GIT_CONFIG_"))
        .collect();
    assert_eq!(
        names,
        ["CALLSHEET_RUN", "HOME", "MINE", "PATH", "TMPDIR", "TOKEN"]
    );
}

#[test]
fn texts_travel_as_private_files_that_go_with_the_run() {
    let desk = Desk::new(
        "[runners.agent]\nadapter = \"command\"\nprompt = \"file\"\n\
         command = [\"sh\", \"-c\", 'stat -c %a \"$@\"; cat \"$@\"', \"sh\", \"{system_file}\", \"{prompt_file}\"]\n",
    );
    let args = [
        "exec",
        "layers",
        "-D",
        "rules=Be kind.",
        "--prompt",
        "Do it.",
        "--json",
    ];
    let document = desk.project.run(&args).json();
    let id = document["id"].as_str().unwrap();
    let log = desk.project.run(&["log", id, "--stream", "stdout"]);
    assert_eq!(log.text(), "600\n600\nBe kind.Do it.");
    let delivered = &document["delivered"];
    assert_eq!(delivered["system"]["bytes"], 8);
    assert_eq!(delivered["prompt"]["bytes"], 6);
    desk.assert_clean();
}

#[test]
fn a_recorded_run_is_played_again() {
    let desk = Desk::with_script(SCRIPT);
    let (first, _) = desk.document(&[]);
    let id = first["id"].as_str().unwrap();
    let text = format!("[runners.again]\nadapter = \"replay\"\nrecording = \"{id}\"\n");
    desk.project.file("callsheet.toml", text);
    let (second, code) = desk.document(&[]);
    assert_eq!(code, Some(0));
    assert_eq!(second["adapter"], "replay");
    assert_eq!(second["usage"], first["usage"]);
    assert_eq!(
        second["changed_files"],
        json!([]),
        "words are played, not deeds"
    );
    let log = |document: &serde_json::Value| {
        let id = document["id"].as_str().unwrap();
        desk.project.run(&["log", id, "--stream", "stdout"]).stdout
    };
    assert_eq!(log(&second), log(&first));
}

#[test]
fn settings_that_cannot_be_used() {
    let desk = Desk::new("[runners.agent]\nadapter = \"claud\"\n");
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&[])), @"
    exit: 2
    --- stderr
    error: no adapter `claud`
    hint: did you mean `claude`?
    ");
    desk.project
        .file("callsheet.toml", "[runners.agent]\nadapter = \"command\"\n");
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&[])), @"
    exit: 2
    --- stderr
    error: runner `agent` has the adapter `command` and no `command`
    ");
    desk.project.file(
        "callsheet.toml",
        "[runners.agent]\nadapter = \"scripted\"\n",
    );
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&[])), @"
    exit: 2
    --- stderr
    error: runner `agent` has the adapter `scripted` and no `script`
    ");
    desk.project.file(
        "callsheet.toml",
        "[runners.agent]\nadaptor = \"scripted\"\n",
    );
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&[])), @"
    exit: 2
    --- stderr
    error: callsheet.toml:2: unknown field `adaptor`, expected one of `adapter`, `command`, `model`, `pass_env`, `env`, `account`, `isolate`, `permissions`, `allow`, `deny`, `profile`, `script`, `recording`, `prompt`, `limits`
    hint: did you mean `adapter`?
    hint: `callsheet schema settings` prints what is allowed
    ");
    desk.project
        .file("callsheet.toml", "[runners.agent]\nisolate = \"maybe\"\n");
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&[])), @r#"
    exit: 2
    --- stderr
    error: callsheet.toml:2: expected `"auto"`, `true` or `false`, found the text `maybe`
    hint: `callsheet schema settings` prints what is allowed
    "#);
}

#[test]
fn a_runner_that_nobody_named() {
    let mut desk = Desk::new("");
    desk.project.file(
        "callsheet.toml",
        "[runners.one]\nadapter = \"scripted\"\n[runners.two]\nadapter = \"scripted\"\n",
    );
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&[])), @r#"
    exit: 2
    --- stderr
    error: callsheet.toml has more than one runner
    hint: `--runner NAME` or `runner = "NAME"` in callsheet.toml chooses one of `one`, `two`
    "#);
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&["--runner", "thre"])), @"
    exit: 2
    --- stderr
    error: no runner `thre`
    hint: there are `claude`, `codex`, `gemini`, `one`, `opencode`, `two`
    ");
    // Whatever is installed here is not looked for.
    desk.project.variable("PATH", "/nonexistent");
    desk.project.file("callsheet.toml", "");
    insta::assert_snapshot!(desk.project.shown(&desk.exec(&[])), @"
    exit: 2
    --- stderr
    error: no agent CLI was found: neither claude, codex, gemini nor opencode
    hint: `callsheet doctor` says what to do; `--runner NAME` takes a runner of callsheet.toml
    ");
}
