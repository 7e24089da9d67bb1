//! What a recipe uses of its input, so that a field that nothing uses is an error and not lost.
//!
//! Everything is told from the recipe alone: the fields of its schema, of its conditions, templates, sources, limits and
//! names of frames, and those that its functions read. Where that cannot be known, because a program brings a source or a
//! template computes what it includes, nothing is refused.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Condition, Limit, Notice, Recipe};
use crate::check;
use crate::schema::type_name;
use crate::source::{Kind, Read, lookup};
use crate::template::placeholders;
use crate::{Error, ErrorKind};

/// How deep a schema is followed; below that, every field counts as used.
const DEPTH: usize = 16;

/// How many parts of a schema are followed; all fields of the others count as used.
const PARTS: usize = 100_000;

/// What sentences about limits can say that does not come from the input.
const COMPUTED: [&str; 5] = [
    "size_bytes",
    "threshold_bytes",
    "size_tokens",
    "threshold_tokens",
    "layer",
];

/// What a recipe uses of its input.
#[derive(Debug, Default)]
pub(super) struct Uses {
    fields: Node,
    /// What sources and limits read, with the kind of value that they can do something with.
    reads: Vec<Read>,
}

/// A field and what is used below it.
#[derive(Debug, Default)]
struct Node {
    /// Whether all of it is used.
    whole: bool,
    /// Whether nobody would think of it.
    hidden: bool,
    below: BTreeMap<String, Self>,
}

impl Node {
    /// Returns the field at a dotted path, which is there from now on.
    fn at(&mut self, path: &str) -> &mut Self {
        path.split('.').fold(self, |node, step| {
            node.below.entry(step.to_owned()).or_default()
        })
    }

    /// Returns the field of a name, in which dots may stand.
    fn get(&self, name: &str) -> Option<&Self> {
        let by_path = || {
            name.split('.')
                .try_fold(self, |node, step| node.below.get(step))
        };
        self.below.get(name).or_else(by_path)
    }

    /// Takes over what a schema declares; `document` is the whole of it, and so many `parts` may be followed.
    fn learn(&mut self, schema: &Value, document: &Value, depth: usize, parts: &mut usize) {
        let open = ["additionalProperties", "unevaluatedProperties"].iter();
        let mut open = open.filter_map(|key| schema.get(key));
        *parts = parts.saturating_sub(1);
        if depth == 0
            || *parts == 0
            || open.any(|allowed| *allowed != Value::Bool(false))
            || schema.get("patternProperties").is_some()
        {
            self.whole = true;
            return;
        }
        let referred = schema.get("$ref").and_then(Value::as_str);
        let referred = referred.and_then(|to| document.pointer(to.strip_prefix('#')?));
        let all = ["allOf", "anyOf", "oneOf"].iter();
        let all = all.filter_map(|key| schema.get(key)?.as_array()).flatten();
        let cases = ["if", "then", "else"].iter();
        let cases = cases.filter_map(|key| schema.get(key));
        for part in referred.into_iter().chain(all).chain(cases) {
            self.learn(part, document, depth - 1, parts);
        }
        let fields = schema.get("properties").and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten() {
            let node = self.below.entry(name.clone()).or_default();
            node.learn(field, document, depth - 1, parts);
            // An object of which nothing is said may have anything in it.
            node.whole |= node.below.is_empty();
        }
    }

    /// Adds the fields of an object that nothing uses, by their paths.
    fn unused<'a>(
        &'a self,
        object: &'a Map<String, Value>,
        path: &str,
        found: &mut Vec<(String, &'a str, &'a Self)>,
    ) {
        if self.whole {
            return;
        }
        for (name, value) in object {
            let at = match path {
                "" => name.clone(),
                _ => format!("{path}.{name}"),
            };
            match (self.get(name), value) {
                (None, _) => found.push((at, name, self)),
                (Some(node), Value::Object(object)) => node.unused(object, &at, found),
                (Some(_), _) => {}
            }
        }
    }

    /// Returns the names that somebody may have meant.
    fn names(&self) -> impl Iterator<Item = &String> {
        let shown = self.below.iter().filter(|(_, node)| !node.is_hidden());
        shown.map(|(name, _)| name)
    }

    fn is_hidden(&self) -> bool {
        let mut below = self.below.values();
        self.hidden || !self.whole && !self.below.is_empty() && below.all(Self::is_hidden)
    }
}

