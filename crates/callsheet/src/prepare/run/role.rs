//! The role: a template of the profile, with variables of the task.

use serde_json::{Map, Value};

use super::input::RunInput;
use crate::freetext::neutralised;
use crate::prepare::Piece;
use crate::profile::VARIABLES;
use crate::template::{Missing, Values, placeholders, render_plain};
use crate::trace::{Origin, OriginKind, Traced};
use crate::{Error, ErrorKind};

/// Returns the text of the role, or nothing where there is none.
pub(super) fn piece(input: &RunInput) -> Result<Option<Piece>, Error> {
    let Some((field, template)) = input.role() else {
        return Ok(None);
    };
    let source = Origin::new(OriginKind::Input, field, template);
    let body = Traced::normalised(template.to_owned(), &source);
    let values = variables(input);
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
    let rendered = render_plain(&body, values, None, Missing::Keep);
    let body = neutralised(&rendered.body.strip());
    Ok((!body.is_blank()).then(|| Piece {
        name: "role".to_owned(),
        body,
        source,
    }))
}

/// Returns the variables that have a value.
fn variables(input: &RunInput) -> Map<String, Value> {
    let task = &input.task;
    let environment = input.environment();
    let profile = input.profile.as_ref();
    let scope = Some(task.write_scope.join(", ")).filter(|scope| !scope.is_empty());
    let values = [
        ("task.id", Some(task.id.text())),
        ("task.title", Some(task.title.clone())),
        ("task.description", task.description.clone()),
        ("task.write_scope", scope),
        ("environment.runner", environment.runner),
        ("environment.model", environment.model),
        (
            "profile.name",
            profile.and_then(|profile| profile.name.clone()),
        ),
    ];
    let values = values.into_iter();
    values
        .filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))))
        .collect()
}
