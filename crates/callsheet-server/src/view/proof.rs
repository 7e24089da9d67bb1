//! What an agent says of a run beside what was observed, and the files that the run changed.

use std::collections::{BTreeMap, BTreeSet};

use callsheet_run::Usage as Counted;
use callsheet_store::{EventFilter, Run, RunState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::changes::{Change, between};
use super::line::{CheckMark, mark};
use super::takes::Take;
use crate::error::ApiError;
use crate::server::Server;

/// The longest claim that is quoted.
const QUOTE: usize = 140;

/// How many claims about files are read.
const FILES: usize = 500;

/// What the agent says, and what the facts say.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Claim {
    /// Nothing where it says nothing.
    pub(crate) says: Option<String>,
    /// What it says nothing about.
    pub(crate) about: &'static str,
    pub(crate) fact: String,
    pub(crate) shape: &'static str,
    pub(crate) tone: &'static str,
}

/// Tokens and money.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Usage {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cached: u64,
    pub(crate) cost: Option<f64>,
}

/// A file that the run changed.
#[derive(Debug, Serialize)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) change: Option<Change>,
    /// Of a violation: its id, why, and what was decided.
    pub(crate) id: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) approval: Option<String>,
    /// The attempt before this one that did the same.
    pub(crate) also: Option<usize>,
}

/// A check and what came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    pub(crate) light: CheckMark,
    /// The end of what it printed.
    pub(crate) output: Option<String>,
    pub(crate) took: Option<i64>,
    pub(crate) tree: Option<String>,
    pub(crate) reason: Option<String>,
}

/// What else is known of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Known {
    pub(crate) task: Option<String>,
    pub(crate) branch: Option<String>,
    pub(crate) start_head: Option<String>,
    pub(crate) head: Option<String>,
    pub(crate) worktree: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) permissions: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) sandbox: bool,
    pub(crate) in_place: bool,
}

/// What the process was given.
#[derive(Debug, Serialize)]
pub(crate) struct Delivered {
    pub(crate) bytes: Option<u64>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) read: Option<u64>,
    pub(crate) system: Option<u64>,
    pub(crate) leftovers: usize,
}

/// Returns what the agent says beside what was observed.
pub(crate) async fn claims(
    server: &Server,
    run: &Run,
    document: &Value,
) -> Result<Vec<Claim>, ApiError> {
    let newest = async |kind: &str, limit: usize| {
        let filter = EventFilter {
            after: 0,
            kinds: vec![kind.to_owned()],
            newest: true,
        };
        server
            .site
            .store
            .some_events_of_run(run.id, filter, limit)
            .await
    };
    let finished = newest("agent:finished", 1).await?.into_iter().next();
    let said = newest("agent:text", 1).await?.into_iter().next();
    let changed = newest("agent:file_change", FILES).await?;
    let said_files: BTreeSet<&str> = changed
        .iter()
        .filter_map(|event| event.event.payload.get("path")?.as_str())
        .collect();
    let done = finished
        .as_ref()
        .map(|event| event.event.payload.get("ok") == Some(&Value::Bool(true)));
    let text = said
        .as_ref()
        .and_then(|event| event.event.payload.get("text")?.as_str());
    let over = run.state == RunState::Finished;
    Ok(vec![
        Claim {
            says: done.map(|done| if done { "it is done" } else { "it failed" }.to_owned()),
            ..ending(document, done.is_some(), over)
        },
        Claim {
            says: text.and_then(quote),
            ..checks(document, over)
        },
        Claim {
            says: (!said_files.is_empty()).then(|| match said_files.len() {
                1 => "1 file changed".to_owned(),
                count => format!("{count} files changed"),
            }),
            ..changes(document)
        },
        commits(document),
    ])
}

/// Returns the last line of what an agent wrote that is not a marker, as a quotation.
fn quote(text: &str) -> Option<String> {
    let said = |line: &&str| !line.is_empty() && !line.starts_with('[');
    let line = text.lines().rev().map(str::trim).find(said)?;
    let line = match line.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    Some(format!("“{line}”"))
}

fn claim(about: &'static str, fact: String, (shape, tone): (&'static str, &'static str)) -> Claim {
    Claim {
        says: None,
        about,
        fact,
        shape,
        tone,
    }
}

const GOOD: (&str, &str) = ("pass", "pass-c");
const BAD: (&str, &str) = ("fail", "fail-c");
const WAIT: (&str, &str) = ("run", "pen-c");
const NONE: (&str, &str) = ("none", "dim");

