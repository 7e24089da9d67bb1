//! The values that a jinja template sees, and the names that it may have meant.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::file::Template;
use super::jinja::lookups;
use super::plain::defaults_by_name;

/// The values that a template sees: those given, without nulls, and the defaults of the others.
pub(super) struct Context<'a> {
    given: &'a Map<String, Value>,
    defaults: Map<String, Value>,
}

impl<'a> Context<'a> {
    pub(super) fn new(template: &Template, given: &'a Map<String, Value>) -> Self {
        let has = |name: &str| given.get(name).is_some_and(|value| !value.is_null());
        let defaults = defaults_by_name(&template.variables).into_iter();
        let missing = defaults.filter(|(name, _)| !has(name));
        Self {
            given,
            defaults: missing
                .map(|(name, default)| (name.to_owned(), Value::from(default)))
                .collect(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        let given = self.given.iter().filter(|(_, value)| !value.is_null());
        given.chain(&self.defaults)
    }

    /// Returns the one name in a line of a template that nobody gives it.
    pub(super) fn lacks(&self, template: &Template, line: Option<usize>) -> Option<String> {
        let line = template.body.text().lines().nth(line?.checked_sub(1)?)?;
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = line.split(|c| !is_part(c)).collect();
        let names = lookups(&template.body, false).into_iter();
        let known = |name: &String| self.iter().any(|(given, _)| given == name);
        let mut names = names.filter(|name| words.contains(name.as_str()) && !known(name));
        names.next().filter(|_| names.next().is_none())
    }

    /// Returns the last name of a path, and those that stand where it is looked for.
    pub(super) fn beside(&self, path: &str) -> Option<(String, Vec<String>)> {
        let steps = path.split(['.', '[', ']', '\'', '"']);
        let mut steps: Vec<&str> = steps.filter(|step| !step.is_empty()).collect();
        let name = steps.pop()?.to_owned();
        let Some((first, others)) = steps.split_first() else {
            return Some((name, self.iter().map(|(name, _)| name.clone()).collect()));
        };
        let Some((_, value)) = self.iter().find(|(name, _)| name == first) else {
            // What goes through a list has the fields of its items.
            let mut names = BTreeSet::new();
            self.iter()
                .for_each(|(_, value)| fields_of_items(value, &mut names));
            return Some((name, names.into_iter().collect()));
        };
        let found = others.iter().try_fold(value, |value, step| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            value => value.get(step),
        });
        let fields = found?.as_object()?;
        Some((name, fields.keys().cloned().collect()))
    }
}

/// Adds the names of the fields that items of lists have.
fn fields_of_items(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => {
            for item in items {
                names.extend(
                    item.as_object()
                        .into_iter()
                        .flat_map(|item| item.keys().cloned()),
                );
                fields_of_items(item, names);
            }
        }
        Value::Object(fields) => fields
            .values()
            .for_each(|field| fields_of_items(field, names)),
        _ => {}
    }
}
