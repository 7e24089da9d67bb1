//! What somebody can do so that a cache keeps more, and what it saves.
//!
//! Only what is in the hands of who asks: the order of a list that the input gives, a time in a value, and the order of
//! the layers in a recipe of one's own. The order of a recipe that comes with the library is not.

use std::ops::Range;

use serde::Serialize;

use super::clock;
use super::declared::CacheRecord;
use super::{CachedSection, Extent, Side};

/// Something to do, and what a cache keeps more for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The steps; the saving needs all of them.
    pub steps: Vec<Step>,
    /// What a cache keeps more.
    pub saves: Extent,
    /// All of it in one line.
    pub message: String,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Step {
    /// Give an item of a list in the input after another one.
    MoveItem {
        /// The section of the item.
        item: String,
        /// The last section of the list that stays the same.
        behind: String,
        /// The list, as a field of the input.
        list: String,
    },
    /// Put a layer of the recipe after another one.
    MoveLayer {
        /// The layer.
        layer: String,
        /// The layer behind which it belongs.
        behind: String,
    },
    /// Take a time out of a value, or give it with what changes anyway.
    TakeTimeOut {
        /// Where the text comes from, such as `input:rules`.
        source: String,
    },
}

impl Step {
    fn sentence(&self) -> String {
        match self {
            Self::MoveItem { item, behind, list } => {
                format!("move `{item}` behind `{behind}` in `{list}`")
            }
            Self::MoveLayer { layer, behind } => {
                format!("move layer `{layer}` behind layer `{behind}`")
            }
            Self::TakeTimeOut { source } => format!("take the time out of `{source}`"),
        }
    }
}

impl Advice {
    fn new(steps: Vec<Step>, saves: Extent) -> Self {
        let all: Vec<String> = steps.iter().map(Step::sentence).collect();
        let (count, unit) = match saves.tokens {
            Some(tokens) => (tokens, "token"),
            None => (saves.bytes, "byte"),
        };
        let plural = if count == 1 { "" } else { "s" };
        let saved = format!("{count} {unit}{plural}");
        Self {
            message: format!("{}: saves {saved}", all.join(" and ")),
            steps,
            saves,
        }
    }
}

/// Returns what can be done about one prompt by what it declares, or about two by what really changed.
pub(super) fn advice(
    record: &CacheRecord,
    a: &Side,
    b: Option<&Side>,
    extent: &impl Fn(&Side, Range<usize>) -> Extent,
) -> Vec<Advice> {
    match b {
        Some(b) => Pair::new(a, b).advice(&|part| extent(a, part.start..part.end)),
        None => declared(record, a, extent),
    }
}

/// Returns the list of the input that a section is an item of: `context` of `input:context[0].content`.
fn list(source: &str) -> Option<&str> {
    let field = source.strip_prefix("input:")?;
    let (list, rest) = field.split_once('[')?;
    let (index, _) = rest.split_once(']')?;
    index.parse::<usize>().ok().map(|_| list)
}

fn declared(
    record: &CacheRecord,
    side: &Side,
    extent: &impl Fn(&Side, Range<usize>) -> Extent,
) -> Vec<Advice> {
    let after = |at: usize, counts: &dyn Fn(&CachedSection) -> bool| {
        let later = side.sections[at + 1..].iter().filter(|part| counts(part));
        sum(later.map(|part| extent(side, part.start..part.end)))
    };
    let mut advice = Vec::new();
    let orders = record.out_of_order.iter().filter(|_| side.own);
    for order in orders {
        let is_it =
            |part: &CachedSection| part.layer == order.layer && part.volatility == order.volatility;
        let at = side.sections.iter().position(is_it).unwrap_or_default();
        let step = Step::MoveLayer {
            layer: order.layer.clone(),
            behind: order.before.clone(),
        };
        let saves = after(at, &|later| later.volatility < order.volatility);
        advice.push(Advice::new(vec![step], saves));
    }
    for (at, part) in side.sections.iter().enumerate() {
        // What is declared to change may hold a time, unless other items of its list stand behind it.
        let item = list(&part.source);
        let stays = |later: &CachedSection| match item {
            Some(_) => later.layer == part.layer && list(&later.source) == item,
            None => later.volatility <= part.volatility,
        };
        let text = &side.text[part.start..part.end];
        let fixed = part.volatility < crate::Volatility::Task || item.is_some();
        if !fixed || !part.source.starts_with("input:") || !clock::has_moment(text) {
            continue;
        }
        let saves = after(at, &stays);
        if saves.bytes > 0 {
            let source = part.source.clone();
            advice.push(Advice::new(vec![Step::TakeTimeOut { source }], saves));
        }
    }
    advice
}

fn sum(extents: impl Iterator<Item = Extent>) -> Extent {
    let none = Extent {
        bytes: 0,
        tokens: None,
    };
    extents.fold(none, |all, one| Extent {
        bytes: all.bytes + one.bytes,
        tokens: one.tokens.map(|tokens| all.tokens.unwrap_or(0) + tokens),
    })
}

/// A section that can be moved and made equal, without touching the prompt.
#[derive(Clone, Copy)]
struct Slot<'a> {
    part: &'a CachedSection,
    nth: usize,
    text: &'a str,
}

impl Slot<'_> {
    fn is(&self, other: &Slot<'_>) -> bool {
        (&self.part.layer, &self.part.name, self.nth)
            == (&other.part.layer, &other.part.name, other.nth)
    }
}

/// Two prompts as sections, on which advice is tried out.
struct Pair<'a> {
    a: Vec<Slot<'a>>,
    b: Vec<Slot<'a>>,
    own: bool,
}

