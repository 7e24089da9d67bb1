//! The files that a composition writes: whole, exact, or not at all.

#![expect(
    clippy::unwrap_used,
    reason = "a file that is not there fails the test"
)]

use serde_json::Value;

use crate::project::{Project, words};

fn world() -> Project {
    let project = Project::new();
    crate::injection::fill(&project);
    crate::layers::fill(&project);
    for (path, text) in crate::recipes::GREETING {
        project.file(path, text);
    }
    project
}

const COMPOSITIONS: [&str; 6] = [
    "inject --command dev --story 2a-1 --discovery",
    "pack docs _bmad-output",
    "pack docs --format json",
    "pack _bmad-output --byte-budget 700",
    "compose layers --input layers.yaml",
    "compose greeting -D who=you -D loud:=true",
];

#[test]
fn a_source_map_covers_every_byte() {
    let project = world();
    for args in COMPOSITIONS.map(words) {
        let run = project.run(&[&args[..], &["--source-map", "map.json"]].concat());
        assert_eq!(run.code(), Some(0), "{args:?}");
        let map: Value = serde_json::from_str(&project.read("map.json")).unwrap();
        assert_eq!(
            map.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["schema", "spans"]
        );
        let mut end = 0;
        for span in map["spans"].as_array().unwrap() {
            assert_eq!(span["start"], end, "{args:?} {span}");
            end = span["end"].as_u64().unwrap();
            assert!(
                span["layer"].is_string() && span["source"].is_string(),
                "{span}"
            );
            assert_origin(&project, &run.stdout, span);
        }
        assert_eq!(usize::try_from(end).unwrap(), run.stdout.len(), "{args:?}");
    }
}

/// Bytes that came from a file unchanged are the bytes of that file.
fn assert_origin(project: &Project, prompt: &[u8], span: &Value) {
    let Some(path) = span["source"].as_str().unwrap().strip_prefix("file:") else {
        return;
    };
    let at = |name: &str| usize::try_from(span[name].as_u64().unwrap()).unwrap();
    let file = std::fs::read(project.path(path)).unwrap();
    let (from, to) = (
        &file[at("source_start")..at("source_end")],
        &prompt[at("start")..at("end")],
    );
    if span["transform"].is_null() {
        assert_eq!(from, to, "{span}");
    }
}

#[test]
fn a_manifest_has_every_section_where_it_stands() {
    let project = world();
    for args in COMPOSITIONS.map(words) {
        let run = project.run(&[&args[..], &["--manifest", "manifest.json"]].concat());
        let manifest: Value = serde_json::from_str(&project.read("manifest.json")).unwrap();
        assert_eq!(manifest["schema"], "callsheet.manifest/1");
        assert_eq!(manifest["bytes"], run.stdout.len());
        let mut end = 0;
        for section in manifest["sections"].as_array().unwrap() {
            let start = section["start"].as_u64().unwrap();
            assert!(start >= end, "{section}");
            end = section["end"].as_u64().unwrap();
            assert_eq!(section["bytes"], end - start);
            for field in ["layer", "name", "role", "source", "trust", "volatility"] {
                assert!(section[field].is_string(), "{field} of {section}");
            }
            for field in ["fingerprint", "source_fingerprint"] {
                assert!(
                    section[field].as_str().unwrap().starts_with("b3:"),
                    "{section}"
                );
            }
        }
    }
}

#[test]
fn a_manifest_whole() {
    let project = Project::new();
    project.file("a.md", "a\n");
    let args = words(
        "inject --command dev --story x --file a.md --file b.md --manifest m.json --source-map s.json -q",
    );
    assert_eq!(project.run(&args).code(), Some(0));
    insta::assert_snapshot!("manifest", project.read("m.json"));
    insta::assert_snapshot!("source_map", project.read("s.json"));
}

#[test]
fn documents_and_files_agree() {
    let project = world();
    for args in COMPOSITIONS.map(words) {
        let text = project.run(&args).text();
        let document = project
            .run(&[&args[..], &["--json", "--manifest", "m.json"]].concat())
            .json();
        let manifest: Value = serde_json::from_str(&project.read("m.json")).unwrap();
        let said = document.get("text").or(document.get("system_prompt"));
        assert_eq!(said, Some(&Value::from(text)), "{args:?}");
        for field in [
            "fingerprint",
            "bytes",
            "tokens",
            "sections",
            "omissions",
            "events",
        ] {
            assert_eq!(document[field], manifest[field], "{field} of {args:?}");
        }
    }
}

#[test]
fn an_output_file_has_the_bytes_of_stdout() {
    let project = world();
    for args in COMPOSITIONS.map(words) {
        let stdout = project.run(&args);
        let file = project.run(&[&args[..], &["-o", "out.txt"]].concat());
        assert_eq!((file.code(), file.stdout.len()), (Some(0), 0));
        assert_eq!(
            std::fs::read(project.path("out.txt")).unwrap(),
            stdout.stdout
        );
        std::fs::remove_file(project.path("out.txt")).unwrap();
    }
}

#[test]
fn a_folder_that_is_not_there() {
    let project = world();
    for flag in ["-o", "--manifest", "--source-map", "--events"] {
        let run = project.run(&["pack", "docs", flag, "nowhere/file"]);
        assert_eq!((run.code(), run.stdout.len()), (Some(3), 0), "{flag}");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(
            said,
            "error: cannot write `nowhere/file`: no such file or directory\n"
        );
    }
}

#[test]
fn a_folder_in_place_of_a_file() {
    insta::assert_snapshot!(world().callsheet(&["pack", "docs", "-o", "docs"]), @r"
    exit: 3
    --- stderr
    error: cannot write `docs`: is a directory
    ");
}

#[test]
fn nothing_else_is_left_behind() {
    let project = Project::new();
    project.file("a.txt", "a").file("out.txt", "old");
    assert_eq!(
        project.run(&["pack", "a.txt", "-o", "out.txt"]).code(),
        Some(0)
    );
    let mut names: Vec<_> = std::fs::read_dir(project.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".git", "a.txt", "out.txt"]);
}
