//! Filters for authors of recipes: values made fit for a place, shortened, or printed as they are.

use std::sync::Arc;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, State, Value, filters};

use super::page::{attribute, quoted};
use super::rendering::{Rendering, made, text_of};
use super::text::{Kind, Text};
use crate::freetext::{inline, neutralised, on_one_line, strict, with_backslashes};
use crate::omission::{Omission, Reason};
use crate::prepare::relative_path;
use crate::recipe::fence_len;
use crate::template::bounds::{keep, read, refused, spend, text_cost};
use crate::text::strip as stripped;
use crate::trace::{OriginKind, Traced, Transform};

/// How many times as long as its value a filter may make a text; it is paid for before it is made.
const LONGER: u64 = 8;

pub(super) fn install(environment: &mut Environment<'static>) {
    let mut text = |name: &'static str, filter: fn(&Traced) -> Text| {
        environment.add_filter(name, move |state: &mut State<'_, '_>, value: &Value| {
            let text = paid(state, value)?;
            // What is no text has nothing to make harmless, and goes on being what it is.
            match value.kind() {
                ValueKind::Number | ValueKind::Bool | ValueKind::Plain => Ok(value.clone()),
                _ => made(state, filter(text.body())),
            }
        });
    };
    text("line", |value| harmless(line(value, "", 0)));
    text("block", |value| {
        let places = strict::in_block(value.text(), true, false);
        harmless(with_backslashes(value, &places))
    });
    text("quote", |value| harmless(inline(value)));
    text("neutralise", |value| harmless(neutralised(value)));
    text("lf", |value| Text::value(value.with_line_feeds()));
    text("title", |value| harmless(title(value)));
    environment.add_filter("strip", strip);
    environment.add_filter("fence", fence);
    environment.add_filter("attr", attr);
    environment.add_filter("bullets", bullets);
    environment.add_filter("alias", alias);
    environment.add_filter("path", path);
    environment.add_filter("json", json);
    environment.add_filter("raw", raw);
    environment.add_filter("omitted", omitted);
    environment.add_filter(
        "cap",
        |state: &mut State<'_, '_>, value: Value, most: usize, options: Kwargs| {
            cap(state, "", value, most, &options)
        },
    );
    environment.add_filter(
        "callsheet.cap",
        |state: &mut State<'_, '_>, value: Value, name: &str, most: usize, options: Kwargs| {
            cap(state, name, value, most, &options)
        },
    );
}

fn harmless(text: Traced) -> Text {
    Text::new(text, Kind::Harmless)
}

/// Returns a value as a text, which is paid for with what a filter makes of it.
fn paid(state: &mut State<'_, '_>, value: &Value) -> Result<Arc<Text>, Error> {
    if value.is_undefined() {
        filters::string(state, value)?;
    }
    let cost = text_cost(value)?.saturating_mul(LONGER);
    spend(state, cost)?;
    Ok(text_of(state, value))
}

/// Returns a value without white space at both ends; what is harmless stays so.
fn strip(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = paid(state, value)?;
    made(state, text.stripped())
}

/// Returns a value as part of a line, behind `before`, of which the first `own` bytes are the recipe's.
fn line(value: &Traced, before: &str, own: usize) -> Traced {
    let line = on_one_line(value);
    let place = strict::in_line(before, own, line.text());
    with_backslashes(&line, place.as_slice())
}

/// Returns a value as the text of a heading.
fn title(value: &Traced) -> Traced {
    let title = line(&value.strip(), "", 0);
    // Signs at the end of a heading are taken for its closing ones.
    let bare = title.text().trim_end_matches('#').len();
    let closes = bare < title.len() && title.text()[..bare].ends_with([' ', '\t']);
    if closes {
        with_backslashes(&title, &[bare])
    } else {
        title
    }
}

fn fence(state: &mut State<'_, '_>, value: &Value, language: Option<&str>) -> Result<Value, Error> {
    let text = paid(state, value)?;
    let signs = "`".repeat(fence_len(text.as_str()));
    let language = language.unwrap_or_default();
    if language.contains(['`', '\n', '\r']) {
        return Err(refused(format!(
            "`{language}` is not the language of a code block"
        )));
    }
    let mut out = Traced::with_capacity(text.len() + 2 * signs.len());
    out.push_frame(&format!("{signs}{language}\n"));
    let places = strict::in_fence(text.as_str(), true);
    out.push(&with_backslashes(text.body(), &places));
    out.push_frame(if text.as_str().ends_with('\n') {
        ""
    } else {
        "\n"
    });
    out.push_frame(&signs);
    made(state, harmless(out))
}

