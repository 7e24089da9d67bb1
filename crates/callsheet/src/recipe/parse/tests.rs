//! Every mistake in a recipe folder is told with its file and line, what was found and what is allowed.

use super::*;
use crate::prepare::Preparation;
use crate::template::Missing;

fn parsed(files: &[(&str, &str)]) -> Result<Recipe, Error> {
    let folder = files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    Recipe::parse("mine", "recipes/mine", folder.collect())
}

fn error(files: &[(&str, &str)]) -> Error {
    parsed(files).unwrap_err()
}

/// A good layer, for mistakes that are elsewhere.
const GOOD: &str = "[[layers]]\nname = 'a'\ntext = 'A'\n";

/// What `recipe.toml` holds, and what is told of it.
const MISTAKES: &[(&str, &str)] = &[
    (
        "",
        "1: `layers` is empty; a recipe needs at least one `[[layers]]`",
    ),
    (
        "layers = []",
        "1: `layers` is empty; a recipe needs at least one `[[layers]]`",
    ),
    (
        "description = 'x'\nshape 1\n",
        "2: key with no value, expected `=`",
    ),
    ("separator = 1\n", "1: expected text, found `1`"),
    (
        "shape = 'json'\n",
        "1: unknown value `json`, expected one of `text`, `system`, `messages`",
    ),
    (
        "\nprepare = ['magic']\n",
        "2: unknown value `magic`, expected one of `brief`, `changed`, `context`, `continuation`, `data`, `depth`, `digest`, `directive`, `environment`, `identity`, `mounts`, `package`, `persona`, `policy`, `project-context`, `read-first`, `role`, `rules`, `scope`, `stories`, `system-prompt`, `tools`, `user-input`, `workflow`",
    ),
    (
        "\nprepare = ['tools', 'context']\n[frames.data]\n[[layers]]\nname = 'a'\nvalue = 'context'\n",
        "2: no frame named `entry`; the function `context` prints with it",
    ),
    (
        "\nprepare = ['policy', 'mounts']\n",
        "2: `policy` builds on `mounts`, which has to be named before it",
    ),
    (
        "prepare = [\n    'mounts',\n    'data',\n]\n",
        "1: `data` builds on `policy`, which has to be named before it",
    ),
    (
        "[defaults]\nlist = true\n[[layers]]\nname = 'a'\ntext = 'A'\n",
        "2: `defaults`: the schema has no field `list`",
    ),
    (
        "[empty]\nevent = 'e'\nmessage = 'm'\nlayers = ['b']\n[[layers]]\nname = 'a'\ntext = 'A'\n",
        "1: no layer named `b`",
    ),
    (
        "missing = 'strict'\n",
        "1: unknown value `strict`, expected one of `empty`, `keep`, `error`",
    ),
    ("[[layers]]\ntext = 'A'\n", "1: missing field `name`"),
    (
        "[[layers]]\nname = ''\ntext = 'A'\n",
        "2: a layer cannot be named ``",
    ),
    (
        "[[layers]]\nname = ' \t'\ntext = 'A'\n",
        "2: a layer cannot be named ` \t`",
    ),
    (
        "[[layers]]\nname = 'frame'\ntext = 'A'\n",
        "2: a layer cannot be named `frame`",
    ),
    (
        "[[layers]]\nname = 'a'\ntext = 'A'\n[[layers]]\nname = 'a'\ntext = 'A'\n",
        "5: duplicate layer `a`; every layer needs a name of its own",
    ),
    (
        "\n[[layers]]\nname = 'a'\n",
        "2: layer `a` has 0 sources; it needs exactly one of `text`, `template`, `value`, `file`, `files`, `instructions`, `tree`, `git_status`, `git_diff`, `git_files`, `git_log`, `command`, `source`",
    ),
    (
        "[[layers]]\nname = 'a'\ntext = 'A'\nvalue = 'a'\n",
        "1: layer `a` has 2 sources; it needs exactly one of `text`, `template`, `value`, `file`, `files`, `instructions`, `tree`, `git_status`, `git_diff`, `git_files`, `git_log`, `command`, `source`",
    ),
    (
        "[[layers]]\nname = 'a'\n\ntemplate = 'x.md'\n",
        "4: no template `x.md` in the recipe's folder",
    ),
    (
        "[[layers]]\nname = 'a'\ntext = 'A'\nwhen = 'a =='\n",
        "4: bad condition `a ==`: unexpected end of input, expected expression",
    ),
    (
        "unique = 'a b'\n[[layers]]\nname = 'a'\ntext = 'A'\n",
        "1: bad condition `a b`: unexpected input after expression",
    ),
    (
        "[[layers]]\nname = 'a'\ntext = 'A'\nframe = 'xlm'\n",
        "4: no frame named `xlm`",
    ),
    (
        "[[layers]]\nname = 'a'\ntext = 'A'\nlist = 'xlm'\n",
        "4: no frame named `xlm`",
    ),
    (
        "frame = 'outer'\n[[layers]]\nname = 'a'\ntext = 'A'\n",
        "1: no frame named `outer`",
    ),
    (
        "[[layers]]\nname = 'a'\ntree = 'b'\n",
        "3: `tree` must name a layer with `files`, found `b`",
    ),
    (
        "[[layers]]\nname = 'a'\ntree = 'b'\n[[layers]]\nname = 'b'\ntext = 'B'\n",
        "3: `tree` must name a layer with `files`, found `b`",
    ),
    (
        "schema = 'input.json'\n[[layers]]\nname = 'a'\ntext = 'A'\n",
        "1: no schema file `input.json` in the recipe's folder",
    ),
    (
        "[[layers]]\nname = 'a'\ntext = 'A'\npriority = 'high'\n",
        "4: expected \"required\" or a number from 0, found the text `high`",
    ),
    (
        "[[layers]]\nname = 'a'\ntext = 'A'\npriority = -1\n",
        "4: expected \"required\" or a number from 0, found `-1`",
    ),
    (
        "[[layers]]\nname = 'a'\ntext = 'A'\npriority = true\n",
        "4: expected \"required\" or a number from 0, found `true`",
    ),
    (
        "redact = 'entrpy'\n",
        "1: expected true, false or \"entropy\", found the text `entrpy`",
    ),
    (
        "redact = 1\n",
        "1: expected true, false or \"entropy\", found `1`",
    ),
    ("[warning]\nbytes = 1\n", "1: missing field `message`"),
    (
        "[warning]\nmessage = 'x'\nbytes = -1\n",
        "3: expected a whole number from 0, found `-1`",
    ),
    (
        "[frames.x]\nescpe = 'json'\n",
        "2: unknown field `escpe`, expected one of `tag`, `open`, `close`, `separator`, `escape`",
    ),
];

