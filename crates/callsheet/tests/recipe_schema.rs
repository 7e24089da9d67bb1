//! The published schema of `recipe.toml` agrees with what reads such files: the same keys everywhere, nothing refused that
//! is read, and whatever can be told from one place is refused by both.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::path::Path;

use callsheet::recipe::{Folder, RECIPE_FILE, SCHEMA, built_in, built_in_names};
use callsheet::{Recipe, Schema};
use serde_json::{Map, Value};

fn schema() -> Schema {
    Schema::parse(SCHEMA, "recipe.json").unwrap()
}

/// Returns what the schema has against the text of a recipe file.
fn problems(toml: &str) -> Vec<String> {
    let Ok(document) = toml::from_str::<Value>(toml) else {
        return vec!["not TOML".to_owned()];
    };
    let problems = schema().problems(&document).into_iter();
    problems.map(|problem| problem.error.to_string()).collect()
}

fn parsed(toml: &str) -> Result<Recipe, callsheet::Error> {
    let folder = [
        (RECIPE_FILE, toml),
        ("t.md", "Text.\n"),
        ("s.json", "{\"type\": \"object\"}"),
    ];
    let folder = folder.map(|(name, text)| (name.to_owned(), text.to_owned()));
    Recipe::parse("mine", "callsheet/recipes/mine", Folder::from(folder))
}

#[test]
fn every_recipe_that_comes_along_fits() {
    for name in built_in_names() {
        let recipe = built_in(name).unwrap().unwrap();
        assert_eq!(problems(&recipe.folder()[RECIPE_FILE]), [""; 0], "{name}");
    }
}

#[test]
fn every_recipe_of_the_corpus_and_the_documentation_fits() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seen = 0;
    for text in corpus(&here.join("tests/compose"))
        .into_iter()
        .chain(pages(&here.join("../../docs")))
    {
        let read = parsed(&text);
        // One that names files of its own folder is refused for those here, and its keys are looked at all the same.
        let only_here =
            |error: &callsheet::Error| error.detail().contains("in the recipe's folder");
        let fits = problems(&text);
        match read {
            Ok(_) => assert_eq!(fits, [""; 0], "{text}"),
            Err(error) if only_here(&error) => assert_eq!(fits, [""; 0], "{text}"),
            Err(_) => {}
        }
        seen += 1;
    }
    assert!(seen > 60, "only {seen} recipes were found");
}

/// Returns the recipe files of the cases below a folder.
fn corpus(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(corpus(&path));
        } else if path.extension().is_some_and(|end| end == "json") {
            let case: Value =
                serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
            let lines = match case.pointer("/recipe/recipe.toml") {
                Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
                Some(Value::String(text)) => vec![text.as_str()],
                _ => continue,
            };
            found.push(lines.join("\n"));
        }
    }
    found
}

/// Returns the recipe files that the pages of the documentation write.
fn pages(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let page = std::fs::read_to_string(path).unwrap();
        for block in page.split("```toml\n").skip(1) {
            let (block, _) = block.split_once("```").unwrap();
            let first = block.lines().next().unwrap_or_default();
            if first.starts_with("# file: callsheet/recipes/") && first.ends_with("/recipe.toml") {
                found.push(block.to_owned());
            }
        }
    }
    found
}

/// Good files, each with more of what the schema knows.
const GOOD: &[&str] = &[
    "layers = [{name = 'a', text = 'A'}]",
    "description = 'd'\nschema = 's.json'\nshape = 'system'\nseparator = ''\nmissing = 'keep'\nframe = 'f'\nunique = 'a'\nmarker = 'm'\nredact = 'entropy'\ndenies = 'd'\nprepare = ['role', 'digest']\n[frames.f]\ntag = 't'\nopen = 'o'\nclose = 'c'\nseparator = ''\nescape = 'xml'\n[[layers]]\nname = 'a'\ntemplate = 't.md'\npriority = 0\ncut = true\noptional = true\nvolatility = 'turn'\ntrust = 'own'\nrole = 'user'\nwhen = 'true'\nlist = 'f'\nframe = 'x-{{y}}'\n",
    "redact = true\n[warning]\nbytes = 1\nbytes_from = 'b'\nevent = 'e'\nmessage = 'm'\nfacts = {a = 'b'}\nrole = 'user'\n[error]\ntokens = 1\ntokens_from = 't'\nmessage = 'm'\ngive_way = {from = 'f', event = 'e', message = 'm', facts = {}}\n[empty]\nevent = 'e'\nmessage = 'm'\nlayers = ['a']\n[[layers]]\nname = 'a'\nvalue = 'v'\npriority = 'required'\n",
    "shape = 'messages'\nsingle_system = 'true'\n[messages.m]\nframe = 'bare'\nalways = true\n[[layers]]\nname = 'a'\ntext = 'A'\nmessage = 'm'\n",
    "[[layers]]\nname = 'a'\nfiles = {globs = ['*'], globs_from = 'g', paths_from = 'p', leave_out = ['x'], exclude_from = 'e', hidden_from = 'h', outside_from = 'allow_outside', binary = true, skip_missing = true}\n[[layers]]\nname = 'b'\ntree = 'a'\n[[layers]]\nname = 'c'\ninstructions = {folder_from = 'f', paths_from = 'p', names = ['A.md'], imports = false}\n[[layers]]\nname = 'd'\nfile = 'a/{{b}}'\n",
    "[[layers]]\nname = 'a'\ngit_status = {say_failure = true}\n[[layers]]\nname = 'b'\ngit_diff = {of = 'staged', range_from = 'r', staged_from = 's', paths_from = 'p', leave_out = ['x']}\n[[layers]]\nname = 'c'\ngit_files = {of = 'worktree', range_from = 'r', staged_from = 's', leave_out = []}\n[[layers]]\nname = 'd'\ngit_log = {count = 3, range = 'a..b', range_from = 'r'}\n[[layers]]\nname = 'e'\ncommand = 'test'\n[[layers]]\nname = 'f'\ncommand = {name = 'test', any_exit = true}\n[[layers]]\nname = 'g'\nsource = 's'\n",
];

