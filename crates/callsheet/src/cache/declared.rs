//! What the layers of one prompt declare about how often they change.

use serde::{Deserialize, Serialize};

use super::CachedSection;
use crate::Volatility;
use crate::source_map::MapSpan;

/// What a manifest says about caching, from declared volatility alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheRecord {
    /// The bytes before the first section that changes with the task or the turn, its frame included.
    pub stable_prefix_bytes: usize,
    /// That section.
    pub first_volatile_section: Option<String>,
    /// Layers that change more often than one that stands after them.
    pub out_of_order: Vec<OutOfOrder>,
}

/// A layer that changes more often than one that stands after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OutOfOrder {
    /// The layer.
    pub layer: String,
    /// How often it changes.
    pub volatility: Volatility,
    /// The last layer after it that changes less often: the place behind which it belongs.
    pub before: String,
    /// How often that one changes.
    pub before_volatility: Volatility,
    /// The bytes of all sections after it that change less often.
    pub bytes: usize,
}

/// The sections of one layer that stand together.
pub(super) struct Run<'a> {
    pub(super) layer: &'a str,
    pub(super) volatility: Volatility,
    pub(super) bytes: usize,
}

/// Returns the layers in the order in which they stand.
pub(super) fn runs(parts: &[CachedSection]) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for part in parts {
        let bytes = part.end - part.start;
        match runs.last_mut() {
            Some(run) if run.layer == part.layer && run.volatility == part.volatility => {
                run.bytes += bytes;
            }
            _ => runs.push(Run {
                layer: &part.layer,
                volatility: part.volatility,
                bytes,
            }),
        }
    }
    runs
}

/// Returns what the declared volatility of the sections says about caching.
pub(crate) fn declared(text: &str, parts: &[CachedSection], spans: &[MapSpan]) -> CacheRecord {
    let volatile = parts
        .iter()
        .position(|part| part.volatility >= Volatility::Task);
    let runs = runs(parts);
    let mut out_of_order = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let stabler = || {
            runs[at + 1..]
                .iter()
                .filter(|later| later.volatility < run.volatility)
        };
        if let Some(last) = stabler().next_back() {
            out_of_order.push(OutOfOrder {
                layer: run.layer.to_owned(),
                volatility: run.volatility,
                before: last.layer.to_owned(),
                before_volatility: last.volatility,
                bytes: stabler().map(|later| later.bytes).sum(),
            });
        }
    }
    CacheRecord {
        stable_prefix_bytes: volatile.map_or(text.len(), |at| frame_start(parts, at, spans)),
        first_volatile_section: volatile.map(|at| parts[at].label()),
        out_of_order,
    }
}

/// Returns where the frame of a section begins: it may name the section, and then changes with it.
fn frame_start(parts: &[CachedSection], at: usize, spans: &[MapSpan]) -> usize {
    let part = &parts[at];
    let floor = at.checked_sub(1).map_or(0, |before| parts[before].end);
    let body = spans.partition_point(|span| span.end <= part.start);
    let own = spans[..body].iter().rev().take_while(|span| {
        span.start >= floor
            && span.layer == part.layer
            && span.section.as_deref() == Some(part.name.as_str())
    });
    own.last().map_or(part.start, |span| span.start)
}
