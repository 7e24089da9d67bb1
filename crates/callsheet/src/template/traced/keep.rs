//! Filters and operators that keep the bytes they are given keep what is known of them, too.
//!
//! What a value becomes is said by the engine's own filter. Beside it stands a rule that puts the same text together from
//! parts that are known. Only where both agree the text keeps its provenance; else it is derived from what went in.

use std::sync::Arc;

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, State, Value, filters};

use super::rendering::{Rendering, collect, derived, made, made_as, text_of};
use super::text::Text;
use crate::template::bounds::{argument, bounded, looked};

/// Puts texts together that a filter makes: one, or those of a list.
pub(crate) type Rule = fn(&mut State<'_, '_>, &[Value]) -> Option<Vec<Text>>;

pub(super) fn install(environment: &mut Environment<'static>) {
    let mut add = |name: &'static str, filter: Value, rule: Option<Rule>| {
        environment.add_filter(name, bounded(filter, looked, rule));
    };
    add("first", Value::from_function(filters::first), Some(first));
    add("last", Value::from_function(filters::last), Some(last));
    add("int", Value::from_function(filters::int), None);
    add("float", Value::from_function(filters::float), None);
}

/// Returns the rule of a filter of the engine.
pub(crate) fn rule(name: &str) -> Option<Rule> {
    Some(match name {
        "trim" => trim,
        "string" | "safe" => whole,
        "replace" => replace,
        "join" => join,
        "indent" => indent,
        "split" => split,
        "lines" => lines,
        _ => return None,
    })
}

/// Returns what was made of values with what is known of it.
pub(crate) fn remade(
    state: &mut State<'_, '_>,
    value: Value,
    args: &[Value],
    rule: Option<Rule>,
) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => {
            let texts = rule.and_then(|rule| rule(state, args)).unwrap_or_default();
            let mut texts = texts.into_iter();
            let same = texts.find(|text| value.as_str() == Some(text.as_str()));
            remade_text(state, value, args, same)
        }
        ValueKind::Seq if rule.is_some() => {
            let Some(texts) = rule.and_then(|rule| rule(state, args)) else {
                return Ok(value);
            };
            let items: Vec<Value> = value.try_iter()?.collect();
            let mut texts = texts.into_iter();
            let items = items.into_iter().map(|item| match item.kind() {
                ValueKind::String => remade_text(state, item, args, texts.next()),
                _ => Ok(item),
            });
            Ok(items.collect::<Result<Vec<Value>, Error>>()?.into())
        }
        _ => Ok(value),
    }
}

fn remade_text(
    state: &mut State<'_, '_>,
    value: Value,
    args: &[Value],
    expected: Option<Text>,
) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return Ok(value);
    };
    if Rendering::of(state).known(text).is_some() {
        return Ok(value);
    }
    if let Some(expected) = expected.filter(|expected| expected.as_str() == text) {
        return made_as(state, expected, value.is_safe());
    }
    let mut from = Vec::new();
    for arg in args {
        collect(Rendering::of(state), arg, &mut from);
    }
    let text = derived(text, &from);
    Rendering::of(state).owe(&text);
    made_as(state, text, value.is_safe())
}

/// Returns two values as one text.
pub(crate) fn concat(
    state: &mut State<'_, '_>,
    left: &Value,
    right: &Value,
) -> Result<Value, Error> {
    let mut text = Text::clone(&text_of(state, left));
    text.push(&text_of(state, right));
    made(state, text)
}

/// Returns the characters of a text from one place to another.
pub(crate) fn part(
    state: &mut State<'_, '_>,
    value: &Value,
    chars: std::ops::Range<usize>,
) -> Result<Value, Error> {
    let text = text_of(state, value);
    let at = |nth: usize| {
        let place = text.as_str().char_indices().nth(nth);
        place.map_or(text.len(), |(at, _)| at)
    };
    let range = at(chars.start)..at(chars.end.max(chars.start));
    made(state, text.slice(range))
}

fn text_at(state: &mut State<'_, '_>, args: &[Value], at: usize) -> Option<Arc<Text>> {
    let value = args.get(at).filter(|arg| !arg.is_kwargs())?;
    (!value.is_undefined()).then(|| text_of(state, value))
}

fn whole(state: &mut State<'_, '_>, args: &[Value]) -> Option<Vec<Text>> {
    Some(vec![Text::clone(&*text_at(state, args, 0)?)])
}

fn first(state: &mut State<'_, '_>, args: &[Value]) -> Option<Vec<Text>> {
    let text = text_at(state, args, 0)?;
    let len = text.as_str().chars().next()?.len_utf8();
    Some(vec![text.slice(0..len)])
}

