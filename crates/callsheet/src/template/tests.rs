//! Tests of templates, by area.

mod bounds;
mod frontmatter;
mod jinja;
mod plain;
mod set;
mod traced;

use serde_json::{Map, Value};

use super::*;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

fn values(map: &Map<String, Value>) -> Values<'_> {
    Values {
        map,
        prefix: "vars.",
    }
}

fn set(files: &[(&str, &str)]) -> TemplateSet {
    TemplateSet::parse(
        files
            .iter()
            .map(|(file, text)| ((*file).to_owned(), text.as_bytes().to_vec())),
    )
}

fn lines(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().map(ToString::to_string).collect()
}
