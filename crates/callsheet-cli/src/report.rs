//! Compositions as documents for programs and tables for people.

use std::collections::BTreeMap;
use std::process::ExitCode;

use callsheet::check::Finding;
use callsheet::document::Given;
use callsheet::manifest::Manifest;
use callsheet::redact::Redaction;
use callsheet::{Composition, Event, Omission, Reason};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{Output, Talk, one_line};
use crate::table::{Align, Table, bar, percent};

/// So many losses are named one by one unless more talk is asked for.
const NAMED_LOSSES: usize = 20;

/// Returns the document that explains a composition.
pub(crate) fn explanation(manifest: &Manifest) -> Value {
    let mut document = json!(manifest);
    if let Value::Object(fields) = &mut document {
        fields.insert("schema".to_owned(), json!("callsheet.explanation/1"));
    }
    document
}

/// Returns the table of sections, with what gave way below it.
pub(crate) fn table(manifest: &Manifest) -> String {
    let tokens = manifest
        .tokens
        .map_or_else(String::new, |tokens| format!(", {tokens} tokens"));
    let encoding = manifest
        .encoding
        .map_or_else(String::new, |encoding| format!(" ({encoding})"));
    let mut text = section_table(manifest).render();
    text.push_str(&format!(
        "\n{} bytes{tokens}{encoding}, {}\n",
        manifest.bytes, manifest.fingerprint
    ));
    if !manifest.inputs.is_empty() {
        text.push_str("\nInput:\n");
    }
    for given in &manifest.inputs {
        text.push_str(&format!("  {}\n", one_line(&gave(given))));
    }
    if !manifest.redactions.is_empty() {
        text.push_str("\nRedacted:\n");
    }
    for redaction in &manifest.redactions {
        let (layer, section) = (&redaction.layer, &redaction.section);
        let (count, pseudonym) = (redaction.count, &redaction.pseudonym);
        text.push_str(&format!(
            "  {layer}: {count} × {pseudonym} in `{}`\n",
            one_line(section)
        ));
    }
    if !manifest.omissions.is_empty() {
        text.push_str("\nLeft out:\n");
    }
    for omission in &manifest.omissions {
        let (layer, size, sentence) = (&omission.layer, size(omission), omission.sentence());
        text.push_str(&format!("  {layer} ({size}): {}\n", one_line(&sentence)));
    }
    text
}

/// Says what one of several documents gave to the input.
fn gave(given: &Given) -> String {
    let fields = given.fields.join(", ");
    let overrides = match &given.overrides[..] {
        [] => String::new(),
        fields => format!(" (overrides {})", fields.join(", ")),
    };
    format!("{}: {fields}{overrides}", given.from)
}

fn section_table(manifest: &Manifest) -> Table {
    let headings = [
        "LAYER", "SECTION", "ROLE", "SOURCE", "BYTES", "TOKENS", "SHARE", "", "CHANGES",
    ];
    let numbers = ["BYTES", "TOKENS", "SHARE"];
    let columns = headings.map(|name| {
        (
            name,
            if numbers.contains(&name) {
                Align::Right
            } else {
                Align::Left
            },
        )
    });
    let mut table = Table::new(&columns);
    let mut row = |words: [&str; 4], bytes: usize, tokens: Option<usize>, changes: &str| {
        let tokens = tokens.map_or_else(String::new, |tokens| tokens.to_string());
        let numbers = [
            bytes.to_string(),
            tokens,
            percent(bytes, manifest.bytes),
            bar(bytes, manifest.bytes),
        ];
        table.row(
            words
                .map(str::to_owned)
                .into_iter()
                .chain(numbers)
                .chain([changes.to_owned()]),
        );
    };
    for section in &manifest.sections {
        // A file is named once: its section has the same name.
        let source = section
            .source
            .strip_suffix(&format!(":{}", section.name))
            .unwrap_or(&section.source);
        let role = section.role.name();
        let changes = format!("{:?}", section.volatility).to_lowercase();
        row(
            [&section.layer, &section.name, role, source],
            section.bytes,
            section.tokens,
            &changes,
        );
    }
    let sections = manifest.sections.iter();
    let bytes = manifest
        .bytes
        .saturating_sub(sections.clone().map(|section| section.bytes).sum());
    let counted: usize = sections.filter_map(|section| section.tokens).sum();
    let tokens = manifest.tokens.map(|all| all.saturating_sub(counted));
    row(
        ["frame", "", "", &format!("recipe {}", manifest.recipe.name)],
        bytes,
        tokens,
        "constant",
    );
    table
}

