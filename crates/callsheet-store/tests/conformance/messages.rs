//! Sealed messages: their texts are kept and found as people read them, whenever they were sealed.

use callsheet::{Fingerprint, Inputs, Options, Recipe, Seal, compose};
use callsheet_store::{Project, Store, Wait};
use serde_json::{Value, json};

use crate::on_both;
use crate::test_store::{TestStore, findings};

on_both!(
    messages_are_found_as_people_read_them,
    messages_of_an_older_layout_are_kept_and_found,
);

/// Two system messages around one of the user.
const RECIPE: &str = r#"
shape = "messages"
single_system = "joined"
separator = "\n---\n"
[[layers]]
name = "rules"
text = "Rules that are longer than any edge reaches into:\n- never \"push\""
[[layers]]
name = "task"
role = "user"
value = "task"
[[layers]]
name = "notes"
value = "notes"
"#;

fn sealed(joined: bool, task: &str) -> Seal {
    let folder = [("recipe.toml".to_owned(), RECIPE.to_owned())];
    let recipe = Recipe::parse("mine", "callsheet/recipes/mine", folder.into()).unwrap();
    let input = json!({"joined": joined, "task": task, "notes": "Notes\nover \\ lines\tand tabs"});
    let (inputs, options) = (Inputs::nowhere(), Options::default());
    let composition = compose(&recipe, &input, &inputs, &options).unwrap();
    Seal::of(&composition, &recipe, &input, &inputs, &options).unwrap()
}

/// Returns the exact bytes of the newest prompt that carried a text.
fn carried(store: &Store, project: &Project, text: &str) -> Option<String> {
    let found = store.carriers(project, text, 1, None).wait().unwrap();
    let carrier = found.prompts.into_iter().next()?;
    assert!(carrier.source_map.covers(&carrier.text), "{text}");
    Some(carrier.text)
}

fn messages_are_found_as_people_read_them(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    for joined in [false, true] {
        let seal = sealed(
            joined,
            "Say \"hi\"\nand go on with a text that is long enough.",
        );
        let text = seal.text().unwrap();
        let (prompt, _) = store.seal(&project, seal.clone()).wait().unwrap();
        assert_eq!(store.sealed(&prompt).wait().unwrap(), seal);
        for needle in [
            "Say \"hi\"\nand go",
            "over \\ lines\tand",
            "- never \"push\"",
        ] {
            assert_eq!(
                carried(&store, &project, needle).as_deref(),
                Some(text.as_str()),
                "{needle}"
            );
        }
        let over = carried(&store, &project, "\"push\"\n---\nNotes\nover");
        assert_eq!(
            over.is_some(),
            joined,
            "where two sections make one message"
        );
    }
    assert_eq!(findings(&store), []);
}

fn messages_of_an_older_layout_are_kept_and_found(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let text = include_str!("../../../callsheet/tests/sealed/contents.json");
    let older: Vec<Value> = serde_json::from_str(text).unwrap();
    for older in &older {
        let texts = older["texts"].as_array().unwrap().iter();
        let texts = texts.map(|text| text.as_str().unwrap());
        let seal = Seal {
            documents: [0, 1, 2, 3].map(|nth| older["documents"][nth].to_string()),
            bodies: texts
                .map(|text| (Fingerprint::of(text), text.as_bytes().into()))
                .collect(),
        };
        let (prompt, _) = store.seal(&project, seal).wait().unwrap();
        let back = store.sealed(&prompt).wait().unwrap();
        assert_eq!(back.text().unwrap(), older["prompt"].as_str().unwrap());
        assert!(back.replay().unwrap().is_equal());
        let found = carried(&store, &project, "Do a\nand \"b\"");
        assert_eq!(found.as_deref(), older["prompt"].as_str());
    }
    assert_eq!(findings(&store), []);
}
