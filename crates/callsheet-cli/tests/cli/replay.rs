//! `replay`: the same bytes again, from what was sealed and from nothing else.

#![expect(
    clippy::unwrap_used,
    reason = "a bundle that cannot be made fails the test"
)]

use std::collections::BTreeMap;

use crate::bundles::{Files, pack, unpack};
use crate::project::Project;
use crate::sealed::{export, said, seal, seal_by, shop};

#[test]
fn the_project_may_be_gone() {
    let project = shop();
    project.file("_bmad-output/implementation-artifacts/2a-1.md", "a story\n");
    let ids = [
        seal(&project, "you"),
        seal_by(&project, &["pack", "--byte-budget", "500"]),
        seal_by(
            &project,
            &[
                "inject",
                "--command",
                "dev",
                "--story",
                "2a-1",
                "--file",
                "nowhere.md",
            ],
        ),
        seal_by(
            &project,
            &["compose", "layers", "-D", "identity.name=task-agent"],
        ),
    ];
    insta::assert_snapshot!(project.callsheet(&["replay", &ids[0]]), @"
    exit: 0
    --- stdout
    prompt [ID1]: the same 151 bytes, b3:482142ba9431de26f441ae921ad2b7106dce1b442d7799dd6120eeccebb190e6
    ");
    insta::assert_snapshot!(project.callsheet(&["replay", &ids[0], "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.replay/1",
      "id": "[ID1]",
      "equal": true,
      "fingerprint": "b3:482142ba9431de26f441ae921ad2b7106dce1b442d7799dd6120eeccebb190e6",
      "sealed_engine": "0.1.0",
      "engine": "0.1.0",
      "differences": []
    }
    "#);
    project.file("rules.md", "Push wherever you like.\n");
    project.file("src/new.rs", "new");
    for id in &ids {
        let run = project.run(&["replay", id]);
        assert_eq!(run.code(), Some(0), "{}{}", run.text(), said(&run));
    }
    for gone in ["src", "callsheet", "_bmad-output"] {
        std::fs::remove_dir_all(project.path(gone)).unwrap();
    }
    std::fs::remove_file(project.path("rules.md")).unwrap();
    for id in &ids {
        let run = project.run(&["replay", id]);
        assert_eq!(run.code(), Some(0), "{}{}", run.text(), said(&run));
    }
}

#[test]
fn what_cannot_be_replayed() {
    let project = shop();
    project.file("prompt.md", "only a prompt");
    insta::assert_snapshot!(project.callsheet(&["replay", "prompt.md"]), @"
    exit: 2
    --- stderr
    error: `prompt.md` is a prompt without its inputs
    hint: name a sealed prompt by its id, or a bundle
    ");
    let (one, other) = (seal(&project, "you"), seal(&project, "me"));
    let bundle = export(&project, &[&one, &other]);
    insta::assert_snapshot!(project.callsheet(&["replay", bundle.to_str().unwrap()]), @"
    exit: 2
    --- stderr
    error: [OUTSIDE]/bundle.tar.zst: the bundle holds 2 prompts
    hint: `callsheet import` takes it in; then name one of them by its id
    ");
}

#[test]
fn another_machine_gives_the_same_bytes() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let id = seal(&project, "you");
    let shown = project.run(&["show", &id, "-q"]).stdout;
    let bundle = export(&project, &[&id]);
    other.file("b.tar.zst", std::fs::read(bundle).unwrap());
    drop(project);
    insta::assert_snapshot!(other.callsheet(&["replay", "b.tar.zst"]), @"
    exit: 0
    --- stdout
    prompt [ID1]: the same 151 bytes, b3:482142ba9431de26f441ae921ad2b7106dce1b442d7799dd6120eeccebb190e6
    ");
    assert_eq!(other.run(&["show", "b.tar.zst"]).stdout, shown);
    assert!(!other.path(".callsheet").exists());
}

/// Puts other texts into the bundle of one prompt, as if another engine had made it, and seals it anew.
fn resealed(files: &Files, change: impl Fn(&str, &str) -> String) -> Files {
    let mut changed: BTreeMap<String, String> = BTreeMap::new();
    for (path, bytes) in files {
        let text = String::from_utf8(bytes.clone()).unwrap();
        changed.insert(path.clone(), change(path, &text));
    }
    let named = ["manifest", "source-map", "layout", "inputs"].map(|name| {
        let end = format!("/{name}.json");
        let found = changed.iter().find(|(path, _)| path.ends_with(&end));
        (name, found.unwrap().1.clone())
    });
    let pairs = named.iter().map(|(name, text)| (*name, text.as_bytes()));
    let seal = callsheet::Fingerprint::of_named(pairs);
    let mut index: serde_json::Value = serde_json::from_str(&changed["bundle.json"]).unwrap();
    let old = index["prompts"][0]["id"].as_str().unwrap().to_owned();
    let at = index["prompts"][0]["sealed_at"].as_i64().unwrap();
    let new = callsheet_store::Id::new(at, seal).to_string();
    index["prompts"][0]["id"] = new.clone().into();
    index["prompts"][0]["seal"] = seal.to_string().into();
    changed.insert("bundle.json".to_owned(), index.to_string());
    let renamed = changed.into_iter();
    renamed
        .map(|(path, text)| (path.replace(&old, &new), text.into_bytes()))
        .collect()
}

#[test]
fn an_older_engine_that_made_the_same_bytes_is_no_news() {
    let project = shop();
    let id = seal(&project, "you");
    let files = unpack(&std::fs::read(export(&project, &[&id])).unwrap());
    project.file("older.tar.zst", pack(&resealed(&files, older_engine)));
    insta::assert_snapshot!(project.callsheet(&["verify", "older.tar.zst"]), @"
    exit: 0
    --- stderr
    1 prompt checked: nothing was changed
    ");
    insta::assert_snapshot!(project.callsheet(&["replay", "older.tar.zst"]), @"
    exit: 0
    --- stdout
    prompt [ID1]: the same 151 bytes, b3:482142ba9431de26f441ae921ad2b7106dce1b442d7799dd6120eeccebb190e6
    ");
}

#[test]
fn an_engine_that_wrote_another_frame_is_named() {
    let project = shop();
    let id = seal(&project, "you");
    let files = unpack(&std::fs::read(export(&project, &[&id])).unwrap());
    let prompt = project.run(&["show", &id]).text();
    let then = prompt.replacen("\n\n", "\n \n", 1);
    let fingerprint = |text: &str| callsheet::Fingerprint::of(text).to_string();
    let (was, is) = (fingerprint(&prompt), fingerprint(&then));
    let older = resealed(&files, |path, text| {
        if path.ends_with("/prompt") {
            return then.clone();
        }
        if path.ends_with("layout.json")
            || path.ends_with("manifest.json")
            || path.ends_with("source-map.json")
        {
            return moved(
                &older_engine(path, text),
                prompt.find("\n\n").unwrap_or(0) + 1,
            )
            .replace(&was, &is)
            .replacen("[\"\",\"\\n\\n\"", "[\"\",\"\\n \\n\"", 1);
        }
        text.replace(&was, &is)
    });
    project.file("frames.tar.zst", pack(&older));
    insta::assert_snapshot!(project.callsheet(&["verify", "frames.tar.zst"]), @"
    exit: 0
    --- stderr
    1 prompt checked: nothing was changed
    ");
    insta::assert_snapshot!(project.callsheet(&["replay", "frames.tar.zst"]), @"
    exit: 1
    --- stdout
    prompt [ID1]: not the same
      the frame around the sections changed: sealed by engine 0.0.9, this is 0.1.0
    ");
    insta::assert_snapshot!(project.callsheet(&["replay", "frames.tar.zst", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.replay/1",
      "id": "[ID1]",
      "equal": false,
      "fingerprint": "b3:ffe4ccf9e9b19d326000b94082008fd19b3e8504547cc1a7f79669a9769c2c96",
      "sealed_engine": "0.0.9",
      "engine": "0.1.0",
      "differences": [
        {
          "what": "the frame around the sections",
          "change": "changed",
          "why": "sealed by engine 0.0.9, this is 0.1.0"
        }
      ]
    }
    "#);
}

/// Says that an older engine has sealed a prompt.
fn older_engine(path: &str, text: &str) -> String {
    if path.ends_with("manifest.json") {
        return text.replace("\"engine\":\"0.1.0\"", "\"engine\":\"0.0.9\"");
    }
    text.to_owned()
}

/// Moves every place of a document that is behind a byte of the prompt by one, and its size.
fn moved(document: &str, behind: usize) -> String {
    fn walk(value: &mut serde_json::Value, behind: usize) {
        match value {
            serde_json::Value::Object(fields) => {
                let bodies = fields.contains_key("fingerprint") && fields.contains_key("layer");
                for (name, value) in fields {
                    let place = matches!(name.as_str(), "start" | "end")
                        || !bodies && matches!(name.as_str(), "bytes" | "stable_prefix_bytes");
                    match value.as_u64().filter(|_| place) {
                        Some(at) if at > behind as u64 => *value = (at + 1).into(),
                        _ => walk(value, behind),
                    }
                }
            }
            serde_json::Value::Array(list) => list.iter_mut().for_each(|value| walk(value, behind)),
            _ => {}
        }
    }
    let mut value: serde_json::Value = serde_json::from_str(document).unwrap();
    walk(&mut value, behind);
    value.to_string()
}
