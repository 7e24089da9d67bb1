//! Every CLI, started as the specification of its flags says, hands its model the bytes that it got, and does what the model says.

#![expect(
    clippy::unwrap_used,
    reason = "a file that cannot be used fails the test"
)]

use std::fs;

use crate::cli::Cli;
use crate::desk::Desk;
use crate::model::{Edit, ModelServer, Scenario, WORDS};

/// Returns a text of at least so many bytes, in which every line differs and the usual traps are.
fn long_text(about: &str, bytes: usize) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() > bytes {
            break;
        }
        text.push_str(&format!(
            "{number}: {about}\t\"quoted\" \\n 'single' ${{HOME}} $(id) {{{{x}}}} <tag attr=\"1\"> & größer 世界 🚀\r\n"
        ));
    }
    text.push_str("\n  the end, with spaces and newlines after it  \n\n");
    text
}

fn prompt() -> String {
    long_text("a line of the prompt", 150_000)
}

fn system() -> String {
    long_text("a line of the system text", 140_000)
}

fn delivers(cli: Cli) {
    let Some(program) = cli.program() else {
        return;
    };
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let (prompt, system) = (prompt(), system());
    let ended = Desk::new(&prompt, &system).run(cli, &program, &model);
    assert!(ended.status.success(), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains(WORDS[1]), "{}", ended.stdout);
    let texts = model.texts();
    assert!(
        texts.contains(&prompt),
        "the prompt did not arrive as it was"
    );
    // Gemini CLI trims what it adds to its system prompt.
    let system = match cli {
        Cli::Gemini => system.trim(),
        _ => &system,
    };
    let whole = texts.iter().any(|text| text.contains(system));
    assert!(whole, "the system text did not arrive as it was");
}

#[test]
fn claude_delivers() {
    delivers(Cli::Claude);
}

#[test]
fn codex_delivers() {
    delivers(Cli::Codex);
}

#[test]
fn gemini_delivers() {
    delivers(Cli::Gemini);
}

#[test]
fn opencode_delivers() {
    delivers(Cli::Opencode);
}

fn edits(cli: Cli) {
    let Some(program) = cli.program() else {
        return;
    };
    let server = ModelServer::start();
    let desk = Desk::new("Edit the file.\n", "Be brief.\n");
    let file = desk.path("work/notes.txt");
    let (old, new) = ("one\ntwo\n".to_owned(), "one\nthree\n".to_owned());
    fs::write(&file, &old).unwrap();
    let model = server.model(Scenario::Edit(Edit {
        file: file.clone(),
        old,
        new: new.clone(),
    }));
    let ended = desk.run(cli, &program, &model);
    assert!(ended.status.success(), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), new, "{}", ended.stdout);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn claude_edits() {
    edits(Cli::Claude);
}

#[test]
fn codex_edits() {
    edits(Cli::Codex);
}

#[test]
fn gemini_edits() {
    edits(Cli::Gemini);
}

#[test]
fn opencode_edits() {
    edits(Cli::Opencode);
}
