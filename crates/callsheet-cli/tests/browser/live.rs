//! Pages stay as things are: without a reload, through lost connections and a server that is started anew.

use crate::stage::{READY, Stage};

/// An event that stands on the page of attention, because it adds a run that is queued.
fn queue(stage: &Stage, title: &str) {
    let args = [
        "run", "--title", title, "--write", "tests/**", "--runner", "borrowed", "--queue",
    ];
    assert_eq!(stage.callsheet(&args).code(), Some(0));
}

const LIVE: &str = "document.querySelector('#link [data-word]').textContent === 'Live'";

/// A condition that the page has a text, and is still the one that was loaded.
fn shows(text: &str) -> String {
    format!("globalThis.isHere && document.querySelector('main').innerText.includes('{text}')")
}

#[test]
fn what_another_process_stores_appears_without_a_reload() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.until(LIVE);
    page.eval("globalThis.isHere = true; document.addEventListener('callsheet:event', (e) => { globalThis.heard = e.detail; })");
    let event = r#"{"epic_id": "1", "story_id": "1-1", "command": "sprint-dev-story", "task_id": "tests", "status": "start", "message": "live"}"#;
    assert_eq!(stage.callsheet(&["log-event", event]).code(), Some(0));
    page.until("globalThis.isHere && globalThis.heard");
    queue(&stage, "Somebody else has queued this");
    page.until(&shows("Somebody else has queued this"));
    let task = stage.task(READY);
    let merged = stage.callsheet(&["merge", task["id"].as_str().unwrap_or_default()]);
    assert_eq!(merged.code(), Some(0));
    page.until(&format!("globalThis.isHere && ![...document.querySelectorAll('[data-item]')].some((e) => e.innerText.includes('{READY}'))"));
    page.close();
}

#[test]
fn a_connection_that_was_lost_loses_nothing() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.until(LIVE);
    page.eval("globalThis.isHere = true");
    page.offline(true);
    // An emulated cut leaves open lines alone. A page that sleeps and wakes up lets go of its line and takes another one.
    page.eval(
        "dispatchEvent(new PageTransitionEvent('pagehide'));
        dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))",
    );
    page.until("!document.getElementById('stale').hidden");
    queue(&stage, "Queued while nobody could see it");
    page.offline(false);
    page.click("#stale [data-try]");
    page.until(&shows("Queued while nobody could see it"));
    page.until("document.getElementById('stale').hidden");
    page.forgive("ERR_INTERNET_DISCONNECTED");
    page.close();
}

#[test]
fn a_reload_shows_the_same() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    queue(&stage, "Queued before the reload");
    page.eval("globalThis.isHere = true");
    page.until(&shows("Queued before the reload"));
    page.reload();
    page.eval("globalThis.isHere = true");
    page.until(&shows("Queued before the reload"));
    page.until(LIVE);
    page.close();
}

#[test]
fn a_server_that_is_started_anew_asks_for_its_own_token() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.until(LIVE);
    let stage = stage.again();
    page.until("document.getElementById('stale').innerText.includes('Open the address')");
    page.goto(&format!("/?token={}", stage.token));
    page.until(LIVE);
    page.forgive("ERR_");
    page.forgive("status of 401");
    page.close();
}