impl<'a> Pair<'a> {
    fn new(a: &'a Side, b: &'a Side) -> Self {
        Self {
            a: slots(a),
            b: slots(b),
            own: a.own && b.own,
        }
    }

    /// Does what can be done about the section that ends the common beginning, again and again.
    ///
    /// A step that saves nothing by itself is told with the one after it that does.
    fn advice(mut self, extent: &impl Fn(&CachedSection) -> Extent) -> Vec<Advice> {
        let (mut advice, mut steps) = (Vec::new(), Vec::new());
        loop {
            let kept = self.common();
            let Some(step) = self.step(kept) else {
                return advice;
            };
            if steps.contains(&step) {
                return advice;
            }
            steps.push(step);
            let now = self.common();
            if now > kept {
                let saves = sum(self.a[kept..now].iter().map(|slot| extent(slot.part)));
                advice.push(Advice::new(std::mem::take(&mut steps), saves));
            }
        }
    }

    /// Returns how many sections at the beginning are the same in both.
    fn common(&self) -> usize {
        let pairs = self.a.iter().zip(&self.b);
        pairs
            .take_while(|(a, b)| a.is(b) && a.text == b.text)
            .count()
    }

    /// Does one thing about what stands at a place where the two part, and tells what it was.
    fn step(&mut self, at: usize) -> Option<Step> {
        let (one, other) = (self.a.get(at).copied(), self.b.get(at).copied());
        if let (Some(one), Some(other)) = (one, other)
            && one.is(&other)
            && let Some(source) = only_the_time(&one, &other)
        {
            self.a[at].text = other.text;
            return Some(Step::TakeTimeOut { source });
        }
        let lacks = |slots: &[Slot<'_>], slot: &Slot<'_>| !slots.iter().any(|one| one.is(slot));
        let changed = match (one, other) {
            (Some(one), Some(other)) if one.is(&other) => one,
            (Some(one), _) if lacks(&self.b, &one) => one,
            (_, Some(other)) if lacks(&self.a, &other) => other,
            _ => return None,
        };
        self.move_item(&changed)
            .or_else(|| self.own.then(|| self.move_layer(&changed)).flatten())
    }

    /// Tells whether a section is the same in both.
    fn is_same(&self, slot: &Slot<'_>) -> bool {
        let same = |other: &Slot<'_>| other.is(slot) && other.text == slot.text;
        self.a.iter().any(same) && self.b.iter().any(same)
    }

    fn move_item(&mut self, changed: &Slot<'a>) -> Option<Step> {
        let list = list(&changed.part.source)?;
        let is_item = |slot: &Slot<'_>| {
            slot.part.layer == changed.part.layer && self::list(&slot.part.source) == Some(list)
        };
        let last = |slots: &[Slot<'a>]| {
            let from = slots.iter().position(|slot| slot.is(changed))?;
            let mut later = slots[from + 1..].iter().rev();
            let found = later.find(|slot| is_item(slot) && self.is_same(slot));
            found.copied()
        };
        let behind = last(&self.a).or_else(|| last(&self.b))?;
        let moved = |slot: &Slot<'_>| slot.is(changed);
        let target = |slot: &Slot<'_>| slot.is(&behind);
        move_behind(&mut self.a, moved, target);
        move_behind(&mut self.b, moved, target);
        Some(Step::MoveItem {
            item: changed.part.name.clone(),
            behind: behind.part.name.clone(),
            list: list.to_owned(),
        })
    }

    fn move_layer(&mut self, changed: &Slot<'a>) -> Option<Step> {
        let layer = changed.part.layer.as_str();
        let last = |slots: &[Slot<'a>]| {
            let of_it = |slot: &Slot<'_>| slot.part.layer == layer;
            let from = slots.iter().rposition(of_it)?;
            let mut later = slots[from + 1..].iter().rev();
            let found = later.find(|slot| self.is_same(slot));
            found.map(|slot| slot.part.layer.clone())
        };
        let behind = last(&self.a).or_else(|| last(&self.b))?;
        let moved = |slot: &Slot<'_>| slot.part.layer == layer;
        let target = |slot: &Slot<'_>| slot.part.layer == behind;
        move_behind(&mut self.a, moved, target);
        move_behind(&mut self.b, moved, target);
        Some(Step::MoveLayer {
            layer: layer.to_owned(),
            behind,
        })
    }
}

/// Moves sections behind the last one of a target; without a target they stay.
fn move_behind(
    slots: &mut Vec<Slot<'_>>,
    moved: impl Fn(&Slot<'_>) -> bool,
    target: impl Fn(&Slot<'_>) -> bool,
) {
    if !slots.iter().any(&target) {
        return;
    }
    let (out, mut rest): (Vec<_>, Vec<_>) = slots.drain(..).partition(|slot| moved(slot));
    let at = rest.iter().rposition(target).map_or(0, |at| at + 1);
    rest.splice(at..at, out);
    *slots = rest;
}

fn slots(side: &Side) -> Vec<Slot<'_>> {
    let parts = side.keyed_parts();
    let slots = parts.map(|(part, nth)| Slot {
        part,
        nth,
        text: &side.text[part.start..part.end],
    });
    slots.collect()
}

/// Returns where the text of a section comes from, if nothing but a time in it differs.
fn only_the_time(one: &Slot<'_>, other: &Slot<'_>) -> Option<String> {
    let source = &one.part.source;
    let theirs = source.starts_with("input:") || source.starts_with("file:");
    (theirs && clock::same_but_for_times(one.text, other.text)).then(|| source.clone())
}
