//! Which fields count as used, and which are refused.

use serde_json::{Value, json};

use crate::Recipe;
use crate::recipe::{Folder, built_in, built_in_names};

fn recipe(files: &[(&str, &str)]) -> Recipe {
    let files = files.iter();
    let folder = files.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    Recipe::parse("mine", "mine", folder.collect::<Folder>()).unwrap()
}

/// Returns the unknown fields of an input, and what would have been allowed in the place of the first.
fn unknown(recipe: &Recipe, input: &Value) -> (Vec<String>, Vec<String>) {
    let Err(error) = recipe.check_use(input) else {
        return (Vec::new(), Vec::new());
    };
    let text = error.to_string();
    let fields = text.lines().filter_map(|line| {
        let field = line.trim().strip_prefix("unknown field `")?;
        Some(field.split('`').next()?.to_owned())
    });
    (fields.collect(), error.allowed().to_vec())
}

#[test]
fn what_may_have_been_meant_is_told_without_what_nobody_thinks_of() {
    let toml = "[[layers]]\nname = \"a\"\nvalue = \"diff\"\n[[layers]]\nname = \"b\"\nvalue = \"task.id\"\n";
    let recipe = recipe(&[("recipe.toml", toml)]);
    let (fields, allowed) = unknown(&recipe, &json!({"dif": 1, "task": {"id": 1}}));
    assert_eq!(
        (fields, allowed),
        (
            vec!["dif".to_owned()],
            vec!["diff".to_owned(), "task".to_owned()]
        )
    );
    let (fields, allowed) = unknown(&recipe, &json!({"task": {"di": 1}}));
    assert_eq!(
        (fields, allowed),
        (vec!["task.di".to_owned()], vec!["id".to_owned()])
    );
    let policy = json!({"toolPolicy": {"fs": false}, "agentDefinition": {"tools": {"fs": false}}});
    assert_eq!(unknown(&recipe, &policy).0, [""; 0]);
    let other = json!({"agentDefinition": {"name": 1}});
    assert_eq!(unknown(&recipe, &other).0, ["agentDefinition.name"]);
    assert_eq!(
        unknown(&recipe, &json!({"task": "no object", "diff": null})).0,
        [""; 0]
    );
    assert_eq!(
        unknown(&recipe, &json!({"task.id": 1})).0,
        [""; 0],
        "a name with dots in it"
    );
}

#[test]
fn a_schema_says_what_may_be_there() {
    let toml = "schema = \"s.json\"\n[[layers]]\nname = \"a\"\ntext = \"A\"\n";
    let of = |schema: Value| recipe(&[("recipe.toml", toml), ("s.json", &schema.to_string())]);
    let input = json!({"a": {"b": 1, "x": 1}, "x": 1});
    for (schema, expected) in [
        (json!({}), &["a", "x"][..]),
        (json!({"properties": {"a": {}}}), &["x"]),
        (json!({"properties": {"a": {"type": "object"}}}), &["x"]),
        (
            json!({"properties": {"a": {"properties": {"b": {}}}}}),
            &["a.x", "x"],
        ),
        (json!({"additionalProperties": true}), &[]),
        (
            json!({"additionalProperties": {"type": ["object", "integer"]}}),
            &[],
        ),
        (
            json!({"patternProperties": {"^x": {}}, "properties": {"a": {}}}),
            &[],
        ),
        (
            json!({"properties": {"a": {"additionalProperties": true, "properties": {"b": {}}}}}),
            &["x"],
        ),
        (
            json!({"allOf": [{"properties": {"a": {}}}, {"properties": {"x": {}}}]}),
            &[],
        ),
        (
            json!({"$ref": "#/$defs/in", "$defs": {"in": {"properties": {"a": {"$ref": "#/$defs/a"}}}, "a": {"properties": {"b": {}}}}}),
            &["a.x", "x"],
        ),
        (
            json!({"properties": {"a": {"anyOf": [{"type": "string"}, {"properties": {"b": {}}}]}}}),
            &["a.x", "x"],
        ),
    ] {
        assert_eq!(unknown(&of(schema.clone()), &input).0, expected, "{schema}");
    }
    let endless = json!({"properties": {"a": {"$ref": "#"}}});
    let deep = (0..40).fold(json!({"b": 1}), |inner, _| json!({"a": inner}));
    assert_eq!(unknown(&of(endless), &deep).0, [""; 0]);
}

