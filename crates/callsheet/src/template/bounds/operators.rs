//! What `~`, `+`, `*` and slices mean, with a price.

use std::sync::OnceLock;

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters, functions};

use crate::template::traced::keep as traced;

use super::budget::{ITEM, hold, keep, read, refused, settled, spend, text_cost};
use super::filters::looked;

/// The number of items that a list may get by adding or repeating.
const MOST_ITEMS: u64 = 1_000_000;

/// Numbers past it make the engine's ranges overflow.
const LARGEST_BOUND: i64 = i64::MAX / 4;

pub(super) fn install(environment: &mut Environment<'static>) {
    environment.add_filter("callsheet.concat", concat);
    environment.add_filter("callsheet.add", add);
    environment.add_filter("callsheet.multiply", multiply);
    environment.add_filter("callsheet.slice", slice);
    environment.add_filter("callsheet.keep", keep);
    environment.add_filter("callsheet.hold", hold);
    environment.add_filter("callsheet.items", items);
    environment.add_filter(
        "callsheet.read",
        |state: &mut State<'_, '_>, value: Value| read(state, &value).map(|()| value),
    );
    environment.add_filter("callsheet.look", look);
    environment.add_filter("callsheet.key", key);
    environment.add_function("dict", dict);
    environment.add_function("namespace", namespace);
    environment.add_function("range", range);
}

/// Fails as the engine does where a value is missing.
fn defined(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        filters::string(state, value)?;
    }
    Ok(())
}

fn concat(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    defined(state, left)?;
    defined(state, right)?;
    spend(state, text_cost(left)?.saturating_add(text_cost(right)?))?;
    traced::concat(state, left, right)
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn add(state: &mut State<'_, '_>, left: Value, right: Value) -> Result<Value, Error> {
    if let (Some(left), Some(right)) = (small(&left), small(&right)) {
        return Ok((left + right).into());
    }
    defined(state, &left)?;
    defined(state, &right)?;
    if let (Some(left), Some(right)) = (left.as_str(), right.as_str()) {
        spend(state, (left.len() + right.len()) as u64)?;
    }
    let (left, right) = (counted(left)?, counted(right)?);
    let lists = is_list(&left) && is_list(&right);
    if lists {
        let len = left.len().unwrap_or(0) as u64 + right.len().unwrap_or(0) as u64;
        in_bounds(len)?;
        if left.is_tuple() {
            spend(state, len * ITEM)?;
        }
    }
    if left.kind() == ValueKind::String && right.kind() == ValueKind::String {
        return traced::concat(state, &left, &right);
    }
    let sum = engine("a + b", left, right)?;
    if lists && !sum.is_tuple() {
        // The engine puts off the copy, but not for ever.
        let copied = sum.kind() == ValueKind::Seq;
        let items = if copied {
            sum.len().unwrap_or(0) as u64
        } else {
            4
        };
        spend(state, items * ITEM)?;
    }
    Ok(sum)
}

fn multiply(state: &mut State<'_, '_>, left: Value, right: Value) -> Result<Value, Error> {
    if let (Some(left), Some(right)) = (small(&left), small(&right)) {
        return Ok((left * right).into());
    }
    defined(state, &left)?;
    defined(state, &right)?;
    for (value, times) in [(&left, &right), (&right, &left)] {
        let Some(times) = times.as_usize() else {
            continue;
        };
        if let Some(text) = value.as_str() {
            spend(state, (text.len() as u64).saturating_mul(times as u64))?;
        } else if is_list(value) {
            let len = value.len().unwrap_or(0) as u64;
            let len = len.saturating_mul(times as u64);
            in_bounds(len)?;
            spend(state, len * ITEM)?;
        }
    }
    let args = [left.clone(), right.clone()];
    let made = settled(engine("a * b", left, right)?)?;
    traced::remade(state, made, &args, None)
}

/// Returns a number that can be added to and multiplied with another one without care.
fn small(value: &Value) -> Option<i64> {
    let number = value.is_integer().then(|| value.as_i64())??;
    i32::try_from(number).is_ok().then_some(number)
}

/// Returns a list whose length is known.
fn counted(value: Value) -> Result<Value, Error> {
    match value.len() {
        None if value.kind() == ValueKind::Iterable => settled(value),
        _ => Ok(value),
    }
}

fn in_bounds(items: u64) -> Result<(), Error> {
    if items > MOST_ITEMS {
        return Err(refused(format!(
            "makes a list of more than {MOST_ITEMS} items"
        )));
    }
    Ok(())
}

/// Returns what the engine's own operator makes of two values.
fn engine(operation: &'static str, left: Value, right: Value) -> Result<Value, Error> {
    static ENGINE: OnceLock<Environment<'static>> = OnceLock::new();
    let engine = ENGINE.get_or_init(Environment::empty);
    engine
        .compile_expression(operation)?
        .eval(minijinja::context! { a => left, b => right })
        .map_err(|error| match error.detail() {
            Some(detail) => Error::new(error.kind(), detail.to_owned()),
            None => Error::from(error.kind()),
        })
}

/// Slices as Python does; the engine cannot go backwards through what is empty.
fn slice(
    state: &mut State<'_, '_>,
    value: Value,
    start: Value,
    stop: Value,
    step: Value,
) -> Result<Value, Error> {
    defined(state, &value)?;
    let bound = |value: Value| {
        if value.is_none() {
            return Ok(None);
        }
        i64::try_from(value).map(Some)
    };
    let step = bound(step)?.unwrap_or(1);
    if step == 0 {
        let detail = "cannot slice by step size of 0";
        return Err(Error::new(ErrorKind::InvalidOperation, detail));
    }
    let (start, stop) = (bound(start)?, bound(stop)?);
    if value.is_none() {
        return Ok(Vec::<Value>::new().into());
    }
    if let Some(text) = value.as_str() {
        spend(state, text.len() as u64 * 5)?;
        let chars: Vec<char> = text.chars().collect();
        let chosen: Vec<usize> = places(chars.len(), start, stop, step).collect();
        if let (Some(first), Some(last), 1) = (chosen.first(), chosen.last(), step) {
            return traced::part(state, &value, *first..last + 1);
        }
        let made = chosen.into_iter().map(|at| chars[at]).collect::<String>();
        return traced::remade(state, made.into(), &[value], None);
    }
    if !is_list(&value) {
        let detail = format!("value of type {} cannot be sliced", value.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, detail));
    }
    let is_tuple = value.is_tuple();
    let kept = keep(state, value)?;
    let items: Vec<Value> = kept.try_iter()?.collect();
    let chosen: Vec<Value> = places(items.len(), start, stop, step)
        .map(|at| items[at].clone())
        .collect();
    if is_tuple {
        return Ok(minijinja::value::Tuple::from(chosen).into());
    }
    Ok(chosen.into())
}

