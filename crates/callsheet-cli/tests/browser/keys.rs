//! Everything by the keyboard.

use crate::page::Page;
use crate::stage::{LIVE, Stage, VIOLATES};

#[test]
fn places_are_two_keys_away() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let places = [
        ("s", "/sprint"),
        ("r", "/runs"),
        ("p", "/prompts"),
        ("c", "/compose/layers"),
        ("h", "/history"),
        ("l", "/limits"),
        ("a", "/"),
    ];
    for (key, path) in places {
        ready(&mut page);
        // A page may put the focus into a field.
        page.press("Escape");
        page.press("g");
        page.press(key);
        page.until(&format!(
            "location.pathname === '{path}' && document.readyState === 'complete'"
        ));
    }
    page.close();
}

#[test]
fn the_keys_are_shown_and_closed() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    ready(&mut page);
    page.press("?");
    page.until("document.querySelector('dialog[open]')?.textContent.includes('Everywhere')");
    page.screenshot("keys");
    page.press("Escape");
    page.until("!document.querySelector('dialog')");
    page.close();
}

#[test]
fn the_palette_finds_stories_and_pages() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    ready(&mut page);
    page.press("Control+k");
    page.until("document.activeElement?.getAttribute('role') === 'combobox'");
    page.type_in("2-2-share");
    page.until("[...document.querySelectorAll('dialog [role=option]')].some((e) => e.innerText.includes('2-2'))");
    page.screenshot("palette");
    page.eval("document.activeElement.value = ''");
    page.type_in("hist");
    page.until("document.querySelector('dialog [role=option][aria-selected=true]')?.innerText.includes('History')");
    page.press("Enter");
    page.until("location.pathname === '/history'");
    page.close();
}

#[test]
fn lists_are_walked_and_opened() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    ready(&mut page);
    let at =
        "[...document.querySelectorAll('[data-list] [data-item]')].indexOf(document.activeElement)";
    for (key, expected) in [("j", 0), ("j", 1), ("ArrowDown", 2), ("k", 1)] {
        page.press(key);
        page.until(&format!("{at} === {expected}"));
    }
    let href = page.text("document.activeElement.querySelector('a[href]').pathname");
    page.press("Enter");
    page.until(&format!("location.pathname === '{href}'"));
    page.close();
}

#[test]
fn a_violation_is_approved_with_one_key() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    ready(&mut page);
    let item = format!(
        "[...document.querySelectorAll('[data-item]')].find((e) => e.innerText.includes('{VIOLATES}'))"
    );
    page.until(&format!("{item}?.querySelector('[data-key=a]')"));
    page.eval(&format!("{item}.focus()"));
    page.press("a");
    page.until(&format!(
        "!{item}?.innerText.includes('acceptance/finish.sh')"
    ));
    let violations = stage.run_of(VIOLATES)["violations"].clone();
    let decided = violations.as_array().into_iter().flatten();
    let decided: Vec<_> = decided.map(|one| &one["approval"]).collect();
    assert_eq!(decided, ["approved", "approved"]);
    page.close();
}

#[test]
fn the_skip_link_is_the_first_stop() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    ready(&mut page);
    page.press("Tab");
    page.until("document.activeElement?.matches('.skip')");
    page.press("Enter");
    page.until("document.activeElement?.id === 'main'");
    page.close();
}

/// Waits until the page listens to keys.
#[track_caller]
fn ready(page: &mut Page) {
    page.until(LIVE);
}