#[test]
fn what_cannot_be_known_refuses_nothing() {
    let jinja = |body: &str| format!("---\nengine: jinja\n---\n{body}");
    let layer = "[[layers]]\nname = \"a\"\ntemplate = \"t.md\"\n";
    let input = json!({"task": {"title": 1, "titel": 1}});
    for (body, expected) in [
        ("{{ task.title }}", &["task.titel"][..]),
        ("{% if task.title %}x{% endif %}", &["task.titel"]),
        ("{{ task }}", &[]),
        ("{% for one in task %}{{ one }}{% endfor %}", &[]),
        ("{% set t = task %}{{ t.title }}", &[]),
        ("{{ task[key] }}", &[]),
        ("{% include 'u.md' %}", &["task.title"]),
        ("{% include name %}", &[]),
        ("{% set task = 1 %}{{ task }}", &["task"]),
    ] {
        let template = jinja(body);
        let files = [
            ("recipe.toml", layer),
            ("t.md", &template),
            ("u.md", &jinja("{{ task.titel }}")),
        ];
        assert_eq!(unknown(&recipe(&files), &input).0, expected, "{body}");
    }
    let brought = recipe(&[(
        "recipe.toml",
        "[[layers]]\nname = \"a\"\nsource = \"clock\"\n",
    )]);
    assert_eq!(unknown(&brought, &input).0, [""; 0]);
}

#[test]
fn a_copy_of_a_built_in_recipe_takes_its_input_without_its_schema() {
    for name in built_in_names() {
        let recipe = built_in(name).unwrap().unwrap();
        let mut folder = recipe.folder().clone();
        let toml = folder["recipe.toml"].clone();
        let without =
            |line: &&str| !line.starts_with("schema =") && !line.starts_with("defaults =");
        let toml: Vec<&str> = toml.lines().filter(without).collect();
        folder.insert("recipe.toml".to_owned(), toml.join("\n"));
        let copy = Recipe::parse("copy", "copy", folder).unwrap();
        let fields = recipe.schema.fields();
        let mut input: serde_json::Map<String, Value> = fields
            .map(|field| (field.to_owned(), Value::Null))
            .collect();
        assert_eq!(
            unknown(&copy, &Value::Object(input.clone())).0,
            [""; 0],
            "{name}"
        );
        input.insert("nonsense".to_owned(), Value::Null);
        assert_eq!(
            unknown(&copy, &Value::Object(input)).0,
            ["nonsense"],
            "{name}"
        );
    }
}

#[test]
fn a_schema_that_fans_out_is_not_followed_for_ever() {
    let fields = |next: usize| {
        let fields = (0..50).map(|number| {
            let reference = json!({"$ref": format!("#/$defs/d{next}")});
            (format!("x{number}"), reference)
        });
        json!({"type": "object", "properties": fields.collect::<serde_json::Map<_, _>>()})
    };
    let defs = (0..8).map(|number| (format!("d{number}"), fields(number + 1)));
    let mut defs: serde_json::Map<String, Value> = defs.collect();
    defs.insert("d8".to_owned(), json!({"type": "string"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": defs}).to_string();
    let toml = "schema = \"s.json\"\n[[layers]]\nname = \"a\"\ntext = \"a\"\n";
    let recipe = recipe(&[("recipe.toml", toml), ("s.json", &schema)]);
    assert_eq!(unknown(&recipe, &json!({"x0": {"x1": {}}})).0, [""; 0]);
}
