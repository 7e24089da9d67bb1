//! Getting in: by the address that is printed, with a token to read only, and not at all.

use crate::page::Page;
use crate::stage::Stage;

#[test]
fn the_token_does_not_stay_in_the_address() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    assert_eq!(page.text("location.pathname + location.search"), "/");
    // Neither can the page read it.
    assert_eq!(page.text("document.cookie"), "");
    page.goto("/sprint");
    page.until("document.querySelector('h1').textContent.startsWith('Sprint')");
    page.close();
}

#[test]
fn a_page_without_a_token_says_how_to_get_in() {
    let stage = Stage::set();
    let Some(mut page) = Page::open(&stage.origin) else {
        return;
    };
    for path in ["/", "/sprint", "/settings", "/nowhere", "/?token=wrong"] {
        page.goto(path);
        page.until("document.querySelector('h1')?.textContent === 'Not signed in'");
        let text = page.text("document.body.innerText");
        assert!(text.contains("callsheet serve"), "{text}");
        assert!(!text.contains("todo"), "{text}");
    }
    page.forgive("status of 401");
    page.close();
}

#[test]
fn a_token_to_read_shows_no_actions() {
    let stage = Stage::set();
    let Some(mut page) = Page::open(&stage.origin) else {
        return;
    };
    page.goto(&format!("/?token={}", stage.read_token));
    for (_, path) in stage.pages() {
        page.goto(&path);
        page.until("document.body.hasAttribute('data-read-only')");
        // What composes a preview keeps nothing.
        let acts = page.text(
            "[...document.querySelectorAll('[data-url], main [data-do], [data-settings], [data-seal], [data-again], [data-more]')]
                .filter((e) => e.checkVisibility() && e.matches('button, form') && !e.disabled)
                .map((e) => e.outerHTML.slice(0, 160)).join('\\n')",
        );
        assert!(path == "/settings" || acts.is_empty(), "{path}: {acts}");
    }
    // Whoever asks all the same is refused.
    let status = page.eval(
        "fetch('/api/orchestrator/start', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}).then((a) => a.status)",
    );
    assert_eq!(status, 403);
    page.forgive("status of 403");
    page.close();
}
