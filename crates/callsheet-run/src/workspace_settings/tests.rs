use serde::de::DeserializeOwned;

use super::*;

/// Returns what is wrong, with the line on which it stands.
fn refused<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
    let error = toml::from_str::<T>(text).unwrap_err();
    let at = error.span().unwrap().start;
    let line = text[..at].matches('\n').count() + 1;
    format!("{line}: {}", error.message())
}

#[test]
fn defaults_hold_where_nothing_is_set() {
    let settings: WorkspaceSettings = toml::from_str("").unwrap();
    assert_eq!(settings, WorkspaceSettings::default());
    assert_eq!(settings.setup_timeout_s, 600);
    assert!((settings.conflict_threshold - 0.5).abs() < f64::EPSILON);
    let check: CheckSetting = toml::from_str("name = \"test\"\ncommand = [\"./test\"]\n").unwrap();
    assert_eq!((check.timeout_s, check.required), (600, true));
}

#[test]
fn everything_can_be_set() {
    let text = "base = \"main\"\nremote = \"origin\"\ncopy = [\".env\", \"./web//node_modules/\"]\nsetup = [\"npm\", \"ci\"]\nsetup_timeout_s = 60\nconflict_threshold = 1\n";
    let settings: WorkspaceSettings = toml::from_str(text).unwrap();
    insta::assert_debug_snapshot!(settings, @r#"
    WorkspaceSettings {
        base: Some(
            "main",
        ),
        remote: Some(
            "origin",
        ),
        copy: [
            ".env",
            "web/node_modules",
        ],
        setup: Some(
            [
                "npm",
                "ci",
            ],
        ),
        setup_timeout_s: 60,
        conflict_threshold: 1.0,
    }
    "#);
}

#[test]
fn a_frozen_check_reads_back() {
    let text =
        "name = \"lint\"\ncommand = [\"cargo\", \"clippy\"]\ntimeout_s = 5\nrequired = false\n";
    let check: CheckSetting = toml::from_str(text).unwrap();
    let frozen = serde_json::to_string(&check).unwrap();
    insta::assert_snapshot!(frozen, @r#"{"name":"lint","command":["cargo","clippy"],"timeout_s":5,"required":false}"#);
    assert_eq!(
        serde_json::from_str::<CheckSetting>(&frozen).unwrap(),
        check
    );
}

#[test]
fn what_is_wrong_with_a_workspace_is_named_with_its_line() {
    let workspace = [
        "copy = [\n  \"a\",\n  \"/etc/passwd\",\n]",
        "copy = [\n  \"a/../../b\"]",
        "copy = [\"..\"]",
        "copy = [\"\"]",
        "copy = [\".\"]",
        "copy = [\"./.git/config\"]",
        "copy = [\".callsheet\"]",
        "\nsetup = []",
        "\nsetup = [\"\", \"x\"]",
        "setup = \"npm ci\"",
        "base = \"\"",
        "base = \"--upload-pack=x\"",
        "remote = \"-x\"",
        "conflict_threshold = 1.5",
        "conflict_threshold = nan",
        "conflict_threshold = -0.1",
        "setup_timeout_s = -1",
        "\nbranch = \"main\"",
    ];
    let errors = workspace.map(refused::<WorkspaceSettings>).join("\n");
    insta::assert_snapshot!(errors, @r#"
    1: cannot copy `/etc/passwd`: paths are relative to the root
    1: cannot copy `a/../../b`: `..` would lead out of the root
    1: cannot copy `..`: `..` would lead out of the root
    1: cannot copy ``: it is not a file or directory below the root
    1: cannot copy `.`: it is not a file or directory below the root
    1: cannot copy `./.git/config`: every worktree has its own
    1: cannot copy `.callsheet`: every worktree has its own
    2: the command is empty; it needs a program and its arguments
    2: the command is empty; it needs a program and its arguments
    1: invalid type: string "npm ci", expected a sequence
    1: `` is not a valid name
    1: `--upload-pack=x` is not a valid name
    1: `-x` is not a valid name
    1: `1.5` is not a threshold; use a number from 0 to 1
    1: `NaN` is not a threshold; use a number from 0 to 1
    1: `-0.1` is not a threshold; use a number from 0 to 1
    1: invalid value: integer `-1`, expected u64
    2: unknown field `branch`, expected one of `base`, `remote`, `copy`, `setup`, `setup_timeout_s`, `conflict_threshold`
    "#);
}

#[test]
fn what_is_wrong_with_a_check_is_named_with_its_line() {
    let checks = [
        "name = \"test\"",
        "command = [\"./test\"]",
        "\nname = \" \"\ncommand = [\"./test\"]",
        "name = \"a\\u001bb\"\ncommand = [\"./test\"]",
        "name = \"test\"\ncommand = []",
        "name = \"test\"\ncommand = [\"\"]",
        "name = \"test\"\ncommand = \"./test\"",
        "name = \"test\"\ncommand = [\"./test\"]\nkind = \"dod\"",
    ];
    let errors = checks.map(refused::<CheckSetting>).join("\n");
    insta::assert_snapshot!(errors, @r#"
    1: missing field `command`
    1: missing field `name`
    2: the name of a check is empty
    1: the name of a check contains a control character
    2: the command is empty; it needs a program and its arguments
    2: the command is empty; it needs a program and its arguments
    2: invalid type: string "./test", expected a sequence
    3: unknown field `kind`, expected one of `name`, `command`, `timeout_s`, `required`
    "#);
}
