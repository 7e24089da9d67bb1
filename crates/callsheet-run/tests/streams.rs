//! Streams of agent CLIs, recorded and made by hand: which events they give, what they cost, and how they ended.

#![expect(
    clippy::unwrap_used,
    reason = "a test without its streams has nothing to test"
)]

use std::path::Path;

use callsheet_run::{AgentEvent, Ending, Reader, Usage, Verdict, adapter};

/// One row of the index.
struct Case {
    file: String,
    version: String,
    end: i32,
}

impl Case {
    fn adapter(&self) -> &str {
        self.file.split('-').next().unwrap()
    }

    fn ending(&self) -> Ending {
        Ending {
            exit_code: (self.end >= 0).then_some(self.end),
            signal: (self.end < 0).then_some(-self.end),
            stderr: String::new(),
        }
    }

    fn text(&self) -> String {
        std::fs::read_to_string(folder().join(&self.file)).unwrap()
    }
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/streams")
}

fn cases() -> Vec<Case> {
    let index = std::fs::read_to_string(folder().join("index.tsv")).unwrap();
    let rows = index.lines().skip(1).map(|row| {
        let cells: Vec<&str> = row.split('\t').collect();
        Case {
            file: cells[0].to_owned(),
            version: cells[1].to_owned(),
            end: cells[2].parse().unwrap(),
        }
    });
    rows.collect()
}

fn reader(name: &str) -> Box<dyn Reader> {
    adapter::find(name).unwrap().reader()
}

fn read(reader: &mut dyn Reader, text: &str) -> Vec<AgentEvent> {
    text.lines().flat_map(|line| reader.line(line)).collect()
}

fn total(events: &[AgentEvent]) -> Usage {
    let mut total = Usage::default();
    for event in events {
        if let AgentEvent::Usage(more) = event {
            total.add(more);
        }
    }
    total
}

/// Returns the kind of an event, with what its class or its code adds.
fn kind(event: &AgentEvent) -> String {
    let kind = event.kind();
    match event {
        AgentEvent::ToolResult { ok, exit_code, .. } => {
            let failed = if *ok { "" } else { "!" };
            let code = exit_code.map(|code| format!("({code})"));
            format!("{kind}{failed}{}", code.unwrap_or_default())
        }
        AgentEvent::Retry { class, .. } | AgentEvent::Error { class, .. } => {
            format!("{kind}({})", class.as_str())
        }
        AgentEvent::Finished { ok: false, .. } => format!("{kind}!"),
        AgentEvent::FileChange { change, .. } => format!("{kind}({change})"),
        AgentEvent::Limit { status, .. } => format!("{kind}({status})"),
        _ => kind.to_owned(),
    }
}

/// Returns the kinds of events, equal neighbours as one with their number.
fn kinds(events: &[AgentEvent]) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for kind in events.iter().map(kind) {
        match kinds.last_mut() {
            Some((last, times)) if *last == kind => *times += 1,
            _ => kinds.push((kind, 1)),
        }
    }
    let shown = kinds.iter().map(|(kind, times)| match times {
        1 => kind.clone(),
        times => format!("{kind}×{times}"),
    });
    let shown = shown.collect::<Vec<_>>().join(" ");
    if shown.is_empty() {
        return "nothing".to_owned();
    }
    shown
}

fn shown(verdict: &Verdict) -> String {
    let class = verdict.class.map_or("succeeded", |class| class.as_str());
    match verdict.resets_at {
        Some(at) => format!("{class} until {at}"),
        None => class.to_owned(),
    }
}

/// Returns all cases of an adapter with what they mean.
fn table(name: &str) -> String {
    let mut out = String::new();
    for case in cases().iter().filter(|case| case.adapter() == name) {
        let mut reader = reader(name);
        let events = read(&mut *reader, &case.text());
        let used = total(&events);
        let cost = used.cost_usd.map(|cost| format!(", ${cost:.6}"));
        out.push_str(&format!(
            "{} ({}), end {}: {}\n  {}\n  {} in, {} out, {} cached{}\n",
            case.file.trim_end_matches(".ndjson"),
            case.version,
            case.end,
            shown(&reader.verdict(&case.ending())),
            kinds(&events),
            used.input_tokens,
            used.output_tokens,
            used.cached_tokens,
            cost.unwrap_or_default(),
        ));
    }
    out
}

