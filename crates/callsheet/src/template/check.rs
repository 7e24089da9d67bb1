//! Looks a set of templates over for what would surprise its author.

use std::collections::BTreeSet;

use super::diagnostic::{Diagnostic, DiagnosticKind};
use super::file::{Language, Template};
use super::includes::{Graph, includes};
use super::jinja::lookups;
use super::plain::{STAYS, is_prose};
use super::scan::scan;
use super::set::TemplateSet;

impl TemplateSet {
    /// Returns all diagnostics: those of reading the files, and those of looking the templates over.
    ///
    /// Sorted by file and line.
    pub fn check(&self) -> Vec<Diagnostic> {
        let graph = Graph::new(&self.templates);
        let mut found = self.diagnostics().to_vec();
        for (at, template) in self.templates.iter().enumerate() {
            match template.language {
                Language::Plain => check_plain(template, &mut found),
                Language::Jinja => {
                    check_includes(template, &graph, &mut found);
                    match self.engine().syntax_error(at) {
                        Some(error) => {
                            let line = error.place().and_then(|place| place.line);
                            found.push(template.diagnostic(
                                line,
                                DiagnosticKind::Syntax,
                                error.detail(),
                            ));
                        }
                        None => check_unused(template, graph.lookups(template), &mut found),
                    }
                }
            }
        }
        if let Some(error) = self.include_cycle()
            && let Some(place) = error.place()
        {
            found.push(Diagnostic {
                file: place.file.clone(),
                line: place.line,
                kind: DiagnosticKind::Syntax,
                message: error.detail().to_owned(),
            });
        }
        found.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        found
    }
}

impl Template {
    fn diagnostic(
        &self,
        line: Option<usize>,
        kind: DiagnosticKind,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            file: self.file.clone(),
            line,
            kind,
            message: message.into(),
        }
    }
}

impl Graph<'_> {
    /// Returns the names that a jinja template and all it pulls in look up; nothing if that cannot be known.
    pub(super) fn lookups(&self, template: &Template) -> Option<BTreeSet<String>> {
        self.looked_up(template, false)
    }

    /// Returns the same, with the dotted paths of fields instead of names where they are `nested`.
    pub(super) fn looked_up(&self, template: &Template, nested: bool) -> Option<BTreeSet<String>> {
        let reached = self.reach(template)?;
        Some(
            reached
                .iter()
                .flat_map(|each| lookups(&each.body, nested))
                .collect(),
        )
    }
}

/// Counts lines for offsets that only grow, so that many of them cost one pass.
struct LineCounter<'a> {
    template: &'a Template,
    offset: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    fn of(template: &'a Template) -> Self {
        Self {
            template,
            offset: 0,
            line: template.line_at(0),
        }
    }

    fn at(&mut self, offset: usize) -> usize {
        let passed = &self.template.body.text().as_bytes()[self.offset..offset];
        self.line += memchr::memchr_iter(b'\n', passed).count();
        self.offset = offset;
        self.line
    }
}

fn check_plain(template: &Template, found: &mut Vec<Diagnostic>) {
    let body = template.body.text();
    let scanned = scan(body);
    let mut lines = LineCounter::of(template);
    for literal in scanned.literal {
        let message = format!(
            "`{}` is not a placeholder and stays as it is",
            &body[literal.clone()]
        );
        let line = lines.at(literal.start);
        found.push(template.diagnostic(Some(line), DiagnosticKind::Syntax, message));
    }
    let mut lines = LineCounter::of(template);
    let mut used = BTreeSet::new();
    for hole in scanned.placeholders {
        let line = lines.at(hole.range.start);
        if is_prose(&hole.name, template.declared()) && !used.contains(&hole.name) {
            let message = format!("`{{{{{}}}}}` {STAYS}", hole.name);
            found.push(template.diagnostic(Some(line), DiagnosticKind::Undeclared, message));
        }
        used.insert(hole.name);
    }
    check_unused(template, Some(used), found);
}

fn check_unused(template: &Template, used: Option<BTreeSet<String>>, found: &mut Vec<Diagnostic>) {
    let Some(used) = used else { return };
    for (variable, line) in template.variables.iter().zip(&template.variable_lines) {
        if !used.contains(&variable.name) {
            let message = format!("`{}` is declared and never used", variable.name);
            found.push(template.diagnostic(Some(*line), DiagnosticKind::Unused, message));
        }
    }
}

fn check_includes(template: &Template, graph: &Graph<'_>, found: &mut Vec<Diagnostic>) {
    let mut lines = LineCounter::of(template);
    for include in includes(template.body.text()) {
        let line = lines.at(include.offset);
        let exists = include.targets.iter().any(|name| graph.has(name));
        if let Some(name) = include.targets.first()
            && !exists
            && !include.optional
        {
            let message = format!("no template named `{name}`");
            found.push(template.diagnostic(Some(line), DiagnosticKind::Unknown, message));
        }
    }
}
