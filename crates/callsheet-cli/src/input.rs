//! Input documents: JSON or YAML files, or stdin, with fields set on the command line over them.
//!
//! Files are named relative to the current directory. Later documents win over earlier ones, and what is set on the command
//! line over all of them.

mod define;

use std::io::Read as _;
use std::path::Path;

use callsheet::document::{self, Fault, Given, Malformed, merge};
use callsheet::inputs::{Located, MAX_FILE_BYTES};
use callsheet::{Recipe, Root};
use serde_json::{Map, Value};

pub(crate) use self::define::defined;
use self::define::{reader, set};
use crate::failure::{Failure, cause_text};
use crate::output::STDOUT;
use crate::project::Project;

/// The name that means stdin where a file is asked for.
pub(crate) const STDIN: &str = STDOUT;

/// What a record calls the fields that are set on the command line.
const COMMAND_LINE: &str = "-D";

/// What somebody asks a recipe for, before the settings of the project fill the rest.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    fields: Map<String, Value>,
    /// The files that they came from, for errors.
    pub(crate) file: Option<String>,
    /// What each of several documents gave; of a single one nothing is recorded.
    pub(crate) given: Vec<Given>,
}

impl From<Map<String, Value>> for Document {
    fn from(fields: Map<String, Value>) -> Self {
        Self {
            fields,
            file: None,
            given: Vec::new(),
        }
    }
}

/// Returns what documents and the command line set: later documents win over earlier ones, the command line over all.
///
/// `root` is the project's, for the names of the files on record.
pub(crate) fn read(
    documents: &[String],
    defines: &[String],
    root: &Root,
) -> Result<Document, Failure> {
    refuse_two_readers(&readers(documents, defines))?;
    let mut fields = Map::new();
    let mut given = Vec::new();
    for name in documents {
        let mut record = Given::new(recorded(name, root));
        merge(&mut fields, object(name)?, &mut record);
        given.push(record);
    }
    let mut record = Given::new(COMMAND_LINE);
    for define in defines {
        set(&mut fields, define, &mut record)?;
    }
    if !defines.is_empty() {
        given.push(record);
    }
    let files = documents.iter().filter(|name| *name != STDIN);
    let files: Vec<&str> = files.map(String::as_str).collect();
    Ok(Document {
        fields,
        file: (!files.is_empty()).then(|| files.join(", ")),
        given: if documents.len() > 1 {
            given
        } else {
            Vec::new()
        },
    })
}

/// Returns the options of a command line that read stdin, as a person would name them.
pub(crate) fn readers(documents: &[String], defines: &[String]) -> Vec<String> {
    let documents = documents.iter().filter(|name| *name == STDIN);
    let documents = documents.map(|_| format!("`--input {STDIN}`"));
    documents
        .chain(defines.iter().filter_map(|define| reader(define)))
        .collect()
}

/// Refuses a command line of which several options would read stdin: all but one would find nothing.
pub(crate) fn refuse_two_readers(readers: &[String]) -> Result<(), Failure> {
    match readers {
        [] | [_] => Ok(()),
        [one, other, ..] => Err(
            Failure::input(format!("{one} and {other} would both read stdin"))
                .hint("stdin can be read once; put the other text into a file"),
        ),
    }
}

/// Returns the name of a document that goes on record: one that tells nothing about the machine.
fn recorded(name: &str, root: &Root) -> String {
    if name == STDIN {
        return shown(name).to_owned();
    }
    let absolute = std::path::absolute(name).unwrap_or_default();
    if let Located::Inside(path) = root.locate(&absolute.to_string_lossy()) {
        return path;
    }
    if Path::new(name).is_relative() {
        return name.to_owned();
    }
    let last = absolute.file_name().unwrap_or(absolute.as_os_str());
    last.to_string_lossy().into_owned()
}

/// Returns what a document that was read already sets.
pub(crate) fn sample(name: &str, text: &str) -> Result<Document, Failure> {
    let fields = fields_of(name, text)?;
    Ok(Document {
        file: Some(name.to_owned()),
        ..Document::from(fields)
    })
}

/// Reads a document with fields.
fn object(name: &str) -> Result<Map<String, Value>, Failure> {
    fields_of(name, &text(name)?)
}

fn fields_of(name: &str, text: &str) -> Result<Map<String, Value>, Failure> {
    match parse(name, text)? {
        Value::Object(fields) => Ok(fields),
        other => Err(Failure::input(format!(
            "{}: {}",
            shown(name),
            not_an_object(&other)
        ))),
    }
}

