//! What is acknowledged as sealed can be read and proven: a seal that cannot is refused, and nothing of it is stored.

use callsheet::inputs::Disk;
use callsheet::recipe::Folder;
use callsheet::{Inputs, Options, Recipe, Seal, compose};
use callsheet_store::{PromptFilter, StoreError, Wait};
use serde_json::{Value, json};

use crate::on_both;
use crate::prompts;
use crate::test_store::{TestStore, findings};

on_both!(
    what_could_not_be_proven_is_not_sealed,
    what_the_store_does_not_keep_is_not_sealed,
);

/// Seals an input with so many objects within each other.
fn nested(depth: usize) -> Option<Seal> {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[layers]]\nname = \"a\"\nvalue = \"a\"\n";
    let files = Folder::from([("recipe.toml".to_owned(), text.to_owned())]);
    let recipe = Recipe::parse("deep", "deep", files).unwrap();
    let input = (0..depth).fold(json!(1), |inner, _| json!({"a": inner}));
    let inputs = Inputs::new(Disk::watched().open(folder.path()).unwrap());
    let options = Options::default();
    // Composing may refuse what is too deep; then there is nothing to seal.
    let composition = compose(&recipe, &input, &inputs, &options).ok()?;
    Seal::of(&composition, &recipe, &input, &inputs, &options).ok()
}

fn what_could_not_be_proven_is_not_sealed(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let mut sealed = 0;
    for depth in (1..140).step_by(3) {
        let Some(seal) = nested(depth) else { continue };
        match store.seal(&project, seal).wait() {
            Ok((prompt, _)) => {
                sealed += 1;
                let back = store.sealed(&prompt).wait().unwrap();
                assert!(back.check().is_empty() && back.replay().unwrap().is_equal());
            }
            Err(error) => {
                let begin = "the prompt cannot be sealed, because it could not be proven: ";
                assert!(error.to_string().starts_with(begin), "{error}");
            }
        }
    }
    assert!(sealed > 5);
    // Whatever else is not in order.
    let (_, whole) = prompts::composed(&[("a.md", "One.")]);
    let mut no_text = whole.clone();
    let name = *no_text.bodies.keys().next().unwrap();
    no_text.bodies.remove(&name);
    let mut other_text = whole.clone();
    other_text.bodies.insert(name, b"other".as_slice().into());
    let mut other_manifest = whole;
    let mut manifest: Value = serde_json::from_str(&other_manifest.documents[0]).unwrap();
    manifest["bytes"] = json!(7);
    other_manifest.documents[0] = manifest.to_string();
    for seal in [no_text, other_text, other_manifest] {
        let refused = store.seal(&project, seal).wait().unwrap_err();
        assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
    }
    let listed = store
        .prompts(&project, PromptFilter::default(), 1000)
        .wait()
        .unwrap();
    assert_eq!(listed.len(), sealed);
    assert_eq!(findings(&store), []);
}

/// A trigger that changes what comes in is noticed before anybody is told that it was stored.
fn what_the_store_does_not_keep_is_not_sealed(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let steals = [
        "delete from document",
        "update body set bytes = bytes + 1",
        "update prompt set recipe = 'other'",
    ];
    for steal in steals {
        if place.is_sqlite() {
            place.raw(&format!(
                "create trigger steal after insert on document begin {steal}; end"
            ));
        } else {
            place.raw(&format!(
                "create or replace function steal() returns trigger language plpgsql as $$ begin {steal}; return new; end $$"
            ));
            place.raw(
                "create trigger steal after insert on document for each row execute function steal()",
            );
        }
        let (_, seal) = prompts::composed(&[("a.md", "One.")]);
        let refused = store.seal(&project, seal).wait().unwrap_err();
        assert!(
            matches!(refused, StoreError::Damaged { .. }),
            "{steal}: {refused}"
        );
        place.raw(if place.is_sqlite() {
            "drop trigger steal"
        } else {
            "drop trigger steal on document"
        });
        assert_eq!(place.count("select count(*) from prompt"), 0, "{steal}");
    }
    prompts::seal(&store, &project, "One.");
    assert_eq!(findings(&store), []);
}
