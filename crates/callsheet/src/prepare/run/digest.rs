//! The digest: what was observed of the run before, in a fixed order. Facts only, and no advice.
//!
//! Each list is free of duplicates, sorted by bytes and capped with the number of the rest, so that the order in which
//! somebody collected the facts does not show. What a cap leaves out is recorded. An absolute path within a fact is
//! redacted.

use std::collections::BTreeMap;

use super::input::{Check, Previous, Violation};
use super::lines::{Entry, Lines};
use super::paths;
use crate::Error;
use crate::mounts::Mounts;
use crate::omission::{Omission, Reason};
use crate::prepare::Piece;
use crate::task::{Approval, CheckStatus};
use crate::trace::Traced;

/// The most entries of a list that are printed; of checks, more where more failed.
const CAP: usize = 20;

/// The names under which layers ask for the parts.
pub(super) const NAMES: [&str; 5] = [
    "digest",
    "violations",
    "violation_paths",
    "changed_files",
    "changed_paths",
];

/// What is printed of the facts, and what is not.
pub(super) struct Digest {
    /// The parts by the name of their layer's value.
    pub(super) pieces: Vec<Named>,
    /// Paths that were redacted, and what the caps leave out.
    pub(super) omissions: Vec<Omission>,
}

/// A part of the digest, with the name of its layer's value.
type Named = (&'static str, Option<Piece>);

/// Returns the digest of the run before.
pub(super) fn digest(previous: &Previous) -> Result<Digest, Error> {
    let mut omissions = redacted(previous);
    let mut facts = Lines::default();
    result(previous, &mut facts);
    if let Some(checks) = &previous.checks {
        omissions.extend(add_checks(checks, &mut facts));
    }
    let mut pieces = vec![("digest", facts.some("previous"))];
    if let Some(violations) = &previous.violations {
        let (found, capped) = violation_pieces(violations)?;
        pieces.extend(found);
        omissions.extend(capped);
    }
    if let Some(changed) = &previous.changed_files {
        let (found, capped) = changed_pieces(changed)?;
        pieces.extend(found);
        omissions.extend(capped);
    }
    Ok(Digest { pieces, omissions })
}

/// Returns what the words of facts lose on their way into the digest: absolute paths.
fn redacted(previous: &Previous) -> Vec<Omission> {
    let told = [
        ("status", &previous.status),
        ("termination", &previous.termination),
    ];
    let told = told.into_iter().filter_map(|(field, text)| {
        let text = text.as_deref()?;
        Some(("digest", format!("previous.{field}"), text))
    });
    let checks = previous.checks.iter().flatten().enumerate();
    let checks = checks.map(|(at, check)| {
        let field = format!("previous.checks[{at}].name");
        ("digest", field, check.name.as_str())
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
            loss: None,
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

/// Adds the checks; the cap leaves out none that failed.
fn add_checks(checks: &[Check], lines: &mut Lines) -> Option<Omission> {
    if checks.is_empty() {
        lines.fixed("- checks: none");
        return None;
    }
    let mut sorted: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for (at, check) in checks.iter().enumerate() {
        let key = (safe(&check.name), check.status.as_str());
        sorted.entry(key).or_insert(at);
    }
    let failed = |at: usize| checks[at].status == CheckStatus::Failed;
    let must = sorted.values().filter(|at| failed(**at)).count();
    let mut others = CAP.saturating_sub(must);
    let mut rest = Vec::new();
    for ((name, status), at) in &sorted {
        let check = &checks[*at];
        if !failed(*at) && others == 0 {
            rest.push(check.name.len());
            continue;
        }
        if !failed(*at) {
            others -= 1;
        }
        let field = format!("previous.checks[{at}]");
        let name = Entry::converted(format!("{field}.name"), &check.name, name);
        let status = Entry::new(format!("{field}.status"), *status);
        let (label, between) = (Traced::frame("- check "), Traced::frame(": "));
        lines.parts(&[&label, &name.inline(), &between, &status.inline()]);
    }
    if !rest.is_empty() {
        lines.fixed(&format!("- … (+{} more)", rest.len()));
    }
    let shown = sorted.len() - rest.len();
    Omission::capped("digest", "previous.checks", shown, rest.into_iter())
}

fn violation_pieces(violations: &[Violation]) -> Result<([Named; 2], Option<Omission>), Error> {
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
    let left_out = sorted.keys().skip(CAP).map(|(path, ..)| path.len());
    let (layer, field) = ("violation-paths", "previous.violations");
    let left_out = Omission::capped(layer, field, sorted.len().min(CAP), left_out);
    let pieces = [
        ("violations", counts.some(field)),
        ("violation_paths", listed.some(field)),
    ];
    Ok((pieces, left_out))
}

fn changed_pieces(changed: &[String]) -> Result<([Named; 2], Option<Omission>), Error> {
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
    let left_out = sorted.keys().skip(CAP).map(String::len);
    let (layer, field) = ("changed-paths", "previous.changed_files");
    let left_out = Omission::capped(layer, field, sorted.len().min(CAP), left_out);
    let pieces = [
        ("changed_files", counts.some(field)),
        ("changed_paths", listed.some(field)),
    ];
    Ok((pieces, left_out))
}

fn rest(lines: &mut Lines, number: usize) {
    if number > CAP {
        lines.fixed(&format!("  - … (+{} more)", number - CAP));
    }
}
