//! The document that describes the interface: it has every endpoint, and what is answered is what it says.

#![expect(
    clippy::unwrap_used,
    reason = "a document that cannot be read fails the test"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::client::Response;
use crate::project::Project;
use crate::served::Served;

/// Where the endpoints are written.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../callsheet-server/src");

/// Checks that an answer is one that the document describes.
#[track_caller]
pub(crate) fn check(
    document: impl FnOnce() -> Value,
    method: &str,
    target: &str,
    response: &Response,
) {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    let path = target.split('?').next().unwrap_or_default();
    if path == "/openapi.json" {
        return;
    }
    let document = DOCUMENT.get_or_init(document);
    // What is asked for without its body is described with it.
    if method == "HEAD" {
        return;
    }
    let method = method.to_lowercase();
    let Some(known) = operation(document, &method, path) else {
        let is_known = !path.starts_with("/api/") || matches!(response.status, 404 | 405);
        assert!(is_known, "{method} {path}: {}", response.status);
        return;
    };
    let shown = String::from_utf8_lossy(&response.body);
    let status = response.status;
    let described = &known["responses"][status.to_string()];
    assert!(
        described.is_object(),
        "{method} {path}: {status} is not described: {shown}"
    );
    let Some(schema) = described["content"]["application/json"].get("schema") else {
        return;
    };
    let mut whole = schema.clone();
    whole["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&whole).unwrap();
    let body = response.json();
    let wrong: Vec<String> = validator
        .iter_errors(&body)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(
        wrong.is_empty(),
        "{method} {path} {status}: {wrong:?}\n{shown}"
    );
}

/// Finds what the document says of a request; a path without parameters goes before one with them.
fn operation<'d>(document: &'d Value, method: &str, path: &str) -> Option<&'d Value> {
    let paths = document["paths"].as_object()?;
    let fits = |template: &str| {
        let (one, other): (Vec<&str>, Vec<&str>) =
            (template.split('/').collect(), path.split('/').collect());
        one.len() == other.len()
            && one
                .iter()
                .zip(&other)
                .all(|(part, given)| part == given || part.starts_with('{'))
    };
    let found = paths.iter().filter(|(template, _)| fits(template));
    let (_, operations) = found.min_by_key(|(template, _)| template.matches('{').count())?;
    operations.get(method)
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// Returns the method and the path of every endpoint in the sources.
fn written() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(Path::new(SOURCES), &mut files);
    let mut found = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for declared in text.split("#[utoipa::path(").skip(1) {
            let method = declared.split(',').next().unwrap().trim();
            let path = declared.split("path = \"").nth(1).unwrap();
            found.insert(format!("{method} {}", path.split('"').next().unwrap()));
        }
        let is_bare = text.contains(".route(\"/api/");
        assert!(
            !is_bare,
            "{}: an endpoint that nobody describes",
            file.display()
        );
    }
    found
}

#[test]
fn every_endpoint_is_described() {
    let project = Project::new();
    let served = Served::start(&project);
    let document = served.get("/openapi.json").expect(200);
    assert_eq!(document["info"]["title"], "Callsheet");
    let mut told = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            told.insert(format!("{method} {path}"));
            let responses = operation["responses"].as_object().unwrap();
            assert!(!responses.is_empty(), "{method} {path}");
            let names: BTreeSet<&str> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|parameter| parameter["in"] == "path")
                .filter_map(|parameter| parameter["name"].as_str())
                .collect();
            let parts = path.split('/');
            let holes = parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            assert_eq!(names, holes.collect(), "{method} {path}");
        }
    }
    assert_eq!(told, written());
}

#[test]
fn the_document_is_one_of_openapi() {
    let project = Project::new();
    let served = Served::start(&project);
    let document = served.get("/openapi.json").expect(200);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(document["security"], json!([{"token": []}]));
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in schemas.keys() {
        let whole = json!({"$ref": format!("#/components/schemas/{name}"), "components": document["components"]});
        assert!(jsonschema::validator_for(&whole).is_ok(), "{name}");
    }
}
