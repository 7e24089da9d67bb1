//! The functions by name, and the list of them in a recipe.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::prompts::Prompts;
use super::{
    Prepared, blocks, brief, continuation, data, depth, digest, directive, environment, given,
    injection, mounts, named, package, persona, phase, policy, project, read_first, review, role,
    scope, user_input,
};
use crate::inputs::Root;
use crate::outside::PROMPTS_DIR;
use crate::redact::Rules;
use crate::{Error, Inputs, Recipe};

/// What a function may look at beside the fields.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// What the program gives: roots, and who observes the repository.
    pub(crate) inputs: &'a Inputs,
    /// The formats of secrets, within which no value is cut.
    pub(crate) rules: &'a Rules,
    /// The recipe, for the frames that a function prints with.
    pub(crate) recipe: &'a Recipe,
    /// The templates that an input names.
    pub(crate) prompts: &'a Prompts,
}

impl<'a> Surroundings<'a> {
    /// Returns the root, for functions that cannot do without it.
    pub(crate) fn root(self) -> Result<&'a Root, Error> {
        let root = self.inputs.root.as_ref();
        root.ok_or_else(crate::source::needs_root)
    }
}

/// A function that makes values for layers.
#[derive(Debug)]
struct Function {
    /// What recipes call it.
    name: &'static str,
    /// The functions that have to be named before it.
    after: &'static [&'static str],
    /// The fields that it takes, of the input or of functions before it.
    reads: &'static [&'static str],
    /// The fields that it adds.
    adds: &'static [&'static str],
    /// Those of them in which every text is fit for a line already; a template changes nothing about them.
    harmless: &'static [Harmless],
    /// The frames that it prints with, which the recipe has.
    frames: &'static [&'static str],
    run: fn(&mut Prepared, Surroundings<'_>) -> Result<(), Error>,
}