#[test]
fn what_is_read_fits() {
    for good in GOOD {
        parsed(good).unwrap_or_else(|error| panic!("{error}\n{good}"));
        assert_eq!(problems(good), [""; 0], "{good}");
    }
}

/// What is wrong before the layers, which follow unless they are what is wrong.
const BROKEN: &[&str] = &[
    "",
    "layers = []",
    "layers = {}",
    "layer = []",
    "descripton = 'd'\n",
    "description = 1\n",
    "shape = 'json'\n",
    "separator = 1\n",
    "missing = 'strict'\n",
    "prepare = ['magic']\n",
    "prepare = 'role'\n",
    "frame = []\n",
    "unique = true\n",
    "single_system = 1\n",
    "marker = false\n",
    "redact = 'all'\n",
    "redact = 1\n",
    "denies = []\n",
    "schema = {}\n",
    "defaults = 1\n",
    "messages = []\n",
    "messages.m.frames = 'x'\n",
    "frames.f = 'x'\n",
    "frames.f.opn = 'x'\n",
    "frames.f.escape = 'html'\n",
    "warning = {bytes = 1, event = 'e'}\n",
    "warning = {bytes = -1, event = 'e', message = 'm'}\n",
    "warning = {bytes = 1.5, event = 'e', message = 'm'}\n",
    "warning = {byte = 1, event = 'e', message = 'm'}\n",
    "warning = {bytes = 1, message = 'm', role = 'tool'}\n",
    "warning = {bytes = 1, message = 'm', facts = {a = 1}}\n",
    "error = {tokens = '8k', message = 'm'}\n",
    "error = {message = 'm', give_way = {from = 'f', event = 'e'}}\n",
    "error = {message = 'm', give_way = {from = 'f', event = 'e', message = 'm', layers = []}}\n",
    "empty = {event = 'e'}\n",
    "empty = {event = 'e', message = 'm', layers = 'a'}\n",
];

/// What is wrong in a layer.
const BROKEN_LAYERS: &[&str] = &[
    "text = 'A'",
    "name = 'a'",
    "name = 'a'\ntext = 'A'\nvalue = 'v'",
    "name = 'a'\ntext = 'A'\ngit_status = {}",
    "name = ' '\ntext = 'A'",
    "name = ''\ntext = 'A'",
    "name = 'frame'\ntext = 'A'",
    "name = 1\ntext = 'A'",
    "name = 'a'\ntext = 1",
    "name = 'a'\ntext = 'A'\nwen = 'x'",
    "name = 'a'\ntext = 'A'\nwhen = true",
    "name = 'a'\ntext = 'A'\nrole = 'tool'",
    "name = 'a'\ntext = 'A'\npriority = 'high'",
    "name = 'a'\ntext = 'A'\npriority = -1",
    "name = 'a'\ntext = 'A'\npriority = 4294967296",
    "name = 'a'\ntext = 'A'\npriority = 1.5",
    "name = 'a'\ntext = 'A'\ncut = 'yes'",
    "name = 'a'\ntext = 'A'\nvolatility = 'daily'",
    "name = 'a'\ntext = 'A'\ntrust = 'yes'",
    "name = 'a'\ntext = 'A'\noptional = 1",
    "name = 'a'\nfiles = '*'",
    "name = 'a'\nfiles = {glob = ['*']}",
    "name = 'a'\nfiles = {globs = '*'}",
    "name = 'a'\nfiles = {outside_from = 'outside'}",
    "name = 'a'\ninstructions = {deep = true}",
    "name = 'a'\ninstructions = {names = 'A.md'}",
    "name = 'a'\ntree = {}",
    "name = 'a'\ngit_status = true",
    "name = 'a'\ngit_status = {say = true}",
    "name = 'a'\ngit_diff = {of = 'index'}",
    "name = 'a'\ngit_files = {paths_from = 'p'}",
    "name = 'a'\ngit_log = {count = -1}",
    "name = 'a'\ngit_log = {of = 'staged'}",
    "name = 'a'\ncommand = {any_exit = true}",
    "name = 'a'\ncommand = ['test']",
    "name = 'a'\ncommand = {name = 'test', exit = 1}",
    "name = 'a'\nsource = {}",
];