fn ending(document: &Value, terminal: bool, over: bool) -> Claim {
    if !over {
        return claim("whether it is done", "it is not over".to_owned(), WAIT);
    }
    let how = match (document["exit_code"].as_i64(), document["signal"].as_i64()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "how it ended is not known".to_owned(),
    };
    let event = if terminal {
        "terminal event"
    } else {
        "no terminal event"
    };
    let fine = document["status"].as_str() == Some("completed");
    claim(
        "whether it is done",
        format!("{how}, {event}"),
        if fine { GOOD } else { BAD },
    )
}

fn checks(document: &Value, over: bool) -> Claim {
    let all = document["checks"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |status: &str| all.iter().filter(|check| check["status"] == status).count();
    let passed = of("passed");
    match all.len() {
        0 if over => claim("how it went", "no check ran".to_owned(), NONE),
        0 => claim(
            "how it went",
            "checks run when the agent is done".to_owned(),
            NONE,
        ),
        count if passed == count => claim(
            "how it went",
            format!("{count} of {count} checks passed"),
            GOOD,
        ),
        count => {
            let names = all.iter().filter(|check| check["status"] != "passed");
            let names: Vec<&str> = names.filter_map(|check| check["name"].as_str()).collect();
            let sentence = format!(
                "{passed} of {count} checks passed, not {}",
                names.join(", ")
            );
            claim("how it went", sentence, BAD)
        }
    }
}

fn changes(document: &Value) -> Claim {
    let files = document["changed_files"].as_array().map(Vec::len);
    let out = document["violations"].as_array().map_or(0, Vec::len);
    let about = "which files changed";
    let count = |count: usize| {
        if count == 1 {
            "1 file".to_owned()
        } else {
            format!("{count} files")
        }
    };
    match (files, out) {
        (None, 0) => claim(about, "not known yet".to_owned(), NONE),
        (files, 0) => {
            let files = files.unwrap_or(0);
            let shape = if files == 0 { NONE } else { GOOD };
            claim(
                about,
                if files == 0 {
                    "no file changed".to_owned()
                } else {
                    count(files)
                },
                shape,
            )
        }
        (files, out) => claim(
            about,
            format!("{}, {out} out of scope", count(files.unwrap_or(out))),
            BAD,
        ),
    }
}

fn commits(document: &Value) -> Claim {
    let (start, end) = (document["start_head"].as_str(), document["head"].as_str());
    let dirty = document["dirty"].as_bool();
    let tree = match dirty {
        Some(true) => ", worktree not clean",
        Some(false) => ", worktree clean",
        None => "",
    };
    match (start, end) {
        (Some(start), Some(end)) if start != end => {
            claim("commits", format!("new commits{tree}"), GOOD)
        }
        (Some(_), Some(_)) => claim("commits", format!("no commit{tree}"), NONE),
        _ => claim("commits", "not known yet".to_owned(), NONE),
    }
}

/// Returns tokens and money of a run; of one that goes on, what it told so far.
pub(crate) async fn usage(server: &Server, run: &Run, document: &Value) -> Result<Usage, ApiError> {
    let mut counted = Counted::deserialize(&document["usage"]).ok();
    if counted.is_none() {
        let filter = EventFilter {
            after: 0,
            kinds: vec!["agent:usage".to_owned()],
            newest: false,
        };
        for event in server
            .site
            .store
            .some_events_of_run(run.id, filter, 10_000)
            .await?
        {
            let more =
                Counted::deserialize(&Value::Object(event.event.payload)).unwrap_or_default();
            counted.get_or_insert_default().add(&more);
        }
    }
    Ok(counted.map_or_else(Usage::default, |counted| Usage {
        input: Some(counted.input_tokens),
        output: Some(counted.output_tokens),
        cached: counted.cached_tokens,
        cost: counted.cost_usd,
    }))
}

/// Returns the files of a run: those out of its scope, and those within.
pub(crate) async fn files(
    server: &Server,
    document: &Value,
    takes: &[Take],
) -> Result<(Vec<File>, Vec<File>), ApiError> {
    let text = |field: &str| document[field].as_str().map(str::to_owned);
    let from = text("start_head");
    let to = text("result").or_else(|| text("head"));
    let known = server
        .blocking(move |site| {
            let ends = from.zip(to).filter(|(from, to)| from != to);
            Ok(ends.and_then(|(from, to)| between(&site.root, &from, &to)))
        })
        .await?;
    let mut known: BTreeMap<String, Change> = known
        .into_iter()
        .flatten()
        .map(|change| (change.path.clone(), change))
        .collect();
    let id = document["id"].as_str();
    let earlier: Vec<&Take> = takes
        .iter()
        .take_while(|take| Some(take.run.id.as_str()) != id)
        .collect();
    let field = |violation: &Value, name: &str| violation[name].as_str().map(str::to_owned);
    let mut bad = Vec::new();
    for violation in document["violations"].as_array().into_iter().flatten() {
        let path = field(violation, "path").unwrap_or_default();
        let same = |take: &&&Take| {
            let found = take.document["violations"].as_array().into_iter().flatten();
            found
                .into_iter()
                .any(|other| other["path"] == violation["path"])
        };
        bad.push(File {
            change: known.remove(&path),
            id: field(violation, "id"),
            reason: field(violation, "reason"),
            approval: Some(field(violation, "approval").unwrap_or_else(|| "pending".to_owned())),
            also: earlier.iter().rev().find(same).map(|take| take.nth),
            path,
        });
    }
    let changed = document["changed_files"].as_array().into_iter().flatten();
    let changed = changed.filter_map(|path| path.as_str().map(str::to_owned));
    let good = changed
        .filter(|path| bad.iter().all(|file| file.path != *path))
        .map(|path| File {
            change: known.remove(&path),
            id: None,
            reason: None,
            approval: None,
            also: None,
            path,
        })
        .collect();
    Ok((bad, good))
}

/// Returns what the process was given.
pub(crate) fn delivered(document: &Value) -> Delivered {
    let prompt = &document["delivered"]["prompt"];
    Delivered {
        bytes: prompt["bytes"].as_u64(),
        fingerprint: prompt["fingerprint"].as_str().map(str::to_owned),
        read: prompt["read"].as_u64(),
        system: document["delivered"]["system"]["bytes"].as_u64(),
        leftovers: document["leftovers"].as_array().map_or(0, Vec::len),
    }
}

/// Returns what the run might write, as it was frozen.
pub(crate) fn scope(document: &Value) -> Vec<String> {
    let frozen = document["scope"]["write"].as_array();
    let globs = frozen.or_else(|| document["write_scope"].as_array());
    let globs = globs.into_iter().flatten();
    globs
        .filter_map(|glob| Some(glob.as_str()?.to_owned()))
        .collect()
}

/// Returns a check and what came of it.
pub(crate) fn check(check: &Value) -> Check {
    let text = |field: &str| check[field].as_str().map(str::to_owned);
    Check {
        light: mark(check),
        output: text("output").filter(|output| !output.trim().is_empty()),
        took: check["took_ms"].as_i64(),
        tree: text("tree"),
        reason: text("reason"),
    }
}

/// Returns what else is known of a run.
pub(crate) fn known(document: &Value) -> Known {
    let text = |field: &str| document[field].as_str().map(str::to_owned);
    Known {
        task: text("task"),
        branch: text("branch"),
        start_head: text("start_head"),
        head: text("head"),
        worktree: text("worktree"),
        version: text("version"),
        permissions: text("permissions"),
        reason: text("reason"),
        sandbox: document["sandbox"] == true,
        in_place: document["result"].is_null() && document["start_head"] == document["head"],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn facts_are_told_whatever_is_claimed() {
        let document = json!({
            "status": "failed", "exit_code": 1, "dirty": true, "start_head": "a", "head": "a",
            "checks": [{"name": "lint", "status": "passed"}, {"name": "test", "status": "failed"}],
            "changed_files": ["a", "b"], "violations": [{"path": "b"}],
        });
        assert_eq!(
            ending(&document, false, true).fact,
            "exit 1, no terminal event"
        );
        assert_eq!(
            checks(&document, true).fact,
            "1 of 2 checks passed, not test"
        );
        assert_eq!(changes(&document).fact, "2 files, 1 out of scope");
        assert_eq!(commits(&document).fact, "no commit, worktree not clean");
        assert_eq!(changes(&json!({})).fact, "not known yet");
    }

    #[test]
    fn the_last_line_is_quoted() {
        assert_eq!(
            quote("All fine.\n\nZERO ISSUES\n\n[DONE: YES]\n").as_deref(),
            Some("“ZERO ISSUES”")
        );
        assert_eq!(quote(" \n"), None);
    }
}
