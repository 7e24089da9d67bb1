//! The digest: what was observed of the run before, in a fixed order. Facts only, and no advice.
//!
//! Each list is free of duplicates, sorted by bytes and capped with the number of the rest, so that the order in which
//! somebody collected the facts does not show. An absolute path within a fact is redacted.

use std::collections::{BTreeMap, BTreeSet};

use super::input::{Check, Previous, Violation};
use super::lines::{Entry, Lines};
use super::paths;
use crate::Error;
use crate::mounts::Mounts;
use crate::omission::{Omission, Reason};
use crate::prepare::Piece;
use crate::task::Approval;
use crate::trace::Traced;

/// The most entries of a list that are printed.
const CAP: usize = 20;

/// Returns the parts of the digest by the name of their layer's value.
pub(super) fn pieces(previous: &Previous) -> Result<Vec<(&'static str, Option<Piece>)>, Error> {
    let mut facts = Lines::default();
    result(previous, &mut facts);
    if let Some(checks) = &previous.checks {
        add_checks(checks, &mut facts);
    }
    let mut pieces = vec![("digest", facts.some("previous"))];
    if let Some(violations) = &previous.violations {
        pieces.extend(violation_pieces(violations)?);
    }
    if let Some(changed) = &previous.changed_files {
        pieces.extend(changed_pieces(changed)?);
    }
    Ok(pieces)
}

/// Returns what the words of facts lose on their way into the digest: absolute paths.
pub(super) fn omissions(previous: &Previous) -> Vec<Omission> {
    let told = [
        ("status", &previous.status),
        ("termination", &previous.termination),
    ];
    let told = told.into_iter().filter_map(|(field, text)| {
        let text = text.as_deref()?;
        Some(("digest", format!("previous.{field}"), text))
    });
    let checks = previous.checks.iter().flatten().enumerate();
    let checks = checks.flat_map(|(at, check)| {
        let words = [("name", &check.name), ("status", &check.status)];
        words.map(|(field, text)| {
            let field = format!("previous.checks[{at}].{field}");
            ("digest", field, text.as_str())
        })
    });
    let violations = previous.violations.iter().flatten().enumerate();
    let violations = violations.map(|(at, violation)| {
        let field = format!("previous.violations[{at}].reason");
        ("violation-paths", field, violation.reason.as_str())
    });
    told.chain(checks)
        .chain(violations)
        .filter(|(_, _, text)| safe(text) != *text)
        .map(|(layer, name, text)| Omission {
            layer: layer.to_owned(),
            name,
            reason: Reason::Redacted,
            bytes: text.len() as u64,
            tokens: None,
            detail: String::new(),
        })
        .collect()
}

/// Returns the words of a fact without absolute paths.
fn safe(text: &str) -> String {
    Mounts::new().alias(text)
}

fn result(previous: &Previous, lines: &mut Lines) {
    let fact = |label: &str, field: &str, text: Option<String>| {
        let mut part = Traced::frame(label);
        let text = text?;
        part.push(&Entry::converted(format!("previous.{field}"), &text, &safe(&text)).inline());
        Some(part)
    };
    let exit_code = previous.exit_code.as_ref().map(ToString::to_string);
    let known = [
        fact("", "status", previous.status.clone()),
        fact("exit code ", "exit_code", exit_code),
        fact("reason ", "termination", previous.termination.clone()),
    ];
    let mut line = Traced::frame("- previous run: ");
    let known: Vec<Traced> = known.into_iter().flatten().collect();
    if known.is_empty() {
        line.push_frame("no result recorded");
    }
    for (nth, fact) in known.iter().enumerate() {
        line.push_frame(if nth == 0 { "" } else { ", " });
        line.push(fact);
    }
    lines.parts(&[&line]);
}

