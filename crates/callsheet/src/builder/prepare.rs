//! From an input document of the recipe `layers` to a builder, and from there to prepared values.

use serde_json::{Map, Value};

use super::{FileMemory, ProjectContext, PromptBuilder};
use crate::inputs::{Located, Root};
use crate::outside::PROMPTS_DIR;
use crate::prepare::{Prepared, Surroundings};
use crate::redact::Rules;
use crate::source::lookup;
use crate::template::Missing;
use crate::{Error, ErrorKind};

/// Prepares a checked input of the recipe `layers`.
pub(crate) fn prepare(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    let (root, formats) = (around.root()?, around.rules);
    let fields = std::mem::take(&mut prepared.fields);
    let text = |path: &str| lookup(&fields, path).and_then(Value::as_str);
    let mut builder = PromptBuilder::new()
        .with_missing(missing(&fields))
        .on(root.disk().clone());
    builder = builder.with_prompts_of(root, text(PROMPTS_DIR));
    if let Some(name) = text("identity.name") {
        let variables = lookup(&fields, "identity.variables").and_then(Value::as_object);
        builder.set_identity(name, &variables.cloned().unwrap_or_default())?;
    }
    let project = text("project_id").unwrap_or("project").to_owned();
    builder = project_context(
        builder.with_project_id(project),
        fields.get("project_context"),
        root,
        formats,
    )?;
    if let Some(rules) = text("rules") {
        builder.set_rules(rules);
    }
    for (index, block) in fields
        .get("context")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        add_block(&mut builder, index, block)?;
    }
    let tools = fields.get("tools").and_then(Value::as_array);
    builder.set_core_tools(tools.into_iter().flatten().cloned());
    *prepared = builder.prepared(fields);
    Ok(())
}

fn missing(fields: &Map<String, Value>) -> Missing {
    let strict = fields
        .get("strict")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    match fields.get("missing").and_then(Value::as_str) {
        _ if strict => Missing::Error,
        Some("keep") => Missing::Keep,
        _ => Missing::Empty,
    }
}

/// A text is taken as it is; `true` or an object asks for the files of the project.
fn project_context(
    mut builder: PromptBuilder,
    asked: Option<&Value>,
    root: &Root,
    formats: &Rules,
) -> Result<PromptBuilder, Error> {
    let memory = match asked {
        Some(Value::String(text)) => {
            builder.collected.project_context =
                Some(ProjectContext::text(text)).filter(|context| !context.body.is_blank());
            return Ok(builder);
        }
        Some(Value::Bool(true)) => FileMemory::on(root.disk().clone(), root.path()),
        Some(Value::Object(options)) => {
            let folder = options.get("dir").and_then(Value::as_str).unwrap_or(".");
            let path = folder_below(root, folder)?;
            if !root.has_folder(&path) {
                let detail = format!("`{folder}` is no folder below the root");
                builder.degrade(
                    "project-context",
                    &Error::new(ErrorKind::Unreadable, detail),
                );
                return Ok(builder);
            }
            let memory = FileMemory::on(root.disk().clone(), root.path().join(path));
            let chars = options.get("max_chars").and_then(Value::as_u64);
            let chars = chars.and_then(|chars| usize::try_from(chars).ok());
            chars.map_or(memory.clone(), |chars| memory.with_max_chars(chars))
        }
        _ => return Ok(builder),
    };
    builder = builder.with_memory(memory.with_rules(formats.clone()));
    builder.load_project_context();
    Ok(builder)
}

fn folder_below(root: &Root, named: &str) -> Result<String, Error> {
    match root.locate(named) {
        Located::Inside(path) => Ok(path),
        Located::Outside(_) => {
            let detail = format!("`project_context.dir`: `{named}` leads out of the root");
            Err(Error::new(ErrorKind::BadInput, detail))
        }
    }
}

fn add_block(builder: &mut PromptBuilder, index: usize, block: &Value) -> Result<(), Error> {
    let name = block
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let given = |field: &str| block.get(field).filter(|value| !value.is_null());
    let named = |field: &str| block.get(field).is_some();
    match (given("content"), given("data")) {
        (None, None) if named("content") || named("data") => Ok(()),
        (Some(_), Some(_)) => {
            let detail = format!("`context[{index}]`: `content` and `data` exclude each other");
            Err(Error::new(ErrorKind::BadInput, detail))
        }
        (None, None) => {
            let detail =
                format!("missing field `context[{index}].content` or `context[{index}].data`");
            Err(Error::new(ErrorKind::BadInput, detail))
        }
        (Some(content), None) => {
            builder.add_context(name, content.as_str().unwrap_or_default());
            Ok(())
        }
        (None, Some(data)) => {
            builder.add_context_section(name, &data.as_object().cloned().unwrap_or_default())
        }
    }
}
