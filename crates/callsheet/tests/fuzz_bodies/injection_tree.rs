//! Any project and any input: the exact bytes that the source document asks for, and a record of all the rest.

use std::collections::BTreeSet;

use callsheet::recipe::built_in;
use callsheet::{Composition, Inputs, Options, Reason, Root, compose};
use serde_json::{Value, json};

use super::draw::Draw;
use super::project::{ARTIFACTS, CONTEXT, Fate, Project, SHARED};
use super::spans::{assert_mapped, normalised};

const KEYS: &[&str] = &["2a-1", "2A-10", "a-1", "é", "-", "discovery"];

/// What is asked for.
struct Asked {
    keys: Vec<&'static str>,
    additional: Vec<String>,
    input: Value,
}

impl Asked {
    fn draw(draw: &mut Draw<'_>, project: &Project) -> Self {
        let names = project.artifacts.keys().filter_map(|name| name.to_str());
        let mut paths: Vec<String> = names.map(|name| format!("{ARTIFACTS}/{name}")).collect();
        paths.extend([SHARED, "missing.md", "../outside.txt", CONTEXT].map(ToOwned::to_owned));
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let keys: Vec<_> = (0..draw.byte() % 3).map(|_| draw.pick(KEYS)).collect();
        let additional: Vec<String> = (0..draw.byte() % 4)
            .map(|_| {
                format!(
                    "{}{}",
                    draw.pick(&["", "./", "nowhere/../"]),
                    draw.pick(&paths)
                )
            })
            .collect();
        let input = json!({
            "command_name": "sprint-dev-story",
            "story_keys": keys,
            "include_project_context": draw.flag(),
            "include_discovery": draw.flag(),
            "include_tech_spec": draw.flag(),
            "additional_files": additional,
            "match": draw.pick(&["key", "substring"]),
            "framing": draw.pick(&["exact", "unique"]),
            "limits": {"error_bytes": 100_000_000},
        });
        Self {
            keys,
            additional,
            input,
        }
    }

    fn is(&self, field: &str, value: impl Into<Value>) -> bool {
        self.input[field] == value.into()
    }

    fn hits(&self, lower: &str) -> bool {
        let substring = self.is("match", "substring");
        let starts = || lower.char_indices().map(|(at, _)| at);
        self.keys.iter().any(|key| {
            let key = key.to_lowercase();
            starts()
                .filter(|&at| lower[at..].starts_with(&key))
                .any(|at| {
                    let before = lower[..at].chars().next_back();
                    let after = lower[at + key.len()..].chars().next();
                    substring
                        || ![before, after]
                            .into_iter()
                            .flatten()
                            .any(char::is_alphanumeric)
                })
        })
    }

    fn wants(&self, lower: &str) -> Option<u8> {
        let (group, wanted) = match (lower.contains("discovery"), lower.contains("tech-spec")) {
            (true, _) => (1, self.is("include_discovery", true)),
            (false, true) => (2, self.is("include_tech_spec", true)),
            (false, false) => (0, true),
        };
        wanted.then_some(group)
    }
}

/// What should be in the prompt, in order, and what should be recorded as left out.
#[derive(Default)]
struct Expected {
    taken: Vec<(String, String)>,
    refused: Vec<(String, Reason)>,
}

impl Expected {
    fn new(project: &Project, asked: &Asked) -> Self {
        let mut expected = Self::default();
        let mut paths = Vec::new();
        // A context that is not there is passed over, and still told where somebody names it.
        let there = !matches!(project.fate(CONTEXT), Fate::Refused(Reason::Missing));
        if there && asked.is("include_project_context", true) {
            paths.push(CONTEXT.to_owned());
        }
        let mut matching = Vec::new();
        for name in project.artifacts.keys() {
            let readable = name.to_string_lossy().into_owned();
            let lower = readable.to_lowercase();
            // The kind of an odd name shows in the folder itself, and folders are passed over.
            let folder = matches!(
                project.artifacts[name].fate(),
                Fate::Refused(Reason::Folder)
            );
            if !asked.hits(&lower) || folder {
                continue;
            }
            if name.to_str().is_none() {
                expected
                    .refused
                    .push((format!("{ARTIFACTS}/{readable}"), Reason::NameNotUtf8));
            } else if let Some(group) = asked.wants(&lower) {
                matching.push((group, lower, readable));
            }
        }
        matching.sort();
        paths.extend(
            matching
                .into_iter()
                .map(|(_, _, name)| format!("{ARTIFACTS}/{name}")),
        );

        let mut seen: BTreeSet<String> = paths.iter().cloned().collect();
        for path in paths {
            match project.fate(&path) {
                Fate::Refused(Reason::Missing | Reason::Folder) => {}
                fate => expected.add(path, fate),
            }
        }
        for named in &asked.additional {
            let path = named
                .trim_start_matches("./")
                .trim_start_matches("nowhere/../");
            if !seen.insert(path.to_owned()) {
                continue;
            }
            if path.starts_with("../") || named.ends_with("../outside.txt") {
                expected.refused.push((named.clone(), Reason::OutsideRoot));
            } else {
                expected.add(path.to_owned(), project.fate(path));
            }
        }
        expected
    }

