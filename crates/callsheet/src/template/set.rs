//! A snapshot of one folder of templates: found by name, rendered with values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::alias;
use super::diagnostic::{Diagnostic, DiagnosticKind};
use super::file::{Language, Template};
use super::includes::Graph;
use super::jinja::{self, Compiled, Engine, OUTPUT_LIMIT, Shared, Terms};
use super::plain::{Missing, Rendered, Values, defaults_by_name, fill_plain, is_prose};
use super::scan::placeholders;
use super::traced::{Page, RAW, Safety};
use crate::freetext::strict;
use crate::mounts::Mounts;
use crate::prepare::Harmless;
use crate::text::value_text;
use crate::trace::Traced;
use crate::{Error, ErrorKind};

/// The templates of one folder as they were when it was read.
///
/// ```
/// use callsheet::template::{Missing, TemplateSet, Values};
/// use serde_json::json;
///
/// let templates = TemplateSet::parse([("hello.md".to_owned(), b"Hello {{who}}.".to_vec())]);
/// let template = templates.get("hello").unwrap();
/// let map = json!({"who": "{{crew}}"});
/// let values = Values { map: map.as_object().unwrap(), prefix: "" };
/// let rendered = templates.render(template, values, Missing::Error)?;
/// assert_eq!(rendered.body.text(), "Hello {{crew}}.", "values are never expanded");
/// # Ok::<(), callsheet::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TemplateSet {
    pub(super) templates: Vec<Template>,
    diagnostics: Vec<Diagnostic>,
    #[serde(skip)]
    compiled: OnceLock<Compiled>,
}

/// What a recipe lets its templates do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights<'a> {
    /// The fields in which every text is fit for a line already.
    pub(crate) harmless: &'a [Harmless],
    /// Where texts came from that functions made, by the paths of their fields.
    pub(crate) traces: &'a Arc<BTreeMap<String, Traced>>,
    /// Whether values may be printed as they are.
    pub(crate) raw: bool,
    /// The tags of the recipe, which no value has.
    pub(crate) tags: &'a Arc<BTreeSet<String>>,
    /// What frames of the recipe have right before the text, in whole lines.
    pub(crate) before: &'a str,
    /// The values as the engine wants them, the same for all templates.
    pub(crate) shared: &'a Shared,
    /// The real folders that have names.
    pub(crate) mounts: &'a Mounts,
}

/// What is known of a jinja template with all that it pulls in.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    /// The error for templates that include each other.
    cycle: Option<Error>,
    /// The names that are looked up, where that can be known.
    lookups: Option<BTreeSet<String>>,
}

impl Reached {
    fn of(set: &TemplateSet, template: &Template) -> Self {
        let graph = Graph::new(&set.templates);
        Self {
            cycle: graph.cycle_from(template, &mut BTreeSet::new()),
            lookups: graph.lookups(template),
        }
    }
}

impl TemplateSet {
    /// Parses the files whose names end in `.md`; never fails, problems are diagnostics.
    pub fn parse(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let mut files: Vec<(String, Vec<u8>)> = files
            .into_iter()
            .filter(|(file, _)| file.as_bytes().ends_with(b".md"))
            .collect();
        files.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut set = Self::default();
        for (file, bytes) in files {
            match String::from_utf8(bytes) {
                Ok(text) => {
                    let (template, diagnostics) = Template::parse(&file, text);
                    set.templates.push(template);
                    set.diagnostics.extend(diagnostics);
                }
                Err(error) => {
                    let at = error.utf8_error().valid_up_to();
                    set.unreadable(&file, &format!("not valid UTF-8 at byte {at}"));
                }
            }
        }
        set.report_duplicates();
        set
    }

    fn report_duplicates(&mut self) {
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        let declared = self
            .templates
            .iter()
            .enumerate()
            .filter(|(_, t)| t.names_itself);
        for (at, template) in declared.chain(self.templates.iter().enumerate()) {
            first.entry(&template.name).or_insert(at);
        }
        for (at, template) in self.templates.iter().enumerate() {
            let winner = first.get(template.name.as_str()).copied().unwrap_or(at);
            if winner != at {
                self.diagnostics.push(Diagnostic {
                    file: template.file.clone(),
                    line: None,
                    kind: DiagnosticKind::Duplicate,
                    message: format!(
                        "the name `{}` of `{}` is already taken by `{}`",
                        template.name, template.file, self.templates[winner].file
                    ),
                });
            }
        }
    }

