//! What a project can throw at a composition: it ends quickly, says what it did not take, and never leaves the root.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use callsheet::recipe::{Folder, built_in};
use callsheet::{Composition, Error, ErrorKind, Inputs, Options, Reason, Recipe, Root, compose};
use serde_json::{Map, Value, json};

const STORIES: &str = "_bmad-output/implementation-artifacts";

fn stories() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(STORIES)).unwrap();
    fs::write(folder.path().join(STORIES).join("2a-1.md"), "story").unwrap();
    folder
}

fn composed(recipe: &str, input: &Value, root: &Path) -> Composition {
    let recipe = built_in(recipe).unwrap().unwrap();
    let inputs = Inputs::new(Root::open(root).unwrap());
    compose(recipe, input, &inputs, &Options::default()).unwrap()
}

fn injected(root: &Path) -> Composition {
    composed(
        "injection",
        &json!({"command_name": "c", "story_keys": ["2a-1"]}),
        root,
    )
}

fn injected_paths(composition: &Composition) -> Vec<&str> {
    composition
        .prompt
        .sections
        .iter()
        .map(|section| section.name.as_str())
        .collect()
}

fn omitted(composition: &Composition) -> Vec<(&str, Reason)> {
    let omissions = composition.manifest.omissions.iter();
    omissions
        .map(|lost| (lost.name.rsplit('/').next().unwrap(), lost.reason))
        .collect()
}

fn own(files: Vec<(String, String)>, input: &Value) -> Result<Composition, Error> {
    let recipe = Recipe::parse(
        "mine",
        "recipes/mine",
        files.into_iter().collect::<Folder>(),
    )?;
    compose(&recipe, input, &Inputs::nowhere(), &Options::default())
}

#[test]
fn giants_and_pipes_are_told_and_not_opened() {
    let folder = stories();
    let at = |name: &str| folder.path().join(STORIES).join(name);
    File::create(at("2a-1-giant.md"))
        .unwrap()
        .set_len(2 << 30)
        .unwrap();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("2a-1-pipe.md"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("2a-1-socket")).unwrap();
    symlink("/dev/zero", at("2a-1-zero.md")).unwrap();
    let composition = injected(folder.path());
    assert_eq!(injected_paths(&composition), [format!("{STORIES}/2a-1.md")]);
    assert_eq!(
        omitted(&composition),
        [
            ("2a-1-giant.md", Reason::TooLarge),
            ("2a-1-pipe.md", Reason::NotAFile),
            ("2a-1-socket", Reason::NotAFile),
            ("2a-1-zero.md", Reason::OutsideRoot),
        ]
    );
    let packed = composed("pack", &json!({"globs": [STORIES]}), folder.path());
    assert_eq!(packed.manifest.losses().count(), 4);
    assert!(packed.text.ends_with("2a-1.md\">\nstory\n</file>\n"));
}

#[test]
fn links_in_a_circle_end() {
    let folder = stories();
    let at = |name: &str| folder.path().join(STORIES).join(name);
    symlink("2a-1-b", at("2a-1-a")).unwrap();
    symlink("2a-1-a", at("2a-1-b")).unwrap();
    symlink("..", at("up")).unwrap();
    symlink(".", folder.path().join("here")).unwrap();
    let composition = injected(folder.path());
    assert_eq!(
        omitted(&composition),
        [
            ("2a-1-a", Reason::Unreadable),
            ("2a-1-b", Reason::Unreadable)
        ]
    );
    let packed = composed("pack", &json!({}), folder.path());
    assert_eq!(
        injected_paths(&packed),
        ["tree", &format!("{STORIES}/2a-1.md")]
    );
    let through = json!({"command_name": "c", "story_keys": [], "additional_files": [format!("here/here/{STORIES}/up/../2a-1.md")]});
    assert_eq!(
        composed("injection", &through, folder.path())
            .prompt
            .sections
            .len(),
        1
    );
}

