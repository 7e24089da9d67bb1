//! What stands in the way of a cache, and what to do about it.

use serde::Serialize;

use super::declared::{CacheRecord, runs};
use super::{Change, Side, changes};
use crate::Volatility;

/// Something that changes often and stands before something that does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CacheWarning {
    /// How it was found.
    pub kind: WarningKind,
    /// The layer that stands too early.
    pub layer: String,
    /// The layer behind which it belongs.
    pub before: String,
    /// The bytes after it that a cache loses because of it.
    pub bytes: usize,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do, in a sentence.
    pub fix: String,
}

/// How a warning was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The declared volatility of two layers is out of order.
    Declared,
    /// A layer changed and one after it, declared to change as often, did not.
    Changed,
    /// A layer changed although it is declared to change less often than one after it that did not.
    Misdeclared,
}

/// Returns all warnings: those by declaration first, then those by what really changed.
pub(super) fn warnings(record: &CacheRecord, a: &Side, b: Option<&Side>) -> Vec<CacheWarning> {
    let declared = record.out_of_order.iter().map(|order| CacheWarning {
        kind: WarningKind::Declared,
        layer: order.layer.clone(),
        before: order.before.clone(),
        bytes: order.bytes,
        message: format!(
            "layer `{}` ({}) stands before `{}` ({}): {} bytes after it change less often and are not kept",
            order.layer,
            order.volatility.name(),
            order.before,
            order.before_volatility.name(),
            order.bytes
        ),
        fix: format!(
            "move layer `{}` behind layer `{}`",
            order.layer, order.before
        ),
    });
    let mut all: Vec<CacheWarning> = declared.collect();
    if let Some(b) = b {
        let told: Vec<String> = all.iter().map(|warning| warning.layer.clone()).collect();
        all.extend(changed(a, b).filter(|warning| !told.contains(&warning.layer)));
    }
    all
}

/// A layer of the newer prompt: how much of it is the same as before.
struct Layer<'a> {
    name: &'a str,
    volatility: Volatility,
    changed: bool,
    same_bytes: usize,
}

fn changed(a: &Side, b: &Side) -> impl Iterator<Item = CacheWarning> {
    let old = a.keyed();
    let mut layers: Vec<Layer<'_>> = runs(&b.sections)
        .iter()
        .map(|run| Layer {
            name: run.layer,
            volatility: run.volatility,
            changed: false,
            same_bytes: 0,
        })
        .collect();
    let mut at = 0;
    for (part, change) in changes(b, Some(&old), Change::Added) {
        while layers[at].name != part.layer || layers[at].volatility != part.volatility {
            at += 1;
        }
        if change == Some(Change::Same) {
            layers[at].same_bytes += part.end - part.start;
        } else {
            layers[at].changed = true;
        }
    }
    let mut warnings = Vec::new();
    for (at, layer) in layers.iter().enumerate().filter(|(_, one)| one.changed) {
        let same: Vec<&Layer<'_>> = layers[at + 1..]
            .iter()
            .filter(|later| later.same_bytes > 0 && !later.changed)
            .collect();
        if let Some(last) = same.last() {
            let bytes = same.iter().map(|later| later.same_bytes).sum();
            warnings.push(too_early(layer, last, bytes));
        }
    }
    warnings.into_iter()
}

fn too_early(layer: &Layer<'_>, last: &Layer<'_>, bytes: usize) -> CacheWarning {
    let (name, before) = (layer.name, last.name);
    let (declared, behind) = (layer.volatility.name(), last.volatility.name());
    let (kind, fix) = if layer.volatility < last.volatility {
        let fix = format!(
            "if `{name}` changes that often, declare it `volatility = \"{behind}\"` and move it behind layer `{before}`"
        );
        (WarningKind::Misdeclared, fix)
    } else {
        let fix = format!("move layer `{name}` behind layer `{before}`");
        (WarningKind::Changed, fix)
    };
    CacheWarning {
        kind,
        layer: name.to_owned(),
        before: before.to_owned(),
        bytes,
        message: format!(
            "layer `{name}` ({declared}) changed and stands before `{before}` ({behind}), which did not: {bytes} bytes after it are the same and not kept"
        ),
        fix,
    }
}
