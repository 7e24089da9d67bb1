//! Renders the jinja language: strict undefined values, no escaping, no way out of the set, an end in sight.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::io;
use std::sync::{Arc, OnceLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::{Map, Value};

use super::bounds;
use super::context::Context;
use super::file::Template;
use super::includes::names;
use super::numbers::{Digits, Figures};
use super::plain::{Values, defaults_by_name};
use super::set::Reached;
use super::traced::{self, Given, Known, Rendering, Safety, SourceText};
use crate::mounts::Mounts;
use crate::omission::Omission;
use crate::trace::Traced;
use crate::{Error, ErrorKind};

/// The number of steps a jinja template may take; a loop without end is an error.
pub(crate) const FUEL: u64 = 10_000_000;

/// The number of bytes a jinja template may print.
pub(crate) const OUTPUT_LIMIT: usize = 64 * 1024 * 1024;

/// The number of bytes a line of a jinja template may have: minijinja 3.0.5 counts columns in 16 bits and can panic
/// past their end.
const LINE_LIMIT: usize = 65_534;

/// The number of fields that are tried for whether a template counts with them.
const MOST_TRIED: usize = 16;

/// The name under which a template that is not in the set is compiled.
const GUEST: &str = "\0guest";

/// The compiled templates of a set, which see each other and nothing else.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    environment: Environment<'static>,
    sources: Vec<Arc<SourceText>>,
    /// What is known of each template with all that it pulls in.
    reached: Vec<OnceLock<Reached>>,
}

impl Compiled {
    /// Compiles templates when they are asked for.
    ///
    /// Templates are compiled under their number: two layers may hold files of the same name.
    pub(super) fn new(templates: &[Template]) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_fuel(Some(FUEL));
        environment.set_debug(true);
        environment.remove_global("debug");
        environment.set_syntax(syntax());
        bounds::install(&mut environment);
        traced::install(&mut environment);
        let index = names(templates);
        environment.set_path_join_callback(move |name, _| match index.get(name) {
            Some(&at) => Cow::Owned(key(at)),
            None => Cow::Borrowed(name.trim_start_matches('\0')),
        });
        let sources: Vec<Arc<SourceText>> = templates
            .iter()
            .map(|template| Arc::new(SourceText::new(template.body.clone())))
            .collect();
        let loaded = sources.clone();
        environment.set_loader(move |name| {
            let found = number(name).and_then(|at| Some((at, loaded.get(at)?)));
            found.map(|(at, source)| compiled(at, source)).transpose()
        });
        Self {
            environment,
            sources,
            reached: templates.iter().map(|_| OnceLock::new()).collect(),
        }
    }
}

/// Returns a template as it is compiled, and keeps what that found out.
fn compiled(at: usize, source: &SourceText) -> Result<String, minijinja::Error> {
    let (text, sites) = compilable(&source.body, at)?;
    source.compiled(sites);
    Ok(text)
}

fn syntax() -> SyntaxConfig {
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    syntax.unwrap_or_default()
}

/// Returns a body as it is compiled: within bounds, and nothing that the engine cannot take.
fn compilable(
    body: &Traced,
    number: usize,
) -> Result<(String, Vec<bounds::Site>), minijinja::Error> {
    if body.text().split('\n').any(|line| line.len() > LINE_LIMIT) {
        let detail = format!("a line is longer than {LINE_LIMIT} bytes");
        return Err(minijinja::Error::new(
            minijinja::ErrorKind::SyntaxError,
            detail,
        ));
    }
    bounds::template(body, number, &syntax())
}

fn key(at: usize) -> String {
    format!("\0{at}")
}

fn number(key: &str) -> Option<usize> {
    key.strip_prefix('\0')?.parse().ok()
}

/// The values of several renderings as the engine wants them, once for all.
#[derive(Debug, Default)]
pub(crate) struct Shared(OnceCell<Option<Converted>>);

/// Fields as the engine wants them, and where their texts came from.
#[derive(Clone, Debug)]
struct Converted {
    fields: Vec<(String, minijinja::Value)>,
    known: Arc<Known>,
}

impl Shared {
    /// Returns the values; those with numbers that the engine would change depend on what a template does with them.
    fn of(&self, values: Values<'_>) -> Option<&Converted> {
        let converted = self.0.get_or_init(|| {
            let fields = || values.map.iter().filter(|(_, field)| !field.is_null());
            let plain = Figures::of(fields().map(|(_, field)| field)).is_empty();
            plain.then(|| converted(fields(), values.prefix, |_| Digits::Counted))
        });
        converted.as_ref()
    }

    /// Returns some of the fields for an expression, if a template has asked for them before.
    pub(crate) fn some(
        &self,
        fields: &Map<String, Value>,
        names: &[String],
    ) -> Option<minijinja::Value> {
        let converted = self.0.get()?.as_ref()?;
        let pairs = names.iter().filter_map(|name| {
            let value = match fields.get(name)? {
                Value::Null => ().into(),
                _ => {
                    let mut fields = converted.fields.iter();
                    fields.find(|(known, _)| known == name)?.1.clone()
                }
            };
            Some((name.as_str(), value))
        });
        Some(minijinja::Value::from_pairs(pairs))
    }
}

