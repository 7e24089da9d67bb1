//! Much at once: a run with a hundred thousand events, and a prompt of megabytes. The page holds what is near the window.

use std::fmt::Write as _;

use crate::page::Page;
use crate::stage::{LIVE, Stage};

/// How many steps the long run has; each is an event.
const STEPS: usize = 100_000;

/// The most elements that a page may have, however much there is to show.
const MOST: u64 = 8_000;

#[track_caller]
fn assert_small(page: &mut Page) {
    let count = page.eval("document.querySelectorAll('*').length");
    assert!(count.as_u64() < Some(MOST), "{count} elements");
}

/// What stands at the top of something that scrolls: the first of some elements that reaches into it.
fn first_in(scroller: &str, elements: &str, what: &str) -> String {
    format!(
        "(() => {{
            const top = document.querySelector('{scroller}').getBoundingClientRect().top;
            const all = [...document.querySelectorAll('{scroller} {elements}')];
            const found = all.find((one) => one.getBoundingClientRect().bottom > top + 4);
            return found.{what};
        }})()"
    )
}

/// Whether everything that is asked for near the window has come, and nothing will move any more.
fn all_came(scroller: &str) -> String {
    format!(
        "(() => {{
            const box = document.querySelector('{scroller}').getBoundingClientRect();
            return [...document.querySelectorAll('{scroller} .chunk[data-lines]')].every((chunk) => {{
                const at = chunk.getBoundingClientRect();
                return at.bottom < box.top - 1200 || at.top > box.bottom + 1200;
            }});
        }})()"
    )
}

#[test]
fn a_run_with_a_hundred_thousand_events_stays_small() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let mut script = String::new();
    for nth in 1..=STEPS {
        let _ = write!(script, "[[steps]]\nsay = \"line {nth}\"\n");
    }
    stage.runner("long", &script);
    let args = [
        "run", "--title", "Talk", "--write", "tests/**", "--runner", "long",
    ];
    let run = stage.document(&args);
    page.goto(&format!("/runs/{}", run["id"].as_str().unwrap_or_default()));
    page.until(LIVE);
    let shown = page.text("document.querySelector('[data-total]').textContent");
    let shown: usize = shown.replace(',', "").parse().unwrap_or_default();
    assert!(shown > STEPS, "{shown}");
    assert_small(&mut page);

    let sees = |text: &str| {
        format!(
            "[...document.querySelectorAll('[data-stream] .ev')].some((e) => {{
                const box = document.querySelector('[data-stream]').getBoundingClientRect();
                const at = e.getBoundingClientRect();
                return e.innerText.includes('{text}') && at.top >= box.top - 1 && at.bottom <= box.bottom + 1;
            }})"
        )
    };
    page.eval("document.querySelector('[data-stream]').focus()");
    page.press("End");
    page.until(&sees(&format!("line {STEPS}")));
    assert_small(&mut page);

    // Through the whole of it in steps: what was left behind is let go.
    for nth in 0..=20 {
        page.eval(&format!(
            "(() => {{ const box = document.querySelector('[data-stream]'); box.scrollTop = box.scrollHeight * {nth} / 21; }})()"
        ));
        page.until(&first_in("[data-stream]", ".ev", "checkVisibility()"));
    }
    assert_small(&mut page);

    page.eval("(() => { const box = document.querySelector('[data-stream]'); box.scrollTop = box.scrollHeight / 2; })()");
    page.until(&all_came("[data-stream]"));
    let place = settled(&mut page, &first_in("[data-stream]", ".ev", "id"));
    page.reload();
    page.until(&format!(
        "{} === '{place}'",
        first_in("[data-stream]", ".ev", "id")
    ));
    assert_small(&mut page);
    page.close();
}

/// Waits until a text is the same twice, a while apart.
#[track_caller]
fn settled(page: &mut Page, text: &str) -> String {
    let mut before = String::new();
    loop {
        page.eval("new Promise((resolve) => setTimeout(resolve, 300))");
        let now = page.text(text);
        if now == before {
            return now;
        }
        before = now;
    }
}