impl Uses {
    /// Returns what a recipe uses, as far as that can be known.
    pub(super) fn of(recipe: &Recipe) -> Self {
        let mut uses = Self::default();
        let schema = recipe.schema.document();
        let mut parts = PARTS;
        uses.fields.learn(schema, schema, DEPTH, &mut parts);
        for field in recipe.prepare.reads() {
            uses.fields.at(field).whole = true;
        }
        let conditions = [&recipe.unique, &recipe.single_system]
            .into_iter()
            .flatten();
        let whens = recipe.layers.iter().filter_map(|layer| layer.when.as_ref());
        for path in conditions.chain(whens).flat_map(Condition::paths) {
            uses.fields.at(&path).whole = true;
        }
        uses.frames(recipe);
        for limit in [&recipe.warning, &recipe.error].into_iter().flatten() {
            uses.limit(limit);
        }
        if let Some(Notice { message, facts, .. }) = &recipe.empty {
            uses.told(message, facts);
        }
        for layer in &recipe.layers {
            match layer.source.reads(&recipe.templates) {
                Some(reads) => reads.into_iter().for_each(|read| uses.read(read)),
                None => uses.fields.whole = true,
            }
        }
        for path in check::policies(recipe) {
            let node = uses.fields.at(path);
            node.hidden = recipe.denies.is_none() && !node.whole;
            node.whole = true;
        }
        uses
    }

    fn read(&mut self, read: Read) {
        self.fields.at(&read.path).whole = true;
        self.reads.push(read);
    }

    fn frames(&mut self, recipe: &Recipe) {
        let layers = recipe.layers.iter();
        let of_layers = layers.flat_map(|layer| [&layer.frame, &layer.list]);
        let messages = recipe.messages.values().map(|message| &message.frame);
        let frames = of_layers.chain(messages).chain([&recipe.frame]);
        for hole in frames.flatten().flat_map(|name| placeholders(name)) {
            self.fields.at(&hole.name).whole = true;
        }
    }

    fn limit(&mut self, limit: &Limit) {
        for path in [&limit.bytes_from, &limit.tokens_from]
            .into_iter()
            .flatten()
        {
            self.read(Read::new(path, Kind::Number));
        }
        self.told(&limit.message, &limit.facts);
        if let Some(rule) = &limit.give_way {
            self.read(Read::new(&rule.from, Kind::Flag));
            self.told(&rule.message, &rule.facts);
        }
    }

    fn told(&mut self, message: &str, facts: &BTreeMap<String, String>) {
        let holes = placeholders(message).into_iter().map(|hole| hole.name);
        let paths = holes.chain(facts.values().cloned());
        for path in paths.filter(|path| !COMPUTED.contains(&path.as_str())) {
            self.fields.at(&path).whole = true;
        }
    }

    /// Fails for fields that nothing uses, and for values of which nothing can be made.
    pub(super) fn check(&self, input: &Map<String, Value>, recipe: &str) -> Result<(), Error> {
        let mut unused = Vec::new();
        self.fields.unused(input, "", &mut unused);
        let unused = unused.into_iter().map(|(path, name, node)| {
            let detail = format!("unknown field `{path}`: nothing in recipe `{recipe}` uses it");
            Error::new(ErrorKind::BadInput, detail).expecting(name, node.names())
        });
        let misread = self.reads.iter().filter_map(|read| read.misfit(input));
        let mut errors = unused.chain(misread);
        match errors.next() {
            Some(first) => Err(errors.fold(first, |error, next| error.because(next.detail()))),
            None => Ok(()),
        }
    }
}

impl Read {
    /// Returns the error for a value of another kind than is read.
    fn misfit(&self, input: &Map<String, Value>) -> Option<Error> {
        let value = lookup(input, &self.path)?;
        let (fits, expected) = match self.kind {
            Kind::Any => return None,
            Kind::Flag => (value.is_boolean(), "boolean"),
            Kind::Number => (value.is_u64(), "integer"),
            Kind::Text => (value.is_string(), "string"),
            Kind::List => {
                let items = value.as_array();
                let fits = items.is_some_and(|items| items.iter().all(Value::is_string));
                (fits, "array of strings")
            }
        };
        let (path, found) = (&self.path, type_name(value));
        let detail = format!("`{path}`: expected {expected}, found {found}");
        (!fits).then(|| Error::new(ErrorKind::BadInput, detail))
    }
}

#[cfg(test)]
mod tests;
