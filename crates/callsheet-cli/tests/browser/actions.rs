//! What is done on pages arrives in the project, and what is asked is answered.

use serde_json::Value;

use crate::stage::{LIVE, READY, Stage, VIOLATES};

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
fn a_setting_is_saved_and_comments_stay() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let file = stage.path("callsheet.toml");
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    page.goto("/settings");
    page.until(LIVE);
    // Saving is in reach before anything is scrolled.
    let bottom =
        "document.querySelector('[data-settings] [type=submit]').getBoundingClientRect().bottom";
    assert_eq!(
        page.eval(&format!("scrollY === 0 && {bottom} <= innerHeight")),
        true
    );
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
    page.until(LIVE);
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

#[test]
fn a_prompt_is_sealed_where_it_was_composed() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.goto("/compose/run");
    page.until("document.querySelector('[data-seal]:not([disabled])')");
    page.eval("document.getElementById('input').select()");
    page.type_in("task: [");
    page.until("document.querySelector('[data-seal]').disabled");
    assert_eq!(
        page.text("document.querySelector('[data-seal]').title"),
        "The input has an error"
    );
    page.eval("document.getElementById('input').select()");
    page.type_in("task:\n  id: '1'\n  title: Typed by a person\n  write_scope: ['src/**']\n");
    page.until("!document.querySelector('[data-seal]').disabled");
    page.press("Control+Enter");
    page.until("location.pathname.startsWith('/prompts/') && document.readyState === 'complete'");
    let id = page.text("location.pathname.split('/').at(-1)");
    let told = page.text(&format!(
        "fetch('/prompts/{id}/exact').then((a) => a.text())"
    ));
    assert!(told.contains("Typed by a person"), "{told}");
    let kept = stage.document(&["prompts"]);
    assert_eq!(kept["prompts"][0]["id"], id);
    page.close();
}

#[test]
fn what_was_decided_is_told_by_path_and_title() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.until(LIVE);
    let path = page.text("document.querySelector('.file bdi').innerText");
    page.click(".file [data-url$='/approve']");
    let row = "document.querySelector('[data-live=decided] li').innerText.replace(/\\s+/g, ' ')";
    page.until(&format!("{row}.includes('approved')"));
    let told = page.text(row);
    let told = told.split_once(' ').map(|(_, rest)| rest.to_owned());
    assert_eq!(told, Some(format!("approved {path} {VIOLATES}")));
    page.close();
}

#[test]
fn a_retry_is_undone() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    page.until(LIVE);
    let before = stage.document(&["runs", "-n", "100"])["runs"]
        .as_array()
        .map(Vec::len);
    // Its account is parked, so that nobody takes the new run before it is taken back.
    let item = "[data-name='Print dates with the tasks']";
    page.click(&format!("{item} [data-key=t]"));
    page.until(&format!(
        "document.querySelector('.toast button') && !document.querySelector(\"{item}\")"
    ));
    page.press("u");
    page.eval(
        "(async () => {
            for (;;) {
                const newest = await (await fetch('/api/runs?limit=1')).json();
                if (newest.data[0].status === 'cancelled') return;
            }
        })()",
    );
    let runs = stage.document(&["runs", "-n", "100"])["runs"].clone();
    assert_eq!(runs.as_array().map(Vec::len), before.map(|count| count + 1));
    assert_eq!(
        (&runs[0]["kind"], &runs[0]["status"]),
        (&"retry".into(), &"cancelled".into())
    );
    page.close();
}

#[test]
fn an_account_that_waits_has_one_word_everywhere() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let word = page.text("[...document.querySelectorAll('.call')].find((e) => e.innerText.includes('account borrowed')).querySelector('.kind').innerText.trim()");
    assert_eq!(word, "Parked");
    assert_eq!(
        page.text("document.querySelector('.accts .chip').innerText.trim()"),
        "parked"
    );
    page.goto("/limits");
    assert_eq!(
        page.text("document.querySelector('.accts .warn-c').innerText.trim()"),
        "parked"
    );
    page.close();
}

#[test]
fn browsers_find_the_icon() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    for path in ["/favicon.ico", "/assets/mark.svg"] {
        let found = page.eval(&format!(
            "fetch('{path}').then((a) => [a.status, a.headers.get('content-type')])"
        ));
        assert_eq!(
            found,
            Value::from(vec![Value::from(200), "image/svg+xml".into()]),
            "{path}"
        );
    }
    page.close();
}
