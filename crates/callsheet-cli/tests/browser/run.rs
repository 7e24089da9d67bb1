//! A run: what its buttons do, and what unfolds.

use serde_json::Value;

use crate::page::Page;
use crate::stage::{LIVE, Stage, VIOLATES};

/// The title of the task whose check failed.
const FAILED: &str = "Drop what is finished";

/// Opens the page of a run, once it listens.
#[track_caller]
fn open(page: &mut Page, run: &Value) -> String {
    let id = run["id"].as_str().unwrap_or_default().to_owned();
    page.goto(&format!("/runs/{id}"));
    page.until(LIVE);
    id
}

/// Waits until the page is that of another run, and returns its id.
#[track_caller]
fn moved_on(page: &mut Page, id: &str) -> String {
    page.until(&format!(
        "location.pathname.startsWith('/runs/') && !location.pathname.endsWith('{id}') && document.readyState === 'complete'"
    ));
    page.text("location.pathname.split('/').at(-1)")
}

/// Says yes to the question that is asked.
#[track_caller]
fn say_yes(page: &mut Page) {
    page.click("dialog.ask .btn.bad");
}

#[test]
fn a_run_is_stopped() {
    let stage = Stage::set();
    let script = "[[steps]]\nsay = \"I begin\"\n\n[[steps]]\nhang = true\n";
    stage.runner("slow", script);
    // A worker knows the runners that there were when it began.
    let stage = stage.again();
    let Some(mut page) = stage.page() else { return };
    let args = [
        "run", "--title", "Wait", "--write", "tests/**", "--runner", "slow", "--queue",
    ];
    let id = open(&mut page, &stage.document(&args));
    page.until("document.querySelector('[data-stream]').innerText.includes('I begin')");
    page.click("[data-key=s]");
    page.screenshot("run-stop");
    say_yes(&mut page);
    page.until(
        "document.querySelector('.head-figure').innerText.toLowerCase().includes('cancelled')",
    );
    page.until("!document.querySelector('[data-key=s]')");
    assert_eq!(stage.document(&["show", &id])["status"], "cancelled");
    page.close();
}

#[test]
fn a_run_is_tried_again_and_gone_on_with() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let first = stage.run_of(FAILED);
    let id = open(&mut page, &first);
    page.click("[data-again]");
    let second = moved_on(&mut page, &id);
    let run = stage.document(&["show", &second]);
    assert_eq!(
        (&run["kind"], &run["parent"]),
        (&"retry".into(), &first["id"])
    );

    page.until("document.querySelector('[data-more]:not([disabled])')");
    page.click("[data-more]");
    page.until("document.activeElement?.id === 'more-text'");
    page.type_in("Take the lines away that begin with x.");
    page.screenshot("run-continue");
    page.click("#more [type=submit]");
    let third = moved_on(&mut page, &second);
    let run = stage.document(&["show", &third]);
    assert_eq!(
        (&run["kind"], &run["parent"]),
        (&"continue".into(), &second.as_str().into())
    );
    let prompt = run["prompt"].as_str().unwrap_or_default();
    let told = format!("fetch('/prompts/{prompt}/exact').then((a) => a.text())");
    let told = page.text(&told);
    assert!(
        told.contains("Take the lines away that begin with x."),
        "{told}"
    );
    page.until("document.querySelectorAll('.takes a[href^=\"/runs/\"]').length === 3");
    page.close();
}

#[test]
fn changes_out_of_scope_are_decided_once() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    open(&mut page, &stage.run_of(VIOLATES));
    page.click(".files.bad li:nth-child(1) .decide [data-url$='/approve']");
    page.until("document.querySelector('.files.bad li:nth-child(1) .chip')?.innerText.includes('approved')");
    page.click(".files.bad li:nth-child(2) summary");
    page.click(".files.bad li:nth-child(2) .decide [data-url$='/reject']");
    page.screenshot("run-reject");
    say_yes(&mut page);
    page.until("document.querySelector('.files.bad li:nth-child(2) .chip')?.innerText.includes('rejected')");
    // What was decided cannot be decided again, so nothing offers it.
    page.until("!document.querySelector('.decide button, .grp button')");
    assert_eq!(
        page.eval("document.querySelector('.toast button')"),
        Value::Null
    );
    let run = stage.run_of(VIOLATES);
    let decided = run["violations"].as_array().into_iter().flatten();
    let decided: Vec<&Value> = decided.map(|one| &one["approval"]).collect();
    assert_eq!(decided, ["approved", "rejected"]);
    page.close();
}

#[test]
fn all_changes_out_of_scope_are_rejected_by_a_key() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    open(&mut page, &stage.run_of(VIOLATES));
    page.press("r");
    page.until("document.querySelector('dialog.ask')?.innerText.includes('Reject 2 files?')");
    // Whoever presses Enter without reading has done nothing.
    page.press("Enter");
    page.until("!document.querySelector('dialog')");
    page.press("r");
    say_yes(&mut page);
    page.until("[...document.querySelectorAll('.files.bad .chip')].filter((e) => e.innerText.includes('rejected')).length === 2");
    page.close();
}

#[test]
fn a_call_unfolds_with_what_it_got_and_answered() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    open(&mut page, &stage.run_of(VIOLATES));
    assert_eq!(
        page.eval("document.querySelector('.tool .body')"),
        Value::Null
    );
    page.click(".tool[data-body] > summary");
    page.until("document.querySelector('.tool[open] .body .out')?.innerText.includes('finish')");
    page.screenshot("run-unfolded");
    // Closed and opened again it is still there, and asked for once.
    page.click(".tool[data-body] > summary");
    page.until("!document.querySelector('.tool[open]')");
    page.press("e");
    page.until("[...document.querySelectorAll('.tool[data-body]')].every((e) => e.open && e.querySelectorAll('.body').length === 1)");
    page.close();
}
