//! The budgets at which something of a prompt gives way, by the rule that the program has.
//!
//! Optional sections go by priority, the lowest first and later ones first on a tie. What a step leaves is counted as it
//! would be handed over.

use callsheet::manifest::SectionRecord;
use callsheet::reading::Reading;
use callsheet::source_map::MapSpan;
use callsheet::tokens::Encoding;
use serde::Serialize;

use super::prompt::Entry;
use super::script::starts;

/// How many steps are told.
const MOST: usize = 24;

/// Larger prompts are not counted again and again.
const LARGEST: usize = 512 << 10;

/// The steps of a budget, the largest first.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Ladder {
    pub(crate) steps: Vec<Step>,
    /// What is left when everything has gone that may.
    pub(crate) required: usize,
    /// What there is without a budget.
    pub(crate) whole: usize,
    /// How many steps are not told.
    pub(crate) more: usize,
}

/// A budget up to which something gives way.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Step {
    pub(crate) upto: usize,
    pub(crate) no: String,
    pub(crate) title: String,
    pub(crate) here: bool,
}

/// Returns the steps; the size is in tokens where an encoding is given, else in bytes.
pub(crate) fn ladder(
    text: &str,
    spans: &[MapSpan],
    sections: &[SectionRecord],
    entries: &[Entry],
    (encoding, budget): (Option<Encoding>, Option<usize>),
) -> Ladder {
    let size = |text: &str| {
        encoding.map_or(text.len(), |encoding| {
            Reading::of(text).all_tokens(encoding)
        })
    };
    let whole = size(text);
    let mut order: Vec<(u32, usize)> = sections
        .iter()
        .enumerate()
        .filter_map(|(at, section)| Some((section.priority?, at)))
        .collect();
    order.sort_by_key(|&(priority, at)| (priority, std::cmp::Reverse(at)));
    let more = order.len().saturating_sub(MOST);
    if text.len() > LARGEST {
        return Ladder {
            whole,
            more: order.len(),
            ..Ladder::default()
        };
    }
    let starts = starts(spans, sections);
    let place = |at: usize| starts[at]..starts.get(at + 1).map_or(text.len(), |next| *next);
    let mut gone: Vec<usize> = Vec::new();
    let mut steps = Vec::new();
    let mut left = whole;
    for (nth, (_, at)) in order.iter().enumerate() {
        if nth < MOST {
            let entry = entries.iter().find(|entry| entry.section == Some(*at));
            steps.push(Step {
                upto: left.saturating_sub(1),
                no: entry.map(|entry| entry.no.clone()).unwrap_or_default(),
                title: entry.map(|entry| entry.title.clone()).unwrap_or_default(),
                here: false,
            });
        }
        gone.push(*at);
        if nth < MOST || nth + 1 == order.len() {
            left = size(&without(text, &gone, &place));
        }
    }
    let here = budget.and_then(|budget| steps.iter().rposition(|step| budget <= step.upto));
    if let Some(step) = here.and_then(|here| steps.get_mut(here)) {
        step.here = true;
    }
    Ladder {
        steps,
        required: left,
        whole,
        more,
    }
}

/// Returns a text without some sections and their frames.
fn without(text: &str, gone: &[usize], place: &impl Fn(usize) -> std::ops::Range<usize>) -> String {
    let mut places: Vec<_> = gone.iter().map(|at| place(*at)).collect();
    places.sort_by_key(|place| place.start);
    let mut left = String::with_capacity(text.len());
    let mut at = 0;
    for place in places {
        left.push_str(text.get(at..place.start).unwrap_or_default());
        at = place.end.max(at);
    }
    left.push_str(text.get(at..).unwrap_or_default());
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_the_text_without_what_gave_way() {
        let place = |at: usize| [0..2, 2..5, 5..6][at].clone();
        assert_eq!(without("aabbbc", &[2, 0], &place), "bbb");
        assert_eq!(without("aabbbc", &[], &place), "aabbbc");
    }
}