    /// Adds the diagnostic for a file that could not be read.
    pub fn unreadable(&mut self, file: &str, reason: &str) {
        self.diagnostics.push(Diagnostic {
            file: file.to_owned(),
            line: None,
            kind: DiagnosticKind::Unreadable,
            message: reason.to_owned(),
        });
    }

    /// Lays this set over `base`, whose templates count where this set has none of that name.
    #[must_use]
    pub fn layered_over(self, base: Self) -> Self {
        let names: BTreeSet<&str> = self.templates.iter().map(|t| t.name.as_str()).collect();
        let below: Vec<Template> = base
            .templates
            .into_iter()
            .filter(|template| !names.contains(template.name.as_str()))
            .collect();
        let mut templates = self.templates;
        templates.extend(below);
        templates.sort_by(|one, other| one.file.cmp(&other.file));
        let mut diagnostics = self.diagnostics;
        diagnostics.extend(base.diagnostics);
        Self {
            templates,
            diagnostics,
            ..Self::default()
        }
    }

    /// Finds a template by its declared name, else by its stem with or without `.md`, else by a name that means the same.
    pub fn get(&self, name: &str) -> Option<&Template> {
        self.named(name).or_else(|| {
            let others = alias::others(name);
            others.iter().find_map(|other| self.named(other))
        })
    }

    fn named(&self, name: &str) -> Option<&Template> {
        let stem = name.strip_suffix(".md").unwrap_or(name);
        let mut templates = self.templates.iter();
        let declared = templates.find(|template| template.names_itself && template.name == name);
        declared.or_else(|| {
            let with = |stem| {
                self.templates
                    .iter()
                    .find(move |template| template.stem == stem)
            };
            with(name).or_else(|| with(stem))
        })
    }

    /// Returns the templates in the order of their file names.
    pub fn iter(&self) -> impl Iterator<Item = &Template> {
        self.templates.iter()
    }

    /// Returns what a template uses, by dotted paths: its placeholders and what it declares; nothing if that cannot be known.
    pub(crate) fn looked_up(&self, template: &Template) -> Option<BTreeSet<String>> {
        let mut used = match template.language {
            Language::Jinja => Graph::new(&self.templates).looked_up(template, true)?,
            Language::Plain => {
                let holes = placeholders(template.body.text()).into_iter();
                holes.map(|hole| hole.name).collect()
            }
        };
        let declared = template.variables.iter();
        used.extend(declared.map(|variable| variable.name.clone()));
        Some(used)
    }

    /// Returns what was wrong when the files were read.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the error for templates that include each other without end.
    pub(crate) fn include_cycle(&self) -> Option<Error> {
        let graph = Graph::new(&self.templates);
        let mut done = BTreeSet::new();
        let mut written = self
            .templates
            .iter()
            .filter(|t| t.language == Language::Jinja);
        written.find_map(|template| graph.cycle_from(template, &mut done))
    }

    /// Renders a template with values, which are printed as they are.
    ///
    /// `missing` is about plain templates; in a jinja template a missing value is always an error.
    pub fn render(
        &self,
        template: &Template,
        values: Values<'_>,
        missing: Missing,
    ) -> Result<Rendered, Error> {
        let terms = Terms::default();
        match template.language {
            Language::Jinja => self.render_jinja(template, values, &terms),
            Language::Plain => render_plain(template, values, missing, terms.safety),
        }
    }

    /// Renders a template of a recipe, in which values make no structure; of values that it does not use it says nothing.
    pub(crate) fn render_safe(
        &self,
        template: &Template,
        values: Values<'_>,
        missing: Missing,
        rights: Rights<'_>,
    ) -> Result<Rendered, Error> {
        let terms = Terms {
            safety: Safety::Safe {
                harmless: rights.harmless.into(),
                tags: Arc::clone(rights.tags),
                raw: rights.raw,
                before: rights.before.into(),
            },
            mounts: rights.mounts.clone(),
            shared: Some(rights.shared),
            traces: Arc::clone(rights.traces),
        };
        match template.language {
            // No recipe has templates that include each other, and nobody asks which fields one leaves unused.
            Language::Jinja => {
                let (body, omissions) = self.engine().render(template, values, &terms)?;
                Ok(Rendered::jinja(body, omissions))
            }
            Language::Plain => render_plain(template, values, missing, terms.safety),
        }
    }

