//! The pair of the source document: two new stories, a critical story review, one tech spec, three code reviews of one story.

use super::*;

fn world() -> World {
    let decisions = Heard {
        tech_spec: [("2a-1".to_owned(), true), ("2a-2".to_owned(), false)].into(),
        ..Heard::default()
    };
    World::new(&[("2a-1", Status::Backlog), ("2a-2", Status::Backlog)])
        .agent(Phase::CreateStory, vec![said(decisions)])
        .agent(
            Phase::StoryReview,
            vec![
                severity(Severity::Critical, "a"),
                severity(Severity::Critical, "a"),
                severity(Severity::Low, "b"),
            ],
        )
        .agent(
            Phase::CodeReview,
            vec![
                severity(Severity::High, "c"),
                severity(Severity::Medium, "d"),
                severity(Severity::Zero, ""),
            ],
        )
}

#[test]
fn a_pair_gets_the_agents_that_the_document_implies() {
    let mut world = world();
    let batch = world.run();
    insta::assert_snapshot!(world.trace, @"
    1 check context
    2 freeze context
    3 select
    4 sprint-create-story [2a-1,2a-2] 1
    5 sprint-create-story-discovery [2a-1,2a-2] 1
    6 sprint-story-review [2a-1,2a-2] 1
    7 sprint-story-review [2a-1,2a-2] 2 review-model background
    8 set 2a-1 backlog -> ready-for-dev
    9 set 2a-2 backlog -> ready-for-dev
    10 sprint-create-tech-spec [2a-1] 1
    11 sprint-tech-spec-review [2a-1] 1
    12 set 2a-1 ready-for-dev -> in-progress
    13 sprint-dev-story [2a-1] 1
    14 set 2a-1 in-progress -> review
    15 sprint-code-review [2a-1] 1
    16 sprint-code-review [2a-1] 2 review-model
    17 sprint-code-review [2a-1] 3 review-model
    18 set 2a-1 review -> done
    19 set 2a-2 ready-for-dev -> in-progress
    20 sprint-dev-story [2a-2] 1
    21 set 2a-2 in-progress -> review
    22 sprint-code-review [2a-2] 1
    23 set 2a-2 review -> done
    24 baseline
    25 sprint-commit [2a-1,2a-2] 1
    26 verify commit [2a-1,2a-2]
    27 archive [2a-1,2a-2]
    28 select
    29 sprint-story-review [2a-1,2a-2] 3 review-model background
    ");
    assert_eq!(world.statuses(), "2a-1 done, 2a-2 done");
    assert_eq!(batch.status(), Some(BatchStatus::AllDone));
    assert!(batch.is_fine());
}

#[test]
fn a_pair_gives_the_events_that_the_document_implies() {
    let mut world = world();
    world.run();
    let mut lines = String::new();
    for event in &world.events {
        let payload = serde_json::to_string(&event.payload).unwrap();
        let _ = writeln!(lines, "{} {payload}", event.kind);
    }
    insta::assert_snapshot!(lines, @r#"
    batch:start {"batch_id":"b1","max_cycles":2,"batch_mode":"fixed"}
    context:fresh {"message":"The context of the project is fresh"}
    context:copied {"source":"project-context.md","destination":"sprint-project-context.md","message":"The context of the project is copied for this sprint"}
    cycle:start {"cycle_number":1,"story_keys":["2a-1","2a-2"]}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-create-story","task_id":"create-story","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":false,"tech_spec":false}}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-create-story-discovery","task_id":"discovery","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":false,"tech_spec":false}}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-create-story","task_id":"create-story","message":"Completed","status":"completed"}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-create-story-discovery","task_id":"discovery","message":"Completed","status":"completed"}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review","message":"Started","attempt":1,"model":null,"background":false,"context":{"project_context":true,"discovery":true,"tech_spec":false}}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review","message":"Completed","status":"completed"}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review-chain-2","message":"Started in the background","attempt":2,"model":"haiku","background":true,"context":{"project_context":true,"discovery":true,"tech_spec":false}}
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
    commit:verified {"commit":"c1","story_keys":["2a-1","2a-2"]}
    cleanup:file_moved {"source":"2a-1","destination":"2a-1","file_name":"2a-1"}
    cleanup:file_moved {"source":"2a-2","destination":"2a-2","file_name":"2a-2"}
    cleanup:complete {"files_moved":2,"story_keys":["2a-1","2a-2"],"message":"2 files are moved to the archive"}
    cycle:end {"cycle_number":1,"completed_stories":["2a-1","2a-2"]}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review-chain-2","message":"Completed","status":"completed"}
    background:complete {"task_id":7,"task_type":"story-review-chain-2","status":"completed"}
    command:start {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review-chain-3","message":"Started in the background","attempt":3,"model":"haiku","background":true,"context":{"project_context":true,"discovery":true,"tech_spec":false}}
    command:end {"story_key":"2a-1,2a-2","command":"sprint-story-review","task_id":"story-review-chain-3","message":"Completed","status":"completed"}
    background:complete {"task_id":29,"task_type":"story-review-chain-3","status":"completed"}
    batch:end {"batch_id":"b1","cycles_completed":1,"status":"all_done"}
    "#);
}
