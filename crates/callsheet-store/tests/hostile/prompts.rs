//! Sealed prompts for the store that is swept.

use callsheet::inputs::Disk;
use callsheet::{Inputs, Options, Seal, compose, recipe};
use callsheet_store::{Project, SealedPrompt, Store, Wait};
use serde_json::json;

/// Seals a prompt with a file that its project alone has, and one that all of them share.
pub(crate) fn seal(store: &Store, project: &Project, text: &str) -> (SealedPrompt, bool) {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(format!("{}.md", project.name));
    std::fs::write(own, text).unwrap();
    let shared = "A line that all prompts share.\n".repeat(30);
    std::fs::write(folder.path().join("shared.md"), shared).unwrap();
    let inputs = Inputs::new(Disk::watched().open(folder.path()).unwrap());
    let recipe = recipe::built_in("pack").unwrap().unwrap();
    let (input, options) = (json!({"globs": ["**"]}), Options::default());
    let composition = compose(recipe, &input, &inputs, &options).unwrap();
    let seal = Seal::of(&composition, recipe, &input, &inputs, &options).unwrap();
    store.seal(project, seal).wait().unwrap()
}