#[test]
fn mistakes_in_the_recipe_file_are_told_with_their_line() {
    for (toml, text) in MISTAKES {
        assert_eq!(
            error(&[(RECIPE_FILE, toml)]).to_string(),
            format!("recipes/mine/recipe.toml:{text}"),
            "{toml}"
        );
    }
}

#[test]
fn an_unknown_key_is_told_with_those_that_exist() {
    let top = error(&[(RECIPE_FILE, "description = 'x'\nseperator = ''\n")]);
    assert_eq!(
        top.to_string(),
        "recipes/mine/recipe.toml:2: unknown field `seperator`, expected one of `description`, `shape`, `prepare`, `separator`, `missing`, `frame`, `unique`, `single_system`, `marker`, `redact`, `denies`, `warning`, `error`, `empty`, `schema`, `defaults`, `messages`, `frames`, `layers`"
    );
    let files = "[[layers]]\nname = 'a'\nfiles = { glob = ['*'] }\n";
    assert_eq!(
        error(&[(RECIPE_FILE, files)]).to_string(),
        "recipes/mine/recipe.toml:3: unknown field `glob`, expected one of `globs`, `globs_from`, `paths_from`, `leave_out`, `exclude_from`, `hidden_from`, `outside_from`, `binary`, `skip_missing`"
    );
}

#[test]
fn what_would_have_been_allowed_is_handed_on() {
    let template = error(&[
        (RECIPE_FILE, "[[layers]]\nname = 'a'\ntemplate = 'mian'\n"),
        ("main.md", ""),
        ("other.md", ""),
    ]);
    assert_eq!(template.found(), Some("mian"));
    assert_eq!(template.allowed(), ["main.md", "other.md"]);
    let schema = error(&[
        (RECIPE_FILE, &format!("schema = 'in.json'\n{GOOD}")),
        ("input.json", "{}"),
    ]);
    assert_eq!(
        (schema.found(), schema.allowed()),
        (Some("in.json"), ["input.json".to_owned()].as_slice())
    );
    let frame = error(&[(
        RECIPE_FILE,
        "[frames.mine]\n[[layers]]\nname = 'a'\ntext = 'A'\nframe = 'm'\n",
    )]);
    assert_eq!(
        frame.allowed(),
        ["bare", "git_status", "json", "markdown", "mine", "xml"]
    );
    let tree = error(&[(
        RECIPE_FILE,
        "[[layers]]\nname = 'a'\ntree = 'b'\n[[layers]]\nname = 'c'\nfiles = {}\n",
    )]);
    assert_eq!(tree.allowed(), ["c"]);
}