/// Returns the places that a slice takes, in its order.
fn places(
    len: usize,
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
) -> impl Iterator<Item = usize> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let (least, most) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let place = |bound: i64| {
        let at = if bound < 0 {
            bound.saturating_add(len)
        } else {
            bound
        };
        at.clamp(least, most)
    };
    let (first, last) = if step > 0 {
        (least, most)
    } else {
        (most, least)
    };
    let (from, to) = (start.map_or(first, place), stop.map_or(last, place));
    let mut at = from;
    std::iter::from_fn(move || {
        let inside = if step > 0 { at < to } else { at > to };
        let place = inside.then(|| usize::try_from(at).ok())??;
        at = at.saturating_add(step);
        Some(place)
    })
}

/// Pays for finding a character of a text, for which the engine counts from one end; the rest is found at once.
fn look(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    spend(state, looked(std::slice::from_ref(&value))?)?;
    Ok(value)
}

/// Pays for a key, and for looking for it in a value, where that is not paid for yet.
fn key(state: &mut State<'_, '_>, key: Value, value: Option<Value>) -> Result<Value, Error> {
    read(state, &key)?;
    value.map_or(Ok(()), |value| look(state, value).map(|_| ()))?;
    Ok(key)
}

/// Returns the items of a value that are passed on one by one.
fn items(state: &mut State<'_, '_>, value: Value) -> Result<Value, Error> {
    let characters = value.as_str().map_or(0, str::len) as u64;
    spend(state, characters * ITEM)?;
    keep(state, value)
}

fn dict(state: &mut State<'_, '_>, value: Option<Value>, fields: Kwargs) -> Result<Value, Error> {
    let made = functions::dict(value, fields)?;
    keep(state, made)
}

fn namespace(state: &mut State<'_, '_>, values: Rest<ValueOrKwargs>) -> Result<Value, Error> {
    let mut values = values.into_values().into_iter();
    let defaults = values.next();
    if values.next().is_some() {
        return Err(ErrorKind::TooManyArguments.into());
    }
    let defaults = defaults.map(|fields| hold(state, fields)).transpose()?;
    functions::namespace(defaults.map(ValueOrKwargs::from))
}

fn range(lower: i64, upper: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let narrow = |bound: i64| {
        let fits = (-LARGEST_BOUND..=LARGEST_BOUND).contains(&bound);
        let bound = isize::try_from(bound).ok().filter(|_| fits);
        bound.ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidOperation,
                "range goes past the largest number",
            )
        })
    };
    functions::range(
        narrow(lower)?,
        upper.map(narrow).transpose()?,
        step.map(narrow).transpose()?,
    )
}