/// Escapes a value for an attribute; with a name it looks up a field, as it does without us.
fn attr(state: &mut State<'_, '_>, value: &Value, name: Option<&Value>) -> Result<Value, Error> {
    if let Some(name) = name {
        return filters::attr(value, name);
    }
    let text = paid(state, value)?;
    made(
        state,
        Text::new(attribute(text.body(), true), Kind::Attribute),
    )
}

fn bullets(state: &mut State<'_, '_>, values: &Value) -> Result<Value, Error> {
    const SIGN: &str = "- ";
    if !matches!(values.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(refused(format!(
            "`bullets` needs a list, found {}",
            values.kind()
        )));
    }
    let mut out = Traced::new();
    for item in values.try_iter()? {
        let text = paid(state, &item)?;
        out.push_frame(if out.is_empty() { "" } else { "\n" });
        out.push_frame(SIGN);
        // A sign alone would make a heading of a line before it.
        let is_lost = stripped(text.as_str()).is_empty();
        out.push(&if is_lost {
            quoted(text.body())
        } else {
            line(text.body(), SIGN, SIGN.len())
        });
    }
    made(state, harmless(out))
}

fn alias(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = paid(state, value)?;
    let mounts = Rendering::of(state).given.mounts.clone();
    let named = mounts.mounted_text(text.body().clone());
    let named = named.map_err(|leak| refused(format!("{} holds {leak}", field_of(&text))))?;
    made(state, Text::value(named))
}

fn path(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = paid(state, value)?;
    let field = field_of(&text);
    let normal = relative_path(field.trim_matches('`'), text.as_str());
    let normal = normal.map_err(|error| refused(error.detail().to_owned()))?;
    if normal == text.as_str() {
        return Ok(value.clone());
    }
    let parts = [(0..text.len(), normal)];
    made(
        state,
        Text::value(text.body().replaced(&parts, Transform::Converted)),
    )
}

/// Returns the field that a text came from, in backticks.
fn field_of(text: &Text) -> String {
    let links = text
        .body()
        .spans()
        .iter()
        .filter_map(|span| span.link.as_ref());
    let mut origins = links.map(|link| &link.origin);
    let field =
        origins.find(|origin| matches!(origin.kind, OriginKind::Input | OriginKind::Derived));
    field.map_or_else(
        || "`value`".to_owned(),
        |origin| format!("`{}`", origin.name),
    )
}

fn json(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    paid(state, value)?;
    let mut out = Traced::new();
    as_json(state, value, &mut out);
    made(state, Text::new(out, Kind::Json))
}

fn as_json(state: &mut State<'_, '_>, value: &Value, out: &mut Traced) {
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => out.push_frame("null"),
        ValueKind::Bool => out.push_frame(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number | ValueKind::Plain => {
            out.push(text_of(state, value).body());
        }
        ValueKind::Seq | ValueKind::Iterable => {
            out.push_frame("[");
            for (nth, item) in value.try_iter().into_iter().flatten().enumerate() {
                out.push_frame(if nth > 0 { "," } else { "" });
                as_json(state, &item, out);
            }
            out.push_frame("]");
        }
        ValueKind::Map => {
            out.push_frame("{");
            for (nth, key) in value.try_iter().into_iter().flatten().enumerate() {
                out.push_frame(if nth > 0 { "," } else { "" });
                json_text(state, &key, out);
                out.push_frame(":");
                let field = value.get_item(&key).unwrap_or_default();
                as_json(state, &field, out);
            }
            out.push_frame("}");
        }
        _ => json_text(state, value, out),
    }
}

fn json_text(state: &mut State<'_, '_>, value: &Value, out: &mut Traced) {
    let text = text_of(state, value);
    out.push_frame("\"");
    let safety = Rendering::of(state).given.safety.clone();
    out.push(&safety.in_json(text.body()));
    out.push_frame("\"");
}

/// Lets a value make structure, where the recipe may.
fn raw(state: &mut State<'_, '_>, value: &Value) -> Result<Value, Error> {
    let text = paid(state, value)?;
    if !Rendering::of(state).given.safety.allows_raw() {
        return Err(refused(RAW.to_owned()));
    }
    made(state, Text::own(text.body().clone()))
}

/// What is wrong with a value that is printed as it is.
pub(crate) const RAW: &str =
    "`raw` prints a value as it is, which only a layer that says `trust = \"own\"` may";

