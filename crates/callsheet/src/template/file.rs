//! One template file: its header, its body, and where the body stands in the file.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::diagnostic::{Diagnostic, DiagnosticKind};
use super::frontmatter;
use crate::trace::{Origin, OriginKind, Traced};

/// The language a template's body is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// `{{name}}` is replaced, everything else is text.
    #[default]
    Plain,
    /// Jinja with strict undefined values.
    Jinja,
}

/// A variable that a template declares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// The name between the braces.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether strict rendering fails without a value for it.
    pub required: bool,
    /// The text that stands in for a missing value; an empty one does not.
    pub default: Option<String>,
}

/// A template file, parsed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Template {
    /// The declared name, or the stem.
    pub name: String,
    /// The file name without `.md`.
    pub stem: String,
    /// The file as the caller named it.
    pub file: String,
    /// The language of the body.
    pub language: Language,
    /// What the template is for.
    pub description: Option<String>,
    /// The declared category, or nothing.
    pub category: String,
    /// The declared variables, in order.
    pub variables: Vec<Variable>,
    /// The declared tags, in order.
    pub tags: Vec<String>,
    /// The declared version, as written.
    pub version: Option<String>,
    /// The text below the header without white space around it, each byte linked to the file.
    pub body: Traced,
    /// The whole file as it was read.
    pub source: Arc<Origin>,
    /// Whether the header gives the name.
    pub(super) names_itself: bool,
    /// Whether the header has a list of variables, be it an empty one.
    pub(super) lists_variables: bool,
    /// The line in the file that declares each variable.
    pub(super) variable_lines: Vec<usize>,
}

impl Template {
    /// Parses the text of a file; never fails, problems are diagnostics.
    ///
    /// A header that is no YAML mapping is no header: the whole text is the body and the stem is the name.
    pub fn parse(file: &str, text: String) -> (Self, Vec<Diagnostic>) {
        let source = Origin::new(OriginKind::Template, file, &text);
        let mut whole = Traced::normalised(text, &source);
        if whole.text().starts_with('\u{feff}') {
            whole = whole.slice('\u{feff}'.len_utf8()..whole.len());
        }
        let mut diagnostics = Vec::new();
        let found = frontmatter::split(whole.text()).and_then(|split| {
            let text = &whole.text()[split.header];
            Some((split.body, frontmatter::read(file, text, &mut diagnostics)?))
        });
        if frontmatter::is_unclosed(whole.text()) {
            diagnostics.push(Diagnostic {
                file: file.to_owned(),
                line: Some(1),
                kind: DiagnosticKind::Frontmatter,
                message: "the frontmatter has no closing `---`, so the whole text is the body"
                    .to_owned(),
            });
        }
        let (start, header) = found.unwrap_or_default();
        let stem = stem(file);
        let template = Self {
            names_itself: header.name.is_some(),
            name: header.name.unwrap_or_else(|| stem.to_owned()),
            stem: stem.to_owned(),
            file: file.to_owned(),
            language: header.language,
            description: header.description,
            category: header.category.unwrap_or_default(),
            variables: header.variables,
            tags: header.tags,
            version: header.version,
            body: whole.slice(start..whole.len()).strip(),
            source,
            lists_variables: header.lists_variables,
            variable_lines: header.lines,
        };
        (template, diagnostics)
    }

    /// Makes a plain template of a text that stands in a recipe file; nothing of it is a header.
    pub fn inline(name: &str, text: &str) -> Self {
        let source = Origin::new(OriginKind::Recipe, name, text);
        Self {
            name: name.to_owned(),
            stem: name.to_owned(),
            file: name.to_owned(),
            language: Language::Plain,
            description: None,
            category: String::new(),
            variables: Vec::new(),
            tags: Vec::new(),
            version: None,
            body: Traced::whole(text, &source),
            source,
            names_itself: false,
            lists_variables: false,
            variable_lines: Vec::new(),
        }
    }

    /// Returns the variables that the header declares; nothing where it has no list of them.
    pub(super) fn declared(&self) -> Option<&[Variable]> {
        self.lists_variables.then_some(self.variables.as_slice())
    }

    /// Tells whether a value of that name is needed: one that is declared and not required can be left out.
    pub(crate) fn needs(&self, name: &str) -> bool {
        let mut declared = self.variables.iter();
        declared
            .find(|variable| variable.name == name)
            .is_none_or(|variable| variable.required)
    }

    /// Returns the line in the file of the byte at `offset` of the body.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.line_of(crate::error::line_of(self.body.text(), offset))
    }

    /// Returns the line in the file of a line of the body, both counted from 1.
    pub(super) fn line_of(&self, line: usize) -> usize {
        let first = self
            .body
            .spans()
            .first()
            .and_then(|span| span.link.as_ref())
            .map_or(1, |link| link.line);
        first + line - 1
    }
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".md").unwrap_or(name)
}
