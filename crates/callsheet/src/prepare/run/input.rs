//! The input of the recipe `run` as types, with the profile under it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::document::plain_words;
use crate::task::{Approval, CheckStatus};
use crate::{Error, ErrorKind};

/// The checked input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunInput {
    pub(super) profile: Option<Profile>,
    role: Role,
    pub(super) task: Task,
    pub(super) scope: Scope,
    environment: Environment,
    read_first: Vec<String>,
    pub(super) previous: Option<Previous>,
    pub(super) additional_input: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Profile {
    pub(super) name: Option<String>,
    runner: Option<String>,
    model: Option<String>,
    prompt_template: Option<String>,
    default_exclude: Vec<String>,
    config: Option<Map<String, Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Role {
    prompt_template: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Task {
    pub(super) id: Id,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) write_scope: Vec<String>,
    pub(super) done_when: Vec<String>,
}

/// What a task is called by: a text, or a number.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Id(Value);

impl Id {
    /// Returns the text of the id.
    pub(super) fn text(&self) -> String {
        crate::text::value_text(&self.0).unwrap_or_default()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Scope {
    write: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    pub(super) prohibited: Vec<String>,
    pub(super) needs_approval: Vec<String>,
}

/// What runs the agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Environment {
    pub(super) runner: Option<String>,
    pub(super) model: Option<String>,
    config: Option<Map<String, Value>>,
}

/// The facts of the run before.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Previous {
    pub(super) kind: Kind,
    pub(super) status: Option<String>,
    pub(super) exit_code: Option<Number>,
    pub(super) termination: Option<String>,
    pub(super) checks: Option<Vec<Check>>,
    pub(super) violations: Option<Vec<Violation>>,
    pub(super) changed_files: Option<Vec<String>>,
}

/// What the new run is to the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    #[default]
    Retry,
    Continue,
}

#[derive(Debug, Deserialize)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) status: CheckStatus,
}

#[derive(Debug, Deserialize)]
pub(super) struct Violation {
    pub(super) path: String,
    pub(super) reason: String,
    #[serde(default)]
    pub(super) approval: Approval,
}

impl RunInput {
    /// Reads the fields that the schema has checked.
    pub(super) fn read(fields: &Map<String, Value>) -> Result<Self, Error> {
        let bad = |detail: String| Error::new(ErrorKind::BadInput, detail);
        if let Some(name) = fields.get("profile").and_then(Value::as_str) {
            let detail = format!(
                "`profile`: the name `{name}` was not resolved; give the profile itself here"
            );
            return Err(bad(detail));
        }
        let mut input: Self = serde_json::from_value(Value::Object(fields.clone()))
            .map_err(|error| bad(plain_words(&error.to_string(), "an object")))?;
        // A number that is read through a type loses the way in which its exponent was written.
        let given = |object: &str, name: &str| fields.get(object)?.get(name).cloned();
        if let Some(id) = given("task", "id") {
            input.task.id = Id(id);
        }
        let config = |object: &str| match given(object, "config") {
            Some(Value::Object(config)) => Some(config),
            _ => None,
        };
        input.environment.config = config("environment");
        if let Some(profile) = &mut input.profile {
            profile.config = config("profile");
        }
        Ok(input)
    }

    /// Tells whether the run continues another.
    pub(super) fn continues(&self) -> bool {
        self.previous
            .as_ref()
            .is_some_and(|previous| previous.kind == Kind::Continue)
    }

    /// Returns the template of the role and the field it stands in.
    pub(super) fn role(&self) -> Option<(&'static str, &str)> {
        let own = self.role.prompt_template.as_deref();
        let own = own.map(|text| ("role.prompt_template", text));
        own.or_else(|| {
            let text = self.profile.as_ref()?.prompt_template.as_deref()?;
            Some(("profile.prompt_template", text))
        })
    }

    /// Returns what may be written and the field it stands in.
    pub(super) fn write(&self) -> (&'static str, &[String]) {
        match &self.scope.write {
            Some(write) => ("scope.write", write),
            None => ("task.write_scope", &self.task.write_scope),
        }
    }

    /// Returns what may not be touched, by the field it stands in: what the profile excludes, and what the input adds.
    pub(super) fn excludes(&self) -> [(&'static str, &[String]); 2] {
        let profile = self.profile.as_ref();
        let profile = profile.map_or(&[][..], |profile| &profile.default_exclude);
        let own = self.scope.exclude.as_deref().unwrap_or_default();
        [("profile.default_exclude", profile), ("scope.exclude", own)]
    }

    /// Returns what to read first, each with its field.
    pub(super) fn read_first(&self) -> impl Iterator<Item = (String, &str)> {
        let paths = self.read_first.iter().enumerate();
        paths.map(|(at, path)| (format!("read_first[{at}]"), path.as_str()))
    }

    /// Returns what runs the agent: what the input sets, and else what the profile says.
    pub(super) fn environment(&self) -> Environment {
        let own = self.environment.clone();
        let profile = self.profile.as_ref();
        Environment {
            runner: own.runner.or_else(|| profile?.runner.clone()),
            model: own.model.or_else(|| profile?.model.clone()),
            config: own.config.or_else(|| profile?.config.clone()),
        }
    }
}