/// Returns how much of a value a cap leaves out: items of a list, or characters of a text.
fn omitted(state: &mut State<'_, '_>, value: &Value, most: usize) -> Result<usize, Error> {
    read(state, value)?;
    let all = value.len().or_else(|| Some(value.try_iter().ok()?.count()));
    let Some(text) = value.as_str() else {
        return Ok(all.unwrap_or_default().saturating_sub(most));
    };
    Ok(text[cut(text, most)..].chars().count())
}

/// Returns where a text is cut: at the last end of a line within so many characters, or there.
fn cut(text: &str, most: usize) -> usize {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.len();
    };
    if text[end..].starts_with('\n') {
        return end;
    }
    text[..end].rfind('\n').unwrap_or(end)
}

/// Returns no more than so much of a value, and puts on record what is left out.
fn cap(
    state: &mut State<'_, '_>,
    name: &str,
    value: Value,
    most: usize,
    options: &Kwargs,
) -> Result<Value, Error> {
    let kept = match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            let items = keep(state, value)?;
            let items: Vec<Value> = items.try_iter()?.collect();
            capped_list(state, name, &items, most, options)
        }
        _ => capped_text(state, name, &value, most),
    };
    options.assert_all_used()?;
    kept
}

/// Returns the first items of a list; those of which the field `keep` is true stay wherever they are, and count.
///
/// What is left out is measured by its `attribute`, and called after the list that it came from.
fn capped_list(
    state: &mut State<'_, '_>,
    name: &str,
    items: &[Value],
    most: usize,
    options: &Kwargs,
) -> Result<Value, Error> {
    let (attribute, keep): (Option<&str>, Option<&str>) =
        (options.get("attribute")?, options.get("keep")?);
    let mut stays = Vec::with_capacity(items.len());
    for item in items {
        stays.push(match keep {
            Some(field) => field_in(item, field)?.is_true(),
            None => false,
        });
    }
    let mut others = most.saturating_sub(stays.iter().filter(|stays| **stays).count());
    let (mut shown, mut rest) = (Vec::new(), Vec::new());
    for (item, stays) in items.iter().zip(stays) {
        if stays || others > 0 {
            others -= usize::from(!stays);
            shown.push(item.clone());
        } else {
            rest.push(attribute.map_or_else(|| Ok(item.clone()), |field| field_in(item, field))?);
        }
    }
    let came_from = rest.first().and_then(|item| list_of(state, item));
    let sizes: Vec<usize> = rest.iter().map(|item| item.to_string().len()).collect();
    let name = came_from.as_deref().unwrap_or(name);
    let omission = Omission::capped("", name, shown.len(), sizes.into_iter());
    Rendering::of(state).omissions.extend(omission);
    Ok(Value::from(shown))
}

/// Returns a field that an item of a list must have.
fn field_in(item: &Value, field: &str) -> Result<Value, Error> {
    let value = item.get_attr(field)?;
    if value.is_undefined() {
        return Err(refused(format!("`cap` found an item without `{field}`")));
    }
    Ok(value)
}

/// Returns the list of the input that an item came from.
fn list_of(state: &mut State<'_, '_>, item: &Value) -> Option<String> {
    let text = Rendering::of(state).known(item.as_str()?)?;
    let link = text.body().spans().first()?.link.as_ref()?;
    let (list, _) = link.origin.name.rsplit_once('[')?;
    let prefix = &Rendering::of(state).given.prefix;
    let list = list.strip_prefix(prefix.as_str()).unwrap_or(list);
    (link.origin.kind == OriginKind::Input).then(|| list.to_owned())
}

fn capped_text(
    state: &mut State<'_, '_>,
    name: &str,
    value: &Value,
    most: usize,
) -> Result<Value, Error> {
    let text = paid(state, value)?;
    let mounts = &Rendering::of(state).given.mounts;
    let end = mounts.cut_at(text.as_str(), cut(text.as_str(), most));
    let field = field_of(&text);
    let name = if name.is_empty() {
        field.trim_matches('`')
    } else {
        name
    };
    let left = text.as_str()[end..].chars().count();
    let omission = (end < text.len()).then(|| Omission {
        layer: String::new(),
        name: name.to_owned(),
        reason: Reason::Capped,
        bytes: (text.len() - end) as u64,
        tokens: None,
        detail: format!("{left} characters are left out"),
        loss: None,
    });
    Rendering::of(state).omissions.extend(omission);
    made(state, text.slice(0..end))
}
