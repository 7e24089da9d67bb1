//! The digits of numbers in a TOML text, which its values do not keep.

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::number::number;

/// Puts the digits that were written into the numbers of fields that were read from the table at `path` of a text.
///
/// A number that JSON does not have, such as `1_000` or `+5`, is left as it was read.
///
/// ```
/// let text = "[recipes.n]\nprice = 1.10\n";
/// let read: serde_json::Value = toml::from_str(text).unwrap();
/// let mut fields = read["recipes"]["n"].as_object().unwrap().clone();
/// callsheet::document::keep_digits(text, &["recipes", "n"], &mut fields);
/// assert_eq!(fields["price"].to_string(), "1.10");
/// ```
pub fn keep_digits(text: &str, path: &[&str], fields: &mut Map<String, Value>) {
    let Ok(document) = DeTable::parse(text) else {
        return;
    };
    let mut table = document.get_ref();
    for step in path {
        let Some(inner) = table
            .get(*step)
            .and_then(|value| value.get_ref().as_table())
        else {
            return;
        };
        table = inner;
    }
    of_table(text, table, fields);
}

fn of_table(text: &str, table: &DeTable<'_>, fields: &mut Map<String, Value>) {
    for (name, field) in fields {
        if let Some(written) = table.get(name.as_str()) {
            of_value(text, written, field);
        }
    }
}

fn of_value(text: &str, written: &Spanned<DeValue<'_>>, value: &mut Value) {
    match (written.get_ref(), value) {
        (DeValue::Table(table), Value::Object(fields)) => of_table(text, table, fields),
        (DeValue::Array(list), Value::Array(items)) => {
            for (written, item) in list.iter().zip(items) {
                of_value(text, written, item);
            }
        }
        (DeValue::Integer(_) | DeValue::Float(_), Value::Number(read)) => {
            if let Some(same) = text.get(written.span()).and_then(number) {
                *read = same;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_at_any_depth() {
        let text = "a = 1.10\nb = [1.50, {c = 0.0, d = 1_000, e = 1E5}]\n[t.'x.y']\nf = 3.00 # c\ng = inf\nh = \"1.10\"\n[[l]]\ni = -0.50\n";
        let Ok(Value::Object(mut fields)) = toml::from_str::<Value>(text) else {
            panic!("not a table");
        };
        keep_digits(text, &[], &mut fields);
        assert_eq!(fields["a"].to_string(), "1.10");
        assert_eq!(
            fields["b"].to_string(),
            r#"[1.50,{"c":0.0,"d":1000,"e":1E5}]"#
        );
        assert_eq!(
            fields["t"].to_string(),
            r#"{"x.y":{"f":3.00,"g":null,"h":"1.10"}}"#
        );
        assert_eq!(fields["l"].to_string(), r#"[{"i":-0.50}]"#);
        let Value::Object(inner) = &mut fields["t"]["x.y"] else {
            panic!("not a table");
        };
        keep_digits(text, &["t", "x.y"], inner);
        keep_digits(text, &["t", "nowhere"], inner);
        keep_digits("not toml", &[], inner);
        assert_eq!(inner["f"].to_string(), "3.00");
    }
}
