//! What parsers say, in our own words.
//!
//! A parser tells whoever calls it what to do, and names the types of programs. Whoever wrote the document wants to know
//! what stands there and what should.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize as _, Deserializer};
use serde_json::{Number, Value};
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

use super::{Malformed, too_deep};

/// What the YAML parser says, and what it means; the first that its message contains counts.
const YAML: &[(&str, &str)] = &[
    (
        "did not find expected key",
        "expected `key: value`, or more indentation",
    ),
    (
        "mapping values are not allowed",
        "`:` cannot stand here; put a text with `: ` in quotes",
    ),
    (
        "illegal placement of ':'",
        "`:` cannot stand here; is a bracket above it not closed?",
    ),
    ("mapping keys are not allowed", "a key cannot stand here"),
    ("simple key", "expected `key: value`"),
    (
        "expected '-' indicator",
        "expected `- ` before the next item of the list",
    ),
    (
        "block sequence entries are not allowed",
        "a list cannot begin here; put it on the next line",
    ),
    ("'-' must be followed", "`-` needs a blank after it"),
    ("':' must be followed", "`:` needs a blank after it"),
    ("did not find expected ',' or '}'", "expected `,` or `}`"),
    ("expected ',' or ']'", "expected `,` or `]`"),
    ("unclosed bracket '['", "`[` has no `]`"),
    ("unclosed bracket '{'", "`{` has no `}`"),
    ("flow sequence", "`[` has no `]`"),
    ("flow mapping", "`{` has no `}`"),
    ("misplaced bracket", "a bracket closes that was not opened"),
    (
        "mismatched bracket",
        "a bracket closes another one than was opened",
    ),
    ("unclosed quote", "a text has no closing quote"),
    (
        "unexpected document indicator",
        "a text has no closing quote",
    ),
    (
        "trailing content after",
        "something follows the closing quote of a text",
    ),
    (
        "unknown escape",
        "a text has an escape that YAML does not know; use single quotes to keep backslashes",
    ),
    (
        "hexadecimal",
        "an escape in a text needs hexadecimal digits",
    ),
    (
        "surrogate",
        "an escape in a text is one half of a character of two halves",
    ),
    (
        "Unicode character escape",
        "an escape in a text is not a character",
    ),
    ("tab", "a tab cannot stand here; indent with spaces"),
    (
        "indentation indicator",
        "the number after `|` or `>` is the indentation, from 1 to 9",
    ),
    (
        "block scalar",
        "the lines below `|` or `>` are not indented alike",
    ),
    (
        "must indent their content",
        "the lines below `|` or `>` need more indentation",
    ),
    (
        "indentation",
        "the indentation does not fit the lines above",
    ),
    (
        "comment",
        "a comment needs a blank before its `#`, and cannot stand within a text",
    ),
    (
        "<document start>",
        "something follows the end of the document",
    ),
    (
        "after document end",
        "something follows the end of the document",
    ),
    ("directive", "a line that begins with `%` cannot stand here"),
    ("verbatim tag", "a tag cannot be read"),
    ("tag", "a tag cannot be read"),
    ("the handle wasn't declared", "a tag cannot be read"),
    (
        "anchor or alias",
        "`&` and `*` need a name after them; put the text in quotes",
    ),
    ("BOM", "a byte order mark stands within the text"),
    ("eof", "the text ends too early"),
    ("EOF", "the text ends too early"),
    ("end of input", "the text ends too early"),
    ("expected node content", "expected a value"),
    ("whitespace", "expected a blank"),
];

/// Returns what is wrong with a YAML text.
pub(super) fn yaml(error: &Error) -> Malformed {
    let line = error
        .location()
        .and_then(|at| usize::try_from(at.line()).ok());
    let error = innermost(error);
    if let Error::DuplicateMappingKey { key, .. } = error {
        return Malformed::twice(key.as_deref().unwrap_or_default(), None, line);
    }
    Malformed::at(line, yaml_reason(error))
}

fn innermost(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } =
        error
    {
        error = inner;
    }
    error
}