#[test]
fn mistakes_beside_the_recipe_file_are_told_with_their_own_file() {
    let with_schema = format!("schema = 'in.json'\n{GOOD}");
    for (name, text, expected) in [
        (
            "in.json",
            "{\n  \"type\": ,\n}",
            "recipes/mine/in.json:2: bad JSON: expected a value, found `,`",
        ),
        (
            "in.json",
            "{\n  \"properties\": {\n    \"a\": {\"type\": \"strng\"}\n  }\n}",
            "recipes/mine/in.json:3: bad JSON Schema: `properties.a.type`: `strng` has none of the allowed forms",
        ),
        (
            "a.md",
            "---\nengine: jinja\n---\n\n{% include 'a.md' %}",
            "recipes/mine/a.md:5: templates include each other: `a.md → a.md`",
        ),
    ] {
        let files = [
            (RECIPE_FILE, with_schema.as_str()),
            ("in.json", "{}"),
            (name, text),
        ];
        assert_eq!(error(&files).to_string(), expected);
    }
    let cycle = error(&[
        (RECIPE_FILE, GOOD),
        ("a.md", "---\nengine: jinja\n---\n{% include 'b' %}"),
        ("b.md", "---\nengine: jinja\n---\nx\n{% include 'a' %}"),
    ]);
    assert_eq!(
        cycle.to_string(),
        "recipes/mine/b.md:5: templates include each other: `a.md → b.md → a.md`"
    );
    assert_eq!(cycle.kind(), ErrorKind::BadRecipe);
}

#[test]
fn a_folder_without_recipe_file_is_none() {
    assert_eq!(
        error(&[("a.md", "A")]).to_string(),
        "recipes/mine/recipe.toml: the folder has no such file"
    );
}

#[test]
fn what_is_not_said_has_its_default() {
    let recipe = parsed(&[(
        RECIPE_FILE,
        "[[layers]]\nname = 'a'\ntext = 'A'\n[[layers]]\nname = 'b'\nvalue = 'b'\npriority = 7\ncut = true\n[[layers]]\nname = 'c'\nsource = 'git'\npriority = 'required'\ntrust = 'own'\n",
    )])
    .unwrap();
    assert_eq!(
        (recipe.separator.as_str(), recipe.shape),
        ("\n\n", Shape::Text)
    );
    assert_eq!(
        (recipe.missing, recipe.prepare.clone()),
        (Missing::Error, Preparation::default())
    );
    let layers: Vec<_> = recipe
        .layers
        .iter()
        .map(|layer| (layer.priority, layer.volatility, layer.trust, layer.may_cut))
        .collect();
    assert_eq!(
        layers,
        [
            (Priority::Required, Volatility::Constant, Trust::Own, false),
            (
                Priority::Optional(7),
                Volatility::Task,
                Trust::Untrusted,
                true
            ),
            (Priority::Required, Volatility::Turn, Trust::Own, false),
        ]
    );
}

#[test]
fn any_change_of_the_folder_changes_the_fingerprint() {
    let fingerprint = |files: &[(&str, &str)]| parsed(files).unwrap().fingerprint;
    let base = fingerprint(&[(RECIPE_FILE, GOOD)]);
    assert_eq!(base, fingerprint(&[(RECIPE_FILE, GOOD)]));
    assert_ne!(base, fingerprint(&[(RECIPE_FILE, GOOD), ("note.txt", "")]));
    assert_ne!(base, fingerprint(&[(RECIPE_FILE, &format!("{GOOD}\n"))]));
}

#[test]
fn a_default_must_fit_the_schema_that_it_changes() {
    let schema = r#"{"required": ["key"], "properties": {"key": {"type": "string"}, "list": {"type": "boolean", "default": false}}}"#;
    let with = |default: &str| {
        let toml = format!("schema = 's.json'\ndefaults = {{ list = {default} }}\n{GOOD}");
        parsed(&[("recipe.toml", &toml), ("s.json", schema)])
    };
    let recipe = with("true").unwrap();
    let fields = recipe.check(&serde_json::json!({"key": "k"})).unwrap();
    assert_eq!(fields["list"], true);
    assert_eq!(
        recipe.schema.document()["properties"]["list"]["default"],
        true
    );
    assert_eq!(
        with("3").unwrap_err().to_string(),
        "recipes/mine/recipe.toml:2: `defaults`: `list`: expected boolean, found number"
    );
}
