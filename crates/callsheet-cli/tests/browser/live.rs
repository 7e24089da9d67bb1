//! Pages stay as things are: without a reload, through lost connections and a server that is started anew.

use crate::stage::{LIVE, READY, Stage};

/// An event that stands on the page of attention, because it adds a run that is queued.
fn queue(stage: &Stage, title: &str) {
    let args = [
        "run", "--title", title, "--write", "tests/**", "--runner", "borrowed", "--queue",
    ];
    assert_eq!(stage.callsheet(&args).code(), Some(0));
}

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

/// How long it may take from the store to the page, in milliseconds.
const SOON: u64 = 500;

/// The time is taken in the page, by the clock of this machine, which is that of the store, too. What else the machine does now makes
/// one try slow, and not all of them.
#[test]
fn what_is_stored_stands_on_the_page_within_half_a_second() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.until(LIVE);
    let mut took = Vec::new();
    for nth in 1..=5 {
        let title = format!("Timed {nth}");
        page.eval(&format!(
            "globalThis.stored = globalThis.seen = 0;
            document.addEventListener('callsheet:event', (e) => {{
                if (e.detail.type === 'run:queued') globalThis.stored ||= e.detail.timestamp;
            }});
            new MutationObserver((_, watch) => {{
                if (!document.querySelector('main').innerText.includes('{title}')) return;
                globalThis.seen = Date.now();
                watch.disconnect();
            }}).observe(document.querySelector('main'), {{ childList: true, subtree: true, characterData: true }});"
        ));
        queue(&stage, &title);
        page.until("globalThis.stored && globalThis.seen");
        took.extend(page.eval("globalThis.seen - globalThis.stored").as_u64());
        if took.last() <= Some(&SOON) {
            break;
        }
    }
    assert!(took.iter().any(|millis| *millis <= SOON), "{took:?} ms");
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
