//! What holds for every prompt builder: layers have their order, whatever the calls had.

use callsheet::{Error, MemorySource, Options, ProjectContext, PromptBuilder, RuleSource, inputs};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::cases;

const SEP: &str = "\n\n---\n\n";

/// A call on a builder; calls of one layer keep their order.
#[derive(Clone, Debug)]
enum Call {
    Identity(usize),
    ProjectContext,
    Rules(String),
    Context(String),
    Section(String),
    Tools(u8),
}

impl Call {
    fn layer(&self) -> u8 {
        match self {
            Self::Identity(_) => 1,
            Self::ProjectContext => 2,
            Self::Rules(_) => 3,
            Self::Context(_) | Self::Section(_) => 4,
            Self::Tools(_) => 5,
        }
    }
}

fn any_call() -> impl Strategy<Value = Call> {
    let text = "[a-z \n]{0,6}";
    prop_oneof![
        (0..4_usize).prop_map(Call::Identity),
        Just(Call::ProjectContext),
        text.prop_map(Call::Rules),
        text.prop_map(Call::Context),
        text.prop_map(Call::Section),
        (0..4_u8).prop_map(Call::Tools),
    ]
}

/// Knows one project, and repeats what it is asked for as rules.
#[derive(Debug)]
struct Known;

impl MemorySource for Known {
    fn project_context(&self, project_id: &str) -> Result<Option<ProjectContext>, Error> {
        Ok(Some(ProjectContext::text(&format!("project {project_id}"))))
    }
}

impl RuleSource for Known {
    fn rules(&self, _: Option<&str>, query: &str) -> Result<Option<String>, Error> {
        Ok(Some(query.to_owned()))
    }
}

fn built(calls: &[Call]) -> (String, Vec<Value>) {
    let mut builder = PromptBuilder::new()
        .with_project_id("p")
        .with_memory(Known)
        .with_rules(Known);
    for call in calls {
        match call {
            Call::Identity(at) => {
                let name = ["task-agent", "execution-focus", "supervisor", "nobody"][*at];
                builder.set_identity(name, &Map::new()).unwrap();
            }
            Call::ProjectContext => builder.load_project_context(),
            Call::Rules(text) => builder.load_relevant_rules(text),
            Call::Context(text) => builder.add_context("block", text),
            Call::Section(text) => {
                builder
                    .add_context_section("section", json!({"k": text}).as_object().unwrap())
                    .unwrap();
            }
            Call::Tools(count) => builder.set_tools((0..*count).map(|at| json!({"name": at}))),
        }
    }
    let first = builder.build().unwrap();
    assert_eq!(first, builder.build().unwrap(), "building changes nothing");
    assert_eq!(first.0, builder.build_task_prompt().unwrap());
    let composed = builder.compose(&Options::default()).unwrap();
    assert_eq!(
        first,
        (composed.text.clone(), composed.prompt.tools.clone())
    );
    let again = restored(&builder).compose(&Options::default()).unwrap();
    assert_eq!(again.text, composed.text);
    assert_eq!(again.manifest, composed.manifest);
    assert_eq!(again.source_map, composed.source_map);
    first
}

/// Returns what becomes of a builder that is stored as a text and read again.
fn restored(builder: &PromptBuilder) -> PromptBuilder {
    let stored = serde_json::to_string(&builder.stored()).unwrap();
    let mut again = PromptBuilder::new();
    again.restore(serde_json::from_str(&stored).unwrap());
    again
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn the_order_of_calls_between_layers_does_not_show(calls in prop::collection::vec(any_call(), 0..8), seed in any::<u64>()) {
        // Any order of the layers: the sort is stable, so calls of one layer keep theirs.
        let mut moved = calls.clone();
        moved.sort_by_key(|call| seed.rotate_left(u32::from(call.layer()) * 13) % 97);
        let (text, tools) = built(&calls);
        prop_assert_eq!(&(text.clone(), tools), &built(&moved));
        prop_assert!(!text.starts_with(SEP) && !text.ends_with(SEP));
        prop_assert!(!text.contains(&SEP.repeat(2)));
    }
}

#[test]
fn the_builder_and_the_recipe_are_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = PromptBuilder::new();
    builder.set_identity("task-agent", &Map::new()).unwrap();
    builder.add_context("task", "T");
    let root = inputs::Root::open(folder.path()).unwrap();
    let recipe = callsheet::recipe::built_in("layers").unwrap().unwrap();
    let input =
        json!({"identity": {"name": "task-agent"}, "context": [{"name": "task", "content": "T"}]});
    let composition = callsheet::compose(
        recipe,
        &input,
        &callsheet::Inputs::new(root),
        &callsheet::Options::default(),
    );
    assert_eq!(composition.unwrap().text, builder.build().unwrap().0);
}
