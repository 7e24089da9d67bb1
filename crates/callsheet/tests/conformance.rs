//! Runs the conformance corpus: every file below `tests/compose/` is a composition with its exact result.
//!
//! The format is described in `tests/compose/README.md`; it knows nothing of Rust, so that other implementations can
//! run the same cases.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use callsheet::case::{Case, Entry, ROOT};
use callsheet::inputs::Disk;
use callsheet::recipe::built_in;
use callsheet::{Composition, Draft, Error, Inputs, Recipe, Root, Seal, compose, draft};
use serde_json::json;

/// Fewer cases than these mean that the corpus was not found, not that it is small.
const LEAST: [(&str, usize); 16] = [
    ("injection", 45),
    ("layers", 40),
    ("messages", 50),
    ("pack", 12),
    ("review", 12),
    ("run", 40),
    ("sprint/code-review", 1),
    ("sprint/commit", 5),
    ("sprint/create-story", 2),
    ("sprint/dev-story", 17),
    ("sprint/discovery", 1),
    ("sprint/project-context", 3),
    ("sprint/story-review", 2),
    ("sprint/tech-spec", 1),
    ("sprint/tech-spec-review", 1),
    ("user", 10),
];

#[test]
fn every_case_gives_exactly_what_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compose");
    let mut failures = String::new();
    for (group, least) in LEAST {
        let cases = cases_in(&folder.join(group));
        assert!(
            cases.len() >= least,
            "only {} cases in {group}",
            cases.len()
        );
        for path in cases {
            let name = format!("{group}/{}", path.file_name().unwrap().to_string_lossy());
            let text = std::fs::read_to_string(&path).unwrap();
            let case = Case::parse(&text, &name).unwrap_or_else(|error| panic!("{error}"));
            assert!(!case.description.is_empty(), "{name}: no description");
            for failure in run(group, &case) {
                writeln!(failures, "\n{name}: {}\n{failure}", case.description).unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// A copy is data alone: what a built-in recipe does is tied to nothing but its files.
#[test]
fn an_ejected_recipe_composes_what_the_built_in_one_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compose");
    for (group, _) in LEAST {
        let Some(recipe) = built_in(group) else {
            continue;
        };
        let recipe = recipe.unwrap();
        let home = "callsheet/recipes/mine";
        let ejected = Recipe::parse("mine", home, recipe.folder().clone()).unwrap();
        for path in cases_in(&folder.join(group)) {
            let text = std::fs::read_to_string(&path).unwrap();
            let case: Case = serde_json::from_str(&text).unwrap();
            if !case.recipe.is_empty() {
                continue;
            }
            let place = tempfile::tempdir().unwrap();
            let root = place.path().join("root");
            lay_out(&case, &root);
            let composed = |recipe: &Recipe| {
                let inputs = Inputs::new(Root::open(&root)?);
                let inputs = inputs.with_observer(case.witness());
                compose(recipe, &case.input, &inputs, &case.options())
            };
            match (composed(recipe), composed(&ejected)) {
                (Ok(one), Ok(other)) => {
                    assert_eq!(one.text, other.text, "{}", path.display());
                    let map = json!(other.source_map).to_string();
                    let map = map.replace("recipe:mine/", &format!("recipe:{group}/"));
                    assert_eq!(json!(one.source_map).to_string(), map, "{}", path.display());
                    assert_eq!(one.events, other.events, "{}", path.display());
                    let omissions = [one.manifest.omissions, other.manifest.omissions];
                    assert_eq!(omissions[0], omissions[1], "{}", path.display());
                }
                (one, other) => {
                    let (one, other) = (one.unwrap_err(), other.unwrap_err().to_string());
                    let other = other.replace(home, &recipe.home);
                    assert_eq!(
                        one.to_string(),
                        other.replace("`mine`", &format!("`{group}`"))
                    );
                }
            }
        }
    }
}

fn cases_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut cases: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    cases.sort();
    cases
}

/// Returns everything in which the composition differs from what the case says.
fn run(group: &str, case: &Case) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join(ROOT);
    lay_out(case, &root);
    case.differences(composed(group, case, &root).as_ref())
}

/// Makes the root with everything the case wants in it.
fn lay_out(case: &Case, root: &Path) {
    fs::create_dir_all(root).unwrap();
    for (path, entry) in case.entries() {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match entry {
            Entry::Folder => fs::create_dir_all(path).unwrap(),
            Entry::File(bytes) => fs::write(path, bytes).unwrap(),
            Entry::Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
        }
    }
}

fn composed(group: &str, case: &Case, root: &Path) -> Result<Composition, Error> {
    let own;
    let recipe = if case.recipe.is_empty() {
        built_in(group).unwrap()?
    } else {
        let files = case
            .recipe
            .iter()
            .map(|(name, text)| (name.clone(), text.lossy()));
        own = Recipe::parse("mine", "callsheet/recipes/mine", files.collect())?;
        &own
    };
    let options = case.options();
    let inputs = Inputs::new(Disk::watched().open(root)?).with_observer(case.witness());
    let composition = compose(recipe, &case.input, &inputs, &options);
    let plain = Inputs::new(Root::open(root)?).with_observer(case.witness());
    let drafted = draft(recipe, &case.input, plain, &options);
    check_draft(drafted.as_ref(), composition.as_ref());
    let composition = composition?;
    let (seal, parsed) = Seal::with_parsed(&composition, recipe, &case.input, &inputs, &options)?;
    assert_eq!(
        seal.parsed()?,
        parsed,
        "the documents are what they were written from"
    );
    check_seal(&seal, &composition);
    Ok(composition)
}

/// A draft says what the composition says, and fails where it fails.
fn check_draft(drafted: Result<&Draft, &Error>, composed: Result<&Composition, &Error>) {
    match (drafted, composed) {
        (Ok(drafted), Ok(composed)) => {
            assert_eq!(drafted.text, composed.text);
            assert_eq!(drafted.events, composed.events);
            assert_eq!(drafted.omissions, composed.manifest.omissions);
        }
        (drafted, composed) => assert_eq!(drafted.err(), composed.err()),
    }
}

/// Every case is sealed, put together again and composed again, to the same bytes.
fn check_seal(seal: &Seal, composition: &Composition) {
    assert_eq!(seal.check(), []);
    assert_eq!(seal.text().unwrap(), composition.text);
    assert_eq!(seal.document().unwrap(), composition.document());
    let replay = seal.replay().unwrap();
    assert_eq!(replay.differences, []);
    // What was redacted is sealed as its pseudonym, which nothing takes for a secret again.
    if composition.manifest.redactions.is_empty() {
        assert_eq!(replay.composition.manifest, composition.manifest);
        assert_eq!(replay.composition.source_map, composition.source_map);
    }
}
