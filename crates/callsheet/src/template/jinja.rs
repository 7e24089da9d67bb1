//! Renders the jinja language: strict undefined values, no escaping, no way out of the set, an end in sight.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::error::Error as _;
use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde_json::{Map, Value};

use super::bounds;
use super::file::Template;
use super::includes::names;
use super::numbers::{self, Digits, Figures};
use super::plain::{Values, defaults_by_name};
use crate::{Error, ErrorKind};

/// The number of steps a jinja template may take; a loop without end is an error.
pub const FUEL: u64 = 10_000_000;

/// The number of bytes a jinja template may print.
pub const OUTPUT_LIMIT: usize = 64 * 1024 * 1024;

/// The number of bytes a line of a jinja template may have: minijinja 3.0.5 counts columns in 16 bits and can panic
/// past their end.
const LINE_LIMIT: usize = 65_534;

/// The number of fields that are tried for whether a template counts with them.
const MOST_TRIED: usize = 16;

/// The name under which a template that is not in the set is compiled.
const GUEST: &str = "\0guest";

/// Makes the environment in which the templates of a set see each other and nothing else.
///
/// Templates are compiled under their number: two layers may hold files of the same name.
pub(super) fn environment(templates: &[Template]) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_debug(true);
    environment.remove_global("debug");
    environment.set_syntax(syntax());
    bounds::install(&mut environment);
    let index = names(templates);
    environment.set_path_join_callback(move |name, _| match index.get(name) {
        Some(&at) => Cow::Owned(key(at)),
        None => Cow::Borrowed(name.trim_start_matches('\0')),
    });
    let bodies: Vec<String> = templates
        .iter()
        .map(|template| template.body.text().to_owned())
        .collect();
    environment.set_loader(move |name| {
        let body = number(name).and_then(|at| bodies.get(at));
        body.map(|body| compilable(body)).transpose()
    });
    environment
}

fn syntax() -> SyntaxConfig {
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    syntax.unwrap_or_default()
}

/// Returns a body as it is compiled: within bounds, and nothing that the engine cannot take.
fn compilable(body: &str) -> Result<String, minijinja::Error> {
    if body.split('\n').any(|line| line.len() > LINE_LIMIT) {
        let detail = format!("a line is longer than {LINE_LIMIT} bytes");
        return Err(minijinja::Error::new(
            minijinja::ErrorKind::SyntaxError,
            detail,
        ));
    }
    bounds::template(body, &syntax())
}

fn key(at: usize) -> String {
    format!("\0{at}")
}

fn number(key: &str) -> Option<usize> {
    key.strip_prefix('\0')?.parse().ok()
}

/// Compiles the templates of a set, and renders one of them.
pub(super) struct Engine<'a> {
    pub(super) environment: &'a Environment<'static>,
    pub(super) templates: &'a [Template],
}

impl Engine<'_> {
    /// Renders a template, which need not be one of the set; numbers are printed as they were written.
    pub(super) fn render(&self, template: &Template, values: Values<'_>) -> Result<String, Error> {
        let context = context(template, values);
        let run = |environment: &Environment<'static>, printed: &[&str], digits| {
            let given = |name: &str| {
                if printed.contains(&name) {
                    digits
                } else {
                    Digits::Counted
                }
            };
            self.run(environment, template, numbers::fields(&context, given))
        };
        let plain = run(self.environment, &[], Digits::Counted)?;
        if Figures::of(context.values()).is_empty() {
            return Ok(plain);
        }
        let fields = context.iter().filter(|(_, field)| Figures::can_hold(field));
        let fields: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
        let mut environment = self.environment.clone();
        environment.add_filter("tojson", bounds::written(numbers::tojson));
        // Whether a template counts with a field shows in what it prints when it cannot.
        let only_prints = |names: &[&str]| {
            run(&environment, names, Digits::Alike).is_ok_and(|text| text == plain)
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
        environment.set_formatter(move |out, state, value| figures.print(out, state, value));
        run(&environment, &printed, Digits::Written)
    }

    fn run(
        &self,
        environment: &Environment<'static>,
        template: &Template,
        context: minijinja::Value,
    ) -> Result<String, Error> {
        let found = self.templates.iter().position(|other| other == template);
        let mut guest;
        let (environment, name) = if let Some(at) = found {
            (environment, key(at))
        } else {
            guest = environment.clone();
            compilable(template.body.text())
                .and_then(|body| guest.add_template_owned(GUEST, body))
                .map_err(|error| self.error(&error, template))?;
            (&guest, GUEST.to_owned())
        };
        let mut out = Capped(Vec::new());
        environment
            .get_template(&name)
            .and_then(|compiled| compiled.render_captured_to(context, &mut out).map(drop))
            .map_err(|error| self.error(&error, template))?;
        String::from_utf8(out.0).map_err(|_| {
            Error::new(ErrorKind::BadTemplate, "the output is no valid UTF-8")
                .at(&template.file, None)
        })
    }

    /// Returns why the template at `at` of the set does not compile.
    pub(super) fn syntax_error(&self, at: usize) -> Option<Error> {
        let template = self.templates.get(at)?;
        let error = self.environment.get_template(&key(at)).err()?;
        Some(self.error(&error, template))
    }

    fn error(&self, error: &minijinja::Error, template: &Template) -> Error {
        let mut inner = error;
        while let Some(source) = inner.source().and_then(|source| source.downcast_ref()) {
            inner = source;
        }
        let place = inner
            .name()
            .and_then(number)
            .and_then(|at| self.templates.get(at))
            .unwrap_or(template);
        let line = inner.line().map(|line| place.line_of(line));
        self.explained(inner).at(&place.file, line)
    }

    fn explained(&self, error: &minijinja::Error) -> Error {
        use minijinja::ErrorKind as Kind;
        let bad = |detail: String| Error::new(ErrorKind::BadTemplate, detail);
        let detail = error.detail().unwrap_or_default();
        match error.kind() {
            Kind::OutOfFuel if !detail.is_empty() => bad(detail.to_owned()),
            Kind::OutOfFuel => bad(format!("does not end within {FUEL} steps")),
            Kind::WriteFailure => bad(format!("prints more than {OUTPUT_LIMIT} bytes")),
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
pub(super) fn lookups(body: &str, nested: bool) -> BTreeSet<String> {
    let mut environment = Environment::empty();
    environment.set_syntax(syntax());
    let Ok(body) = compilable(body) else {
        return BTreeSet::new();
    };
    environment
        .template_from_str(&body)
        .map(|compiled| compiled.undeclared_variables(nested).into_iter().collect())
        .unwrap_or_default()
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Returns the values a template sees: those given, without nulls, and the defaults of the others.
fn context(template: &Template, values: Values<'_>) -> Map<String, Value> {
    let mut context: Map<String, Value> = values
        .map
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for (name, default) in defaults_by_name(&template.variables) {
        context.entry(name).or_insert_with(|| Value::from(default));
    }
    context
}

struct Capped(Vec<u8>);

impl io::Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > OUTPUT_LIMIT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
