//! `export` and `import`: prompts that travel, with or without their secrets.

use crate::bundles::{Files, unpack};
use crate::project::{Project, finish};
use crate::sealed::{export, said, seal, seal_by, shop};

const TOKEN: &str = concat!("gh", "p_k7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7U");

#[test]
fn prompts_travel() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let (one, two) = (seal(&project, "you"), seal(&project, "me"));
    let file = project.outside().join("bundle.tar.zst");
    let file = file.to_str().unwrap();
    let run = project.run(&["export", &two, &one, &two, "-o", file]);
    assert!(
        said(&run).starts_with("exported 2 prompts, "),
        "{}",
        said(&run)
    );
    insta::assert_snapshot!(other.callsheet(&["verify", file]).replace(file, "FILE"), @"
    exit: 0
    --- stderr
    2 prompts checked: nothing was changed
    ");
    insta::assert_snapshot!(other.callsheet(&["import", file]), @"
    exit: 0
    --- stderr
    imported [ID1]
    imported [ID2]
    ");
    insta::assert_snapshot!(other.callsheet(&["import", file]), @"
    exit: 0
    --- stderr
    already here [ID1]
    already here [ID2]
    ");
    insta::assert_snapshot!(other.callsheet(&["import", file, "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.import/1",
      "prompts": [
        {
          "id": "[ID1]",
          "new": false
        },
        {
          "id": "[ID2]",
          "new": false
        }
      ],
      "runs": []
    }
    "#);
}

#[test]
fn what_travelled_works_as_at_home() {
    let (project, other) = (shop(), Project::named("elsewhere"));
    let (one, two) = (seal(&project, "you"), seal(&project, "me"));
    let file = export(&project, &[&one, &two]);
    let file = file.to_str().unwrap();
    assert_eq!(other.run(&["import", file]).code(), Some(0));
    insta::assert_snapshot!(other.callsheet(&["verify"]), @"
    exit: 0
    --- stderr
    2 events, 1 project, 2 prompts, 8 texts checked: nothing was changed
    ");
    for id in [&one, &two] {
        assert_eq!(other.run(&["show", id]), project.run(&["show", id]));
        assert_eq!(other.run(&["replay", id]), project.run(&["replay", id]));
    }
    assert_eq!(
        other.run(&["prompts"]).text(),
        project.run(&["prompts"]).text()
    );
    assert_eq!(
        other.run(&["why", "--text", "push to main"]).text(),
        project.run(&["why", "--text", "push to main"]).text()
    );
    assert_eq!(other.run(&["search", "push"]).code(), Some(0));
    let stdin = finish(
        other
            .command(&["import", "-"])
            .stdin(std::fs::File::open(file).unwrap()),
    );
    assert_eq!(stdin.code(), Some(0), "{}", said(&stdin));
}

#[test]
fn a_bundle_is_the_same_bytes_each_time() {
    let project = shop();
    let id = seal(&project, "you");
    let bundle = std::fs::read(export(&project, &[&id])).unwrap();
    assert_eq!(project.run(&["export", &id]).stdout, bundle);
    let names: Vec<String> = unpack(&bundle)
        .into_iter()
        .map(|(path, _)| path.replace(&id, "ID"))
        .collect();
    assert_eq!(
        names[..6],
        [
            "bundle.json",
            "prompts/ID/prompt",
            "prompts/ID/manifest.json",
            "prompts/ID/source-map.json",
            "prompts/ID/layout.json",
            "prompts/ID/inputs.json"
        ]
    );
    assert!(
        names[6..]
            .iter()
            .all(|name| name.starts_with("bodies/") && name.len() == 71),
        "{names:?}"
    );
}

#[test]
fn secrets_stay_at_home_on_request() {
    let project = shop();
    project.file("rules.md", format!("The token is {TOKEN}.\n"));
    let id = seal_by(
        &project,
        &[
            "compose",
            "review",
            "-D",
            "path=src/login.rs",
            "-D",
            &format!("who={TOKEN}"),
        ],
    );
    let bytes = std::fs::read(export(&project, &[&id])).unwrap();
    let holds = |files: &Files| {
        files
            .iter()
            .any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(&TOKEN[4..]))
    };
    assert!(holds(&unpack(&bytes)), "only on request");
    let file = project.outside().join("redacted.tar.zst");
    let file = file.to_str().unwrap();
    let run = project.run(&["export", &id, "--redact", "-o", file]);
    assert_eq!(run.code(), Some(0), "{}", said(&run));
    assert!(
        said(&run).starts_with(&format!("prompt {id} without its secrets is ")),
        "{}",
        said(&run)
    );
    let files = unpack(&std::fs::read(file).unwrap());
    assert!(!holds(&files), "{files:?}");
    assert!(String::from_utf8_lossy(&files[0].1).contains("\"redacted\": true"));
    let other = Project::named("elsewhere");
    assert_eq!(other.run(&["verify", file]).code(), Some(0));
    insta::assert_snapshot!(other.callsheet(&["replay", file]), @"
    exit: 0
    --- stdout
    prompt [ID1]: the same 187 bytes, b3:5d38c5deae71251564142ce831dac71a82e6ac1563454805d3adda47e232a51c
    ");
    insta::assert_snapshot!(other.callsheet(&["show", file]), @"
    exit: 0
    --- stdout
    Review src/login.rs, ‹secret:github-token:9004›.

    The token is ‹secret:github-token:9004›.


    ## src/login.rs

    ```rs
    pub fn may_try(failures: u32) -> bool {
        failures < 5
    }

    ```
    ");
}

#[test]
fn a_prompt_that_was_redacted_is_sealed_without_its_secrets() {
    let project = shop();
    project.file("rules.md", format!("The token is {TOKEN}.\n"));
    let args = [
        "compose",
        "review",
        "-D",
        "path=src/login.rs",
        "-D",
        &format!("who={TOKEN}"),
        "--redact",
    ];
    let id = seal_by(&project, &args);
    let files = unpack(&std::fs::read(export(&project, &[&id])).unwrap());
    for (path, bytes) in &files {
        assert!(
            !String::from_utf8_lossy(bytes).contains(&TOKEN[4..]),
            "{path}"
        );
    }
    for entry in std::fs::read_dir(project.path(".callsheet")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let found = bytes
            .windows(TOKEN.len() - 4)
            .any(|window| window == &TOKEN.as_bytes()[4..]);
        assert!(!found);
    }
    let run = project.run(&["replay", &id]);
    assert_eq!(run.code(), Some(0), "{}", run.text());
}

#[test]
fn exporting_nothing() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["export", "1m7f6zd4", "-o", "b"]), @"
    exit: 3
    --- stderr
    error: nothing is sealed in this project yet (store `[ROOT]/.callsheet/callsheet.db`)
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    insta::assert_snapshot!(project.callsheet(&["export"]), @"
    exit: 2
    --- stderr
    error: the following required arguments were not provided:
      <ID>...

    Usage: callsheet export <ID>...

    For more information, try '--help'.
    ");
    let id = seal(&project, "you");
    insta::assert_snapshot!(project.callsheet(&["export", &id, "-o", "no/where"]), @"
    exit: 3
    --- stderr
    error: cannot write `no/where`: no such file or directory
    ");
    assert!(!project.path("b").exists());
}
