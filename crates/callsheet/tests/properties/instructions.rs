//! What holds for instruction files, whatever they import.

use callsheet::recipe::Folder;
use callsheet::{Composition, Inputs, Options, Reason, Recipe, Root, compose};
use proptest::prelude::*;
use serde_json::json;

use crate::cases;
use crate::maps::{assert_mapped, assert_same};
use crate::project::{Project, any_text};

const FILES: [&str; 6] = [
    "AGENTS.md",
    "CLAUDE.md",
    "src/AGENTS.md",
    "src/GEMINI.md",
    "docs/a.md",
    "docs/b.md",
];

/// Lines of prose, fences and imports; some lead nowhere, some in a circle.
fn any_file() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        2 => any_text(),
        2 => prop::sample::select(FILES.to_vec()).prop_map(|file| format!("@{file}")),
        2 => prop::sample::select(FILES.to_vec()).prop_map(|file| format!("@../{file}")),
        1 => Just("```".to_owned()),
        1 => Just("@../../outside.md".to_owned()),
        1 => Just("@alice".to_owned()),
    ];
    let end = prop_oneof![Just(""), Just("\n"), Just("\r\n")];
    (prop::collection::vec(line, 0..6), end).prop_map(|(lines, end)| lines.join("\n") + end)
}

fn composed(project: &Project) -> Composition {
    let toml =
        "[[layers]]\nname = 'rules'\ninstructions = { folder_from = 'folder' }\nframe = 'xml'\n";
    let folder = Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
    let recipe = Recipe::parse("mine", "recipes/mine", folder).unwrap();
    let inputs = Inputs::new(Root::open(project.root()).unwrap());
    let input = json!({"folder": "src"});
    compose(&recipe, &input, &inputs, &Options::default()).unwrap()
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn imports_end_and_every_byte_is_mapped(texts in prop::array::uniform6(any_file())) {
        let files: Vec<_> = FILES.map(str::to_owned).into_iter().zip(texts).collect();
        let project = Project::new(&files);
        let composition = composed(&project);
        assert_mapped(&composition, &json!({"folder": "src"}), &project)?;
        assert_same(&composition, &composed(&project))?;
        // Every file from the root down is a section, or recorded as the same text as another.
        for path in &FILES[..4] {
            let sections = &composition.manifest.sections;
            let there = sections.iter().any(|section| section.name == *path);
            let known = composition.manifest.omissions.iter().any(|omission| {
                omission.name == *path && omission.reason == Reason::Duplicate
            });
            prop_assert!(there || known, "{}", path);
        }
    }
}
