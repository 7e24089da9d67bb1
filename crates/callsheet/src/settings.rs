//! What the settings of a project, `callsheet.toml`, say of prompts.
//!
//! Text and variables come from the caller; nothing is read here. Of agents, runs and stores only the names of their
//! settings are known, so that a misspelled one is refused wherever the file is read.

mod read;
mod redaction;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

pub use self::read::{SAFE_DIRECTORY, Trust, read};
use crate::document::keep_digits;
use crate::inputs::Root;
use crate::outside::{self, PROMPTS_DIR};
use crate::profile::Profiles;
use crate::recipe::known;
use crate::redact::{Key, Rules};
use crate::scope::ScopeGlobs;
use crate::{Error, ErrorKind, Recipe};

/// The file that makes a directory a project.
pub const FILE: &str = "callsheet.toml";

/// The variables that override settings of prompts.
pub const VARIABLES: [&str; 6] = [
    "CALLSHEET_PROMPTS_DIR",
    "CALLSHEET_MAX_FILE_BYTES",
    "CALLSHEET_REDACT_KEY",
    "CALLSHEET_PATHS_IMPLEMENTATION_ARTIFACTS",
    "CALLSHEET_PATHS_PLANNING_ARTIFACTS",
    "CALLSHEET_PATHS_SPRINT_PROJECT_CONTEXT",
];

/// What a project sets for its prompts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PromptSettings {
    /// The directory of the templates, instead of `callsheet/templates` over the packaged ones.
    pub prompts_dir: Option<String>,
    /// The largest file that is read.
    pub max_file_bytes: Option<u64>,
    /// What the pseudonyms of secrets are derived from.
    pub redact_key: Option<String>,
    redact: redaction::Settings,
    /// All that is taken for a secret.
    #[serde(skip)]
    pub redact_rules: Rules,
    #[serde(rename = "store")]
    _store: IgnoredAny,
    #[serde(rename = "project")]
    _project: IgnoredAny,
    /// The layout of a sprint's files.
    pub paths: Paths,
    /// Input fields that recipes have when an input does not set them.
    pub recipes: BTreeMap<String, Map<String, Value>>,
    /// What runs may not touch.
    pub scope: Scope,
    #[serde(rename = "runner")]
    _runner: IgnoredAny,
    #[serde(rename = "runners")]
    _runners: IgnoredAny,
    #[serde(rename = "adapters")]
    _adapters: IgnoredAny,
    #[serde(rename = "accounts")]
    _accounts: IgnoredAny,
    #[serde(rename = "limits")]
    _limits: IgnoredAny,
    #[serde(rename = "sandbox")]
    _sandbox: IgnoredAny,
    #[serde(rename = "commands")]
    _commands: IgnoredAny,
    #[serde(rename = "workspace")]
    _workspace: IgnoredAny,
    #[serde(rename = "checks")]
    _checks: IgnoredAny,
    #[serde(rename = "sprint")]
    _sprint: IgnoredAny,
    #[serde(rename = "serve")]
    _serve: IgnoredAny,
    /// Agent profiles; they are read when somebody asks for one, so that a bad one is in nobody else's way.
    #[serde(rename = "profiles")]
    _profiles: IgnoredAny,
    #[serde(skip)]
    text: String,
}

/// The layout of a sprint's files.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Paths {
    /// The directory of story files.
    pub implementation_artifacts: Option<String>,
    /// The directory of planning files.
    pub planning_artifacts: Option<String>,
    /// The frozen project context.
    pub sprint_project_context: Option<String>,
}

/// What runs may not touch, in any task of any profile.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Scope {
    /// Patterns of paths.
    pub default_exclude: Vec<String>,
}