impl Document {
    /// Sets a field over all that is set already; `option` is named on record.
    pub(crate) fn set(&mut self, option: &str, field: &str, value: Value) {
        if !self.given.is_empty() {
            let mut given = Given::new(option);
            given.put(field, &value, self.fields.contains_key(field));
            self.given.push(given);
        }
        self.fields.insert(field.to_owned(), value);
    }

    /// Returns the input of a recipe: what is set here, over the settings of the project.
    pub(crate) fn complete(self, project: &Project, recipe: &Recipe) -> Result<Value, Failure> {
        let mut fields = self.fields;
        let settings = &project.settings.prompt;
        settings.complete(recipe, &project.open()?, &mut fields)?;
        Ok(Value::Object(fields))
    }
}

fn not_an_object(value: &Value) -> String {
    let kind = match value {
        Value::Array(_) => "a list",
        Value::Null => "nothing",
        _ => "a single value",
    };
    format!("an input is an object with fields, found {kind}")
}

fn shown(name: &str) -> &str {
    if name == STDIN { "stdin" } else { name }
}

/// What a value of the command line is.
pub(crate) enum Text<'a> {
    /// A text that is written there.
    Written(&'a str),
    /// What a file holds, or stdin.
    File(&'a str),
}

impl<'a> Text<'a> {
    /// Reads a value: `@FILE` names a file, `@-` is stdin, `@@` begins a text with one `@`.
    pub(crate) fn of(value: &'a str) -> Self {
        match value.strip_prefix('@') {
            Some(rest) if rest.starts_with('@') => Self::Written(rest),
            Some(file) => Self::File(file),
            None => Self::Written(value),
        }
    }
}

/// Returns a text of the command line, or what the file behind an `@` holds.
pub(crate) fn given(value: &str) -> Result<String, Failure> {
    match Text::of(value) {
        Text::Written(text) => Ok(text.to_owned()),
        Text::File(file) => text(file),
    }
}

/// Reads a file that was named on the command line, or stdin.
fn text(name: &str) -> Result<String, Failure> {
    if name.is_empty() {
        return Err(Failure::input("no file is named behind `@`").hint(
            "`@FILE` reads a file, `@-` stdin; a text that begins with `@` begins with `@@`",
        ));
    }
    let mut bytes = Vec::new();
    let read = if name == STDIN {
        std::io::stdin()
            .take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes)
    } else {
        std::fs::File::open(name)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory => {
            Failure::input(format!("{}: {}", shown(name), cause_text(&cause)))
        }
        _ => Failure::refused(&format!("cannot read `{}`", shown(name)), &cause),
    })?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let detail = format!("more than {MAX_FILE_BYTES} bytes are not read");
        return Err(Failure::input(format!("{}: {detail}", shown(name))));
    }
    String::from_utf8(bytes).map_err(|_| Failure::input(format!("{}: not UTF-8 text", shown(name))))
}

/// Parses a document; a name that does not tell, or stdin, is JSON if it begins like it.
fn parse(name: &str, text: &str) -> Result<Value, Failure> {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    let json = match ending.as_deref() {
        Some("json") => true,
        Some("yaml" | "yml") => false,
        _ => text.trim_start().starts_with(['{', '[']),
    };
    if json {
        parse_json(name, text)
    } else {
        parse_yaml(name, text)
    }
}

fn parse_json(name: &str, text: &str) -> Result<Value, Failure> {
    document::json(text).map_err(|malformed| not_read(name, "JSON", &malformed))
}

fn parse_yaml(name: &str, text: &str) -> Result<Value, Failure> {
    document::yaml(text).map_err(|malformed| not_read(name, "YAML", &malformed))
}

/// Returns the failure of a document that cannot be read, with its line.
pub(crate) fn not_read(name: &str, format: &str, malformed: &Malformed) -> Failure {
    let (line, reason) = (malformed.line.unwrap_or(1), &malformed.reason);
    let message = format!("{}:{line}: malformed {format}: {reason}", shown(name));
    hinted(Failure::input(message), malformed)
}

fn hinted(failure: Failure, malformed: &Malformed) -> Failure {
    match malformed.fault {
        Fault::DuplicateKey => failure.hint("only one of the values would count; remove the other"),
        _ => failure,
    }
}
