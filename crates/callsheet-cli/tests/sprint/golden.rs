//! The pair of the source document, from its board to its commit: what each agent was given, and everything that was stored.
//!
//! Reviews in the background run beside the phases, so what is told of them is a list of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::Value;

use crate::play::{BOARD, Sprint, in_order, lines};

/// One story needs a tech spec, the story review finds something critical, and one story takes three code reviews.
const HOOK: &str = "given=$(grep -o '<file path=\"[^\"]*\"' \"$system\" | sed 's/.*\\///; s/\"//' | paste -sd ' ' -)
echo \"$phase $stories $attempt: $given\" >> \"$out/given\"
# The reviews in the background are over before the files are archived.
if [ $phase = dev-story ]; then
    until grep -q '^story-review 2a-1,2a-2 3 ' \"$out/ends\"; do sleep 0.02; done
fi
if [ $phase = create-story ]; then
    for key in $keys; do echo \"# Story $key\" > $impl/sprint-$key.md; done
    echo '[TECH-SPEC-DECISION: REQUIRED]'
    echo '[TECH-SPEC-DECISION: SKIP]'
    ended
fi
if [ $phase = story-review ] && [ $attempt -lt 3 ]; then
    echo 'HIGHEST SEVERITY: CRITICAL'
    ended
fi
if [ $phase = code-review ] && [ $story = 2a-1 ] && [ $attempt = 1 ]; then
    echo '- [HIGH] src/2a-1.txt:1 it fails'
    echo 'HIGHEST SEVERITY: HIGH'
    ended
fi
if [ $phase = code-review ] && [ $story = 2a-1 ] && [ $attempt = 2 ]; then
    echo '- [MEDIUM] src/2a-1.txt:1 it is slow'
    echo 'HIGHEST SEVERITY: MEDIUM'
    ended
fi";

const BEFORE: &str = "# Written by a person\n\
    project: 'shop' # quoted\n\
    story_location: _bmad-output/implementation-artifacts\n\
    \n\
    development_status:\n\
    \x20 epic-2a: in-progress\n\
    \x20 2a-2: backlog   # second\n\
    \x20 2a-1: \"backlog\"\n\
    \x20 2a-3: blocked\n\
    \x20 epic-2a-retrospective: optional\n";

fn sprint() -> Sprint {
    let sprint = Sprint::new(&[], HOOK);
    sprint.desk.project.file(BOARD, BEFORE);
    sprint.desk.commit("board");
    sprint.ran(0);
    sprint
}

/// Splits lines into those about reviews in the background and all others.
fn apart(lines: Vec<String>, is_back: impl Fn(&str) -> bool) -> (String, String) {
    let (back, front): (Vec<String>, Vec<String>) =
        lines.into_iter().partition(|line| is_back(line));
    (in_order(&front).join("\n"), back.join("\n"))
}

fn is_chain(line: &str) -> bool {
    let chains = ["story-review 2a-1,2a-2 2", "story-review 2a-1,2a-2 3"];
    chains.iter().any(|chain| line.starts_with(chain))
}