    fn add(&mut self, path: String, fate: Fate) {
        match fate {
            Fate::Taken(text) => self.taken.push((path, text)),
            Fate::Refused(reason) => self.refused.push((path, reason)),
        }
    }

    /// Returns the exact bytes, with a suffix on every tag.
    fn text(&self, suffix: &str) -> String {
        let mut parts = vec![format!(
            "<file_injections{suffix} rule=\"DO NOT read these files - content already provided\">"
        )];
        for (path, text) in &self.taken {
            parts.push(format!(
                "  <file{suffix} path=\"{}\">",
                path.replace('"', "&quot;")
            ));
            parts.push(normalised(text));
            parts.push(format!("  </file{suffix}>"));
        }
        parts.push(format!("</file_injections{suffix}>"));
        parts.join("\n")
    }

    /// Tells whether a file could be taken for the end of a frame.
    fn collides(path: &str, text: &str, suffix: &str) -> bool {
        let closes = |tag: &str| text.contains(&format!("</{tag}{suffix}>"));
        closes("file") || closes("file_injections") || path.contains(char::is_control)
    }
}

pub(crate) fn run(data: &[u8]) {
    let mut draw = Draw::new(data);
    let project = Project::draw(&mut draw);
    let asked = Asked::draw(&mut draw, &project);
    let composed = composed(&project, &asked, false);
    let again = self::composed(&project, &asked, true);
    assert_eq!(composed.text, again.text);
    assert_eq!(composed.source_map, again.source_map);
    assert_eq!(json!(composed.manifest), json!(again.manifest));

    assert_mapped(&composed);
    let suffix = composed
        .text
        .trim_start_matches("<file_injections")
        .split(' ')
        .next()
        .unwrap_or_default();
    let expected = Expected::new(&project, &asked);
    assert_eq!(composed.text, expected.text(suffix));
    assert_sections(&composed, &expected, suffix);
    assert_omissions(&composed, &expected);
    if asked.is("framing", "unique") {
        let free = |(_, text): &(String, String)| !Expected::collides("", text, suffix);
        assert!(expected.taken.iter().all(free));
    } else {
        assert_eq!(suffix, "");
    }
}

/// Makes the project anew, its files in one order or the other, and composes it.
fn composed(project: &Project, asked: &Asked, backwards: bool) -> Composition {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    std::fs::create_dir(&root).unwrap();
    if backwards {
        project.make(&root, project.artifacts.keys().rev());
    } else {
        project.make(&root, project.artifacts.keys());
    }
    let recipe = built_in("injection").unwrap().unwrap();
    let inputs = Inputs::new(Root::open(&root).unwrap());
    compose(recipe, &asked.input, &inputs, &Options::default()).unwrap()
}

fn assert_sections(composed: &Composition, expected: &Expected, suffix: &str) {
    let sections = &composed.manifest.sections;
    assert_eq!(sections.len(), expected.taken.len());
    for (section, (path, text)) in sections.iter().zip(&expected.taken) {
        assert_eq!(&section.name, path);
        let body = &composed.text[section.start..section.end];
        assert_eq!(body, normalised(text));
    }
    let collisions = composed
        .events
        .iter()
        .filter(|event| event.kind == "boundary:collision")
        .count();
    let colliding = |(path, text): &&(String, String)| Expected::collides(path, text, suffix);
    assert_eq!(collisions, expected.taken.iter().filter(colliding).count());
}

fn assert_omissions(composed: &Composition, expected: &Expected) {
    let mut omitted: Vec<(String, Reason)> = composed
        .manifest
        .omissions
        .iter()
        .map(|omission| (omission.name.clone(), omission.reason))
        .collect();
    let mut refused = expected.refused.clone();
    omitted.sort();
    refused.sort();
    assert_eq!(omitted, refused);
}
