//! Seals of real folders, taken away before anything is asked.

use serde_json::json;

use super::*;
use crate::inputs::Disk;
use crate::recipe::built_in;
use crate::redact::Level;
use crate::{Budget, compose};

/// Composes and seals in a folder of its own; the folder is gone when this returns.
fn sealed(
    files: &[(&str, &str)],
    recipe: &str,
    input: &Value,
    options: &Options,
) -> (Composition, Seal) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let inputs = Inputs::new(Disk::watched().open(folder.path()).unwrap());
    let recipe = built_in(recipe).unwrap().unwrap();
    let composition = compose(recipe, input, &inputs, options).unwrap();
    let sealed = Seal::with_parsed(&composition, recipe, input, &inputs, options);
    let (seal, parsed) = sealed.unwrap();
    assert_eq!(seal.parsed().unwrap(), parsed);
    (composition, seal)
}

fn pack() -> (Composition, Seal) {
    let files = [
        ("a.md", "alpha\r\nbeta\n"),
        ("src/b.rs", "fn b() {}\n"),
        ("logo.bin", "\0\0"),
    ];
    sealed(
        &files,
        "pack",
        &json!({"globs": ["**"]}),
        &Options::default(),
    )
}

#[test]
fn the_record_of_inputs_is_sealed_without_the_path_of_the_root() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().display().to_string();
    let inputs = Inputs::new(Disk::watched().open(place.path()).unwrap());
    let options = Options {
        inputs: vec![crate::document::Given {
            from: "a.yaml".to_owned(),
            fields: vec![format!("{path}/x")],
            overrides: Vec::new(),
        }],
        ..Options::default()
    };
    let recipe = built_in("layers").unwrap().unwrap();
    let input = json!({"rules": "Never push."});
    let composition = compose(recipe, &input, &inputs, &options).unwrap();
    assert_eq!(composition.manifest.inputs, options.inputs);
    let seal = Seal::of(&composition, recipe, &input, &inputs, &options).unwrap();
    assert!(seal.documents.iter().all(|text| !text.contains(&path)));
    assert_eq!(seal.manifest().unwrap().inputs[0].fields, ["/@project/x"]);
    assert_eq!(seal.replay().unwrap().differences, []);
}

#[test]
fn a_seal_has_the_same_bytes_document_and_map_as_the_composition() {
    let (composition, seal) = pack();
    assert_eq!(seal.text().unwrap(), composition.text);
    assert_eq!(seal.text().unwrap(), composition.text);
    assert_eq!(seal.document().unwrap(), composition.document());
    assert_eq!(seal.manifest().unwrap(), composition.manifest);
    assert_eq!(
        seal.source_map().unwrap().spans,
        composition.source_map.spans
    );
    assert_eq!(seal.check(), []);
    let held: BTreeSet<Fingerprint> = seal.bodies.keys().copied().collect();
    assert_eq!(held, seal.named().unwrap(), "every text is named and there");
}

#[test]
fn what_is_no_text_is_not_kept_and_is_refused_again() {
    let (composition, seal) = pack();
    assert!(!seal.bodies.contains_key(&Fingerprint::of("\0\0")));
    let again = seal.replay().unwrap().composition;
    assert_eq!(again.manifest, composition.manifest);
    assert_eq!(again.manifest.omissions[0].name, "logo.bin");
}

#[test]
fn every_built_in_recipe_replays_without_its_folder() {
    let cases = [
        (
            "injection",
            json!({"command_name": "dev", "story_keys": ["2a-1"], "additional_files": ["x.md", "no.md"]}),
        ),
        (
            "layers",
            json!({"identity": {"name": "task-agent"}, "project_context": true, "tools": [{"name": "t"}]}),
        ),
        (
            "layers",
            json!({"identity": {"name": "mine", "variables": {"who": "me"}}, "prompts_dir": "prompts"}),
        ),
        (
            "run",
            json!({"role": {"prompt_template": "R"}, "task": {"id": "1", "title": "T", "description": "D",
            "write_scope": ["src/**"], "done_when": []}}),
        ),
        ("pack", json!({"globs": ["*.md"]})),
    ];
    let files = [
        (
            "_bmad-output/implementation-artifacts/sprint-2a-1.md",
            "story",
        ),
        (
            "_bmad-output/planning-artifacts/sprint-project-context.md",
            "context",
        ),
        ("x.md", "x"),
        ("CLAUDE.md", "rules"),
        ("prompts/mine.md", "---\nname: mine\n---\nI am {{who}}."),
    ];
    for (recipe, input) in cases {
        let (composition, seal) = sealed(&files, recipe, &input, &Options::default());
        let replay = seal.replay().unwrap();
        assert_eq!(replay.differences, [], "{recipe}");
        assert_eq!(
            replay.composition.manifest, composition.manifest,
            "{recipe}"
        );
        assert_eq!(seal.check(), [], "{recipe}");
    }
}

