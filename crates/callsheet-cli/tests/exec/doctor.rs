//! `doctor`: what it finds, what it proposes, and no secret in it.

use callsheet_run::sandbox::{Support, support};

use crate::desk::Desk;

/// Returns what `doctor` says of the kernel that these tests run on.
fn sandbox_line() -> String {
    match support() {
        Support::Landlock { abi } => format!(
            "ok  sandbox   Landlock ABI {abi}: agents in worktrees write where they work, and in caches"
        ),
        Support::None => {
            "-   sandbox   the kernel has no Landlock: agents have your rights".to_owned()
        }
    }
}

#[test]
fn a_machine_without_anything() {
    let mut desk = Desk::new("");
    desk.project.variable("PATH", "/nonexistent");
    let shown = desk.project.callsheet(&["doctor"]);
    let shown = shown.replace(&sandbox_line(), "ok  sandbox   [KERNEL]");
    insta::assert_snapshot!(shown, @"
    exit: 1
    --- stdout
        CHECK     FOUND
    !!  git       not found
    -   claude    not installed
    -   codex     not installed
    -   gemini    not installed
    -   opencode  not installed
    !!  runner    no agent is installed
    ok  sandbox   [KERNEL]
    -   store     nothing is stored yet
    --- stderr
    git: install git; without it nobody can tell what an agent changed
    claude: `npm install -g @anthropic-ai/claude-code` installs it
    codex: `npm install -g @openai/codex` installs it
    gemini: `npm install -g @google/gemini-cli` installs it
    opencode: `npm install -g opencode-ai` installs it
    runner: install one of the agents above, or name a program in `[runners.NAME]`
    store: `callsheet exec RECIPE` or `callsheet compose RECIPE --seal` makes one
    ");
}

#[test]
fn a_sandbox_that_is_switched_off_is_reported() {
    let desk = Desk::new("[sandbox]\nmode = false\n");
    let text = desk.project.run(&["doctor"]).text();
    let line = "\n-   sandbox   switched off in callsheet.toml: agents have your rights\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn an_agent_with_a_key_that_is_not_shown() {
    let mut desk = Desk::new("[runners.mine]\nadapter = \"claude\"\ncommand = [\"./agent\"]\n");
    desk.project
        .file("bin/claude", "#!/bin/sh\necho '9.9.9 (Claude Code)'\n")
        .file("agent", "#!/bin/sh\nexit 0\n");
    for program in ["bin/claude", "agent"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(desk.project.path(program), mode).unwrap();
    }
    let bin = desk.project.path("bin").display().to_string();
    desk.project
        .variable("PATH", &format!("{bin}:/usr/bin:/bin"))
        .variable("ANTHROPIC_API_KEY", "sk-ant-hunter2");
    let run = desk.project.run(&["doctor"]);
    let text = run.text();
    let said = String::from_utf8(run.stderr.clone()).unwrap();
    assert_eq!(run.code(), Some(0), "{text}{said}");
    assert!(
        text.contains("claude       9.9.9, key in ANTHROPIC_API_KEY\n"),
        "{text}"
    );
    assert!(
        text.contains("ok  runner mine  Claude Code, permissions edit\n"),
        "{text}"
    );
    assert!(
        said.contains("claude: Claude Code 9.9.9 is not a version that callsheet knows"),
        "{said}"
    );
    assert!(!text.contains("hunter2") && !said.contains("hunter2"));
    let json = desk.project.run(&["doctor", "--json"]).json();
    assert_eq!(json["ok"], true);
    std::fs::remove_file(desk.project.path("agent")).unwrap();
    let run = desk.project.run(&["doctor"]);
    assert_eq!(run.code(), Some(1));
    assert!(run.text().contains("!!  runner mine  `"), "{}", run.text());
}
