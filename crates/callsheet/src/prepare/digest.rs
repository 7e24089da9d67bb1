//! The digest: what was observed of the run before. Facts only, and no advice.
//!
//! Each list is sorted by bytes and free of duplicates, so that the order in which somebody collected the facts does not
//! show. An absolute path within a fact is redacted.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Number, Value, json};

use super::{Prepared, Surroundings, paths};
use crate::document::plain_words;
use crate::mounts::Mounts;
use crate::omission::{Omission, Reason};
use crate::task::{Approval, CheckStatus};
use crate::{Error, ErrorKind};

/// The facts of the run before, as far as they are known.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Previous {
    status: Option<String>,
    exit_code: Option<Number>,
    termination: Option<String>,
    checks: Option<Vec<Check>>,
    violations: Option<Vec<Violation>>,
    changed_files: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Check {
    name: String,
    status: CheckStatus,
}

#[derive(Deserialize)]
struct Violation {
    path: String,
    reason: String,
    approval: Option<Approval>,
}

/// Adds the field `digest`: the facts of `previous`, or null where there was no run before.
pub(super) fn digest(prepared: &mut Prepared, _: Surroundings<'_>) -> Result<(), Error> {
    let digest = match prepared.fields.get("previous") {
        None | Some(Value::Null) => Value::Null,
        Some(previous) => {
            let previous = Previous::deserialize(previous).map_err(|error| {
                let words = plain_words(&error.to_string(), "an object");
                Error::new(ErrorKind::BadInput, format!("`previous`: {words}"))
            })?;
            facts(prepared, &previous)?
        }
    };
    prepared.fields.insert("digest".to_owned(), digest);
    Ok(())
}

fn facts(prepared: &mut Prepared, previous: &Previous) -> Result<Value, Error> {
    if let Some(code) = &previous.exit_code {
        let code = code.to_string();
        prepared.trace("digest.exit_code", &code, "previous.exit_code", &code);
    }
    let status = word(prepared, "status", previous.status.as_deref());
    let termination = word(prepared, "termination", previous.termination.as_deref());
    let checks = previous.checks.as_deref();
    let checks = checks.map(|checks| self::checks(prepared, checks));
    let violations = previous.violations.as_deref();
    let violations = violations.map(|violations| self::violations(prepared, violations));
    let changed = previous.changed_files.as_deref();
    let changed = changed.map(|changed| changed_files(prepared, changed));
    let violations = violations.transpose()?;
    let counts = counts(prepared, violations.as_deref());
    Ok(json!({
        "status": status, "exit_code": previous.exit_code, "termination": termination, "checks": checks,
        "violations": violations, "changed_files": changed.transpose()?, "counts": counts,
    }))
}

/// Returns how many violations there are, and how many of each decision.
fn counts(prepared: &mut Prepared, violations: Option<&[Value]>) -> Value {
    let Some(violations) = violations else {
        return Value::Null;
    };
    let decided = |approval: Approval| {
        let word = approval.as_str();
        let some = violations.iter().filter(|one| one["approval"] == word);
        (word, some.count())
    };
    let decisions = [Approval::Pending, Approval::Approved, Approval::Rejected].map(decided);
    let counts = [("violations", violations.len())]
        .into_iter()
        .chain(decisions);
    let counts = counts.map(|(name, count)| {
        let path = format!("digest.counts.{name}");
        prepared.derive(path, &count.to_string(), "previous.violations");
        (name.to_owned(), Value::from(count))
    });
    Value::Object(counts.collect())
}

/// Returns a fact of one text.
fn word(prepared: &mut Prepared, name: &str, text: Option<&str>) -> Option<String> {
    let field = format!("previous.{name}");
    let (path, text) = (format!("digest.{name}"), text?);
    let safe = safe(prepared, &path, &field, text);
    prepared.trace(path, &safe, &field, text);
    Some(safe)
}

/// Returns a text without absolute paths, and puts on record that it had some.
fn safe(prepared: &mut Prepared, path: &str, field: &str, text: &str) -> String {
    let safe = Mounts::new().alias(text);
    if safe != text {
        let omission = Omission {
            layer: String::new(),
            name: field.to_owned(),
            reason: Reason::Redacted,
            bytes: text.len() as u64,
            tokens: None,
            detail: String::new(),
            loss: None,
        };
        prepared.lacking.push((path.to_owned(), omission));
    }
    safe
}

fn checks(prepared: &mut Prepared, checks: &[Check]) -> Value {
    let mut sorted = BTreeMap::new();
    for (at, check) in checks.iter().enumerate() {
        let field = format!("previous.checks[{at}].name");
        let name = safe(prepared, "digest.checks", &field, &check.name);
        sorted.entry((name, check.status.as_str())).or_insert(at);
    }
    let sorted = sorted.into_iter().enumerate();
    let sorted = sorted.map(|(nth, ((name, status), at))| {
        let field = |of| format!("previous.checks[{at}].{of}");
        let path = |of| format!("digest.checks[{nth}].{of}");
        prepared.trace(path("name"), &name, &field("name"), &checks[at].name);
        prepared.trace(path("status"), status, &field("status"), status);
        json!({"name": name, "status": status, "failed": checks[at].status == CheckStatus::Failed})
    });
    sorted.collect()
}

fn violations(prepared: &mut Prepared, violations: &[Violation]) -> Result<Vec<Value>, Error> {
    let mut sorted = BTreeMap::new();
    for (at, violation) in violations.iter().enumerate() {
        let field = |of| format!("previous.violations[{at}].{of}");
        let reason = safe(
            prepared,
            "digest.violations",
            &field("reason"),
            &violation.reason,
        );
        // What is wrong with the worktree as a whole has no path below its root.
        let path = match violation.path.as_str() {
            "." => ".".to_owned(),
            path => paths::relative(&field("path"), path)?,
        };
        let approval = violation.approval.unwrap_or_default();
        sorted.entry((path, reason, approval)).or_insert(at);
    }
    let sorted = sorted.into_iter().enumerate();
    let sorted = sorted.map(|(nth, ((path, reason, approval), at))| {
        let given = &violations[at];
        let field = |of| format!("previous.violations[{at}].{of}");
        let place = |of| format!("digest.violations[{nth}].{of}");
        prepared.trace(place("path"), &path, &field("path"), &given.path);
        prepared.trace(place("reason"), &reason, &field("reason"), &given.reason);
        let word = approval.as_str();
        match given.approval {
            Some(_) => prepared.trace(place("approval"), word, &field("approval"), word),
            None => prepared.derive(place("approval"), word, &field("approval")),
        }
        json!({"path": path, "reason": reason, "approval": word})
    });
    Ok(sorted.collect())
}

fn changed_files(prepared: &mut Prepared, changed: &[String]) -> Result<Value, Error> {
    let field = |at| format!("previous.changed_files[{at}]");
    let mut sorted = BTreeMap::new();
    for (at, path) in changed.iter().enumerate() {
        sorted
            .entry(paths::relative(&field(at), path)?)
            .or_insert(at);
    }
    let sorted = sorted.into_iter().enumerate();
    let sorted = sorted.map(|(nth, (path, at))| {
        prepared.trace(
            format!("digest.changed_files[{nth}]"),
            &path,
            &field(at),
            &changed[at],
        );
        path
    });
    Ok(sorted.collect())
}