#[test]
fn budgets_and_counts_are_sealed_too() {
    let options = Options {
        budget: Budget {
            bytes: Some(200),
            tokens: None,
        },
        count_tokens: true,
        ..Options::default()
    };
    let long = "line\n".repeat(100);
    let (composition, seal) = sealed(
        &[("a.md", &long)],
        "pack",
        &json!({"globs": ["a.md"]}),
        &options,
    );
    assert!(!composition.manifest.omissions.is_empty());
    let replay = seal.replay().unwrap();
    assert_eq!(
        (replay.differences, replay.composition.manifest),
        (vec![], composition.manifest)
    );
}

#[test]
fn a_change_of_any_single_byte_is_found() {
    let (_, seal) = pack();
    let whole = seal.fingerprint();
    for (index, document) in DOCUMENTS.into_iter().enumerate() {
        let mut other = seal.clone();
        other.documents[index] = other.documents[index].replacen('1', "2", 1);
        assert_ne!(other.fingerprint(), whole, "{document}");
    }
    for name in seal.bodies.keys() {
        let mut other = seal.clone();
        let mut bytes = other.bodies[name].to_vec();
        bytes[0] ^= 1;
        other.bodies.insert(*name, bytes.into());
        let faults = other.check();
        let what = format!("text {name}");
        assert!(faults.iter().any(|fault| fault.what == what), "{faults:?}");
    }
}

#[test]
fn an_engine_that_prints_another_text_is_told_with_section_and_reason() {
    let (_, mut seal) = pack();
    // What an older engine would have sealed: the same inputs, another text for one section.
    let mut manifest = seal.manifest().unwrap();
    manifest.engine = "0.0.9".into();
    let text = "alpha and beta\n";
    let mut sections = manifest.sections.iter_mut();
    let section = sections.find(|section| section.name == "a.md").unwrap();
    section.fingerprint = Fingerprint::of(text);
    add(&mut seal.bodies, text);
    seal.documents[0] = compact(&manifest);
    let differences = seal.replay().unwrap().differences;
    assert_eq!(
        differences,
        [Difference {
            what: "section `files: a.md`".to_owned(),
            change: "changed",
            why: format!(
                "the same `file:a.md` gives another text; sealed by engine 0.0.9, this is {}",
                crate::manifest::ENGINE
            ),
        }]
    );
}

#[test]
fn secrets_are_sealed_nowhere_and_the_prompt_still_replays() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let files = [("a.md", format!("token {token}\nend\n"))];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let options = Options {
        redact: Level::Formats,
        ..Options::default()
    };
    let (composition, seal) = sealed(&files, "pack", &json!({"globs": ["a.md"]}), &options);
    assert_eq!(seal.text().unwrap(), composition.text);
    let everything: Vec<u8> = seal
        .bodies
        .values()
        .flat_map(|bytes| bytes.to_vec())
        .collect();
    let everything = String::from_utf8_lossy(&everything).into_owned() + &seal.documents.concat();
    assert!(!everything.contains(&token));
    assert!(everything.contains("‹secret:"));
    assert!(seal.inputs().unwrap().replays);
    assert_eq!(seal.replay().unwrap().differences, []);
}

#[test]
fn a_seal_can_be_redacted_afterwards_and_is_a_seal_again() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("token {token}\n");
    let (_, seal) = sealed(
        &[("a.md", &text)],
        "pack",
        &json!({"globs": ["a.md"]}),
        &Options::default(),
    );
    assert!(seal.text().unwrap().contains(&token));
    let clean = seal.redacted(
        Level::Formats,
        crate::redact::Key::default(),
        &crate::redact::Rules::default(),
    );
    let clean = clean.unwrap();
    assert!(!clean.documents.concat().contains(&token));
    let mut bodies = clean.bodies.values();
    assert!(bodies.all(|body| !String::from_utf8_lossy(body).contains(&token)));
    assert!(clean.text().unwrap().contains("‹secret:github-token:"));
    assert_eq!(
        (clean.check(), clean.replay().unwrap().differences),
        (vec![], vec![])
    );
    assert_ne!(clean.fingerprint(), seal.fingerprint());
}

#[test]
fn where_pseudonyms_move_a_cut_that_is_known_and_told() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("token {token}\nsecond\nthird\nfourth\n");
    let input = json!({"project_context": {"dir": ".", "max_chars": 52}});
    let options = Options {
        redact: Level::Formats,
        ..Options::default()
    };
    let (composition, seal) = sealed(&[("CLAUDE.md", &text)], "layers", &input, &options);
    assert!(!composition.text.contains("third"));
    assert_eq!(seal.text().unwrap(), composition.text);
    assert_eq!(seal.check(), []);
    assert!(!seal.inputs().unwrap().replays);
    assert!(!seal.replay().unwrap().is_equal());
}