    /// Returns the error for the first place at which a template, or one that it pulls in, prints a value as it is.
    pub(crate) fn raw_in(&self, template: &Template) -> Option<Error> {
        let reached = Graph::new(&self.templates).reach(template)?;
        let jinja = reached.into_iter();
        let mut jinja = jinja.filter(|template| template.language == Language::Jinja);
        jinja.find_map(|template| {
            let line = jinja::raw_line(template.body.text())?;
            let error = Error::new(ErrorKind::BadRecipe, RAW);
            Some(error.at(&template.file, template.line_of(line)))
        })
    }

    /// Returns the names of the tags that the templates have.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        let bodies = self.templates.iter();
        bodies.flat_map(|template| strict::tag_names(template.body.text()))
    }

    fn render_jinja(
        &self,
        template: &Template,
        values: Values<'_>,
        terms: &Terms<'_>,
    ) -> Result<Rendered, Error> {
        let engine = self.engine();
        let found;
        let reached = match engine.reached(template) {
            Some(kept) => kept.get_or_init(|| Reached::of(self, template)),
            None => {
                found = Reached::of(self, template);
                &found
            }
        };
        if let Some(error) = &reached.cycle {
            return Err(error.clone());
        }
        let (body, omissions) = engine.render(template, values, terms)?;
        let unused = match &reached.lookups {
            Some(used) => values
                .map
                .keys()
                .filter(|name| !used.contains(*name))
                .cloned()
                .collect(),
            None => Vec::new(),
        };
        Ok(Rendered {
            unused,
            ..Rendered::jinja(body, omissions)
        })
    }

    pub(super) fn engine(&self) -> Engine<'_> {
        Engine {
            compiled: self.compiled.get_or_init(|| Compiled::new(&self.templates)),
            templates: &self.templates,
        }
    }
}

fn render_plain(
    template: &Template,
    values: Values<'_>,
    missing: Missing,
    safety: Safety,
) -> Result<Rendered, Error> {
    if missing == Missing::Error {
        check_all_there(template, values)?;
    }
    let page = (Page::new(safety), OUTPUT_LIMIT);
    let (rendered, is_whole) =
        fill_plain(page, &template.body, values, template.declared(), missing);
    if is_whole {
        return Ok(rendered);
    }
    let detail = format!("prints more than {OUTPUT_LIMIT} bytes");
    Err(Error::new(ErrorKind::BadTemplate, detail).at(&template.file, None))
}

/// Fails unless every required variable and every placeholder of a plain template has a value or a default; prose
/// needs none.
fn check_all_there(template: &Template, values: Values<'_>) -> Result<(), Error> {
    let defaults = defaults_by_name(&template.variables);
    let has = |name: &str| {
        defaults.contains_key(name)
            || is_prose(name, template.declared())
            || values.map.get(name).and_then(value_text).is_some()
    };
    let holes = placeholders(template.body.text());
    let required = template
        .variables
        .iter()
        .filter(|variable| variable.required);
    let mut seen = BTreeSet::new();
    let missing: Vec<&str> = required
        .map(|variable| variable.name.as_str())
        .chain(holes.iter().map(|hole| hole.name.as_str()))
        .filter(|name| seen.insert(*name) && !has(name))
        .collect();
    let Some((first, others)) = missing.split_first() else {
        return Ok(());
    };
    let name = &template.name;
    let mut detail = format!("Required variable '{first}' not provided for template '{name}'");
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|name| format!("'{name}'")).collect();
        detail = format!("{detail} (also missing: {})", others.join(", "));
    }
    let line = holes
        .iter()
        .find(|hole| hole.name == *first)
        .map(|hole| template.line_at(hole.range.start));
    Err(Error::new(ErrorKind::BadTemplate, detail).at(&template.file, line))
}
