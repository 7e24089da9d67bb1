//! `stories.yaml`: stories in the order of the work, each with an id.
//!
//! Such a list has no status. Each story has a file of its own, and the status stands there.

use std::collections::BTreeMap;

use crate::document::yaml::{self, Kind, Node};
use crate::{Error, ErrorKind};

/// A story of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its id, as it is written.
    pub id: String,
    /// Its title; empty where there is none.
    pub title: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// Reads a list of stories; `file` is how a user names it.
pub fn list(text: &str, file: &str) -> Result<Vec<Listed>, Error> {
    let refused =
        |line: Option<usize>, why: String| Error::new(ErrorKind::BadInput, why).at(file, line);
    let tree = yaml::parse(text).map_err(|malformed| refused(malformed.line, malformed.reason))?;
    let items = tree.and_then(items).ok_or_else(|| {
        refused(
            None,
            "this is not a list of stories; each needs an `id`".to_owned(),
        )
    })?;
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    let mut listed = Vec::new();
    for item in items {
        let story = story(item).map_err(|(line, why)| refused(Some(line), why))?;
        if let Some(first) = lines.insert(story.id.clone(), story.line) {
            let why = format!("the id `{}` is in line {first} already", story.id);
            return Err(refused(Some(story.line), why));
        }
        listed.push(story);
    }
    // The file of `1` would be taken for one of `1-2`.
    for story in &listed {
        let above = story.id.match_indices('-').map(|(at, _)| &story.id[..at]);
        if let Some((id, line)) = above.into_iter().find_map(|id| lines.get_key_value(id)) {
            let why = format!(
                "the id `{}` begins with the id `{id}` of line {line}",
                story.id
            );
            return Err(refused(Some(story.line), why));
        }
    }
    Ok(listed)
}

/// Returns the items of a list at the top, or below `stories`.
fn items(node: Node) -> Option<Vec<Node>> {
    match node.kind {
        Kind::List(items) => Some(items),
        Kind::Map(entries) => {
            let mut entries = entries.into_iter();
            match entries.find(|entry| entry.key == "stories")?.value.kind {
                Kind::List(items) => Some(items),
                _ => None,
            }
        }
        Kind::Null | Kind::Scalar(_) => None,
    }
}

fn story(item: Node) -> Result<Listed, (usize, String)> {
    let line = item.line;
    let Kind::Map(entries) = item.kind else {
        return Err((line, "a story has to be a map with an `id`".to_owned()));
    };
    let mut story = Listed {
        id: String::new(),
        title: String::new(),
        line,
    };
    for entry in entries {
        match (entry.key.as_str(), entry.value.kind) {
            ("id", Kind::Scalar(id)) => (story.id, story.line) = (id, entry.line),
            ("title", Kind::Scalar(title)) => story.title = title,
            ("status", _) => {
                let why = "a list of stories has no `status`; it stands in the file of each story";
                return Err((entry.line, why.to_owned()));
            }
            _ => {}
        }
    }
    let odd = |c: char| c.is_control() || c.is_whitespace() || c == '/';
    match story.id.as_str() {
        "" => Err((line, "the story has no `id`".to_owned())),
        id if id.len() > super::KEY_LIMIT || id.starts_with('.') || id.contains(odd) => Err((
            story.line,
            "the `id` cannot be part of a file name".to_owned(),
        )),
        _ => Ok(story),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_file() {
        let text = "# SPEC.md\n- id: \"2\"\n  title: Second, but first\n  spec_checkpoint: true\n- title: x\n  id: '1.10'\n";
        let listed = list(text, "s.yaml").unwrap();
        let found: Vec<(&str, &str, usize)> = listed
            .iter()
            .map(|story| (story.id.as_str(), story.title.as_str(), story.line))
            .collect();
        assert_eq!(found, [("2", "Second, but first", 2), ("1.10", "x", 6)]);
        let below = list("stories:\n  - id: a\n", "s.yaml").unwrap();
        assert_eq!(below[0].id, "a");
        assert_eq!(list("[]", "s.yaml").unwrap(), []);
    }

    #[test]
    fn what_is_not_such_a_list_is_refused() {
        let refused = |text: &str| list(text, "s.yaml").unwrap_err().to_string();
        insta::assert_snapshot!([
            refused(""),
            refused("a: 1\n"),
            refused("- a\n"),
            refused("- title: x\n"),
            refused("- id: 1\n- id: \"1\"\n"),
            refused("- id: 1-2\n- id: 1\n"),
            refused("- id: a/b\n"),
            refused("- id: a\n  status: done\n"),
        ].join("\n"), @"
        s.yaml: this is not a list of stories; each needs an `id`
        s.yaml: this is not a list of stories; each needs an `id`
        s.yaml:1: a story has to be a map with an `id`
        s.yaml:1: the story has no `id`
        s.yaml:2: the id `1` is in line 1 already
        s.yaml:1: the id `1-2` begins with the id `1` of line 2
        s.yaml:1: the `id` cannot be part of a file name
        s.yaml:2: a list of stories has no `status`; it stands in the file of each story
        ");
    }
}