#[test]
fn every_agent_is_given_what_the_document_says() {
    let sprint = sprint();
    let (front, back) = apart(lines(&sprint.out("given")), is_chain);
    insta::assert_snapshot!(front, @"
    create-story 2a-1,2a-2 1: sprint-project-context.md
    create-story-discovery 2a-1,2a-2 1: sprint-project-context.md
    story-review 2a-1,2a-2 1: sprint-project-context.md sprint-2a-1.md sprint-2a-2.md sprint-2a-1-discovery-story.md sprint-2a-2-discovery-story.md
    create-tech-spec 2a-1 1: sprint-project-context.md sprint-2a-1.md sprint-2a-1-discovery-story.md
    tech-spec-review 2a-1 1: sprint-project-context.md sprint-2a-1.md sprint-2a-1-discovery-story.md sprint-tech-spec-2a-1.md
    dev-story 2a-1 1: sprint-project-context.md sprint-2a-1.md sprint-2a-1-discovery-story.md sprint-tech-spec-2a-1.md
    code-review 2a-1 1: sprint-project-context.md sprint-2a-1.md sprint-2a-1-discovery-story.md sprint-tech-spec-2a-1.md
    code-review 2a-1 2: sprint-project-context.md sprint-2a-1.md sprint-2a-1-discovery-story.md sprint-tech-spec-2a-1.md
    code-review 2a-1 3: sprint-project-context.md sprint-2a-1.md sprint-2a-1-discovery-story.md sprint-tech-spec-2a-1.md
    dev-story 2a-2 1: sprint-project-context.md sprint-2a-2.md sprint-2a-2-discovery-story.md
    code-review 2a-2 1: sprint-project-context.md sprint-2a-2.md sprint-2a-2-discovery-story.md
    commit 2a-1,2a-2 1: sprint-2a-1.md sprint-2a-2.md
    ");
    insta::assert_snapshot!(back, @"
    story-review 2a-1,2a-2 2: sprint-project-context.md sprint-2a-1.md sprint-2a-2.md sprint-2a-1-discovery-story.md sprint-2a-2-discovery-story.md
    story-review 2a-1,2a-2 3: sprint-project-context.md sprint-2a-1.md sprint-2a-2.md sprint-2a-1-discovery-story.md sprint-2a-2-discovery-story.md
    ");
    sprint.assert_clean();
}

#[test]
fn the_board_and_the_commit_are_what_the_document_implies() {
    let sprint = sprint();
    insta::assert_snapshot!(sprint.board(), @r#"
    # Written by a person
    project: 'shop' # quoted
    story_location: _bmad-output/implementation-artifacts

    development_status:
      epic-2a: in-progress
      2a-2: done   # second
      2a-1: "done"
      2a-3: blocked
      epic-2a-retrospective: optional
    "#);
    insta::assert_snapshot!(sprint.commits(), @"
    feat: implement 2a-1,2a-2
    _bmad-output/implementation-artifacts/sprint-2a-1-discovery-story.md
    _bmad-output/implementation-artifacts/sprint-2a-1.md
    _bmad-output/implementation-artifacts/sprint-2a-2-discovery-story.md
    _bmad-output/implementation-artifacts/sprint-2a-2.md
    _bmad-output/implementation-artifacts/sprint-status.yaml
    _bmad-output/implementation-artifacts/sprint-tech-spec-2a-1.md
    src/2a-1.txt
    src/2a-2.txt
    ");
    let status = sprint
        .desk
        .git(&["status", "--porcelain", "--untracked-files=all"]);
    insta::assert_snapshot!(status, @"
    D _bmad-output/implementation-artifacts/sprint-2a-1-discovery-story.md
     D _bmad-output/implementation-artifacts/sprint-2a-1.md
     D _bmad-output/implementation-artifacts/sprint-2a-2-discovery-story.md
     D _bmad-output/implementation-artifacts/sprint-2a-2.md
     D _bmad-output/implementation-artifacts/sprint-tech-spec-2a-1.md
    ?? _bmad-output/archived-artifacts/sprint-2a-1-discovery-story.md
    ?? _bmad-output/archived-artifacts/sprint-2a-1.md
    ?? _bmad-output/archived-artifacts/sprint-2a-2-discovery-story.md
    ?? _bmad-output/archived-artifacts/sprint-2a-2.md
    ?? _bmad-output/archived-artifacts/sprint-tech-spec-2a-1.md
    ?? _bmad-output/planning-artifacts/sprint-project-context.md
    ");
}

#[test]
fn the_runs_have_the_phases_and_models_that_the_document_implies() {
    let sprint = sprint();
    let mut runs = sprint.desk.runs();
    runs.reverse();
    let line = |run: &Value| {
        let phase = run["phase"].as_str().unwrap();
        let phase = phase.strip_prefix("sprint-").unwrap_or(phase);
        let stories = run["stories"].as_array().unwrap().iter();
        let stories: Vec<&str> = stories.map(|story| story.as_str().unwrap()).collect();
        let model = run["model"].as_str().unwrap_or("default");
        let status = run["status"].as_str().unwrap();
        format!(
            "{phase} {} {} {model} {status}",
            stories.join(","),
            run["attempt"]
        )
    };
    let (front, back) = apart(runs.iter().map(line).collect(), is_chain);
    insta::assert_snapshot!(front, @"
    create-story 2a-1,2a-2 1 default completed
    create-story-discovery 2a-1,2a-2 1 default completed
    story-review 2a-1,2a-2 1 default completed
    create-tech-spec 2a-1 1 default completed
    tech-spec-review 2a-1 1 default completed
    dev-story 2a-1 1 default completed
    code-review 2a-1 1 default completed
    code-review 2a-1 2 haiku completed
    code-review 2a-1 3 haiku completed
    dev-story 2a-2 1 default completed
    code-review 2a-2 1 default completed
    commit 2a-1,2a-2 1 default completed
    ");
    insta::assert_snapshot!(back, @"
    story-review 2a-1,2a-2 2 haiku completed
    story-review 2a-1,2a-2 3 haiku completed
    ");
}

/// Returns an event of the sprint as one line, without what differs from one time to the next.
fn event_line(event: &Value) -> Option<String> {
    let kind = event["type"].as_str().unwrap();
    let other = ["run:", "agent:", "prompt:"];
    if other.iter().any(|other| kind.starts_with(other)) {
        return None;
    }
    let mut payload = event["payload"].clone();
    for (field, by) in [("batch_id", "[BATCH]"), ("commit", "[COMMIT]")] {
        if payload.get(field).is_some() {
            payload[field] = by.into();
        }
    }
    if payload["task_id"].is_number() {
        payload["task_id"] = "[ACTION]".into();
    }
    Some(format!("{kind} {payload}"))
}

/// Returns the events of the sprint, and those of reviews in the background.
fn events(sprint: &Sprint) -> (Vec<String>, Vec<String>) {
    let events = sprint.events();
    let events = events.iter().filter_map(event_line);
    let (back, mut front): (Vec<String>, Vec<String>) =
        events.partition(|line| line.contains("chain-"));
    let is_end = |line: &String, task: &str| {
        line.starts_with("command:end") && line.contains(&format!("\"task_id\":\"{task}\""))
    };
    // Of the two that run side by side, either can be the first to end.
    for index in 1..front.len() {
        if is_end(&front[index - 1], "discovery") && is_end(&front[index], "create-story") {
            front.swap(index - 1, index);
        }
    }
    (front, back)
}

#[test]
fn the_stored_events_are_those_of_the_document() {
    let (front, back) = events(&sprint());
    insta::assert_snapshot!(front.join("\n"), @r#"
    batch:start {"batch_id":"[BATCH]","max_cycles":null,"batch_mode":"all"}
    context:fresh {"message":"The context of the project is fresh"}
    context:copied {"source":"_bmad-output/planning-artifacts/project-context.md","destination":"_bmad-output/planning-artifacts/sprint-project-context.md","message":"The context of the project is copied for this sprint"}
    cycle:start {"cycle_number":1,"story_keys":["2a-1","2a-2"]}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-create-story","task_id":"create-story","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":false,"tech_spec":false}}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-create-story-discovery","task_id":"discovery","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":false,"tech_spec":false}}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-create-story","task_id":"create-story","message":"Completed","status":"completed"}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-create-story-discovery","task_id":"discovery","message":"Completed","status":"completed"}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":true,"tech_spec":false}}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review","message":"Completed","status":"completed"}
    story:status {"story_key":"2a-1","old_status":"backlog","new_status":"ready-for-dev"}
    story:status {"story_key":"2a-2","old_status":"backlog","new_status":"ready-for-dev"}
    command:start {"story_key":"2a-1","command":"sprint-create-tech-spec","task_id":"tech-spec","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":true,"tech_spec":false}}
    command:end {"story_key":"2a-1","command":"sprint-create-tech-spec","task_id":"tech-spec","message":"Completed","status":"completed"}
    command:start {"story_key":"2a-1","command":"sprint-tech-spec-review","task_id":"tech-spec-review","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":true,"tech_spec":true}}
    command:end {"story_key":"2a-1","command":"sprint-tech-spec-review","task_id":"tech-spec-review","message":"Completed","status":"completed"}
    story:status {"story_key":"2a-1","old_status":"ready-for-dev","new_status":"in-progress"}
    command:start {"story_key":"2a-1","command":"sprint-dev-story","task_id":"dev-story","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":true,"tech_spec":true}}
    command:end {"story_key":"2a-1","command":"sprint-dev-story","task_id":"dev-story","message":"Completed","status":"completed"}
    story:status {"story_key":"2a-1","old_status":"in-progress","new_status":"review"}
    command:start {"story_key":"2a-1","command":"sprint-code-review","task_id":"code-review-1","message":"Review attempt 1","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":true,"tech_spec":true}}
    command:end {"story_key":"2a-1","command":"sprint-code-review","task_id":"code-review-1","message":"Completed","status":"completed"}
    command:start {"story_key":"2a-1","command":"sprint-code-review","task_id":"code-review-2","message":"Review attempt 2","attempt":2,"model":"haiku","background":false,"context":{"project_context":true,"discovery":true,"tech_spec":true}}
    command:end {"story_key":"2a-1","command":"sprint-code-review","task_id":"code-review-2","message":"Completed","status":"completed"}
    command:start {"story_key":"2a-1","command":"sprint-code-review","task_id":"code-review-3","message":"Review attempt 3","attempt":3,"model":"haiku","background":false,"context":{"project_context":true,"discovery":true,"tech_spec":true}}
    command:end {"story_key":"2a-1","command":"sprint-code-review","task_id":"code-review-3","message":"Completed","status":"completed"}
    story:status {"story_key":"2a-1","old_status":"review","new_status":"done"}
    story:status {"story_key":"2a-2","old_status":"ready-for-dev","new_status":"in-progress"}
    command:start {"story_key":"2a-2","command":"sprint-dev-story","task_id":"dev-story","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":true,"tech_spec":true}}
    command:end {"story_key":"2a-2","command":"sprint-dev-story","task_id":"dev-story","message":"Completed","status":"completed"}
    story:status {"story_key":"2a-2","old_status":"in-progress","new_status":"review"}
    command:start {"story_key":"2a-2","command":"sprint-code-review","task_id":"code-review-1","message":"Review attempt 1","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":true,"tech_spec":true}}
    command:end {"story_key":"2a-2","command":"sprint-code-review","task_id":"code-review-1","message":"Completed","status":"completed"}
    story:status {"story_key":"2a-2","old_status":"review","new_status":"done"}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-commit","task_id":"commit","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":false,"discovery":false,"tech_spec":false}}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-commit","task_id":"commit","message":"Completed","status":"completed"}
    commit:verified {"commit":"[COMMIT]","story_keys":["2a-1","2a-2"]}
    cleanup:file_moved {"source":"_bmad-output/implementation-artifacts/sprint-2a-1-discovery-story.md","destination":"_bmad-output/archived-artifacts/sprint-2a-1-discovery-story.md","file_name":"sprint-2a-1-discovery-story.md"}
    cleanup:file_moved {"source":"_bmad-output/implementation-artifacts/sprint-2a-1.md","destination":"_bmad-output/archived-artifacts/sprint-2a-1.md","file_name":"sprint-2a-1.md"}
    cleanup:file_moved {"source":"_bmad-output/implementation-artifacts/sprint-2a-2-discovery-story.md","destination":"_bmad-output/archived-artifacts/sprint-2a-2-discovery-story.md","file_name":"sprint-2a-2-discovery-story.md"}
    cleanup:file_moved {"source":"_bmad-output/implementation-artifacts/sprint-2a-2.md","destination":"_bmad-output/archived-artifacts/sprint-2a-2.md","file_name":"sprint-2a-2.md"}
    cleanup:file_moved {"source":"_bmad-output/implementation-artifacts/sprint-tech-spec-2a-1.md","destination":"_bmad-output/archived-artifacts/sprint-tech-spec-2a-1.md","file_name":"sprint-tech-spec-2a-1.md"}
    cleanup:complete {"files_moved":5,"story_keys":["2a-1","2a-2"],"message":"5 files are moved to the archive"}
    cycle:end {"cycle_number":1,"completed_stories":["2a-1","2a-2"]}
    batch:end {"batch_id":"[BATCH]","cycles_completed":1,"status":"all_done"}
    "#);
    insta::assert_snapshot!(back.join("\n"), @r#"
    command:start {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review-chain-2","message":"Started in the background","attempt":2,"model":"haiku","background":true,"context":{"project_context":true,"discovery":true,"tech_spec":false}}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review-chain-2","message":"Completed","status":"completed"}
    background:complete {"task_id":"[ACTION]","task_type":"story-review-chain-2","status":"completed"}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review-chain-3","message":"Started in the background","attempt":3,"model":"haiku","background":true,"context":{"project_context":true,"discovery":true,"tech_spec":false}}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review-chain-3","message":"Completed","status":"completed"}
    background:complete {"task_id":"[ACTION]","task_type":"story-review-chain-3","status":"completed"}
    "#);
}
