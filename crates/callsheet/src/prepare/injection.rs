//! Which files belong to story keys, in which group and order.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Prepared, Surroundings};
use crate::inputs::{Located, Root};
use crate::omission::{Omission, Reason, Refusal};
use crate::source::{lookup, strings};
use crate::story::Match;
use crate::{Error, ErrorKind};

/// The field whose layer has on record what the artifact folder refuses.
const STORY: &str = "groups.story";

/// Adds the field `groups`: the files of the stories, by what they are to them.
pub(super) fn stories(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    let (root, fields) = (around.root()?, &prepared.fields);
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
    let mut seen = BTreeSet::new();

    let mut context = Vec::new();
    if flag("include_project_context") {
        let path = folder_path(root, &context_path(fields), "paths.sprint_project_context")?;
        // One that does not exist is passed over here, and still told where somebody names it.
        if root.has(&path) {
            seen.insert(path.clone());
            context.push(path);
        }
    }
    let folder = lookup(fields, "paths.implementation_artifacts").and_then(Value::as_str);
    let folder = folder_path(
        root,
        folder.unwrap_or_default(),
        "paths.implementation_artifacts",
    )?;
    let (names, omissions) = matching(fields, root, &folder);
    let mut groups: [Vec<String>; 3] = Default::default();
    for name in names {
        let path = below(&folder, &name);
        let group = Group::of(&name);
        let wanted = match group {
            Group::Story => true,
            Group::Discovery => flag("include_discovery"),
            Group::TechSpec => flag("include_tech_spec"),
        };
        if wanted && seen.insert(path.clone()) {
            groups[group as usize].push(path);
        }
    }
    let mut additional = Vec::new();
    for named in strings(fields, "additional_files") {
        let (key, path) = match root.locate(named) {
            Located::Inside(path) => (path.clone(), path),
            Located::Outside(path) => (path.display().to_string(), named.to_owned()),
        };
        if seen.insert(key) {
            additional.push(path);
        }
    }
    let [story, discovery, tech_spec] = groups;
    let groups = json!({
        "project_context": context, "story": story, "discovery": discovery, "tech_spec": tech_spec,
        "additional": additional,
    });
    let lacking = omissions.into_iter();
    let lacking = lacking.map(|omission| (STORY.to_owned(), omission));
    prepared.lacking.extend(lacking);
    prepared.fields.insert("groups".to_owned(), groups);
    Ok(())
}

/// What a file is to a story, told by its name alone.
#[derive(Clone, Copy)]
enum Group {
    Story,
    Discovery,
    TechSpec,
}

impl Group {
    /// `discovery` wins over `tech-spec` when a name holds both.
    fn of(name: &str) -> Self {
        let name = name.to_lowercase();
        if name.contains("discovery") {
            Self::Discovery
        } else if name.contains("tech-spec") {
            Self::TechSpec
        } else {
            Self::Story
        }
    }
}

fn context_path(fields: &Map<String, Value>) -> String {
    let path = |name: &str| lookup(fields, name).and_then(Value::as_str);
    match path("paths.sprint_project_context") {
        Some(path) => path.to_owned(),
        None => {
            let folder = path("paths.planning_artifacts").unwrap_or_default();
            format!("{folder}/sprint-project-context.md")
        }
    }
}

pub(super) fn folder_path(root: &Root, named: &str, field: &str) -> Result<String, Error> {
    match root.locate(named) {
        Located::Inside(path) => Ok(path),
        Located::Outside(_) => {
            let detail = format!("`{field}`: `{named}` leads out of the root");
            Err(Error::new(ErrorKind::BadInput, detail))
        }
    }
}

/// Returns the path of a name in a folder, which may be the root itself.
fn below(folder: &str, name: &str) -> String {
    match folder {
        "." => name.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}

/// Returns the names in the folder that match any key, sorted by their lower case, then as they are.
fn matching(
    fields: &Map<String, Value>,
    root: &Root,
    folder: &str,
) -> (Vec<String>, Vec<Omission>) {
    let keys = strings(fields, "story_keys");
    let rule = Match::new(
        &keys,
        lookup(fields, "match").and_then(Value::as_str) == Some("substring"),
    );
    let listing = match root.list_where(folder, |name| rule.hits(name)) {
        Ok(listing) => listing,
        Err(Refusal {
            reason: Reason::Missing,
            ..
        }) => return (Vec::new(), Vec::new()),
        Err(refusal) => return (Vec::new(), vec![Omission::refused("", folder, refusal)]),
    };
    let mut names = listing.names;
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    let mut odd = listing.odd_names;
    odd.sort_unstable();
    let omissions = odd
        .into_iter()
        .map(|name| {
            let path = below(folder, &name);
            Omission::refused("", path, Refusal::new(Reason::NameNotUtf8))
        })
        .collect();
    (names, omissions)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn the_order_of_the_folder_shows_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        for number in [3, 1, 4, 0, 5, 2] {
            let odd = format!("2a-1-{number}").into_bytes();
            let odd = [odd.as_slice(), b"\xff"].concat();
            std::fs::write(folder.path().join(OsStr::from_bytes(&odd)), "").unwrap();
            std::fs::write(folder.path().join(format!("2a-1-{number}")), "").unwrap();
        }
        let fields = json!({"story_keys": ["2a-1"]});
        let root = Root::open(folder.path()).unwrap();
        let (names, omissions) = matching(fields.as_object().unwrap(), &root, ".");
        let omitted: Vec<&str> = omissions
            .iter()
            .map(|omission| omission.name.as_str())
            .collect();
        assert_eq!(names.len(), 6);
        assert_eq!(omitted.len(), 6);
        assert!(names.is_sorted());
        assert!(omitted.is_sorted());
    }
}