#[test]
fn files_are_told_by_their_paths_from_the_root() {
    let input =
        json!({"identity": {"name": "mine"}, "prompts_dir": "a/prompts", "project_context": true});
    let files = [("a/prompts/mine.md", "I am."), ("CLAUDE.md", "rules")];
    let (_, seal) = sealed(&files, "layers", &input, &Options::default());
    let files: Vec<String> = seal.inputs().unwrap().files().into_iter().collect();
    assert_eq!(files, ["CLAUDE.md", "a/prompts/mine.md"]);
}

#[test]
fn a_few_texts_named_very_often_are_refused_and_not_put_together() {
    let (_, mut seal) = pack();
    let mut manifest = seal.manifest().unwrap();
    let mut layout = seal.layout().unwrap();
    let large = "x".repeat(10 << 20);
    add(&mut seal.bodies, &large);
    let mut section = manifest.sections[0].clone();
    section.fingerprint = Fingerprint::of(&large);
    manifest.sections = vec![section; 2000];
    layout.frames = vec![String::new(); 2001];
    seal.documents[0] = compact(&manifest);
    seal.documents[2] = compact(&layout);
    let error = seal.text().unwrap_err();
    assert_eq!(error.detail(), "it is larger than a prompt may be");
    assert!(!seal.check().is_empty());
}

#[test]
fn messages_that_repeat_a_text_are_refused() {
    let (_, mut seal) = pack();
    let cut = seal.documents[2].find("\"placed\":[[").unwrap() + "\"placed\":[".len();
    let once = &seal.documents[2][cut..];
    let once = &once[..=once.find(']').unwrap()];
    let often = format!("{once},").repeat(50);
    seal.documents[2].insert_str(cut, &often);
    let error = seal.text().unwrap_err();
    assert_eq!(
        error.detail(),
        "the layout cuts messages that are not in the text"
    );
}

#[test]
fn records_that_lie_are_found_by_composing_again() {
    let (_, seal) = pack();
    let lie = |change: &dyn Fn(&mut Manifest)| {
        let mut manifest = seal.manifest().unwrap();
        change(&mut manifest);
        let mut other = seal.clone();
        other.documents[0] = compact(&manifest);
        other
    };
    let recipe = lie(&|manifest| manifest.recipe.fingerprint = Fingerprint::of("another"));
    let faults: Vec<String> = recipe.check().iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        ["manifest: its recipe is not the one that was sealed"]
    );
    let source = lie(&|manifest| manifest.sections[0].source = "file:other".to_owned());
    assert_eq!(source.replay().unwrap().differences[0].what, "the manifest");
    let mut map = seal.clone();
    map.documents[1] = map.documents[1].replacen("file:a.md", "file:b.md", 1);
    assert_eq!(map.replay().unwrap().differences[0].what, "the source map");
}

#[test]
fn what_only_the_words_around_make_a_secret_is_sealed_nowhere() {
    let toml = "redact = true\n[[layers]]\nname = 'db'\ntext = 'DB=postgres://app:{{pw}}@db.local/shop'\n\
        [[layers]]\nname = 'auth'\ntext = 'postgres://{{auth}}@db.local/shop'\n";
    let folder = crate::recipe::Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
    let recipe = Recipe::parse("mine", "mine", folder).unwrap();
    let input = json!({"pw": 12_345_678_901_u64, "auth": "app:hunter2"});
    let (inputs, options) = (Inputs::nowhere(), Options::default());
    let composition = compose(&recipe, &input, &inputs, &options).unwrap();
    let seal = Seal::of(&composition, &recipe, &input, &inputs, &options).unwrap();
    let kept: Vec<String> = seal
        .bodies
        .values()
        .map(|one| String::from_utf8_lossy(one).into_owned())
        .collect();
    let kept = kept.concat() + &seal.documents.concat();
    assert!(
        !kept.contains("12345678901") && !kept.contains("hunter2"),
        "{kept}"
    );
}

#[test]
fn only_a_watched_disk_can_be_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = Inputs::new(crate::Root::open(folder.path()).unwrap());
    let recipe = built_in("pack").unwrap().unwrap();
    let (input, options) = (json!({"globs": []}), Options::default());
    let composition = compose(recipe, &input, &inputs, &options).unwrap();
    let error = Seal::of(&composition, recipe, &input, &inputs, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "only what was read from a watched disk can be sealed"
    );
}

/// Everything that a seal keeps, as one text.
fn kept(seal: &Seal) -> String {
    let bodies = seal.bodies.values();
    let bodies = bodies.map(|body| String::from_utf8_lossy(body).into_owned());
    seal.documents.iter().cloned().chain(bodies).collect()
}