#[test]
fn a_hundred_thousand_neighbours_do_not_matter() {
    let folder = stories();
    let crowd = folder.path().join(STORIES);
    // Links are made faster than files; a file may have only so many of them.
    for thousand in 0..100 {
        let first = crowd.join(format!("3b-{thousand}"));
        File::create(&first).unwrap();
        for number in 1..1000 {
            fs::hard_link(&first, crowd.join(format!("3b-{thousand}-{number}"))).unwrap();
        }
    }
    assert_eq!(
        injected_paths(&injected(folder.path())),
        [format!("{STORIES}/2a-1.md")]
    );
}

#[test]
fn odd_names_are_printed_or_told() {
    let folder = stories();
    let at = folder.path().join(STORIES);
    for name in [
        "2a-1-\"q\".md",
        "2a-1\nline.md",
        "2a-1-\u{202e}x.md",
        "2a-1 & <b>.md",
    ] {
        fs::write(at.join(name), "odd").unwrap();
    }
    fs::write(
        at.join(std::ffi::OsStr::from_bytes(b"2a-1-\xff.md")),
        "no text",
    )
    .unwrap();
    let composition = injected(folder.path());
    assert_eq!(
        omitted(&composition),
        [("2a-1-\u{fffd}.md", Reason::NameNotUtf8)]
    );
    for path in [
        "2a-1-&quot;q&quot;.md",
        "2a-1\nline.md",
        "2a-1-\u{202e}x.md",
        "2a-1 & <b>.md",
    ] {
        assert!(
            composition
                .text
                .contains(&format!("  <file path=\"{STORIES}/{path}\">\nodd\n")),
            "{path}"
        );
    }
    let collisions: Vec<&str> = composition
        .events
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(
        collisions,
        ["boundary:collision"],
        "only the line break breaks its frame"
    );
    let packed = composed("pack", &json!({"format": "json"}), folder.path());
    let parsed: Value = serde_json::from_str(&packed.text).unwrap();
    assert_eq!(parsed["files"].as_array().unwrap().len(), 5);
}

#[test]
fn ten_thousand_placeholders_are_filled() {
    let mut text = String::new();
    let mut values = Map::new();
    for number in 0..10_000 {
        writeln!(text, "{{{{v{number}}}}}").unwrap();
        values.insert(format!("v{number}"), "x".into());
    }
    let files = vec![
        (
            "recipe.toml".to_owned(),
            "[[layers]]\nname = 'a'\ntemplate = 'a.md'\n".to_owned(),
        ),
        ("a.md".to_owned(), text),
    ];
    let composition = own(files.clone(), &Value::Object(values)).unwrap();
    assert_eq!(composition.text, "x\n".repeat(10_000).trim_end());
    assert_eq!(composition.source_map.spans.len(), 19_999);
    let error = own(files, &json!({})).unwrap_err();
    assert!(error.detail().ends_with("'v9998', 'v9999')"));
}

/// Templates that include the next one, the last of them nothing.
fn chain(length: usize) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = (0..length)
        .map(|number| {
            let next = number + 1;
            (
                format!("t{number}.md"),
                format!("---\nengine: jinja\n---\n{{% include 't{next}.md' %}}"),
            )
        })
        .collect();
    files.push((format!("t{length}.md"), "end".to_owned()));
    files.push((
        "recipe.toml".to_owned(),
        "[[layers]]\nname = 'a'\ntemplate = 't0.md'\n".to_owned(),
    ));
    files
}

#[test]
fn includes_may_be_deep_but_not_without_end() {
    assert_eq!(own(chain(20), &json!({})).unwrap().text, "end");
    let error = own(chain(5_000), &json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadTemplate, "{error}");
    let mut circle = chain(300);
    circle[300].1 = "---\nengine: jinja\n---\n{% include 't7.md' %}".to_owned();
    let error = own(circle, &json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadRecipe);
    assert!(
        error
            .to_string()
            .starts_with("recipes/mine/t300.md:4: templates include each other: `t7.md → t8.md →")
    );
}
