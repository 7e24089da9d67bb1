//! The engine's filters, each of which pays for what it makes before it makes it.
//!
//! Filters that look at a value without going through it are the engine's own.

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value, filters};

use super::budget::{COMPARED, ITEM, Size, keep, spend, text_cost};
use crate::template::numbers;
use crate::template::traced::keep::{self as traced, Rule};

/// Says what a filter costs with these arguments, of which the first is the value.
pub(crate) type Price = fn(&[Value]) -> Result<u64, Error>;

pub(super) fn install(environment: &mut Environment<'static>) {
    let mut add = |name: &'static str, filter: Value, price: Price| {
        environment.add_filter(name, bounded(filter, price, traced::rule(name)));
    };
    macro_rules! add {
        ($price:expr, $($name:literal $filter:ident),+) => {
            $(add($name, Value::from_function(filters::$filter), $price);)+
        };
    }
    add!(text, "lower" lower, "upper" upper, "capitalize" capitalize, "trim" trim);
    add!(text, "safe" safe, "string" string, "select" select, "reject" reject);
    add!(text, "selectattr" selectattr, "rejectattr" rejectattr);
    add!(escaped, "escape" escape, "e" escape);
    add!(items, "dictsort" dictsort, "items" items, "list" list, "map" map);
    add!(items, "zip" zip, "chain" chain, "reverse" reverse);
    add!(copied, "sort" sort, "sum" sum, "groupby" groupby, "unique" unique);
    add!(batch, "batch" batch);
    add!(slice, "slice" slice);
    add!(replace, "replace" replace);
    add!(join, "join" join);
    add!(indent, "indent" indent);
    add!(split, "split" split, "lines" lines);
    add!(looked, "length" length, "count" length);
    add!(compared, "min" min, "max" max);
    add!(format, "format" format);
    add!(tojson, "pprint" pprint);
    add("tojson", Value::from_function(numbers::tojson), tojson);
}

/// Returns a filter that pays its price, and for its result, of which it knows where it came from.
pub(crate) fn bounded(
    filter: Value,
    price: Price,
    rule: Option<Rule>,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> {
    move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let args = args.into_values();
        spend(state, price(&args)?)?;
        let made = filter.call(state, &args)?;
        let made = plain(made)?;
        let kept = keep(state, made)?;
        traced::remade(state, kept, &args, rule)
    }
}

/// Returns a map of its own in the place of one that looks into others, layer below layer.
fn plain(value: Value) -> Result<Value, Error> {
    let made_as = value.as_object().map_or("", |object| object.type_name());
    if made_as.ends_with("::MergeDict") {
        let mut fields = Vec::new();
        for key in value.try_iter()? {
            let field = value.get_item(&key)?;
            fields.push((key, field));
        }
        return Ok(Value::from_pairs(fields));
    }
    if made_as.ends_with("::MergeSeq") {
        return Ok(value.try_iter()?.collect::<Vec<Value>>().into());
    }
    Ok(value)
}

fn total(args: &[Value], price: impl Fn(&Value) -> Result<u64, Error>) -> Result<u64, Error> {
    args.iter()
        .try_fold(0_u64, |sum, arg| Ok(sum.saturating_add(price(arg)?)))
}

/// What it takes to go through the value where it is a text; of a list the engine knows the length and the ends.
pub(crate) fn looked(args: &[Value]) -> Result<u64, Error> {
    total(&args[..args.len().min(1)], |arg| {
        Ok(arg
            .as_bytes()
            .map_or(0, |text| text.len() as u64 / COMPARED))
    })
}

/// What it takes to compare the items of the arguments.
fn compared(args: &[Value]) -> Result<u64, Error> {
    total(args, |arg| {
        let size = Size::of(arg)?;
        Ok(size.items + size.bytes / COMPARED)
    })
}

/// What the arguments take as text.
fn text(args: &[Value]) -> Result<u64, Error> {
    total(args, text_cost)
}

fn escaped(args: &[Value]) -> Result<u64, Error> {
    Ok(text(args)?.saturating_mul(6))
}

/// What the items of the arguments take; those of a text are its characters.
fn items(args: &[Value]) -> Result<u64, Error> {
    total(args, |arg| match arg.as_str() {
        Some(text) => Ok(text.len() as u64 * ITEM),
        None => Ok(Size::of(arg)?.items * ITEM),
    })
}

/// What the items take with their texts.
fn copied(args: &[Value]) -> Result<u64, Error> {
    let bytes = total(args, |arg| Ok(Size::of(arg)?.bytes))?;
    Ok(bytes.saturating_add(items(args)?))
}

