//! What `[sprint]` takes and what it refuses.

use super::*;

fn read(text: &str) -> Result<SprintSettings, String> {
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

#[test]
fn an_empty_table_has_the_defaults_and_each_key_changes_one_thing() {
    assert_eq!(read(""), Ok(SprintSettings::default()));
    let text = "runner = \"fast\"\nreview_model = \"small\"\nhaiku_after_review = 0\nstop = \"cancel\"\nboard = \"./docs//board.yaml\"\npaths.planning_artifacts = \"plans\"\n";
    let settings = read(text).unwrap();
    assert_eq!(settings.board.as_deref(), Some("docs/board.yaml"));
    assert_eq!(settings.stop, StopPolicy::Cancel);
    assert_eq!(settings.default_max_cycles, 2);
    let layout = settings.paths.layout();
    assert_eq!(
        layout.sprint_project_context,
        "plans/sprint-project-context.md"
    );
    assert_eq!(layout.archived_artifacts, "_bmad-output/archived-artifacts");
}

#[test]
fn what_cannot_work_is_refused() {
    for (text, message) in [
        (
            "board = \"/x\"",
            "cannot use `/x`: paths are relative to the root",
        ),
        (
            "board = \"a/../b\"",
            "cannot use `a/../b`: `..` would lead out of the root",
        ),
        (
            "board = \".\"",
            "cannot use `.`: it is not a file or directory below the root",
        ),
        (
            "board = \".git/x\"",
            "cannot use `.git/x`: nothing of a project is kept there",
        ),
        ("runner = \"\"", "`` is not a valid name"),
        ("review_model = \"-x\"", "`-x` is not a valid name"),
        ("injection_error_kb = 0", "`0` is too small; use at least 1"),
        (
            "stop = \"now\"",
            "unknown variant `now`, expected `drain` or `cancel`",
        ),
    ] {
        assert_eq!(read(text), Err(message.to_owned()), "{text}");
    }
    assert!(
        read("boards = \"x\"")
            .unwrap_err()
            .starts_with("unknown field `boards`")
    );
    assert!(
        read("haiku_after_review = true").is_err(),
        "a boolean is not a number"
    );
    let settings = read("injection_warning_kb = 200").unwrap();
    assert_eq!(
        settings.contradiction().unwrap(),
        "`sprint.injection_warning_kb` is 200, more than `sprint.injection_error_kb`, which is 150"
    );
    assert_eq!(SprintSettings::default().contradiction(), None);
}