fn converted<'a>(
    fields: impl IntoIterator<Item = (&'a String, &'a Value)>,
    prefix: &str,
    digits: impl Fn(&str) -> Digits,
) -> Converted {
    let (fields, known) = traced::context(fields, prefix, digits);
    let known = Arc::new(known);
    Converted { fields, known }
}

/// What a rendering is about, beside its template and its values.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms<'a> {
    /// The values, where other templates are rendered with the same.
    pub(super) shared: Option<&'a Shared>,
    pub(super) safety: Safety,
    pub(super) mounts: Mounts,
    /// Where texts came from that functions made, by the paths of their fields.
    pub(super) traces: Arc<BTreeMap<String, Traced>>,
}

/// Compiles the templates of a set, and renders one of them.
pub(super) struct Engine<'a> {
    pub(super) compiled: &'a Compiled,
    pub(super) templates: &'a [Template],
}

/// The values of a rendering, and on which terms it prints them.
#[derive(Clone, Copy)]
struct Task<'a> {
    template: &'a Template,
    values: Values<'a>,
    terms: &'a Terms<'a>,
}

impl Engine<'_> {
    /// Renders a template, which need not be one of the set; numbers are printed as they were written.
    pub(super) fn render(
        &self,
        template: &Template,
        values: Values<'_>,
        terms: &Terms<'_>,
    ) -> Result<(Traced, Vec<Omission>), Error> {
        let task = Task {
            template,
            values,
            terms,
        };
        let shared = terms
            .shared
            .filter(|_| defaults_by_name(&template.variables).is_empty());
        if let Some(converted) = shared.and_then(|shared| shared.of(values)) {
            return self.run(&task, converted.clone(), Figures::default());
        }
        let context = Context::new(template, values.map);
        let run = |digits: &dyn Fn(&str) -> Digits, figures| {
            let converted = converted(context.iter(), values.prefix, digits);
            self.run(&task, converted, figures)
        };
        let plain = run(&|_| Digits::Counted, Figures::default())?;
        if Figures::of(context.iter().map(|(_, field)| field)).is_empty() {
            return Ok(plain);
        }
        let given = |names: &[&str], digits| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            move |name: &str| {
                let printed = names.iter().any(|other| other == name);
                if printed { digits } else { Digits::Counted }
            }
        };
        let fields = context.iter().filter(|(_, field)| Figures::can_hold(field));
        let fields: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
        // Whether a template counts with a field shows in what it prints when it cannot.
        let only_prints = |names: &[&str]| {
            let tried = run(&given(names, Digits::Alike), Figures::default());
            tried.is_ok_and(|(text, _)| text.text() == plain.0.text())
        };
        let printed: Vec<&str> = if only_prints(&fields) {
            fields
        } else {
            let each = fields.into_iter().take(MOST_TRIED);
            each.filter(|name| only_prints(&[name])).collect()
        };
        let counted = context
            .iter()
            .filter(|(name, _)| !printed.contains(&name.as_str()));
        let figures = Figures::of(counted.map(|(_, field)| field));
        run(&given(&printed, Digits::Written), figures)
    }

    /// Returns the place for what is known of a template of the set.
    pub(super) fn reached(&self, template: &Template) -> Option<&OnceLock<Reached>> {
        self.compiled.reached.get(self.position(template)?)
    }

    fn position(&self, template: &Template) -> Option<usize> {
        let same = |other: &Template| std::ptr::eq(other, template) || other == template;
        self.templates.iter().position(same)
    }

    fn run(
        &self,
        task: &Task<'_>,
        converted: Converted,
        figures: Figures,
    ) -> Result<(Traced, Vec<Omission>), Error> {
        let template = task.template;
        let error = |error: minijinja::Error| self.error(&error, template);
        let mut sources = self.compiled.sources.clone();
        let mut guest;
        let (environment, name) = if let Some(at) = self.position(template) {
            (&self.compiled.environment, key(at))
        } else {
            guest = self.compiled.environment.clone();
            let source = Arc::new(SourceText::new(template.body.clone()));
            compiled(sources.len(), &source)
                .and_then(|body| guest.add_template_owned(GUEST, body))
                .map_err(error)?;
            sources.push(source);
            (&guest, GUEST.to_owned())
        };
        let given = Given {
            known: converted.known,
            prefix: task.values.prefix.to_owned(),
            sources,
            safety: task.terms.safety.clone(),
            figures,
            mounts: task.terms.mounts.clone(),
            traces: Arc::clone(&task.terms.traces),
            ..Given::default()
        };
        let compiled = environment.get_template(&name).map_err(error)?;
        let rendered = compiled.render_captured_to(given.context(converted.fields), io::sink());
        let mut rendered = rendered.map_err(|error| self.undefined(&error, task))?;
        Ok(rendered.with_state_mut(Rendering::finish))
    }

    /// Returns the error of a rendering; one about a name that is not there says which there are.
    fn undefined(&self, error: &minijinja::Error, task: &Task<'_>) -> Error {
        let context = Context::new(task.template, task.values.map);
        let (inner, place, line) = self.place(error, task.template);
        let detail = inner.detail().unwrap_or_default();
        let path = match detail
            .strip_suffix(")")
            .unwrap_or(detail)
            .rsplit_once("` is undefined")
        {
            Some((before, "")) => before.rsplit_once('`').map(|(_, path)| path.to_owned()),
            // Of what a macro looks up outside of itself the engine does not know the name.
            _ if inner.kind() == minijinja::ErrorKind::UndefinedError && detail.is_empty() => {
                context.lacks(place, line)
            }
            _ => None,
        };
        let Some(path) = path else {
            return self.error(error, task.template);
        };
        let told = Error::new(ErrorKind::BadTemplate, format!("`{path}` is undefined"));
        let told = told.at(&place.file, line.map(|line| place.line_of(line)));
        match context.beside(&path) {
            Some((name, names)) => told.expecting(&name, names),
            None => told,
        }
    }

    /// Returns why the template at `at` of the set does not compile.
    pub(super) fn syntax_error(&self, at: usize) -> Option<Error> {
        let template = self.templates.get(at)?;
        let error = self.compiled.environment.get_template(&key(at)).err()?;
        Some(self.error(&error, template))
    }

    fn error(&self, error: &minijinja::Error, template: &Template) -> Error {
        let (inner, place, line) = self.place(error, template);
        let line = line.map(|line| place.line_of(line));
        self.explained(inner).at(&place.file, line)
    }

    /// Returns what an error comes from, the template that it is about, and the line of its body.
    fn place<'e>(
        &'e self,
        error: &'e minijinja::Error,
        template: &'e Template,
    ) -> (&'e minijinja::Error, &'e Template, Option<usize>) {
        let mut inner = error;
        while let Some(source) = inner.source().and_then(|source| source.downcast_ref()) {
            inner = source;
        }
        let named = inner.name().and_then(number);
        let place = named.and_then(|at| self.templates.get(at));
        (inner, place.unwrap_or(template), inner.line())
    }

    fn explained(&self, error: &minijinja::Error) -> Error {
        use minijinja::ErrorKind as Kind;
        let bad = |detail: String| Error::new(ErrorKind::BadTemplate, detail);
        let detail = error.detail().unwrap_or_default();
        match error.kind() {
            Kind::OutOfFuel if !detail.is_empty() => bad(detail.to_owned()),
            Kind::OutOfFuel => bad(format!("does not end within {FUEL} steps")),
            Kind::TemplateNotFound => {
                let files: Vec<&str> = self
                    .templates
                    .iter()
                    .map(|template| template.file.as_str())
                    .collect();
                let found = name_in(detail);
                let what = match found {
                    Some(name) => format!("no template named `{name}`"),
                    None => "none of the templates exists".to_owned(),
                };
                bad(format!("{what} (there are: {})", quoted(&files)))
                    .expecting(found.unwrap_or_default(), files)
            }
            Kind::UndefinedError if !detail.is_empty() => bad(detail.to_owned()),
            Kind::UnknownFilter => bad(unknown("filter", detail)),
            Kind::UnknownTest => bad(unknown("test", detail)),
            Kind::UnknownFunction => bad(unknown("function", detail)),
            kind if detail.is_empty() => bad(kind.to_string()),
            kind => bad(format!("{kind}: {detail}")),
        }
    }
}

