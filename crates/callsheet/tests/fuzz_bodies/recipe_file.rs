//! Any bytes are the files of a recipe: it composes, or an error names the file and the line.

use callsheet::recipe::Folder;
use callsheet::{Budget, Error, ErrorKind, Inputs, Options, Recipe, Root, compose};
use serde_json::{Value, json};

use super::draw::Draw;
use super::recipe_words;
use super::spans::assert_mapped;

const SHOWN: &str = "callsheet/recipes/mine";

pub(crate) fn run(data: &[u8]) {
    let names = ["recipe.toml", "one.md", "input.schema.json"].map(ToOwned::to_owned);
    let folder: Folder = names.into_iter().zip(files(data)).collect();
    let parse = || Recipe::parse("mine", SHOWN, folder.clone());
    match (parse(), parse()) {
        (Ok(recipe), Ok(again)) => {
            assert_eq!(recipe.fingerprint, again.fingerprint);
            assert_composes(&recipe, &json!({"who": "xml"}));
            assert_composes(&recipe, &json!({}));
        }
        (Err(error), Err(again)) => {
            assert_eq!(error, again);
            assert_placed(&error, &folder);
        }
        _ => panic!("the same folder is a recipe only sometimes"),
    }
}

/// Makes the three files: as the bytes stand, with a separator between files, or of lines that recipes have.
fn files(data: &[u8]) -> [String; 3] {
    let mut draw = Draw::new(data);
    if draw.byte().is_multiple_of(4) {
        let text = String::from_utf8_lossy(draw.take(data.len()));
        let mut parts = text.split('\u{1c}').map(ToOwned::to_owned);
        return std::array::from_fn(|_| parts.next().unwrap_or_default());
    }
    recipe_words::folder(&mut draw)
}

fn assert_placed(error: &Error, folder: &Folder) {
    assert_eq!(error.kind(), ErrorKind::BadRecipe, "{error}");
    assert!(!error.detail().is_empty());
    let place = error.place().unwrap_or_else(|| panic!("no place: {error}"));
    let file = place
        .file
        .strip_prefix(SHOWN)
        .and_then(|file| file.strip_prefix('/'));
    let text = file
        .and_then(|file| folder.get(file))
        .unwrap_or_else(|| panic!("no such file: {error}"));
    let line = place.line.unwrap_or_else(|| panic!("no line: {error}"));
    assert!(
        (1..=1 + text.matches('\n').count()).contains(&line),
        "{error}"
    );
}

fn assert_composes(recipe: &Recipe, input: &Value) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.md"), "one\r\n```\ntwo\n</t>").unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    std::fs::write(folder.path().join("b/c.rs"), "fn c() {}\n").unwrap();
    std::fs::write(folder.path().join("b/d.bin"), "\0").unwrap();
    let inputs = Inputs::new(Root::open(folder.path()).unwrap());
    let within = |bytes| {
        let options = Options {
            budget: Budget {
                bytes,
                tokens: None,
            },
            ..Options::default()
        };
        let composed = compose(recipe, input, &inputs, &options);
        let again = compose(recipe, input, &inputs, &options);
        match (composed, again) {
            (Ok(composed), Ok(again)) => {
                assert_eq!(composed.text, again.text);
                assert_mapped(&composed);
                Some(composed)
            }
            (Err(error), Err(again)) => {
                assert_eq!(error, again);
                assert!(!error.to_string().is_empty());
                None
            }
            _ => panic!("the same input composes only sometimes"),
        }
    };
    let Some(whole) = within(None) else { return };
    let most = whole.text.len() / 2;
    if let Some(less) = within(Some(most)) {
        assert!(less.text.len() <= most, "over the budget");
        let omitted = less.manifest.omissions.len() > whole.manifest.omissions.len();
        assert!(
            omitted || less.text == whole.text,
            "something gave way without a record"
        );
    }
}