impl PromptSettings {
    /// Reads the settings of a project; `text` is its file, `file` how a user names it.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let bad = |error| Error::toml(ErrorKind::BadInput, file, text, &error);
        let mut settings: Self = toml::from_str(text).map_err(bad)?;
        for (name, fields) in &mut settings.recipes {
            keep_digits(text, &["recipes", name], fields);
        }
        settings.refuse_outside(file)?;
        settings.redact_rules = settings.redact.rules(text, file)?;
        text.clone_into(&mut settings.text);
        Ok(settings)
    }

    /// Refuses settings with which a prompt would have files from outside the project.
    fn refuse_outside(&self, file: &str) -> Result<(), Error> {
        let refuse = |detail: String| Err(Error::new(ErrorKind::BadInput, detail).at(file, None));
        let own = [(PROMPTS_DIR.to_owned(), json!(self.prompts_dir))];
        if let Some(detail) = outside::refusal(&Map::from_iter(own)) {
            return refuse(detail);
        }
        for (name, fields) in &self.recipes {
            if let Some(detail) = outside::refusal(fields) {
                return refuse(format!("`recipes.{name}`: {detail}"));
            }
        }
        Ok(())
    }

    /// Returns the file as it was written, for what is read from it only when somebody asks.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Refuses settings of a recipe that does not exist: nothing would ever read them.
    pub fn check_recipes(&self, root: &Root) -> Result<(), Error> {
        let mut names = self.recipes.keys();
        names.try_for_each(|name| known(name, Some(root)).map_err(|error| error.at(FILE, None)))
    }

    /// Applies a variable of the environment; one that sets nothing here is ignored.
    pub fn set_variable(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let place = match name {
            "CALLSHEET_PROMPTS_DIR" => &mut self.prompts_dir,
            "CALLSHEET_REDACT_KEY" => &mut self.redact_key,
            "CALLSHEET_PATHS_IMPLEMENTATION_ARTIFACTS" => &mut self.paths.implementation_artifacts,
            "CALLSHEET_PATHS_PLANNING_ARTIFACTS" => &mut self.paths.planning_artifacts,
            "CALLSHEET_PATHS_SPRINT_PROJECT_CONTEXT" => &mut self.paths.sprint_project_context,
            "CALLSHEET_MAX_FILE_BYTES" => {
                let bytes = value.parse().map_err(|_| {
                    let detail =
                        format!("the variable `{name}` is not a number of bytes: `{value}`");
                    Error::new(ErrorKind::BadInput, detail)
                })?;
                self.max_file_bytes = Some(bytes);
                return Ok(());
            }
            _ => return Ok(()),
        };
        *place = Some(value.to_owned());
        Ok(())
    }

    /// Returns the key of the pseudonyms that stand for secrets.
    pub fn redact_key(&self) -> Key {
        self.redact_key
            .as_deref()
            .map_or_else(Key::default, Key::derive)
    }

    /// Returns a root that reads no larger files than the project allows.
    pub fn limited(&self, root: Root) -> Root {
        match self.max_file_bytes {
            Some(bytes) => root.with_max_file_bytes(bytes),
            None => root,
        }
    }

    /// Fills fields that an input of a recipe does not set, at every depth, and puts the profile that it names into it.
    pub fn complete(
        &self,
        recipe: &Recipe,
        root: &Root,
        input: &mut Map<String, Value>,
    ) -> Result<(), Error> {
        merge_under(input, &self.defaults(&recipe.name, recipe.schema.fields()));
        if let Some(Value::String(name)) = input.get("profile")
            && recipe.prepare.uses("profile")
        {
            let profiles = Profiles::read(root, self)?;
            let (_, profile) = profiles.find(name)?;
            input.insert("profile".to_owned(), Value::Object(profile.document()));
        }
        if recipe.prepare.uses("scope") {
            self.exclude(input)?;
        }
        Ok(())
    }

    /// Puts what the project excludes before what an input excludes.
    fn exclude(&self, input: &mut Map<String, Value>) -> Result<(), Error> {
        let excluded = &self.scope.default_exclude;
        ScopeGlobs::new("scope.default_exclude", excluded).map_err(|error| error.at(FILE, None))?;
        if excluded.is_empty() {
            return Ok(());
        }
        let scope = input.entry("scope").or_insert_with(|| json!({}));
        let Some(scope) = scope.as_object_mut() else {
            return Ok(());
        };
        // What is not a list is left for the schema to complain about.
        if let Value::Array(own) = scope.entry("exclude").or_insert_with(|| json!([])) {
            let mut all: Vec<Value> = excluded.iter().map(|glob| json!(glob)).collect();
            all.append(own);
            for glob in all {
                if !own.contains(&glob) {
                    own.push(glob);
                }
            }
        }
        Ok(())
    }

    /// Returns the input fields that a recipe has when an input does not set them.
    ///
    /// `fields` are those that the recipe knows; settings that it does not know stay out.
    fn defaults<'a>(
        &self,
        recipe: &str,
        fields: impl Iterator<Item = &'a str>,
    ) -> Map<String, Value> {
        let mut defaults = self.recipes.get(recipe).cloned().unwrap_or_default();
        let fields: Vec<&str> = fields.collect();
        let mut shared = Map::new();
        if fields.contains(&PROMPTS_DIR)
            && let Some(folder) = &self.prompts_dir
        {
            shared.insert(PROMPTS_DIR.to_owned(), json!(folder));
        }
        if fields.contains(&"paths") {
            let paths = [
                (
                    "implementation_artifacts",
                    &self.paths.implementation_artifacts,
                ),
                ("planning_artifacts", &self.paths.planning_artifacts),
                ("sprint_project_context", &self.paths.sprint_project_context),
            ];
            let paths = paths
                .into_iter()
                .filter_map(|(name, path)| Some((name.to_owned(), json!(path.as_ref()?))));
            shared.insert("paths".to_owned(), Value::Object(paths.collect()));
        }
        merge_under(&mut defaults, &shared);
        defaults
    }
}