fn size(omission: &Omission) -> String {
    let tokens = omission
        .tokens
        .map_or_else(String::new, |tokens| format!(", {tokens} tokens"));
    format!("{} bytes{tokens}", omission.bytes)
}

/// Says which sentences ask for a tool that the policy denies.
pub(crate) fn findings(composition: &Composition, findings: &[Finding], out: Output) {
    if composition.denied.is_empty() {
        out.note("the input denies no tool, so there is nothing to check");
    }
    for finding in findings {
        let mention = &finding.mention;
        let line = finding
            .source_line
            .map_or_else(String::new, |line| format!(":{line}"));
        let message = mention.message;
        let message = message.map_or_else(String::new, |nth| format!(" of message {nth}"));
        out.warn(&one_line(&format!(
            "line {}{message}: asks for `{}`, which the policy denies: {} (layer {}, {}{line})",
            mention.line, mention.tool, mention.sentence, finding.layer, finding.source
        )));
    }
}

/// Says how many secrets became pseudonyms.
pub(crate) fn redactions(redactions: &[Redaction], out: Output) {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for redaction in redactions {
        *kinds.entry(&redaction.kind).or_default() += redaction.count;
    }
    let total: usize = kinds.values().sum();
    if total == 0 {
        return;
    }
    let kinds: Vec<String> = kinds
        .into_iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let what = if total == 1 {
        "1 secret became a pseudonym".to_owned()
    } else {
        format!("{total} secrets became pseudonyms")
    };
    out.note(&format!("{what} ({})", kinds.join(", ")));
}

/// Tells whether an event is about something that is told as an omission, too.
pub(crate) fn is_among_omissions(event: &Event, omissions: &[Omission]) -> bool {
    let fact = |name: &str| event.payload.get(name).and_then(Value::as_str);
    let (reason, name) = match event.kind.as_str() {
        "template:missing" => (Reason::NoValue, fact("name")),
        "template:unknown" => (Reason::Missing, fact("name")),
        "layer:failed" => (Reason::Unavailable, fact("layer")),
        _ => return false,
    };
    let mut losses = omissions.iter().filter(|omission| omission.is_loss());
    losses.any(|omission| omission.reason == reason && Some(omission.name.as_str()) == name)
}

/// Says what was left out: losses one by one, what rules leave out by number. What an optional layer lacks is for those who
/// want to hear more.
pub(crate) fn omissions(omissions: &[Omission], out: Output) {
    let verbose = out.talk == Talk::Verbose;
    let (losses, by_rule): (Vec<&Omission>, Vec<&Omission>) = omissions
        .iter()
        .filter(|omission| verbose || !omission.reason.is_absence() || omission.is_loss())
        .partition(|omission| omission.is_loss() || omission.reason == Reason::Redacted);
    let most = if verbose { losses.len() } else { NAMED_LOSSES };
    for omission in losses.iter().take(most) {
        out.warn(&one_line(&omission.sentence()));
    }
    if losses.len() > most {
        out.warn(&format!(
            "{} more are left out; `-v` names them all",
            losses.len() - most
        ));
    }
    if verbose {
        for omission in &by_rule {
            out.note(&one_line(&omission.sentence()));
        }
    } else if !by_rule.is_empty() {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for omission in &by_rule {
            let reason = json!(omission.reason);
            *counts
                .entry(reason.as_str().unwrap_or_default().to_owned())
                .or_default() += 1;
        }
        let counts: Vec<String> = counts
            .into_iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        let (number, plural) = (by_rule.len(), if by_rule.len() == 1 { "" } else { "s" });
        out.note(&format!(
            "{number} file{plural} left out ({}); `-v` names them",
            counts.join(", ")
        ));
    }
}

/// Says how a check of so many things ended; problems make its verdict negative.
pub(crate) fn verdict(
    checked: usize,
    what: &str,
    problems: usize,
    out: Output,
) -> Result<ExitCode, Failure> {
    let checked = count(checked, what);
    if problems == 0 {
        out.say(&format!("{checked} checked, no problem found"));
        return Ok(ExitCode::SUCCESS);
    }
    let found = count(problems, "problem");
    Err(Failure::negative(format!(
        "{checked} checked, {found} found"
    )))
}

/// Returns a number with its noun.
pub(crate) fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