#[test]
fn a_seal_is_the_same_wherever_the_project_is() {
    let seals: Vec<Seal> = (0..2).map(|_| pack().1).collect();
    assert_eq!(seals[0], seals[1]);
    let inputs = seals[0].inputs().unwrap();
    assert_eq!(
        inputs.files(),
        ["a.md", "src/b.rs"].map(str::to_owned).into()
    );
}

#[test]
fn the_path_of_the_project_is_not_sealed_unless_it_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let path = root.to_str().unwrap();
    std::fs::create_dir(root.join("prompts")).unwrap();
    std::fs::write(root.join("prompts/identity.md"), "Hello, {{who}}.").unwrap();
    let inputs = || Inputs::new(Disk::watched().open(&root).unwrap());
    let options = Options::default();
    let identity = |who: &str| {
        let recipe = built_in("layers").unwrap().unwrap();
        let input = json!({"prompts_dir": format!("{path}/prompts"),
            "identity": {"name": "identity", "variables": {"who": who}}});
        let inputs = inputs();
        let composition = compose(recipe, &input, &inputs, &options).unwrap();
        let seal = Seal::of(&composition, recipe, &input, &inputs, &options).unwrap();
        assert_eq!(seal.text().unwrap(), composition.text);
        assert_eq!(seal.check(), vec![]);
        assert_eq!(seal.replay().unwrap().differences, vec![]);
        seal
    };
    let paths = RootPaths::new([&root]);
    let plain = identity("you");
    assert!(!kept(&plain).contains(path));
    assert_eq!(plain.without_paths(&paths).unwrap(), None);

    let telling = identity(&format!("{path}/you"));
    assert!(kept(&telling).contains(path));
    let hidden = telling
        .without_paths(&RootPaths::default())
        .unwrap()
        .unwrap();
    assert_eq!(hidden.text().unwrap(), "Hello, /@project/you.");
    assert!(!kept(&hidden).contains(path));
    assert_eq!(hidden.replay().unwrap().differences, vec![]);
    assert_eq!(hidden.without_paths(&paths).unwrap(), None);
}

#[test]
fn a_path_that_is_put_together_from_parts_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let toml = "[[layers]]\nname = 'where'\ntext = 'in {{above}}/{{name}}'\n";
    let files = crate::recipe::Folder::from([("recipe.toml".to_owned(), toml.to_owned())]);
    let recipe = Recipe::parse("mine", "recipes/mine", files).unwrap();
    let part = |part: Option<&std::ffi::OsStr>| part.unwrap().to_str().unwrap().to_owned();
    let input = json!({"above": part(root.parent().map(std::path::Path::as_os_str)), "name": part(root.file_name())});
    let (inputs, options) = (
        Inputs::new(Disk::watched().open(&root).unwrap()),
        Options::default(),
    );
    let composition = compose(&recipe, &input, &inputs, &options).unwrap();
    let seal = Seal::of(&composition, &recipe, &input, &inputs, &options).unwrap();
    let error = seal.without_paths(&RootPaths::new([&root])).unwrap_err();
    insta::assert_snapshot!(error, @"it prints the path of the project, put together from parts");
}

#[test]
fn paths_are_hidden_however_they_are_written() {
    let paths = RootPaths::new(["/home/ann/my shop", "/srv/shop/"]);
    for (text, hidden) in [
        ("/srv/shop", "/@project"),
        (
            "in /srv/shop/src, /srv/shop.",
            "in /@project/src, /@project.",
        ),
        ("/srv/shop2", "/@project2"),
        ("/home/ann/my shop/a", "/@project/a"),
        ("/home/ann/my%20shop/a", "/@project/a"),
        ("%2Fsrv%2Fshop%2Fa", "/@project%2Fa"),
        ("{\"a\":\"\\/srv\\/shop\\/a\"}", "{\"a\":\"/@project\\/a\"}"),
        ("/home/ann", "/home/ann"),
        ("srv/shop", "srv/shop"),
        ("/@project/a", "/@project/a"),
    ] {
        assert_eq!(paths.hide(text), hidden);
    }
    let short = RootPaths::new(["/app"]);
    for (text, hidden) in [
        ("cd /app", "cd /@project"),
        ("\"/app/src\"", "\"/@project/src\""),
        ("https://example.com/app/src", "https://example.com/app/src"),
        ("/apple /app2 /app-x", "/apple /app2 /app-x"),
    ] {
        assert_eq!(short.hide(text), hidden);
    }
    for nothing in ["", "/", "relative/path", ROOT] {
        assert!(RootPaths::new([nothing]).is_empty(), "{nothing}");
    }
    assert_eq!(paths.begun(b"see /srv/sh"), "/srv/sh".len());
    assert_eq!(paths.begun(b"see /srv/shop"), 0);
    assert_eq!(paths.begun(b"see /"), 1);
    assert_eq!(paths.begun(b"see"), 0);
}