fn last(state: &mut State<'_, '_>, args: &[Value]) -> Option<Vec<Text>> {
    let text = text_at(state, args, 0)?;
    let len = text.as_str().chars().next_back()?.len_utf8();
    Some(vec![text.slice(text.len() - len..text.len())])
}

fn trim(state: &mut State<'_, '_>, args: &[Value]) -> Option<Vec<Text>> {
    let text = text_at(state, args, 0)?;
    let chars = text_at(state, args, 1);
    let set: Option<Vec<char>> = chars.map(|chars| chars.as_str().chars().collect());
    let is_trimmed = |c: char| {
        set.as_ref()
            .map_or(c.is_whitespace(), |set| set.contains(&c))
    };
    let start = text.len() - text.as_str().trim_start_matches(is_trimmed).len();
    let len = text.as_str().trim_matches(is_trimmed).len();
    Some(vec![text.slice(start..start + len)])
}

fn replace(state: &mut State<'_, '_>, args: &[Value]) -> Option<Vec<Text>> {
    let text = text_at(state, args, 0)?;
    let (from, to) = (text_at(state, args, 1)?, text_at(state, args, 2)?);
    let found = text.as_str().match_indices(from.as_str());
    let places: Vec<usize> = found
        .flat_map(|(at, found)| [at, at + found.len()])
        .collect();
    let mut out = Text::default();
    for (nth, piece) in text.cut(&places).iter().enumerate() {
        out.push(if nth % 2 == 0 { piece } else { &to });
    }
    Some(vec![out])
}

fn join(state: &mut State<'_, '_>, args: &[Value]) -> Option<Vec<Text>> {
    let joiner = argument(args, 1, "d").map(|joiner| text_of(state, &joiner));
    let attribute = argument(args, 2, "attribute");
    let mut out = Text::default();
    for (nth, item) in args.first()?.try_iter().ok()?.enumerate() {
        if nth > 0
            && let Some(joiner) = &joiner
        {
            out.push(joiner);
        }
        let item = match attribute.as_ref().and_then(Value::as_str) {
            Some(path) => path
                .split('.')
                .try_fold(item, |item, step| item.get_attr(step))
                .ok()?,
            None => item,
        };
        out.push(&text_of(state, &item));
    }
    Some(vec![out])
}

fn indent(state: &mut State<'_, '_>, args: &[Value]) -> Option<Vec<Text>> {
    let text = text_at(state, args, 0)?;
    let flag = |at, name| argument(args, at, name).is_some_and(|flag| flag.is_true());
    let width = argument(args, 1, "width").and_then(|width| width.as_usize());
    let margin = " ".repeat(width.unwrap_or(4));
    let (first, blank) = (flag(2, "first"), flag(3, "blank"));
    let kept = text.as_str().strip_suffix('\n').unwrap_or(text.as_str());
    let kept = kept.strip_suffix('\r').unwrap_or(kept);
    let mut margins = Vec::new();
    let mut at = 0;
    for (nth, line) in kept.split('\n').enumerate() {
        let is_blank = line.is_empty() || line == "\r";
        if (nth > 0 || first) && (!is_blank || blank) {
            margins.push(at);
        }
        at += line.len() + 1;
    }
    // The line break at the end makes nothing harmless.
    let kept = match text.kind() {
        Some(kind) => Text::new(text.body().slice(0..kept.len()), kind),
        None => text.slice(0..kept.len()),
    };
    Some(vec![kept.with_margins(&margins, &margin)])
}

fn lines(state: &mut State<'_, '_>, args: &[Value]) -> Option<Vec<Text>> {
    let text = text_at(state, args, 0)?;
    let mut at = 0;
    let parts = text.as_str().split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let bare = bare
            .strip_suffix('\r')
            .filter(|_| bare.len() < line.len())
            .unwrap_or(bare);
        start..start + bare.len()
    });
    Some(text.parts_at(parts))
}

fn split(state: &mut State<'_, '_>, args: &[Value]) -> Option<Vec<Text>> {
    let text = text_at(state, args, 0)?;
    let whole = text.as_str();
    let by = args.get(1).filter(|by| !by.is_none() && !by.is_undefined());
    let most = args.get(2).and_then(Value::as_i64);
    let most = most.and_then(|most| usize::try_from(most).ok());
    let most = most.map_or(usize::MAX, |most| most + 1);
    let pieces: Vec<&str> = match by.and_then(Value::as_str) {
        Some(by) => whole.splitn(most, by).collect(),
        // The engine has words of its own for the rest of a text; they are derived.
        None => whole.split_whitespace().collect(),
    };
    let start = |piece: &str| piece.as_ptr().addr() - whole.as_ptr().addr();
    let parts = pieces
        .iter()
        .map(|piece| start(piece)..start(piece) + piece.len());
    Some(text.parts_at(parts))
}