/// A field whose texts are fit for a line already.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Harmless {
    /// Each text in it is one line, which must not begin as anything but text.
    Lines(&'static str),
    /// Its texts bring a structure of their own, such as a fence.
    Texts(&'static str),
}

/// A function that needs and adds nothing.
const NONE: Function = Function {
    name: "",
    after: &[],
    reads: &[],
    adds: &[],
    harmless: &[],
    frames: &[],
    run: |_, _| Ok(()),
};

/// All functions, by their names.
static FUNCTIONS: [Function; 24] = [
    Function {
        name: "brief",
        after: &["mounts"],
        reads: &["mode", "nodeBrief", "stateSummary", "workflowCompleted"],
        adds: &["brief"],
        harmless: &[Harmless::Lines("brief")],
        run: |prepared, _| prepared.make("brief", brief::brief),
        ..NONE
    },
    Function {
        name: "changed",
        reads: &["range", "staged"],
        adds: &["changed"],
        harmless: &[Harmless::Texts("changed")],
        run: review::changed,
        ..NONE
    },
    Function {
        name: "context",
        reads: &["context"],
        frames: &[blocks::DATA, blocks::ENTRY],
        run: blocks::context,
        ..NONE
    },
    Function {
        name: "continuation",
        reads: &["additional_input", "previous"],
        run: continuation::continuation,
        ..NONE
    },
    Function {
        name: "data",
        after: &["mounts", "policy"],
        reads: &["commandName", "dataContext", "policy"],
        adds: &["data"],
        harmless: &[Harmless::Lines("data")],
        run: |prepared, _| prepared.make("data", data::data),
        ..NONE
    },
    Function {
        name: "depth",
        reads: &["context", "missing", "prompts_dir", "strict"],
        run: depth::depth,
        ..NONE
    },
    Function {
        name: "digest",
        reads: &["previous"],
        adds: &["digest"],
        run: digest::digest,
        ..NONE
    },
    Function {
        name: "directive",
        after: &["mounts"],
        reads: &[
            "activeAgentId",
            "agentDefinition",
            "autopilot",
            "brief",
            "effectiveAgentId",
            "graphRelPath",
            "intent",
            "mode",
            "runId",
            "workflowRef",
        ],
        adds: &["directive"],
        harmless: &[Harmless::Lines("directive")],
        run: |prepared, _| prepared.make("directive", directive::directive),
        ..NONE
    },
    Function {
        name: "environment",
        reads: &["environment", "profile"],
        adds: &["environment"],
        run: environment::environment,
        ..NONE
    },
    Function {
        name: "identity",
        reads: &["identity", "missing", "prompts_dir", "strict"],
        run: named::identity,
        ..NONE
    },
    Function {
        name: "mounts",
        reads: &["homeDir", "projectRoot", "runtimeStoreRoot"],
        run: mounts::mounts,
        ..NONE
    },
    Function {
        name: "package",
        after: &["mounts"],
        reads: &[
            "activeAgentId",
            "agentDefinition",
            "agentId",
            "effectiveAgentId",
            "mode",
            "nodeBrief",
            "package",
            "packageId",
            "packageMount",
            "state",
            "stateMount",
            "workflowCompleted",
            "workflowRef",
        ],
        adds: &[
            "agentDefinition",
            "effectiveAgentId",
            "graphRelPath",
            "nodeBrief",
            "stateSummary",
            "workflowCompleted",
            "workflowRef",
        ],
        run: package::package,
        ..NONE
    },
    Function {
        name: "persona",
        after: &["mounts"],
        reads: &["agentDefinition", "mode"],
        adds: &["persona"],
        harmless: &[Harmless::Lines("persona")],
        run: |prepared, _| prepared.make("persona", persona::persona),
        ..NONE
    },
    Function {
        name: "policy",
        after: &["mounts"],
        reads: &["agentDefinition", "toolPolicy"],
        adds: &["policy"],
        harmless: &[Harmless::Lines("policy")],
        run: |prepared, _| prepared.make("policy", policy::policy),
        ..NONE
    },
    Function {
        name: "project-context",
        reads: &["project_context", "project_id"],
        frames: &project::FRAMES,
        run: project::project_context,
        ..NONE
    },
    Function {
        name: "read-first",
        reads: &["read_first"],
        adds: &["read_first"],
        run: read_first::read_first,
        ..NONE
    },
    Function {
        name: "role",
        reads: &["environment", "profile", "role", "task"],
        adds: &["role"],
        run: role::role,
        ..NONE
    },
    Function {
        name: "rules",
        reads: &["rules"],
        run: given::rules,
        ..NONE
    },
    Function {
        name: "scope",
        reads: &["profile", "scope", "task"],
        adds: &["scope"],
        run: scope::scope,
        ..NONE
    },
    Function {
        name: "stories",
        reads: &[
            "story_keys",
            "match",
            "paths",
            "include_project_context",
            "include_discovery",
            "include_tech_spec",
            "additional_files",
        ],
        adds: &["groups"],
        harmless: &[Harmless::Texts("groups")],
        run: injection::stories,
        ..NONE
    },
    Function {
        name: "system-prompt",
        after: &["mounts"],
        reads: &["agentDefinition", "mode"],
        adds: &["system_prompt"],
        harmless: &[Harmless::Texts("system_prompt")],
        run: |prepared, _| prepared.make("system_prompt", persona::system_prompt),
        ..NONE
    },
    Function {
        name: "tools",
        reads: &["tools"],
        run: given::tools,
        ..NONE
    },
    Function {
        name: "user-input",
        after: &["mounts"],
        reads: &[
            "agentDefinition",
            "brief",
            "directive",
            "mode",
            "scrubUserInput",
            "stateSummary",
            "userInput",
        ],
        adds: &["user_input"],
        harmless: &[Harmless::Texts("user_input")],
        run: |prepared, _| prepared.make("user_input", user_input::user_input),
        ..NONE
    },
    Function {
        name: "workflow",
        reads: &[
            "workflow",
            "command_name",
            "paths",
            "story_keys",
            "epic_id",
            "review_attempt",
        ],
        adds: &["workflow"],
        harmless: &[Harmless::Texts("workflow")],
        run: phase::workflow,
        ..NONE
    },
];

/// The functions that a recipe names, in their order.
#[derive(Clone, Default)]
pub struct Preparation(Vec<&'static Function>);

impl Preparation {
    /// Returns the names of the functions.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|function| function.name)
    }

    /// Returns the fields that the functions add to those of the input.
    pub fn adds(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|function| function.adds).copied()
    }

    /// Returns the added fields in which every text is fit for a line already.
    pub(crate) fn harmless(&self) -> Vec<Harmless> {
        let functions = self.0.iter();
        functions
            .flat_map(|function| function.harmless)
            .copied()
            .collect()
    }

    /// Returns the fields of the input that the functions read.
    pub fn reads(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|function| function.reads).copied()
    }

    /// Tells whether a function reads a field of the input.
    pub fn uses(&self, field: &str) -> bool {
        self.reads().any(|read| read == field)
    }

    /// Returns the first frame that a function prints with and `has` does not know, and the name of the function.
    pub(crate) fn lacks(&self, has: impl Fn(&str) -> bool) -> Option<(&'static str, &'static str)> {
        let frames = self.0.iter().flat_map(|function| {
            let frames = function.frames.iter();
            frames.map(|frame| (*frame, function.name))
        });
        frames.into_iter().find(|(frame, _)| !has(frame))
    }

    /// Tells whether there is no function.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Prepares a checked input.
    ///
    /// No value is cut within a secret that the rules know.
    pub(crate) fn run(
        &self,
        fields: Map<String, Value>,
        recipe: &Recipe,
        inputs: &Inputs,
        rules: &Rules,
    ) -> Result<Prepared, Error> {
        let named = fields.get(PROMPTS_DIR).and_then(Value::as_str);
        let root = inputs.root.as_ref();
        let prompts = &root.map_or_else(Prompts::default, |root| Prompts::of(root, named));
        let mut prepared = Prepared {
            fields,
            ..Prepared::default()
        };
        let around = Surroundings {
            inputs,
            rules,
            recipe,
            prompts,
        };
        for function in &self.0 {
            (function.run)(&mut prepared, around)?;
        }
        prepared.events.splice(0..0, prompts.events());
        Ok(prepared)
    }
}

