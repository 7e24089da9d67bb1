//! The role: a text in the plain language of templates, with variables of the task.

use serde_json::{Map, Value};

use super::environment::profile;
use super::{Prepared, Surroundings};
use crate::profile::VARIABLES;
use crate::source::lookup;
use crate::template::{Missing, OUTPUT_LIMIT, Page, Values, fill_plain, placeholders};
use crate::text::value_text;
use crate::trace::{Origin, OriginKind, Traced};
use crate::{Error, ErrorKind};

/// Adds the field `role.text`: the text of the role or of the profile, filled; empty where there is none.
pub(super) fn role(prepared: &mut Prepared, _: Surroundings<'_>) -> Result<(), Error> {
    let own = lookup(&prepared.fields, "role.prompt_template").and_then(Value::as_str);
    let profile = profile(&prepared.fields)?;
    let told = profile.and_then(|profile| profile.get("prompt_template")?.as_str());
    let named = own.map(|text| ("role.prompt_template", text));
    let named = named.or_else(|| told.map(|text| ("profile.prompt_template", text)));
    let filled = named.map(|(field, text)| filled(field, text, &prepared.fields));
    let text = filled.transpose()?.unwrap_or_default();
    let role = prepared.object("role")?;
    role.insert("text".to_owned(), Value::from(text.text()));
    prepared.traces.insert("role.text".to_owned(), text);
    Ok(())
}

/// Fills a text with the variables that profiles may use, each of which must have a value.
fn filled(field: &str, text: &str, fields: &Map<String, Value>) -> Result<Traced, Error> {
    let source = Origin::new(OriginKind::Input, field, text);
    let body = Traced::normalised(text.to_owned(), &source);
    let known = VARIABLES.into_iter();
    let values: Map<String, Value> = known
        .filter_map(|name| Some((name.to_owned(), Value::from(variable(fields, name)?))))
        .collect();
    for hole in placeholders(body.text()) {
        let name = &hole.name;
        if !VARIABLES.contains(&name.as_str()) {
            let detail = format!("`{field}`: no variable named `{name}`");
            return Err(Error::new(ErrorKind::BadInput, detail).expecting(name, VARIABLES));
        }
        if !values.contains_key(name) {
            let detail = format!("`{field}`: the variable `{name}` has no value");
            return Err(Error::new(ErrorKind::BadInput, detail));
        }
    }
    let values = Values {
        map: &values,
        prefix: "",
    };
    let page = (Page::default(), OUTPUT_LIMIT);
    let (rendered, is_whole) = fill_plain(page, &body, values, None, Missing::Keep);
    if !is_whole {
        let detail = format!("`{field}`: prints more than {OUTPUT_LIMIT} bytes");
        return Err(Error::new(ErrorKind::BadInput, detail));
    }
    Ok(rendered.body.strip())
}

/// Returns the value of a variable as a text; an empty list has none.
fn variable(fields: &Map<String, Value>, name: &str) -> Option<String> {
    match lookup(fields, name)? {
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(value_text).collect();
            (!texts.is_empty()).then(|| texts.join(", "))
        }
        value => value_text(value),
    }
}
