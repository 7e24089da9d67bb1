//! JSON Schemas of the files that people write, and the lines by which editors find them.

use callsheet::recipe::{SCHEMA, built_in, built_in_names};
use serde_json::Value;

use crate::project::{Project, words};

#[test]
fn the_schemas_of_files_have_names_of_their_own() {
    let project = Project::new();
    let recipe = project.run(&words("schema recipe"));
    let printed: Value = serde_json::from_slice(&recipe.stdout).unwrap();
    assert_eq!(printed, serde_json::from_str::<Value>(SCHEMA).unwrap());
    let settings = project.run(&words("schema settings"));
    assert_eq!(settings.json()["title"], "callsheet.toml");
    assert_eq!(settings, project.run(&words("schema --settings")));
    let stamped = project.run(&words("schema recipe --json")).json();
    assert_eq!(stamped["schema"], "callsheet.schema/1");
}

#[test]
fn a_recipe_of_such_a_name_is_told_of() {
    let project = Project::new();
    project.file(
        "callsheet/recipes/settings/recipe.toml",
        "[[layers]]\nname = 'a'\ntext = 'a'\n",
    );
    let run = project.run(&words("schema settings"));
    assert_eq!(run.json()["title"], "callsheet.toml");
    insta::assert_snapshot!(String::from_utf8_lossy(&run.stderr), @"note: this is not the schema of the recipe `callsheet/recipes/settings`; rename that to get its own");
    insta::assert_snapshot!(project.callsheet(&words("recipe eject pack --as recipe")), @r"
    exit: 2
    --- stderr
    error: `recipe` is not a valid name for a recipe
    hint: `callsheet schema recipe` prints the schema of a file; choose another name
    ");
}

#[test]
fn what_is_written_names_its_schema() {
    let project = Project::new();
    assert_eq!(project.run(&["init"]).code(), Some(0));
    let first = |path: &str| {
        let text = project.read(path);
        let line = text.lines().next().unwrap_or_default().to_owned();
        let schema = line.strip_prefix("#:schema ").unwrap();
        let folder = project.path(path).parent().unwrap().to_owned();
        std::fs::read_to_string(folder.join(schema)).unwrap()
    };
    let settings: Value = serde_json::from_str(&first("callsheet.toml")).unwrap();
    assert_eq!(settings["title"], "callsheet.toml");
    for name in built_in_names() {
        let args = ["recipe", "eject", name];
        assert_eq!(project.run(&args).code(), Some(0), "{name}");
        let file = format!("callsheet/recipes/{name}/recipe.toml");
        assert_eq!(first(&file), SCHEMA);
        let text = project.read(&file);
        let (_, rest) = text.split_once('\n').unwrap();
        let recipe = built_in(name).unwrap().unwrap();
        assert_eq!(rest, recipe.folder()["recipe.toml"], "{name}");
    }
    let checked = project.run(&words("recipe check"));
    assert_eq!(checked.code(), Some(0), "{checked:?}");
}

#[test]
fn a_schema_that_is_there_stays() {
    let project = Project::new();
    project
        .file("callsheet/.schemas/settings.json", "{}")
        .file("callsheet/.schemas/recipe.json", "{}");
    assert_eq!(project.run(&["init"]).code(), Some(0));
    assert_eq!(project.run(&words("recipe eject pack")).code(), Some(0));
    assert_eq!(project.read("callsheet/.schemas/settings.json"), "{}");
    assert_eq!(project.read("callsheet/.schemas/recipe.json"), "{}");
}

#[test]
fn no_schema_is_written_out_of_the_project() {
    let project = Project::new();
    let outside = project.outside().join("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(project.path("callsheet")).unwrap();
    std::os::unix::fs::symlink(&outside, project.path("callsheet/.schemas")).unwrap();
    let run = project.run(&["init"]);
    assert_eq!(run.code(), Some(3), "{run:?}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}
