//! Which execution rules a task gets, by how deep it stands in a plan.

use serde_json::{Map, Value};

use super::blocks::{Block, blocks};
use super::named::{Named, Said, missing};
use super::{Prepared, Surroundings};
use crate::template::{Missing, TemplateSet};
use crate::{Error, ErrorKind};

/// The block of context that asks for execution rules.
pub(crate) const TASK_DEPTH: &str = "task_depth";

/// Puts the execution rules into the place of the blocks of context that ask for them.
pub(super) fn depth(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    around.root()?;
    if prepared.pieces.contains_key("context") {
        let detail = "`prepare`: `depth` must stand before `context`";
        return Err(Error::new(ErrorKind::BadRecipe, detail).at(around.recipe.file(), None));
    }
    let (layer, missing) = (around.recipe.layer_of("context"), missing(&prepared.fields));
    let mut made = Vec::new();
    for (index, block) in blocks(&prepared.fields)?.enumerate() {
        if let Block::Data(TASK_DEPTH, data) = block?
            && !data.is_empty()
        {
            let field = format!("context[{index}]");
            let templates = around.prompts.snapshot();
            made.push((rules(data, &field, layer, templates, missing)?, field));
        }
    }
    for (said, field) in made {
        let piece = prepared.hear(said).into_iter().collect();
        prepared.pieces.insert(field, piece);
    }
    Ok(())
}

/// Renders the template that the depth in a block of context asks for.
pub(crate) fn rules(
    data: &Map<String, Value>,
    field: &str,
    layer: &str,
    templates: &TemplateSet,
    missing: Missing,
) -> Result<Said, Error> {
    let (name, variables) = select(data, field)?;
    let named = Named {
        name,
        variables: &variables,
        prefix: &format!("{field}.data."),
        layer,
        section: "execution_rules",
        without: "there are no execution rules",
    };
    named.render(templates, missing)
}

/// Returns the template and its variables for `depth`, `max_depth` and `max_steps` in `data`.
///
/// The deepest level is tested first: at depth 0 of at most 0 there is nothing left to plan.
pub(crate) fn select(
    data: &Map<String, Value>,
    field: &str,
) -> Result<(&'static str, Map<String, Value>), Error> {
    let number = |name: &str, default: i128| match data.get(name) {
        None => Ok(default),
        Some(value) => integer(value).ok_or_else(|| bad(field, name, "an integer", value)),
    };
    let depth = number("depth", 0)?;
    let max_depth = number("max_depth", 2)?;
    let max_steps = number("max_steps", 20)?;
    if depth < 0 {
        return Err(bad(field, "depth", "an integer from 0", &data["depth"]));
    }
    let text = |number: i128| Value::from(number.to_string());
    let (template, variables) = if depth >= max_depth {
        ("execution-focus", vec![])
    } else if depth == 0 {
        ("plan-structure-guide", vec![("max_steps", text(max_steps))])
    } else {
        (
            "controlled-splitting",
            vec![
                ("current_depth", text(depth)),
                ("max_depth", text(max_depth)),
            ],
        )
    };
    let variables = variables
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Ok((template, variables.collect()))
}

/// Takes integers, and texts that are one, as Python's `int` does.
fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_i128(),
        Value::String(text) => crate::text::strip(text).parse().ok(),
        _ => None,
    }
}

fn bad(field: &str, name: &str, expected: &str, found: &Value) -> Error {
    let detail = format!("`{field}.data.{name}`: expected {expected}, found `{found}`");
    Error::new(ErrorKind::BadInput, detail)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_row_of_the_table() {
        let plan = |steps: &str| format!("plan-structure-guide {{\"max_steps\":\"{steps}\"}}");
        let split = |depth: &str, most: &str| {
            format!(
                "controlled-splitting {{\"current_depth\":\"{depth}\",\"max_depth\":\"{most}\"}}"
            )
        };
        let focus = "execution-focus {}".to_owned();
        for (data, expected) in [
            (json!({"depth": 0, "max_depth": 2}), plan("20")),
            (json!({"depth": 0, "max_depth": 1}), plan("20")),
            (json!({"depth": 0, "max_steps": "7"}), plan("7")),
            (json!({"max_steps": 0}), plan("0")),
            (json!({"foo": 1}), plan("20")),
            (json!({"depth": 1, "max_depth": 2}), split("1", "2")),
            (json!({"depth": "1", "max_depth": "3"}), split("1", "3")),
            (json!({"depth": " 1 "}), split("1", "2")),
            (json!({"depth": 2, "max_depth": 2}), focus.clone()),
            (json!({"depth": 3, "max_depth": 2}), focus.clone()),
            (json!({"depth": 1, "max_depth": 1}), focus.clone()),
            (json!({"depth": 0, "max_depth": 0}), focus.clone()),
            (json!({"depth": 0, "max_depth": -1}), focus),
        ] {
            let (template, variables) = select(data.as_object().unwrap(), "context[0]").unwrap();
            assert_eq!(
                format!("{template} {}", Value::Object(variables)),
                expected,
                "{data}"
            );
        }
        for (data, text) in [
            (
                json!({"depth": -1}),
                "`context[0].data.depth`: expected an integer from 0, found `-1`",
            ),
            (
                json!({"depth": 1.9}),
                "`context[0].data.depth`: expected an integer, found `1.9`",
            ),
            (
                json!({"depth": "x"}),
                "`context[0].data.depth`: expected an integer, found `\"x\"`",
            ),
            (
                json!({"depth": null}),
                "`context[0].data.depth`: expected an integer, found `null`",
            ),
            (
                json!({"max_depth": true}),
                "`context[0].data.max_depth`: expected an integer, found `true`",
            ),
        ] {
            let error = select(data.as_object().unwrap(), "context[0]").unwrap_err();
            assert_eq!(error.to_string(), text);
        }
    }
}