fn yaml_reason(error: &Error) -> String {
    match error {
        Error::MultipleDocuments { .. } => {
            "a second document begins here (`---`); only one is read".to_owned()
        }
        Error::UnknownAnchor { .. } => "`*` stands for a name that has no `&` above it".to_owned(),
        Error::UnsupportedTag { tag, .. } => format!("the tag `{tag}` is not known"),
        Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        } => too_deep(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "too large or too deeply nested".to_owned()
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => "a value contains itself".to_owned(),
        Error::MergeValueNotMapOrSeqOfMaps { .. } => {
            "`<<` needs a mapping, or a list of them".to_owned()
        }
        Error::InvalidScalar { ty, .. } => format!("a value is not {}", kind(ty, "a mapping")),
        Error::InvalidBinaryBase64 { .. } | Error::BinaryNotUtf8 { .. } => {
            "a value with the tag `!!binary` is not a text".to_owned()
        }
        error => {
            let message = error.to_string();
            if message.starts_with("recursion limit") {
                return too_deep();
            }
            if let Some(character) = message.strip_prefix("unexpected character: `") {
                let character = character.chars().next().unwrap_or_default();
                return format!("`{character}` cannot begin a value; put the text in quotes");
            }
            let known = YAML.iter().find(|(said, _)| message.contains(said));
            known
                .map_or("it cannot be read as YAML", |(_, meant)| meant)
                .to_owned()
        }
    }
}

/// Returns a typed value of a document.
///
/// Numbers lose the digits that a program does not count: `1.10` is `1.1`. Tagged enums can be read in no other way, as
/// they know nothing of numbers that keep their digits.
pub fn typed<T: DeserializeOwned>(mut value: Value) -> Result<T, Malformed> {
    counted(&mut value);
    serde_json::from_value(value)
        .map_err(|error| Malformed::at(None, plain_words(&error.to_string(), "an object")))
}

/// Reads a field that is a tagged enum, as [`typed`] does.
pub fn tagged<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<T, D::Error> {
    typed(Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn counted(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(same) = number.as_f64().and_then(Number::from_f64) {
                *number = same;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(counted),
        Value::Object(fields) => fields.values_mut().for_each(counted),
        _ => {}
    }
}

/// Returns what a type says of a value that does not fit it; what it says of fields stays.
///
/// `fields` is what a value with fields is called: an object in JSON, a table in TOML.
pub fn plain_words(message: &str, fields: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or_default();
    let parts = |prefix: &str| message.strip_prefix(prefix)?.split_once(", expected ");
    if let Some((found, expected)) = parts("invalid type: ").or_else(|| parts("invalid value: ")) {
        let (expected, found) = (kind(expected, fields), found_value(found, fields));
        return format!("expected {expected}, found {found}");
    }
    if let Some((len, expected)) = parts("invalid length ") {
        return format!("expected {}, found {len} items", kind(expected, fields));
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return format!("unknown value {rest}");
    }
    if let Some(rest) = message.strip_prefix("duplicate field ") {
        return format!("the key {rest} is there twice");
    }
    if message.starts_with("data did not match any variant") {
        return "none of the allowed forms fits".to_owned();
    }
    if message.contains("recursion limit") || message.contains("max recursion depth") {
        return too_deep();
    }
    message.to_owned()
}

/// Returns the name of a type as people say it.
fn kind(expected: &str, fields: &str) -> String {
    let known = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "u128" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "f32" | "f64" | "a JSON number" | "floating point" => "a number",
        "a string" | "string" | "str" | "a borrowed string" | "path string" => "text",
        "a boolean" | "boolean" | "bool" => "`true` or `false`",
        "a sequence" | "sequence" => "a list",
        "a map" | "map" => fields,
        "unit" | "null" => "nothing",
        other if other.starts_with("a nonzero ") => "a whole number from 1",
        other if other.starts_with("a tuple") => "a list",
        other if other.starts_with("struct ") => fields,
        other if other.contains(" enum ") || other.starts_with("enum ") => "a name or its fields",
        other => other,
    };
    known.to_owned()
}

/// Returns what was found as people say it.
fn found_value(found: &str, fields: &str) -> String {
    if let Some(text) = found.strip_prefix("string ") {
        let text = text.trim_matches('"');
        let shown: String = text.chars().take(60).collect();
        let dots = if shown.len() < text.len() { "…" } else { "" };
        return format!("the text `{shown}{dots}`");
    }
    match found {
        "sequence" => "a list".to_owned(),
        "map" => fields.to_owned(),
        "null" | "unit value" | "Option value" => "nothing".to_owned(),
        other => match other.split_once('`') {
            Some((_, value)) => format!("`{value}"),
            None => other.to_owned(),
        },
    }
}