#[test]
fn claude() {
    insta::assert_snapshot!(table("claude"));
}

#[test]
fn codex() {
    insta::assert_snapshot!(table("codex"));
}

#[test]
fn gemini() {
    insta::assert_snapshot!(table("gemini"));
}

#[test]
fn opencode() {
    insta::assert_snapshot!(table("opencode"));
}

#[test]
fn every_stream_has_its_row() {
    let listed: Vec<String> = cases().into_iter().map(|case| case.file).collect();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_stream = name.ends_with(".ndjson");
        assert_eq!(is_stream, listed.contains(&name), "{name}");
    }
}

#[test]
fn no_recorded_line_is_unknown() {
    for case in cases().iter().filter(|case| case.version != "-") {
        let events = read(&mut *reader(case.adapter()), &case.text());
        let unknown = events.iter().filter(|event| event.kind() == "unknown");
        assert_eq!(unknown.count(), 0, "{}", case.file);
    }
}

#[test]
fn a_stream_that_is_cut_is_never_a_success() {
    let clean = Ending {
        exit_code: Some(0),
        ..Ending::default()
    };
    for case in cases() {
        let text = case.text();
        let mut reader = reader(case.adapter());
        let meaningful = text.trim_end();
        // The final event is the last line that means anything; a stream may be cut before it anywhere.
        let mut events: Vec<AgentEvent> = Vec::new();
        for line in meaningful.lines() {
            let done = events.iter().any(|event| event.kind() == "finished");
            let verdict = reader.verdict(&clean);
            assert!(done || verdict.class.is_some(), "{}: {line}", case.file);
            events.extend(reader.line(line));
        }
    }
}

#[test]
fn a_line_that_is_cut_is_never_a_success() {
    let clean = Ending {
        exit_code: Some(0),
        ..Ending::default()
    };
    for case in cases().iter().filter(|case| case.version != "-") {
        let text = case.text();
        let text = text.trim_end();
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        for at in (0..last.len()).filter(|at| last.is_char_boundary(*at)) {
            let mut reader = reader(case.adapter());
            read(&mut *reader, before);
            reader.line(&last[..at]);
            let verdict = reader.verdict(&clean);
            assert!(verdict.class.is_some(), "{} at {at}", case.file);
        }
    }
}

#[test]
fn a_thread_that_goes_on_counts_from_its_former_total() {
    let before = Usage {
        input_tokens: 150,
        output_tokens: 7,
        cached_tokens: 30,
        cost_usd: None,
    };
    let mut reader = adapter::codex::CodexReader::resuming(before);
    let text = std::fs::read_to_string(folder().join("codex-resumed.ndjson")).unwrap();
    assert_eq!(total(&read(&mut reader, &text)), before);
}

#[test]
fn what_stderr_says_counts_where_there_is_no_final_event() {
    let verdict = |name: &str, code: i32, stderr: &str| {
        let ending = Ending {
            exit_code: Some(code),
            signal: None,
            stderr: stderr.to_owned(),
        };
        shown(&reader(name).verdict(&ending))
    };
    let flag = "error: unknown option '--prompt-system-append'";
    assert_eq!(verdict("claude", 1, flag), "environment");
    assert_eq!(verdict("claude", 0, flag), "incomplete");
    assert_eq!(verdict("gemini", 1, "Unknown argument: x"), "environment");
    assert_eq!(verdict("opencode", 1, "ENOSPC: disk"), "environment");
    let trust = "Not inside a trusted directory and --skip-git-repo-check was not specified.";
    assert_eq!(verdict("codex", 1, trust), "environment");
    assert_eq!(verdict("codex", 1, "error sending request"), "network");
    assert_eq!(verdict("codex", 101, "panicked"), "incomplete");

    let text = std::fs::read_to_string(folder().join("codex-text.ndjson")).unwrap();
    let mut patched = reader("codex");
    read(&mut *patched, &text);
    let ending = Ending {
        exit_code: Some(0),
        signal: None,
        stderr: "patch rejected: writing is blocked by read-only sandbox".to_owned(),
    };
    assert_eq!(shown(&patched.verdict(&ending)), "denied");
}
