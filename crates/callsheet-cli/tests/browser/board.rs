//! The board: a story gets another state by dragging its card, and by its menu.

use crate::page::Page;
use crate::stage::{BLOCKED, LIVE, Stage};

/// A condition that the card of the blocked story stands in a column.
fn stands_in(state: &str) -> String {
    format!(
        "document.querySelector('[data-item=\"{BLOCKED}\"]')?.closest('[data-state]').dataset.state === '{state}'"
    )
}

/// Checks what the file of the board says.
#[track_caller]
fn assert_board(stage: &Stage, state: &str) {
    let board = stage.path("_bmad-output/implementation-artifacts/sprint-status.yaml");
    let board = std::fs::read_to_string(board).unwrap_or_default();
    assert!(board.contains(&format!("{BLOCKED}: {state}\n")), "{board}");
}

#[track_caller]
fn open(stage: &Stage) -> Option<Page> {
    let mut page = stage.page()?;
    page.goto("/sprint");
    page.until(LIVE);
    Some(page)
}

#[test]
fn a_story_gets_another_state_by_the_keyboard() {
    let stage = Stage::set();
    let Some(mut page) = open(&stage) else { return };
    page.eval(&format!(
        "document.querySelector('[data-item=\"{BLOCKED}\"]').focus()"
    ));
    page.press("m");
    page.until("document.activeElement?.getAttribute('role') === 'menuitem'");
    page.screenshot("state");
    let state = page.text("document.activeElement.textContent.split(',')[0]");
    page.press("Enter");
    page.until(&stands_in(&state));
    assert_board(&stage, &state);
    page.close();
}

#[test]
fn a_story_gets_another_state_by_dragging_and_gets_it_back() {
    let stage = Stage::set();
    let Some(mut page) = open(&stage) else { return };
    let card = format!("[data-item=\"{BLOCKED}\"]");
    page.drag(&card, "[data-state=ready-for-dev]");
    page.until(&stands_in("ready-for-dev"));
    assert_board(&stage, "ready-for-dev");
    page.screenshot("dragged");
    page.press("u");
    page.until(&stands_in("blocked"));
    assert_board(&stage, "blocked");
    page.close();
}

#[test]
fn the_phase_at_which_a_story_was_blocked_is_marked() {
    let stage = Stage::set();
    let Some(mut page) = open(&stage) else { return };
    let marked = page.eval(&format!(
        "(() => {{
            const row = document.querySelector('.oneline tbody a[href$=\"{BLOCKED}\"]').closest('tr');
            const cells = [...row.querySelectorAll('.ph')];
            const last = cells.filter((cell) => cell.querySelector('time')).at(-1);
            return [last.className.split(' ')[2], last.querySelector('p').innerText,
                row.querySelector('.p0 a').innerText.includes('blocked'), row.querySelector('.p0 .chip').innerText.trim()];
        }})()"
    ));
    assert_eq!(
        marked,
        serde_json::json!(["failed", "attempt 1 · blocked", false, "blocked"])
    );
    page.goto(&format!("/stories/{BLOCKED}"));
    let last = page.text("[...document.querySelectorAll('.try .t-what')].at(-1).innerText");
    assert_eq!(last, "dev story, attempt 1 blocked");
    page.close();
}
