//! The bar of a prompt: its sections to scale, what gave way behind them, and the strokes of cache, comparison and budget.

use serde::Serialize;

use super::prompt::{Entry, percent};

/// Below this width a segment has no number on narrow screens.
const THIN: f64 = 6.0;

/// Below this width it has none at all.
const BARE: f64 = 1.8;

/// The bar; everything is in percent of its width.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Reel {
    pub(crate) segments: Vec<Segment>,
    pub(crate) gone: Vec<Segment>,
    /// Where the prompt ends, if something gave way behind it.
    pub(crate) end: Option<f64>,
    pub(crate) cache: Option<Stroke>,
    pub(crate) same: Option<Stroke>,
}

/// A section in the bar.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Segment {
    pub(crate) no: String,
    pub(crate) title: String,
    pub(crate) colour: usize,
    pub(crate) x: f64,
    pub(crate) width: f64,
    pub(crate) middle: f64,
    pub(crate) thin: bool,
    pub(crate) bare: bool,
}

/// A stroke through the bar, and on which side its words stand.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Stroke {
    pub(crate) x: f64,
    pub(crate) before: bool,
}

impl Reel {
    pub(crate) fn new(entries: &[Entry], bytes: usize, kept: usize, same: Option<usize>) -> Self {
        let lost: Vec<(&Entry, usize)> = entries
            .iter()
            .filter_map(|entry| Some((entry, room(entry)?)))
            .collect();
        let all = bytes + lost.iter().map(|(_, bytes)| bytes).sum::<usize>();
        let sections = entries.iter().filter(|entry| entry.bytes > 0);
        let mut at = bytes;
        let gone = lost.iter().map(|(entry, bytes)| {
            let segment = Segment::new(entry, at, *bytes, all);
            at += bytes;
            segment
        });
        let stroke = |byte: usize| {
            let x = percent(byte, all);
            Stroke {
                x,
                before: x > 35.0,
            }
        };
        let cache = (kept > 0).then(|| Stroke {
            before: percent(kept, all) > 18.0,
            ..stroke(kept)
        });
        let mut same = same.filter(|same| *same > 0).map(stroke);
        if let (Some(cache), Some(same)) = (&cache, &mut same) {
            // Two labels need room beside each other.
            let apart = same.x - cache.x;
            same.before = if apart >= 0.0 { apart > 30.0 } else { true };
        }
        Self {
            gone: gone.collect(),
            segments: sections
                .map(|entry| Segment::new(entry, entry.start, entry.bytes, all))
                .collect(),
            end: (!lost.is_empty()).then(|| percent(bytes, all)),
            cache,
            same,
        }
    }
}

/// Returns how many bytes of an entry gave way to a budget.
fn room(entry: &Entry) -> Option<usize> {
    let lost = entry.cut.as_ref().or(entry.omitted.as_ref())?;
    let bytes = usize::try_from(lost.bytes).ok()?;
    (lost.over_budget && bytes > 0).then_some(bytes)
}

impl Segment {
    fn new(entry: &Entry, start: usize, bytes: usize, all: usize) -> Self {
        let (x, width) = (percent(start, all), percent(bytes, all));
        Self {
            no: entry.no.clone(),
            title: entry.title.clone(),
            colour: entry.colour,
            x,
            width,
            middle: ((x + width / 2.0) * 1000.0).round() / 1000.0,
            thin: width < THIN,
            bare: width < BARE,
        }
    }
}