fn add_checks(checks: &[Check], lines: &mut Lines) {
    if checks.is_empty() {
        lines.fixed("- checks: none");
        return;
    }
    let mut sorted: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (at, check) in checks.iter().enumerate() {
        let key = (safe(&check.name), safe(&check.status));
        sorted.entry(key).or_insert(at);
    }
    let rest = sorted.len().saturating_sub(CAP);
    // A check that failed is never the one that is left out for one that did not.
    let mut by_weight: Vec<&(String, String)> = sorted.keys().collect();
    by_weight.sort_by_key(|&(name, status)| (status != "failed", name, status));
    let shown: BTreeSet<&(String, String)> = by_weight.into_iter().take(CAP).collect();
    for ((name, status), at) in sorted.iter().filter(|(key, _)| shown.contains(key)) {
        let field = format!("previous.checks[{at}]");
        let name = Entry::converted(format!("{field}.name"), &checks[*at].name, name);
        let status = Entry::converted(format!("{field}.status"), &checks[*at].status, status);
        let (label, between) = (Traced::frame("- check "), Traced::frame(": "));
        lines.parts(&[&label, &name.inline(), &between, &status.inline()]);
    }
    if rest > 0 {
        lines.fixed(&format!("- … (+{rest} more)"));
    }
}

type Named = (&'static str, Option<Piece>);

fn violation_pieces(violations: &[Violation]) -> Result<[Named; 2], Error> {
    let mut sorted: BTreeMap<(String, String, Approval), usize> = BTreeMap::new();
    for (at, violation) in violations.iter().enumerate() {
        let field = format!("previous.violations[{at}].path");
        // What is wrong with the worktree as a whole has no path below its root.
        let path = match violation.path.as_str() {
            "." => ".".to_owned(),
            path => paths::relative(&field, path)?,
        };
        sorted
            .entry((path, safe(&violation.reason), violation.approval))
            .or_insert(at);
    }
    let count = |wanted: Approval| sorted.keys().filter(|(_, _, one)| *one == wanted).count();
    let mut counts = Lines::default();
    counts.fixed(&if sorted.is_empty() {
        "- scope violations: none".to_owned()
    } else {
        format!(
            "- scope violations: {} (pending {}, approved {}, rejected {})",
            sorted.len(),
            count(Approval::Pending),
            count(Approval::Approved),
            count(Approval::Rejected)
        )
    });
    let mut listed = Lines::default();
    for ((path, reason, approval), at) in sorted.iter().take(CAP) {
        let field = format!("previous.violations[{at}]");
        listed.parts(&[
            &Traced::frame("  - "),
            &Entry::converted(format!("{field}.path"), &violations[*at].path, path).inline(),
            &Traced::frame(" "),
            &Entry::converted(format!("{field}.reason"), &violations[*at].reason, reason).inline(),
            &Traced::frame(format!(" {}", approval.as_str())),
        ]);
    }
    rest(&mut listed, sorted.len());
    Ok([
        ("violations", counts.some("previous.violations")),
        ("violation_paths", listed.some("previous.violations")),
    ])
}

fn changed_pieces(changed: &[String]) -> Result<[Named; 2], Error> {
    let mut sorted = BTreeMap::new();
    for (at, path) in changed.iter().enumerate() {
        let field = format!("previous.changed_files[{at}]");
        let normal = paths::relative(&field, path)?;
        sorted.entry(normal).or_insert((field, path));
    }
    let mut counts = Lines::default();
    counts.fixed(&match sorted.len() {
        0 => "- changed files: none".to_owned(),
        number => format!("- changed files: {number}"),
    });
    let mut listed = Lines::default();
    for (normal, (field, path)) in sorted.iter().take(CAP) {
        listed.value("  - ", &Entry::converted(field, path, normal));
    }
    rest(&mut listed, sorted.len());
    Ok([
        ("changed_files", counts.some("previous.changed_files")),
        ("changed_paths", listed.some("previous.changed_files")),
    ])
}

fn rest(lines: &mut Lines, number: usize) {
    if number > CAP {
        lines.fixed(&format!("  - … (+{} more)", number - CAP));
    }
}
