//! The prompts of sprint phases: their system message is the injection, and an ejected recipe gives the same bytes.

use std::collections::BTreeMap;
use std::path::Path;

use callsheet::inputs::Disk;
use callsheet::observe::{Observer, Question};
use callsheet::omission::Refusal;
use callsheet::recipe::built_in;
use callsheet::sprint::Phase;
use callsheet::{Budget, Composition, Error, Inputs, Options, Recipe, Role, Seal, compose};
use proptest::prelude::*;
use serde_json::{Value, json};

const STORIES: &str = "_bmad-output/implementation-artifacts";
const CONTEXT: &str = "_bmad-output/planning-artifacts/sprint-project-context.md";

/// Always says the same about the repository.
#[derive(Debug)]
struct Clean;

impl Observer for Clean {
    fn observe(&self, _: &Question, _: u64) -> Result<Vec<u8>, Refusal> {
        Ok(b"nothing to commit".to_vec())
    }

    fn commands(&self) -> Vec<String> {
        Vec::new()
    }
}

fn files() -> impl Strategy<Value = BTreeMap<String, String>> {
    let word = prop::sample::select(vec!["sprint-", "x2a-1-", "discovery-", "tech-spec-", "\""]);
    let key = prop::sample::select(vec!["2a-1", "2A-1", "2a-10", "2a-2"]);
    let name = (word, key, "[a-c]{0,2}")
        .prop_map(|(word, key, end)| format!("{STORIES}/{word}{key}-{end}.md"));
    let name = prop_oneof![4 => name, 1 => Just(CONTEXT.to_owned())];
    let body = prop_oneof![
        "[a-z<>&\n\r]{0,40}",
        Just("</file>\n</file_injections>".to_owned()),
        Just("{{story_key}} {% if %}".to_owned()),
    ];
    prop::collection::btree_map(name, body, 0..8)
}

fn lay_out(root: &Path, files: &BTreeMap<String, String>) {
    for (path, body) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, body).unwrap();
    }
}

fn composed(
    recipe: &Recipe,
    input: &Value,
    root: &Path,
    bytes: Option<usize>,
) -> Result<Composition, Error> {
    let inputs = Inputs::new(Disk::watched().open(root)?).with_observer(Clean);
    let tokens = None;
    let options = Options {
        budget: Budget { bytes, tokens },
        ..Options::default()
    };
    let composition = compose(recipe, input, &inputs, &options)?;
    let seal = Seal::of(&composition, recipe, input, &inputs, &options)?;
    assert_eq!(seal.check(), []);
    assert!(seal.replay()?.is_equal());
    Ok(composition)
}

fn system(composition: &Composition) -> String {
    let messages = composition.messages();
    let mut system = messages.iter().filter(|said| said.role == Role::System);
    let first = system.next().unwrap().content.clone();
    assert!(system.next().is_none(), "one system message");
    first
}

proptest! {
    #![proptest_config(super::cases(64))]

    #[test]
    fn the_system_message_is_the_injection(
        files in files(),
        framing in prop::sample::select(vec!["exact", "unique"]),
        substring in any::<bool>(),
        limit in prop_oneof![Just(153_600usize), 90usize..600],
    ) {
        let place = tempfile::tempdir().unwrap();
        lay_out(place.path(), &files);
        for phase in Phase::ALL {
            let Some(flags) = phase.context() else { continue };
            let shared = json!({
                "story_keys": ["2a-1"], "framing": framing, "match": if substring { "substring" } else { "key" },
                "limits": {"warning_bytes": limit / 2, "error_bytes": limit}, "command_name": phase.command(),
            });
            let mut plain = shared.clone();
            plain["include_project_context"] = flags.project_context.into();
            plain["include_discovery"] = flags.discovery.into();
            plain["include_tech_spec"] = flags.tech_spec.into();
            let mut asked = shared;
            asked["git_status"] = false.into();
            let injection = composed(built_in("injection").unwrap().unwrap(), &plain, place.path(), None);
            let recipe = built_in(&phase.recipe()).unwrap().unwrap();
            match (injection, composed(recipe, &asked, place.path(), None)) {
                (Ok(injection), Ok(prompt)) => {
                    prop_assert_eq!(system(&prompt), injection.text);
                    prop_assert_eq!(prompt.events, injection.events);
                }
                (Err(one), Err(other)) => prop_assert_eq!(one.to_string(), other.to_string()),
                (one, other) => prop_assert!(false, "{:?} {:?}", one.is_ok(), other.is_ok()),
            }
        }
    }

    #[test]
    fn a_budget_holds_and_the_story_stays(files in files(), less in 0usize..2000) {
        let place = tempfile::tempdir().unwrap();
        lay_out(place.path(), &files);
        let recipe = built_in("sprint/dev-story").unwrap().unwrap();
        let input = json!({"story_keys": ["2a-1"]});
        let whole = composed(recipe, &input, place.path(), None).unwrap();
        let most = whole.manifest.bytes.saturating_sub(less);
        if let Ok(smaller) = composed(recipe, &input, place.path(), Some(most)) {
            prop_assert!(smaller.text.len() <= most);
            let stories = |prompt: &Composition| {
                let sections = prompt.manifest.sections.iter();
                sections.filter(|section| section.layer == "story").count()
            };
            prop_assert_eq!(stories(&smaller), stories(&whole));
            let lost = smaller.manifest.losses().count() + smaller.manifest.sections.len();
            prop_assert_eq!(lost, whole.manifest.sections.len());
        }
    }
}

#[test]
fn an_ejected_recipe_gives_the_same_bytes() {
    let place = tempfile::tempdir().unwrap();
    let files = [
        (CONTEXT, "context"),
        (
            "_bmad-output/implementation-artifacts/sprint-2a-1.md",
            "one",
        ),
    ];
    let files = files.map(|(path, body)| (path.to_owned(), body.to_owned()));
    lay_out(place.path(), &files.into());
    for phase in Phase::ALL {
        let recipe = built_in(&phase.recipe()).unwrap().unwrap();
        let home = format!("callsheet/recipes/{}", phase.recipe());
        let ejected = Recipe::parse(&phase.recipe(), &home, recipe.folder().clone()).unwrap();
        let input = match phase {
            Phase::ProjectContext => json!({}),
            _ => json!({"story_keys": ["2a-1", "2a-2"]}),
        };
        let (one, other) = [recipe, &ejected]
            .map(|recipe| composed(recipe, &input, place.path(), None).unwrap())
            .into();
        assert_eq!(one.text, other.text);
        assert_eq!(one.manifest, other.manifest);
        assert!(ejected.templates.check().is_empty(), "{phase:?}");
    }
}
