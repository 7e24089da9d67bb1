//! What is done on pages arrives in the project, and what is asked is answered.

use crate::stage::{BLOCKED, READY, Stage, VIOLATES};

#[test]
fn what_is_ready_is_merged_by_a_click() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.until("document.querySelector('[data-item] [data-key=m]')");
    page.click("[data-item] [data-key=m]");
    page.until(&format!(
        "![...document.querySelectorAll('[data-item]')].some((e) => e.textContent.includes('{READY}'))"
    ));
    assert_eq!(stage.task(READY)["status"], "done");
    page.close();
}

#[test]
fn a_story_gets_another_state_by_the_keyboard() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.goto("/sprint");
    page.until("document.querySelector('#link [data-word]').textContent === 'Live'");
    page.eval(&format!(
        "document.querySelector('[data-item=\"{BLOCKED}\"]').focus()"
    ));
    page.press("m");
    page.until("document.activeElement?.getAttribute('role') === 'menuitem'");
    page.screenshot("state");
    let state = page.text("document.activeElement.textContent.split(',')[0]");
    page.press("Enter");
    page.until(&format!(
        "document.querySelector('[data-item=\"{BLOCKED}\"]')?.closest('[data-state]').dataset.state === '{state}'"
    ));
    let board = stage.path("_bmad-output/implementation-artifacts/sprint-status.yaml");
    let board = std::fs::read_to_string(board).unwrap_or_default();
    assert!(board.contains(&format!("{BLOCKED}: {state}\n")), "{board}");
    page.close();
}

#[test]
fn a_setting_is_saved_and_comments_stay() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let file = stage.path("callsheet.toml");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    page.goto("/settings");
    page.until("document.querySelector('#link [data-word]').textContent === 'Live'");
    page.click("[name='sprint.default_max_cycles']");
    page.type_in("7");
    page.click("[data-settings] [type=submit]");
    page.until(
        "document.querySelector('[name=\"sprint.default_max_cycles\"]').dataset.was === '7'",
    );
    let after = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(after.contains("default_max_cycles = 7\n"), "{after}");
    let comments = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with('#'));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(comments(&before), comments(&after));
    page.close();
}

#[test]
fn a_click_on_a_prompt_tells_where_the_text_comes_from() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let run = stage.run_of(VIOLATES);
    page.goto(&format!(
        "/prompts/{}",
        run["prompt"].as_str().unwrap_or_default()
    ));
    page.until("document.querySelector('#link [data-word]').textContent === 'Live'");
    page.click("details.scene pre.lines code");
    page.until("/byte/i.test(document.querySelector('[data-whence] [data-into]').textContent) && !document.querySelector('[data-whence]').classList.contains('idle')");
    page.screenshot("whence");
    page.close();
}

#[test]
fn a_prompt_is_composed_while_its_input_is_typed() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.goto("/compose/run");
    page.until("document.querySelector('[data-tokens]') || document.querySelector('[data-part=result] pre')");
    page.eval("document.getElementById('input').select()");
    page.type_in("task: [");
    page.until("document.querySelector('[data-part=errors]').textContent.trim() !== ''");
    page.screenshot("compose-error");
    page.eval("document.getElementById('input').select()");
    page.type_in("task:\n  id: '1'\n  title: Typed by a person\n  write_scope: ['src/**']\n");
    page.until(
        "document.querySelector('[data-part=result]').textContent.includes('Typed by a person')",
    );
    page.until("document.querySelector('[data-part=errors]').textContent.trim() === ''");
    // Nothing of it is kept.
    let kept = stage.document(&["prompts"]).to_string();
    assert!(!kept.contains("Typed by a person"));
    page.close();
}
