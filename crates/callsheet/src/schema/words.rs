//! What a value does not fit, as people say it; the validator says it in words of its own.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

/// The number of characters of a value that a message shows.
const SHOWN: usize = 60;

/// Returns why a value does not fit; `here` says where it stands.
pub(super) fn sentence(error: &ValidationError<'_>, here: &str) -> String {
    let instance = error.instance();
    let found = shown(instance);
    let expected = |what: String| format!("{here}: expected {what}, found {found}");
    let size = |bound: &str, limit: u64, what: &str| {
        let found = match instance.as_ref() {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            other => other.as_str().map_or(0, |text| text.chars().count()),
        };
        let plural = if limit == 1 { "" } else { "s" };
        format!("{here}: expected {bound} {limit} {what}{plural}, found {found}")
    };
    match error.kind() {
        Kind::MinItems { limit: 1 } | Kind::MinLength { limit: 1 } => {
            format!("{here} must not be empty")
        }
        Kind::MinItems { limit } => size("at least", *limit, "item"),
        Kind::MaxItems { limit } => size("at most", *limit, "item"),
        Kind::AdditionalItems { limit } => size("at most", *limit as u64, "item"),
        Kind::MinLength { limit } => size("at least", *limit, "character"),
        Kind::MaxLength { limit } => size("at most", *limit, "character"),
        Kind::MinProperties { limit } => size("at least", *limit, "field"),
        Kind::MaxProperties { limit } => size("at most", *limit, "field"),
        Kind::Minimum { limit } => expected(format!("a number from {limit}")),
        Kind::Maximum { limit } => expected(format!("a number up to {limit}")),
        Kind::ExclusiveMinimum { limit } => expected(format!("a number above {limit}")),
        Kind::ExclusiveMaximum { limit } => expected(format!("a number below {limit}")),
        Kind::MultipleOf { multiple_of } => expected(format!("a multiple of {multiple_of}")),
        Kind::Constant { expected_value } => expected(shown(expected_value)),
        Kind::Pattern { pattern } => format!("{here}: {found} does not match `{pattern}`"),
        Kind::Format { format } => format!("{here}: {found} is not a valid `{format}`"),
        Kind::UniqueItems => format!("{here} has an item twice"),
        Kind::Contains => format!("{here} lacks an item of the form that one must have"),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            format!("{here}: {found} has none of the allowed forms")
        }
        Kind::OneOfMultipleValid { .. } => {
            format!("{here}: {found} has more than one of the forms of which it may have one")
        }
        Kind::Not { .. } | Kind::FalseSchema => format!("{here}: {found} is not allowed"),
        Kind::PropertyNames { error } => sentence(error, &format!("{here}: the key {found}")),
        _ => format!("{here}: {error}"),
    }
}

/// Returns a value for a message, in backticks and not too long.
fn shown(value: &Value) -> String {
    let text = crate::text::value_text(value).unwrap_or_else(|| "null".to_owned());
    let short: String = text.chars().take(SHOWN).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("`{short}{dots}`")
}

#[cfg(test)]
mod tests {
    use crate::Schema;

    /// A rule, a value that breaks it, and what is said of it.
    const MISFITS: &[(&str, &str, &str)] = &[
        (
            r#"{"minimum": 1}"#,
            "0",
            "`x`: expected a number from 1, found `0`",
        ),
        (
            r#"{"maximum": 1.5}"#,
            "2",
            "`x`: expected a number up to 1.5, found `2`",
        ),
        (
            r#"{"exclusiveMinimum": 0}"#,
            "0",
            "`x`: expected a number above 0, found `0`",
        ),
        (
            r#"{"exclusiveMaximum": 9}"#,
            "9",
            "`x`: expected a number below 9, found `9`",
        ),
        (
            r#"{"multipleOf": 5}"#,
            "7.10",
            "`x`: expected a multiple of 5, found `7.10`",
        ),
        (r#"{"minItems": 1}"#, "[]", "`x` must not be empty"),
        (
            r#"{"minItems": 2}"#,
            "[1]",
            "`x`: expected at least 2 items, found 1",
        ),
        (
            r#"{"maxItems": 1}"#,
            "[1, 2]",
            "`x`: expected at most 1 item, found 2",
        ),
        (
            r#"{"minLength": 3}"#,
            "\"é\"",
            "`x`: expected at least 3 characters, found 1",
        ),
        (
            r#"{"maxLength": 1}"#,
            "\"ab\"",
            "`x`: expected at most 1 character, found 2",
        ),
        (
            r#"{"minProperties": 1}"#,
            "{}",
            "`x`: expected at least 1 field, found 0",
        ),
        (
            r#"{"pattern": "^a$"}"#,
            "\"b\"",
            "`x`: `b` does not match `^a$`",
        ),
        (r#"{"const": "a"}"#, "5", "`x`: expected `a`, found `5`"),
        (
            r#"{"uniqueItems": true}"#,
            "[1, 1]",
            "`x` has an item twice",
        ),
        (
            r#"{"anyOf": [{"type": "string"}, {"minimum": 5}]}"#,
            "1",
            "`x`: `1` has none of the allowed forms",
        ),
        (r#"{"not": {}}"#, "1", "`x`: `1` is not allowed"),
    ];

    fn said(rule: &str, value: &str) -> String {
        let schema = format!(r#"{{"properties": {{"x": {rule}}}}}"#);
        let schema = Schema::parse(&schema, "s.json").unwrap();
        let input = crate::document::json(&format!(r#"{{"x": {value}}}"#)).unwrap();
        schema.apply(&input).unwrap_err().to_string()
    }

    #[test]
    fn what_does_not_fit_is_said_in_plain_words() {
        for (rule, value, expected) in MISFITS {
            assert_eq!(said(rule, value), *expected);
        }
        let long = format!("\"{}\"", "b".repeat(99));
        assert_eq!(
            said(r#"{"pattern": "^a$"}"#, &long),
            format!("`x`: `{}…` does not match `^a$`", "b".repeat(60))
        );
    }
}
