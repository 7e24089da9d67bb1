//! Marks: checksums of rows, by which a changed byte is found.
//!
//! They find damage, not forgery: whoever can write the database can write a mark. The marks of events are a hash chain, so
//! that one of them, written down elsewhere, proves all events up to it.

use callsheet::Fingerprint;

use crate::db::Value;

/// How many bytes a mark has.
const LENGTH: usize = 16;

/// Returns the mark of a row: the name of its table and all values that never change, in the order of its columns.
pub(crate) fn of(table: &str, values: &[Value<'_>]) -> Vec<u8> {
    whole(table, values).as_bytes()[..LENGTH].to_vec()
}

/// Returns the mark of a row that also covers the mark of the row before it.
pub(crate) fn after(before: &[u8], table: &str, values: &[Value<'_>]) -> Fingerprint {
    let mut all = Vec::with_capacity(values.len() + 1);
    all.push(before.into());
    all.extend_from_slice(values);
    whole(table, &all)
}

fn whole(table: &str, values: &[Value<'_>]) -> Fingerprint {
    let texts: Vec<(&str, Vec<u8>)> = values.iter().map(parts).collect();
    let items = texts.iter().zip(values).map(|((kind, text), value)| {
        let bytes: &[u8] = match value {
            Value::Text(text) => text.as_bytes(),
            Value::Bytes(bytes) => bytes,
            _ => text,
        };
        (*kind, bytes)
    });
    let named = std::iter::once((table, [].as_slice())).chain(items);
    Fingerprint::of_named(named)
}

/// Returns bytes as text.
pub(crate) fn digits(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    let pairs = bytes
        .iter()
        .map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    pairs.flatten().collect()
}

/// Returns the type of a value, and its bytes where it has none of its own to lend.
fn parts(value: &Value<'_>) -> (&'static str, Vec<u8>) {
    match value {
        Value::Null => ("null", Vec::new()),
        Value::Int(number) => ("int", number.to_string().into_bytes()),
        Value::Real(number) => ("real", number.to_bits().to_string().into_bytes()),
        Value::Text(_) => ("text", Vec::new()),
        Value::Bytes(_) => ("bytes", Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_its_type_and_its_place_count() {
        let row = |a: Value<'static>, b: Value<'static>| of("t", &[a, b]);
        let marks = [
            row("a".into(), "b".into()),
            row("ab".into(), "".into()),
            row("b".into(), "a".into()),
            row("1".into(), "b".into()),
            row(1.into(), "b".into()),
            row(Value::Null, "b".into()),
            row("".into(), "b".into()),
            row(b"a".as_slice().into(), "b".into()),
            of("u", &["a".into(), "b".into()]),
        ];
        for (at, mark) in marks.iter().enumerate() {
            assert_eq!(mark.len(), LENGTH);
            assert!(!marks[at + 1..].contains(mark), "{at}");
        }
    }
}