#[test]
fn both_refuse_what_one_place_tells() {
    let layer = "[[layers]]\nname = 'a'\ntext = 'A'\n";
    let heads = BROKEN.iter().map(|head| {
        if head.starts_with("layer") || head.is_empty() {
            (*head).to_owned()
        } else {
            format!("{head}{layer}")
        }
    });
    let layers = BROKEN_LAYERS
        .iter()
        .map(|layer| format!("[[layers]]\n{layer}\n"));
    for text in heads.chain(layers) {
        assert!(parsed(&text).is_err(), "it is read:\n{text}");
        assert_ne!(problems(&text), [""; 0], "it fits:\n{text}");
    }
}

/// Where an unknown key is told with those that are known, and where the schema has them.
const TABLES: &[(&str, &str)] = &[
    ("zz = 1\n", ""),
    ("[frames.f]\nzz = 1\n", "/definitions/frame"),
    ("[messages.m]\nzz = 1\n", "/definitions/message"),
    ("[warning]\nzz = 1\n", "/properties/warning"),
    ("[error]\nzz = 1\n", "/properties/error"),
    ("[error.give_way]\nzz = 1\n", "/definitions/give_way"),
    ("[empty]\nzz = 1\n", "/properties/empty"),
    ("[[layers]]\nzz = 1\n", "/definitions/layer"),
    (
        "[[layers]]\nfiles = {zz = 1}\n",
        "/definitions/layer/properties/files",
    ),
    (
        "[[layers]]\ninstructions = {zz = 1}\n",
        "/definitions/layer/properties/instructions",
    ),
    (
        "[[layers]]\ngit_status = {zz = 1}\n",
        "/definitions/layer/properties/git_status",
    ),
    (
        "[[layers]]\ngit_diff = {zz = 1}\n",
        "/definitions/layer/properties/git_diff",
    ),
    (
        "[[layers]]\ngit_files = {zz = 1}\n",
        "/definitions/layer/properties/git_files",
    ),
    (
        "[[layers]]\ngit_log = {zz = 1}\n",
        "/definitions/layer/properties/git_log",
    ),
    (
        "[[layers]]\ncommand = {zz = 1}\n",
        "/definitions/layer/properties/command/anyOf/1",
    ),
];

#[test]
fn both_know_the_same_keys() {
    let schema = schema();
    for (text, pointer) in TABLES {
        let error = parsed(text).unwrap_err();
        // Between backticks: the unknown key first, then the known ones.
        let known: BTreeSet<&str> = error.detail().split('`').skip(3).step_by(2).collect();
        let table = schema.document().pointer(pointer).unwrap();
        let keys = table["properties"].as_object().map(Map::keys).unwrap();
        let keys: BTreeSet<&str> = keys.map(String::as_str).collect();
        assert_eq!(known, keys, "{error}");
        assert_eq!(table["additionalProperties"], false, "{pointer}");
    }
}

#[test]
fn both_know_the_same_words() {
    let schema = schema();
    for (text, pointer) in [
        ("shape = 'zz'", "/properties/shape"),
        ("missing = 'zz'", "/properties/missing"),
        ("prepare = ['zz']", "/properties/prepare/items"),
        (
            "frames.f.escape = 'zz'",
            "/definitions/frame/properties/escape",
        ),
        (
            "layers = [{name = 'a', role = 'zz'}]",
            "/definitions/layer/properties/role",
        ),
        (
            "layers = [{name = 'a', trust = 'zz'}]",
            "/definitions/layer/properties/trust",
        ),
        (
            "layers = [{name = 'a', volatility = 'zz'}]",
            "/definitions/layer/properties/volatility",
        ),
        (
            "layers = [{name = 'a', git_diff = {of = 'zz'}}]",
            "/definitions/layer/properties/git_diff/properties/of",
        ),
    ] {
        let error = parsed(text).unwrap_err();
        let known: BTreeSet<&str> = error.detail().split('`').skip(3).step_by(2).collect();
        let words = schema.document().pointer(pointer).unwrap()["enum"]
            .as_array()
            .unwrap();
        let words: BTreeSet<&str> = words.iter().filter_map(Value::as_str).collect();
        assert_eq!(known, words, "{error}");
    }
}
