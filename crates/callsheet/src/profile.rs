//! Profiles: who an agent is, what runs it, and what it may not touch, under a name.
//!
//! A profile is data. It is read from a text that the caller brings, and its version is the fingerprint of what it says:
//! comments, the order of keys and the file it stands in do not count.

mod all;
mod file;

use serde_json::{Map, Value, json};

pub use all::{Found, PROFILES, Profiles};

use crate::scope;
use crate::template::placeholders;
use crate::{Error, ErrorKind, Fingerprint, Place};

/// The variables that a prompt template may use.
pub const VARIABLES: [&str; 7] = [
    "task.id",
    "task.title",
    "task.description",
    "task.write_scope",
    "environment.runner",
    "environment.model",
    "profile.name",
];

/// An agent profile.
///
/// ```
/// use callsheet::profile::Profile;
///
/// let toml = "runner = \"claude\"\nprompt_template = \"You work on {{task.title}}.\"\n";
/// let coder = Profile::parse("coder", "callsheet/profiles/coder.toml", toml)?;
/// assert!(coder.problems().is_empty());
///
/// let same = Profile::parse("other", "x.toml", &format!("# the same\n{toml}"))?;
/// assert_eq!(coder.fingerprint(), same.fingerprint());
///
/// let wrong = Profile::parse("coder", "coder.toml", "runner = \"claude\"\nmodle = \"x\"\n");
/// assert!(wrong.unwrap_err().to_string().starts_with("coder.toml:2: unknown field `modle`"));
/// # Ok::<(), callsheet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name it is called by.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: Option<String>,
    /// The agent program.
    pub runner: String,
    /// The model.
    pub model: Option<String>,
    /// The text of the role, with variables in it.
    pub prompt_template: Option<String>,
    /// What no task of this profile may touch.
    pub default_exclude: Vec<String>,
    /// What tasks of this profile usually write: a suggestion, never applied.
    pub default_write_scope: Vec<String>,
    /// Settings of the runner.
    pub config: Map<String, Value>,
    /// Where it begins.
    pub place: Place,
    lines: ProfileLines,
}

/// The lines on which parts of a profile stand.
#[derive(Clone, Debug, Default, PartialEq)]
struct ProfileLines {
    template: usize,
    exclude: Vec<usize>,
    write: Vec<usize>,
}

impl Profile {
    /// Returns the fingerprint of what the profile says: its version.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut content = self.document();
        content.remove("name");
        Fingerprint::of(sorted(&Value::Object(content)).to_string())
    }

    /// Returns the profile as the field `profile` of an input.
    pub fn document(&self) -> Map<String, Value> {
        let fields = [
            ("name", json!(self.name)),
            ("description", json!(self.description)),
            ("runner", json!(self.runner)),
            ("model", json!(self.model)),
            ("prompt_template", json!(self.prompt_template)),
            ("default_exclude", json!(self.default_exclude)),
            ("default_write_scope", json!(self.default_write_scope)),
            ("config", Value::Object(self.config.clone())),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        fields.into_iter().collect()
    }

    /// Returns what is wrong with patterns and variables, each with its place.
    pub fn problems(&self) -> Vec<Error> {
        let lists = [
            (
                "default_exclude",
                &self.default_exclude,
                &self.lines.exclude,
            ),
            (
                "default_write_scope",
                &self.default_write_scope,
                &self.lines.write,
            ),
        ];
        let mut problems = Vec::new();
        for (name, globs, lines) in lists {
            for (at, glob) in globs.iter().enumerate() {
                if let Err(error) = scope::compile(name, at, glob) {
                    problems.push(self.bad(error.detail(), lines.get(at).copied()));
                }
            }
        }
        let template = self.prompt_template.as_deref().unwrap_or_default();
        for hole in placeholders(template) {
            if !VARIABLES.contains(&hole.name.as_str()) {
                let detail = format!("`prompt_template`: no variable named `{}`", hole.name);
                let error = self.bad(&detail, Some(self.lines.template));
                problems.push(error.expecting(&hole.name, VARIABLES));
            }
        }
        problems
    }

    fn bad(&self, detail: &str, line: Option<usize>) -> Error {
        Error::new(ErrorKind::BadInput, detail).at(&self.place.file, line)
    }
}