/// Fills fields that are not there from `defaults`, at every depth.
fn merge_under(fields: &mut Map<String, Value>, defaults: &Map<String, Value>) {
    for (name, default) in defaults {
        match (fields.get_mut(name), default) {
            (None, _) => {
                fields.insert(name.clone(), default.clone());
            }
            (Some(Value::Object(inner)), Value::Object(default)) => merge_under(inner, default),
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_win_over_the_file_and_inputs_win_over_both() {
        let text = "[paths]\nimplementation_artifacts = \"a\"\nplanning_artifacts = \"p\"\n[recipes.injection.limits]\nerror_bytes = 5\n";
        let mut settings = PromptSettings::parse(text, FILE).unwrap();
        for (name, value) in [
            ("CALLSHEET_PATHS_IMPLEMENTATION_ARTIFACTS", "b"),
            ("HOME", "x"),
        ] {
            settings.set_variable(name, value).unwrap();
        }
        let mut input = json!({"limits": {"warning_bytes": 1}})
            .as_object()
            .unwrap()
            .clone();
        merge_under(
            &mut input,
            &settings.defaults("injection", ["paths"].into_iter()),
        );
        assert_eq!(
            Value::Object(input),
            json!({"limits": {"warning_bytes": 1, "error_bytes": 5},
                "paths": {"implementation_artifacts": "b", "planning_artifacts": "p"}})
        );
        assert!(settings.defaults("pack", ["globs"].into_iter()).is_empty());
    }

    #[test]
    fn every_variable_sets_something() {
        let unset = format!("{:?}", PromptSettings::default());
        for name in VARIABLES {
            let mut settings = PromptSettings::default();
            settings.set_variable(name, "7").unwrap();
            assert_ne!(format!("{settings:?}"), unset, "{name}");
        }
    }

    #[test]
    fn what_is_set_for_others_is_not_looked_into_and_what_nobody_knows_is_refused() {
        let text = "runner = 5\n[sprint]\nno = \"such\"\n[[checks]]\n[profiles]\n";
        PromptSettings::parse(text, FILE).unwrap();
        let error = PromptSettings::parse("[pahts]\n", FILE).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("callsheet.toml:1: unknown field `pahts`"),
            "{error}"
        );
        let error = PromptSettings::default()
            .set_variable("CALLSHEET_MAX_FILE_BYTES", "many")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the variable `CALLSHEET_MAX_FILE_BYTES` is not a number of bytes: `many`"
        );
    }
}