/// Returns that there is no such thing, from what the engine says: `filter x is unknown`.
fn unknown(what: &str, detail: &str) -> String {
    let name = detail.strip_suffix(" is unknown").unwrap_or(detail);
    let name = name.strip_prefix(what).unwrap_or(name).trim();
    format!("no {what} named `{name}`")
}

/// Returns the one template name that the engine quotes in a sentence, in either kind of quotes.
fn name_in(detail: &str) -> Option<&str> {
    let start = detail.find(['"', '\''])?;
    let quote = detail[start..].chars().next()?;
    let end = detail.rfind(quote).filter(|end| *end > start)?;
    let one = !detail.contains("one of multiple");
    one.then(|| &detail[start + 1..end])
}

/// Returns the names that a body looks up and does not set itself; none if it does not compile.
///
/// Where they are `nested`, a field of a value is a name with dots.
pub(super) fn lookups(body: &Traced, nested: bool) -> BTreeSet<String> {
    let mut environment = Environment::empty();
    environment.set_syntax(syntax());
    let Ok((body, _)) = compilable(body, 0) else {
        return BTreeSet::new();
    };
    environment
        .template_from_str(&body)
        .map(|compiled| compiled.undeclared_variables(nested).into_iter().collect())
        .unwrap_or_default()
}

/// Returns the line of a body that uses the filter `raw`.
pub(super) fn raw_line(body: &str) -> Option<usize> {
    let some = memchr::memmem::find(body.as_bytes(), b"raw").is_some();
    some.then(|| bounds::filter_line(body, "raw", &syntax()))?
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
