//! `pack`: forms, what is left out, counts, and its own files.

use crate::project::{Project, words};

fn tree() -> Project {
    let project = Project::new();
    project
        .file("src/main.rs", "fn main() {}\n")
        .file("src/deep/util.py", "pass\n");
    project.file("README.md", "```\ncode\n```\n");
    project
        .file("Cargo.lock", "lock")
        .file("logo.png", b"\x89PNG\0");
    project.file(".gitignore", "*.log\n").file("x.log", "log");
    project
        .file(".promptignore", "secret/\n")
        .file("secret/key.txt", "key");
    project.file(".env", "hidden");
    project
}

#[test]
fn as_xml() {
    insta::assert_snapshot!(tree().callsheet(&["pack"]), @r#"
    exit: 0
    --- stdout
    <tree>
    README.md
    src/
      deep/
        util.py
      main.rs
    </tree>
    <file path="README.md">
    ```
    code
    ```

    </file>
    <file path="src/deep/util.py">
    pass

    </file>
    <file path="src/main.rs">
    fn main() {}

    </file>
    --- stderr
    note: 2 files left out (1 binary, 1 excluded); `-v` names them
    "#);
}

#[test]
fn as_markdown() {
    insta::assert_snapshot!(tree().callsheet(&["pack", "--format", "markdown", "README.md", "src/**/*.rs"]), @r"
    exit: 0
    --- stdout
    ## Tree

    ```
    README.md
    src/
      main.rs
    ```

    ## README.md

    ````md
    ```
    code
    ```

    ````

    ## src/main.rs

    ```rs
    fn main() {}

    ```
    ");
}

#[test]
fn as_json() {
    let project = tree();
    project.file("src/odd.json", "{\n}\n\"quoted\"\n");
    let run = project.run(&["pack", "--format", "json", "src"]);
    assert_eq!(run.stderr, b"", "no body can end its frame");
    let document = run.json();
    assert_eq!(
        document["tree"],
        "src/\n  deep/\n    util.py\n  main.rs\n  odd.json"
    );
    assert_eq!(document["files"][2]["content"], "{\n}\n\"quoted\"\n");
}

#[test]
fn what_is_left_out_is_named_on_request() {
    let run = tree().run(&["pack", "-v"]);
    insta::assert_snapshot!(String::from_utf8_lossy(&run.stderr), @r"
    note: `Cargo.lock` is left out by the recipe
    note: `logo.png` is binary
    ");
}

#[test]
fn globs_exclusions_and_hidden_files() {
    let project = tree();
    let paths = |args: &[&str]| {
        let document = project.run(&[&["pack", "--json"], args].concat()).json();
        let sections = document["sections"]
            .as_array()
            .into_iter()
            .flatten()
            .skip(1);
        let names: Vec<String> = sections
            .map(|section| section["name"].as_str().unwrap_or_default().to_owned())
            .collect();
        names.join(" ")
    };
    assert_eq!(paths(&[]), "README.md src/deep/util.py src/main.rs");
    assert_eq!(paths(&["src"]), "src/deep/util.py src/main.rs");
    assert_eq!(paths(&["src/*.rs"]), "src/main.rs");
    assert_eq!(paths(&["--exclude", "src/deep"]), "README.md src/main.rs");
    assert_eq!(
        paths(&["--hidden", "--exclude", "src"]),
        ".env .gitignore .promptignore README.md"
    );
}

#[test]
fn a_glob_without_files_is_a_loss() {
    insta::assert_snapshot!(tree().callsheet(&["pack", "docs", "src/*", "-q", "--fail-on-loss"]), @r"
    exit: 1
    --- stderr
    error: 1 thing that was asked for is not in the prompt, and `--fail-on-loss` is set
    ");
}

#[test]
fn tokens_per_file_and_folder() {
    let run = tree().run(&["pack", "--tokens"]);
    insta::assert_snapshot!(String::from_utf8_lossy(&run.stderr), @r"
    TOKENS  SHARE  PATH
         6  50.0%  README.md
         6  50.0%  src/
         2  16.7%    deep/
         2  16.7%      util.py
         4  33.3%    main.rs

    12 tokens in files, 68 in the prompt
    note: 2 files left out (1 binary, 1 excluded); `-v` names them
    ");
    assert_eq!(run.text(), tree().run(&["pack"]).text());
}

#[test]
fn the_files_it_writes_are_not_in_it() {
    let project = tree();
    let args = words(
        "pack -q -o prompt[1].txt --manifest m.json --source-map src/s.json --events e.ndjson",
    );
    let before = project.run(&["pack"]).text();
    for _ in 0..2 {
        assert_eq!(project.run(&args).code(), Some(0));
        assert_eq!(project.read("prompt[1].txt"), before);
    }
}

#[test]
fn exclusions_of_the_settings_hold_beside_an_output_file() {
    let project = tree();
    project.file(
        "callsheet.toml",
        "[recipes.pack]\nexclude = [\"src\", \"callsheet.toml\"]\n",
    );
    assert_eq!(project.run(&["pack", "-o", "prompt.txt"]).code(), Some(0));
    assert_eq!(
        project.read("prompt.txt"),
        project.run(&["pack", "README.md"]).text()
    );
}