impl PartialEq for Preparation {
    fn eq(&self, other: &Self) -> bool {
        self.names().eq(other.names())
    }
}

impl Eq for Preparation {}

impl fmt::Debug for Preparation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl<'de> Deserialize<'de> for Preparation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Preparation;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of names of functions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Preparation, A::Error> {
                let mut functions = Vec::new();
                while let Some(name) = names.next_element::<String>()? {
                    let function = named(&name)?;
                    follows(function, &functions)?;
                    functions.push(function);
                }
                Ok(Preparation(functions))
            }
        }
        deserializer.deserialize_seq(Names)
    }
}

fn named<E: de::Error>(name: &str) -> Result<&'static Function, E> {
    const NAMES: [&str; FUNCTIONS.len()] = names();
    let mut functions = FUNCTIONS.iter();
    let found = functions.find(|function| function.name == name);
    found.ok_or_else(|| E::unknown_variant(name, &NAMES))
}

/// Fails unless everything is named that a function builds on.
fn follows<E: de::Error>(function: &Function, before: &[&Function]) -> Result<(), E> {
    let mut after = function.after.iter();
    let missing = after.find(|name| before.iter().all(|before| before.name != **name));
    missing.map_or(Ok(()), |missing| {
        let name = function.name;
        Err(E::custom(format!(
            "`{name}` builds on `{missing}`, which has to be named before it"
        )))
    })
}

const fn names() -> [&'static str; FUNCTIONS.len()] {
    let mut names = [""; FUNCTIONS.len()];
    let mut nth = 0;
    while nth < names.len() {
        names[nth] = FUNCTIONS[nth].name;
        nth += 1;
    }
    names
}
