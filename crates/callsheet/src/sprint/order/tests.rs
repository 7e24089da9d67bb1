//! Orders against the recipes that they are for, and the files beside a story.

use serde_json::json;

use super::*;
use crate::recipe::built_in;

fn order(phase: Phase) -> PhaseOrder {
    PhaseOrder::new(phase, ["2a-1"])
}

#[test]
fn every_phase_has_a_recipe_with_its_command_and_its_files() {
    for phase in Phase::ALL {
        let recipe = built_in(&phase.recipe()).unwrap().unwrap();
        let fields = recipe.check(&json!(order(phase).input())).unwrap();
        assert_eq!(fields["command_name"], phase.command());
        let flag = |name: &str| fields.get(name).and_then(Value::as_bool);
        let expected = phase.context();
        let names = ["project_context", "discovery", "tech_spec"];
        let flags = names.map(|name| flag(&format!("include_{name}")));
        let expected = expected.map_or([None; 3], |flags| {
            [flags.project_context, flags.discovery, flags.tech_spec].map(Some)
        });
        assert_eq!(flags, expected, "{phase:?}");
        assert_eq!(
            flag("git_status").unwrap_or(false),
            matches!(phase, Phase::Commit | Phase::ResolveConflict)
        );
    }
}

#[test]
fn a_full_order_fits_every_schema() {
    for phase in Phase::ALL {
        let order = PhaseOrder {
            epic_id: Some("2a".to_owned()),
            attempt: Some(2),
            chain: true,
            previous_findings: vec![EarlierFinding {
                attempt: Some(1),
                severity: "HIGH".to_owned(),
                text: "src/a.rs:3 is wrong".to_owned(),
            }],
            previous: Some(PreviousRun {
                status: Some("failed".to_owned()),
                exit_code: Some(1),
                termination: Some("exit".to_owned()),
                missing_marker: true,
                violations: Vec::new(),
                changed_files: vec!["src/a.rs".to_owned()],
            }),
            write_scope: vec!["src/**".to_owned()],
            additional_files: vec!["epics.md".to_owned()],
            degrade: true,
            limits: PhaseLimits {
                warning_bytes: Some(1),
                error_bytes: Some(2),
            },
            paths: PhasePaths {
                implementation_artifacts: Some("i".to_owned()),
                planning_artifacts: Some("p".to_owned()),
                sprint_project_context: Some("p/c.md".to_owned()),
                project_context: Some("p/l.md".to_owned()),
                workflows: Some("w".to_owned()),
            },
            ..order(phase)
        };
        let recipe = built_in(&order.recipe()).unwrap().unwrap();
        let fields = recipe.check(&json!(order.input())).unwrap();
        let live = phase == Phase::ProjectContext;
        assert_eq!(fields["paths"].get("project_context").is_some(), live);
        assert_eq!(fields.contains_key("story_keys"), !live);
        assert_eq!(fields["previous"]["changed_files"], json!(["src/a.rs"]));
    }
}

#[test]
fn keys_that_would_break_a_prompt_are_refused() {
    let recipe = built_in("sprint/dev-story").unwrap().unwrap();
    for key in ["", "a b", "a,b", "../a", "a\nb", "[a]"] {
        let order = PhaseOrder::new(Phase::DevStory, [key]);
        let error = recipe.check(&json!(order.input())).unwrap_err().to_string();
        assert!(error.starts_with("`story_keys[0]`"), "{error}");
    }
    let error = recipe.check(&json!({})).unwrap_err().to_string();
    assert_eq!(error, "missing field `story_keys`");
}

#[test]
fn a_new_story_comes_with_its_epic_and_the_story_before() {
    let names =
        |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
    let planning = names(&[
        "epics.md",
        "Epic-2A-login.md",
        "epic-2.md",
        "epic-2ab.md",
        "epics-2a.md",
        "epic.txt",
        "epicure.md",
        "prd.md",
    ]);
    let implementation = names(&[
        "2a-1-old-name.md",
        "sprint-2a-1.md",
        "sprint-2a-10.md",
        "sprint-2a-1-discovery-story.md",
        "sprint-tech-spec-2a-1.md",
        "sprint-2a-1.txt",
    ]);
    let folders = Folders {
        planning: ("plan", &planning),
        implementation: ("impl/", &implementation),
    };
    assert_eq!(
        story_context("2a", Some("2a-1"), folders),
        [
            "plan/Epic-2A-login.md",
            "plan/epics-2a.md",
            "plan/epics.md",
            "impl/sprint-2a-1.md"
        ]
    );
    assert_eq!(
        story_context("2", Some("2-7"), folders),
        ["plan/epic-2.md", "plan/epics.md"]
    );
    let others = &implementation[..1];
    let folders = Folders {
        planning: (".", &[]),
        implementation: (".", others),
    };
    assert_eq!(
        story_context("2a", Some("2a-1"), folders),
        ["2a-1-old-name.md"]
    );
    assert!(story_context("2a", None, folders).is_empty());
}