/// Seals a prompt of 13 files with 200 kB each, and opens its page.
#[track_caller]
fn open_prompt(stage: &Stage) -> Option<Page> {
    let mut page = stage.page()?;
    let folder = stage.path("big");
    assert!(std::fs::create_dir(&folder).is_ok());
    for file in 1..=13 {
        let mut text = String::new();
        for line in 1..=2500 {
            let _ = writeln!(
                text,
                "file {file:02} line {line:04}: the quick brown fox jumps over the lazy dog again and again"
            );
        }
        assert!(std::fs::write(folder.join(format!("{file:02}.txt")), text).is_ok());
    }
    let sealed = stage.document(&["pack", "big", "--seal"]);
    let bytes = &sealed["bytes"];
    assert!(bytes.as_u64() > Some(2_500_000), "{bytes}");
    let id = sealed["id"].as_str().unwrap_or_default();
    page.goto(&format!("/prompts/{id}"));
    page.until(LIVE);
    assert_small(&mut page);
    Some(page)
}

#[test]
fn a_jump_in_a_prompt_of_megabytes_stays_where_it_leads() {
    let stage = Stage::set();
    let Some(mut page) = open_prompt(&stage) else {
        return;
    };
    page.picture(&shot("prompt-large"));
    for (width, height) in [(1440, 900), (768, 1024), (360, 780)] {
        page.size(width, height);
        for file in ["09", "13", "02", "12"] {
            page.eval(&format!(
                "[...document.querySelectorAll('.sections a')].find((a) => a.innerText === '{file}.txt').click()"
            ));
            let below = format!(
                "(() => {{
                    const lines = [...document.querySelectorAll('[data-script] .l')];
                    const at = lines.find((line) => line.innerText.includes('file {file} line 0001'));
                    return at ? Math.round(at.closest('details').getBoundingClientRect().top - document.querySelector('.script-bar').getBoundingClientRect().bottom) : -1000;
                }})()"
            );
            page.until(&format!("{below} > -1"));
            let below: i64 = settled(&mut page, &format!("String({below})"))
                .parse()
                .unwrap_or(-1);
            assert!(
                (0..80).contains(&below),
                "{file} stands {below} px below the bar, {width} px wide"
            );
            assert_small(&mut page);
        }
        page.picture(&shot(&format!("prompt-large-jumped-{width}")));
    }
    page.close();
}

#[test]
fn a_place_in_a_prompt_of_megabytes_is_kept() {
    let stage = Stage::set();
    let Some(mut page) = open_prompt(&stage) else {
        return;
    };
    page.eval("[...document.querySelectorAll('.sections a')].find((a) => a.innerText === '12.txt').click()");
    let lines = "[...document.querySelectorAll('[data-script] .l')]";
    let third = format!("{lines}.find((line) => line.innerText.includes('file 12 line 0003'))");
    page.until(&format!("{third}?.checkVisibility()"));
    settled(
        &mut page,
        &format!("String({third}.getBoundingClientRect().top)"),
    );
    page.eval(&format!("{third}.id = 'mine'"));
    page.click("#mine");
    page.until(
        "document.querySelector('[data-whence] .chain')?.innerText.includes('big/12.txt:3')",
    );
    let first = first_in("[data-script]", ".l", "dataset.n");
    let place = settled(&mut page, &first);
    page.reload();
    page.until(&format!("{first} === '{place}'"));
    page.until(
        "document.querySelector('[data-script] .l.on')?.innerText.includes('file 12 line 0003')",
    );
    assert_small(&mut page);

    page.click("a[href$='view=bytes']");
    page.until("document.querySelector('.hex .l')");
    page.eval("(() => { const pane = document.querySelector('[data-script]'); pane.scrollTop = pane.scrollHeight; })()");
    page.until(&first_in("[data-script]", ".l", "checkVisibility()"));
    assert_small(&mut page);
    page.close();
}

fn shot(name: &str) -> String {
    let folder = crate::page::screenshots();
    folder.join(format!("{name}.png")).display().to_string()
}
