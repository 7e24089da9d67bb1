//! New values for some keys of a YAML header; every line that says nothing of them stays as it is.

mod patch;
mod write;

use serde_json::{Map, Value};

use crate::document::yaml::{self, Kind};
use crate::package::frontmatter;

/// Returns the text with new values for some keys of its header.
///
/// A value is changed where it stands, a new key gets lines at the end. What cannot be changed in this way is refused.
pub(super) fn rewrite(text: &str, changes: &[(&str, Value)]) -> Result<String, String> {
    let found = frontmatter::parse(text).map_err(|error| error.to_string())?;
    let mut fields = found.fields.clone();
    for (key, value) in changes {
        fields.insert((*key).to_owned(), value.clone());
    }
    let header = &text[found.header.clone()];
    let (before, after) = (&text[..found.header.start], &text[found.header.end..]);
    let candidates = [patch::Scope::Value, patch::Scope::Properties].into_iter();
    let mut candidates = candidates.filter_map(|scope| {
        let header = changed(header, &found.fields, changes, scope)?;
        Some(format!("{before}{header}{after}"))
    });
    let reads_back = |new: &String| frontmatter::parse(new).is_ok_and(|read| read.fields == fields);
    candidates.find(reads_back).ok_or_else(|| {
        let keys: Vec<&str> = changes.iter().map(|(key, _)| *key).collect();
        let keys = keys.join("`, `");
        format!("`{keys}` cannot be changed as the frontmatter is written")
    })
}

fn changed(
    header: &str,
    old: &Map<String, Value>,
    changes: &[(&str, Value)],
    scope: patch::Scope,
) -> Option<String> {
    let mut patch = patch::Patch::new(header, scope);
    let root = yaml::parse(header).ok()?;
    let mut lines = String::new();
    match root {
        Some(root) if !matches!(root.kind, Kind::Null) => {
            let mut new = old.clone();
            let is_block = root.at.is_empty();
            for (key, value) in changes {
                if is_block && !old.contains_key(*key) {
                    lines.push_str(&write::lines(key, value));
                } else {
                    new.insert((*key).to_owned(), value.clone());
                }
            }
            patch.mapping(&root, old, &new)?;
        }
        _ => lines.extend(changes.iter().map(|(key, value)| write::lines(key, value))),
    }
    patch.at_end(&lines);
    patch.applied()
}

#[cfg(test)]
mod tests;
