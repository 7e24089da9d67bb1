//! How much work it is to check a document against a schema, counted before it is done.
//!
//! The validator knows no limit, and a schema can be small and take for ever: definitions that refer to the next one twice
//! double the work with each. So the same way is gone here first, without looking at what fits, and given up where it is
//! too long.

use serde_json::{Map, Value};

/// How many steps every document may take.
const STEPS: u64 = 250_000;

/// How many more it may take for each value in it.
const STEPS_OF_VALUE: u64 = 250;

/// How deep schemas may apply each other.
const DEPTH: usize = 128;

/// Where schemas of schemas are.
const FOREIGNERS: &str = "//json-schema.org/";

/// What a schema of schemas takes for each value.
const FOREIGN: u64 = 64;

/// Keywords with one schema, or a list of them, for the value itself.
const HERE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// Keywords with schemas by name, for the value itself.
const HERE_BY_NAME: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Keywords with one schema, or a list of them, for each value in it.
const WITHIN: [&str; 8] = [
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
];

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The work is more than may be done.
pub(super) struct TooMuch;

/// Fails if it takes too many steps to check a document.
pub(super) fn check(schema: &Value, document: &Value) -> Result<(), TooMuch> {
    let mut work = Work {
        parts: Parts::default(),
        left: STEPS.saturating_add(values(document).saturating_mul(STEPS_OF_VALUE)),
    };
    work.parts.find(schema);
    let at = At {
        value: document,
        resource: schema,
        depth: DEPTH,
    };
    work.visit(schema, at)
}

/// Returns the number of values in a document.
fn values(document: &Value) -> u64 {
    1 + match document {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(fields) => fields.values().map(values).sum(),
        _ => 0,
    }
}

/// What references can name.
#[derive(Default)]
struct Parts<'s> {
    /// Schemas that have an address, with its last part.
    addressed: Vec<(&'s str, &'s Value)>,
    /// Schemas that have a name.
    named: Vec<(&'s str, &'s Value)>,
}

impl<'s> Parts<'s> {
    fn find(&mut self, schema: &'s Value) {
        match schema {
            Value::Array(items) => items.iter().for_each(|item| self.find(item)),
            Value::Object(fields) => {
                for key in ["$anchor", "$dynamicAnchor"] {
                    let name = fields.get(key).and_then(Value::as_str);
                    self.named.extend(name.map(|name| (name, schema)));
                }
                for address in ["$id", "id"]
                    .iter()
                    .filter_map(|key| fields.get(*key)?.as_str())
                {
                    match address.strip_prefix('#') {
                        Some(name) => self.named.push((name, schema)),
                        None => self.addressed.push((file_of(address), schema)),
                    }
                }
                fields.values().for_each(|field| self.find(field));
            }
            _ => {}
        }
    }

    /// Returns what a reference of a resource leads to, each schema with its own resource.
    fn targets(&self, reference: &str, resource: &'s Value) -> Vec<(&'s Value, &'s Value)> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = decoded(fragment);
        let resources: Vec<&Value> = match file_of(address) {
            "" => vec![resource],
            file => {
                let same = self.addressed.iter().filter(|(known, _)| *known == file);
                same.map(|(_, schema)| *schema).collect()
            }
        };
        if fragment.is_empty() || fragment.starts_with('/') {
            let found = resources.into_iter();
            let found = found.filter_map(|one| Some((one.pointer(&fragment)?, one)));
            return found.collect();
        }
        let named = self.named.iter().filter(|(name, _)| *name == fragment);
        named.map(|(_, schema)| (*schema, resource)).collect()
    }
}

/// Returns a fragment without the escapes of addresses.
fn decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|two| str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        let escaped = byte.filter(|_| *first == b'%');
        bytes.push(escaped.unwrap_or(*first));
        rest = &tail[if escaped.is_some() { 2 } else { 0 }..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the last part of an address.
fn file_of(address: &str) -> &str {
    let address = address.trim_end_matches('#');
    address.rsplit('/').next().unwrap_or(address)
}

struct Work<'s> {
    parts: Parts<'s>,
    /// The steps that are left.
    left: u64,
}

/// Where in the document the work is, and where in the schema.
#[derive(Clone, Copy)]
struct At<'s, 'd> {
    value: &'d Value,
    /// The schema that references without an address are of.
    resource: &'s Value,
    /// How deep schemas may still apply each other.
    depth: usize,
}

impl<'s> Work<'s> {
    fn step(&mut self, steps: u64) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }

    /// Goes through a schema, or each of a list, as it applies to a value.
    fn visit(&mut self, schema: &'s Value, at: At<'s, '_>) -> Result<(), TooMuch> {
        self.step(1)?;
        let keywords = match schema {
            Value::Array(schemas) => {
                return schemas.iter().try_for_each(|schema| self.visit(schema, at));
            }
            Value::Object(keywords) => keywords,
            _ => return Ok(()),
        };
        let is_resource = keywords.get("$id").is_some_and(Value::is_string);
        let at = At {
            resource: if is_resource { schema } else { at.resource },
            depth: at.depth.checked_sub(1).ok_or(TooMuch)?,
            ..at
        };
        for key in ["enum", "required"] {
            let listed = keywords.get(key).and_then(Value::as_array);
            self.step(listed.map_or(0, Vec::len) as u64)?;
        }
        // What nobody has looked at is found by looking at all of it again.
        let again = ["unevaluatedProperties", "unevaluatedItems"].iter();
        let again = again.filter(|key| keywords.contains_key(**key)).count();
        for _ in 0..=again * 2 {
            self.here(keywords, at)?;
        }
        self.within(keywords, at)
    }

    /// Goes through what applies to the value itself.
    fn here(&mut self, keywords: &'s Map<String, Value>, at: At<'s, '_>) -> Result<(), TooMuch> {
        let schemas = HERE.iter().filter_map(|key| keywords.get(*key));
        let by_name = HERE_BY_NAME.iter();
        let by_name = by_name.filter_map(|key| keywords.get(*key)?.as_object());
        for schema in schemas.chain(by_name.flat_map(Map::values)) {
            self.visit(schema, at)?;
        }
        let references = REFERENCES.iter();
        for reference in references.filter_map(|key| keywords.get(*key)?.as_str()) {
            let targets = self.parts.targets(reference, at.resource);
            if targets.is_empty() {
                // Only schemas of schemas are known besides; of anything else nobody knows what it takes.
                let known = reference.contains(FOREIGNERS);
                let steps = values(at.value).saturating_mul(FOREIGN);
                self.step(if known { steps } else { u64::MAX })?;
            }
            for (target, resource) in targets {
                self.visit(target, At { resource, ..at })?;
            }
        }
        Ok(())
    }

    /// Goes through what applies to the values in the value.
    fn within(&mut self, keywords: &'s Map<String, Value>, at: At<'s, '_>) -> Result<(), TooMuch> {
        let by_name = |key: &str| keywords.get(key).and_then(Value::as_object);
        let inner: Vec<&Value> = match at.value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(fields) => {
                let known = by_name("properties");
                for (name, value) in fields {
                    if let Some(schema) = known.and_then(|known| known.get(name)) {
                        self.visit(schema, At { value, ..at })?;
                    }
                }
                fields.values().collect()
            }
            _ => return Ok(()),
        };
        let patterns = by_name("patternProperties");
        let patterns = patterns.into_iter().flat_map(Map::values);
        let others = WITHIN.iter().filter_map(|key| keywords.get(*key));
        for schema in patterns.chain(others) {
            for value in &inner {
                self.visit(schema, At { value, ..at })?;
            }
        }
        Ok(())
    }
}
