//! Files of a package, read and checked against their schemas; every problem is collected.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use super::frontmatter;
use super::issue::{Issue, IssueKind};
use crate::inputs::{Located, Root};
use crate::schema::Schema;

/// The documents of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Manifest,
    Agents,
    Graph,
    Workflow,
    Step,
}

impl Document {
    /// Returns the schema of the document; it is compiled once.
    pub(crate) fn schema(self) -> Option<&'static Schema> {
        static SCHEMAS: [OnceLock<Option<Schema>>; 5] = [const { OnceLock::new() }; 5];
        let (name, text) = match self {
            Self::Manifest => ("bmad.json", include_str!("../../schemas/package/bmad.json")),
            Self::Agents => (
                "agents.json",
                include_str!("../../schemas/package/agents.json"),
            ),
            Self::Graph => (
                "workflow.graph.json",
                include_str!("../../schemas/package/workflow.graph.json"),
            ),
            Self::Workflow => (
                "workflow.md.json",
                include_str!("../../schemas/package/workflow.md.json"),
            ),
            Self::Step => (
                "step.md.json",
                include_str!("../../schemas/package/step.md.json"),
            ),
        };
        SCHEMAS[self as usize]
            .get_or_init(|| Schema::parse(text, name).ok())
            .as_ref()
    }

    /// Returns everything in which a value does not fit the schema.
    pub(crate) fn misfits(self, file: &str, kind: IssueKind, value: &Value) -> Vec<Issue> {
        let problems = self.schema().map(|schema| schema.problems(value));
        let problems = problems.unwrap_or_default().into_iter();
        problems
            .map(|misfit| {
                let issue = Issue {
                    instance_path: Some(misfit.instance_path),
                    schema_path: Some(misfit.schema_path),
                    ..Issue::error(file, kind, misfit.error.detail())
                };
                issue.allowing(misfit.error.allowed())
            })
            .collect()
    }
}

/// Reads files below a root, and keeps what is wrong with them.
pub(crate) struct PackageReader<'a> {
    root: &'a Root,
    pub(crate) issues: Vec<Issue>,
}

impl<'a> PackageReader<'a> {
    pub(crate) fn new(root: &'a Root) -> Self {
        Self {
            root,
            issues: Vec::new(),
        }
    }

    /// Reads a text.
    pub(crate) fn text(&mut self, file: &str) -> Option<String> {
        let issue = |message: String| Issue::error(file, IssueKind::File, message);
        let Located::Inside(inner) = self.root.locate(file) else {
            self.issues
                .push(issue("the path leads out of the package".to_owned()));
            return None;
        };
        match self.root.read(&inner) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Some(text),
                Err(_) => {
                    self.issues
                        .push(issue("the file is not UTF-8 text".to_owned()));
                    None
                }
            },
            Err(refusal) => {
                self.issues
                    .push(issue(format!("the file {}", refusal.reason.sentence())));
                None
            }
        }
    }

    /// Reads a JSON document that fits its schema.
    pub(crate) fn json(&mut self, file: &str, document: Document) -> Option<(Value, String)> {
        let (value, text, fits) = self.any_json(file, document)?;
        fits.then_some((value, text))
    }

    /// Reads a JSON document, and tells whether it fits its schema.
    pub(super) fn any_json(
        &mut self,
        file: &str,
        document: Document,
    ) -> Option<(Value, String, bool)> {
        let text = self.text(file)?;
        match crate::document::json(&text) {
            Ok(value) => {
                let fits = self.fits(file, document, IssueKind::Schema, &value);
                Some((value, text, fits))
            }
            Err(error) => {
                let line = error.line.unwrap_or(1);
                let message = format!("line {line}: not valid JSON: {}", error.reason);
                self.issues
                    .push(Issue::error(file, IssueKind::Schema, message));
                None
            }
        }
    }

    /// Reads the header of a Markdown file that fits its schema.
    pub(crate) fn header(&mut self, file: &str, document: Document) -> Option<Map<String, Value>> {
        let (fields, fits) = self.any_header(file, document)?;
        fits.then_some(fields)
    }

    /// Reads the header of a Markdown file, and tells whether it fits its schema.
    pub(super) fn any_header(
        &mut self,
        file: &str,
        document: Document,
    ) -> Option<(Map<String, Value>, bool)> {
        let text = self.text(file)?;
        match frontmatter::parse(&text) {
            Ok(found) => {
                let value = Value::Object(found.fields);
                let fits = self.fits(file, document, IssueKind::Frontmatter, &value);
                match value {
                    Value::Object(fields) => Some((fields, fits)),
                    _ => None,
                }
            }
            Err(error) => {
                let issue = Issue::error(file, IssueKind::Frontmatter, error.to_string());
                self.issues.push(issue);
                None
            }
        }
    }

    /// Keeps all in which a value does not fit its schema; tells whether there is nothing.
    fn fits(&mut self, file: &str, document: Document, kind: IssueKind, value: &Value) -> bool {
        let misfits = document.misfits(file, kind, value);
        let fits = misfits.is_empty();
        self.issues.extend(misfits);
        fits
    }
}