/// Returns a number that is given by its place or its name.
fn number(args: &[Value], at: usize, name: &str) -> u64 {
    let number = argument(args, at, name).and_then(|value| value.as_usize());
    number.map_or(0, |number| number as u64)
}

pub(crate) fn argument(args: &[Value], at: usize, name: &str) -> Option<Value> {
    let named = args.last().filter(|last| last.is_kwargs());
    let named = named.and_then(|fields| fields.get_attr(name).ok());
    let placed = args.get(at).filter(|arg| !arg.is_kwargs());
    placed.cloned().or(named).filter(|arg| !arg.is_undefined())
}

fn batch(args: &[Value]) -> Result<u64, Error> {
    let fill = if args.len() > 2 {
        number(args, 1, "count")
    } else {
        0
    };
    Ok(items(args)?.saturating_add(fill.saturating_mul(ITEM)))
}

fn slice(args: &[Value]) -> Result<u64, Error> {
    let lists = number(args, 1, "count").saturating_mul(ITEM * 4);
    Ok(items(args)?.saturating_add(lists))
}

/// Returns the text that a filter makes of an argument.
fn as_text(value: &Value) -> Result<String, Error> {
    // The price is looked at first: it refuses what is too large to be made a text of.
    text_cost(value)?;
    Ok(value.to_string())
}

fn replace(args: &[Value]) -> Result<u64, Error> {
    let [value, from, to, ..] = args else {
        return text(args);
    };
    let (value, from) = (as_text(value)?, as_text(from)?);
    let found = value.matches(&*from).count() as u64;
    let added = found.saturating_mul(text_cost(to)?);
    Ok(text(args)?.saturating_add(added))
}

fn join(args: &[Value]) -> Result<u64, Error> {
    let Some(value) = args.first() else {
        return Ok(0);
    };
    let pieces = match value.as_str() {
        Some(text) => text.len() as u64,
        None => Size::of(value)?.items,
    };
    let joiner = argument(args, 1, "d").map_or(Ok(0), |joiner| text_cost(&joiner))?;
    Ok(text(args)?.saturating_add(pieces.saturating_mul(joiner)))
}

fn indent(args: &[Value]) -> Result<u64, Error> {
    let lines = match args.first() {
        Some(value) => as_text(value)?.matches('\n').count() as u64 + 2,
        None => 0,
    };
    let width = number(args, 1, "width").max(4);
    Ok(text(args)?.saturating_add(lines.saturating_mul(width)))
}

fn split(args: &[Value]) -> Result<u64, Error> {
    let Some(value) = args.first().and_then(Value::as_str) else {
        return text(args);
    };
    let by = args.get(1).and_then(Value::as_str);
    let pieces = match by {
        Some(by) => value.matches(by).count(),
        None => value.matches(char::is_whitespace).count(),
    };
    let pieces = (pieces as u64 + 1).saturating_mul(ITEM * 2);
    Ok(text(args)?.saturating_add(pieces))
}

/// What a format makes: its arguments, with the widths and precisions that it asks for.
fn format(args: &[Value]) -> Result<u64, Error> {
    let pattern = args.first().and_then(Value::as_str).unwrap_or_default();
    let mut wide = 0_u64;
    for spec in pattern.split('%').skip(1) {
        let spec = match spec.strip_prefix('(') {
            Some(named) => named.split_once(')').map_or("", |(_, rest)| rest),
            None => spec,
        };
        let flags = |c: char| !c.is_ascii_digit() && !"-+ #.*".contains(c);
        let spec = spec.split(flags).next().unwrap_or_default();
        for figures in spec.split(|c: char| !c.is_ascii_digit()) {
            let width = match figures {
                "" => 0,
                figures => figures.parse().unwrap_or(u64::MAX),
            };
            wide = wide.saturating_add(width);
        }
        if spec.contains('*') {
            let widths = args.iter().filter_map(Value::as_i64);
            wide = widths.fold(wide, |sum, width| sum.saturating_add(width.unsigned_abs()));
        }
    }
    // An argument can be asked for by each name.
    let asked = pattern.matches('%').count() as u64;
    let named = args
        .last()
        .is_some_and(|last| last.kind() == ValueKind::Map);
    let each = if named { asked.max(1) } else { 1 };
    Ok(text(args)?.saturating_mul(each).saturating_add(wide))
}

fn tojson(args: &[Value]) -> Result<u64, Error> {
    let Some(value) = args.first() else {
        return Ok(0);
    };
    let size = Size::of(value)?;
    let steps = number(args, 1, "indent").max(4);
    let margin = steps.saturating_mul(size.depth as u64 + 1);
    Ok(size
        .as_text()
        .saturating_add(size.items.saturating_mul(margin)))
}