/// Returns a value with the keys of all its objects in the order of their bytes.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let fields = names
                .into_iter()
                .map(|name| (name.clone(), sorted(&fields[name])));
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = r#"
description = "Writes code"
runner = "claude"
model = "opus"
prompt_template = """
You write code for {{task.title}}.
"""
default_exclude = ["**/*.env", "infra/**"]
default_write_scope = ["src/**"]

[config]
b = { y = 1, x = [true, 2.5] }
a = "text"
"#;

    #[test]
    fn a_profile_is_what_it_says() {
        let profile = Profile::parse("coder", "coder.toml", FULL).unwrap();
        assert_eq!(profile.problems(), []);
        assert_eq!(
            Value::Object(profile.document()),
            json!({
                "name": "coder", "description": "Writes code", "runner": "claude", "model": "opus",
                "prompt_template": "You write code for {{task.title}}.\n", "default_exclude": ["**/*.env", "infra/**"],
                "default_write_scope": ["src/**"], "config": {"b": {"y": 1, "x": [true, 2.5]}, "a": "text"},
            })
        );
        let moved = "config.a = 'text'\nconfig.b = { x = [true, 2.5], y = 1 }\n".to_owned()
            + FULL.split("[config]").next().unwrap();
        let moved = Profile::parse("moved", "x.toml", &moved).unwrap();
        assert_eq!(moved.fingerprint(), profile.fingerprint());
        let other = Profile::parse("coder", "coder.toml", &FULL.replace("opus", "haiku")).unwrap();
        assert_ne!(other.fingerprint(), profile.fingerprint());
    }

    #[test]
    fn every_problem_has_its_line() {
        for (text, problem) in [
            ("runner = 1", "p.toml:1: expected text, found `1`"),
            ("model = 'a'", "p.toml:1: missing field `runner`"),
            ("runner = ''", "p.toml:1: `runner` must not be empty"),
            (
                "runner = 'a'\nconfig.at = 2024-01-01",
                "p.toml:2: `config.at`: a date is not JSON; write it as text",
            ),
            (
                "runner = 'a'\nconfig.at = [nan]",
                "p.toml:2: `config.at[0]`: `nan` is not JSON; write it as text",
            ),
        ] {
            let error = Profile::parse("p", "p.toml", text).unwrap_err();
            assert_eq!(error.to_string(), problem);
        }
        let text = "runner = 'a'\nprompt_template = '{{task.id}} {{taks.id}}'\ndefault_exclude = [\n  'ok',\n  '!no',\n]\ndefault_write_scope = ['/x']\n";
        let problems = Profile::parse("p", "p.toml", text).unwrap().problems();
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "p.toml:5: `default_exclude[1]`: bad scope pattern `!no`: a leading `!` negates in some tools and not in others; use an exclude list",
                "p.toml:7: `default_write_scope[0]`: bad scope pattern `/x`: patterns are relative to the root; leave the leading `/` out",
                "p.toml:2: `prompt_template`: no variable named `taks.id`",
            ]
        );
    }

    #[test]
    fn settings_hold_profiles_by_name() {
        let text = "max_file_bytes = 1\n[profiles.b]\nrunner = 'x'\n\n[profiles.a]\nrunner = 'y'\nmodel = 'm'\n";
        let profiles = Profile::parse_settings("callsheet.toml", text).unwrap();
        let found: Vec<(&str, &str, Option<usize>)> = profiles
            .iter()
            .map(|one| (one.name.as_str(), one.runner.as_str(), one.place.line))
            .collect();
        assert_eq!(found, [("a", "y", Some(5)), ("b", "x", Some(2))]);
        let error =
            Profile::parse_settings("callsheet.toml", "[profiles.a]\nrunnr = 'x'\n").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("callsheet.toml:2: unknown field `runnr`"),
            "{error}"
        );
        assert_eq!(error.found(), Some("runnr"));
    }
}
