//! `pack`: forms, what is left out, counts, and its own files.

use std::os::unix::fs::symlink;

use crate::project::{Project, finish, words};

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
fn a_glob_without_files_is_an_error() {
    let project = tree();
    insta::assert_snapshot!(project.callsheet(&["pack", "docs/**", "src/*", "-q"]), @r"
    exit: 2
    --- stderr
    error: no file matches `docs/**`
    hint: globs are relative to the root, and skip hidden files and those that `.gitignore` or `.promptignore` names
    ");
    insta::assert_snapshot!(project.callsheet(&["pack", "src/mian.rs", "srx"]), @r"
    exit: 2
    --- stderr
    error: no file matches `src/mian.rs`
      no file matches `srx`
    hint: did you mean `src/main.rs`?
    ");
    insta::assert_snapshot!(project.callsheet(&words(r#"compose pack -D globs:=["srcc"]"#)), @r"
    exit: 2
    --- stderr
    error: no file matches `srcc`
    hint: did you mean `src`?
    ");
    let mut below = project.command(&["pack", "main.rs"]);
    let below = finish(below.current_dir(project.path("src")));
    insta::assert_snapshot!(project.shown(&below), @r"
    exit: 2
    --- stderr
    error: no file matches `main.rs`
    hint: globs are relative to the root, and skip hidden files and those that `.gitignore` or `.promptignore` names
    hint: from the root, it is `src/main.rs`
    ");
    project.file("callsheet.toml", "[recipes.pack]\nglobs = [\"lib\"]\n");
    insta::assert_snapshot!(project.callsheet(&["pack"]), @r"
    exit: 2
    --- stderr
    error: no file matches `lib`
    hint: globs are relative to the root, and skip hidden files and those that `.gitignore` or `.promptignore` names
    hint: `callsheet.toml` sets fields of this recipe, too
    ");
}

#[test]
fn what_is_named_is_there_or_lost() {
    let project = tree();
    project.file("latin.txt", b"caf\xe9\n");
    symlink("README.md", project.path("in.md")).unwrap();
    symlink("/etc/passwd", project.path("out")).unwrap();
    for named in ["Cargo.lock", "x.log", "secret/key.txt", ".env", "in.md"] {
        let run = project.run(&["pack", named, "--fail-on-loss"]);
        assert_eq!(
            (run.code(), run.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{named}"
        );
        assert!(
            run.text().contains(&format!("<file path=\"{named}\">")),
            "{named}"
        );
    }
    insta::assert_snapshot!(project.callsheet(&["pack", "latin.txt", "logo.png", "out", "--fail-on-loss"]), @r"
    exit: 1
    --- stderr
    warning: `latin.txt` is not UTF-8 text: invalid UTF-8 at byte 3
    warning: `logo.png` is binary
    warning: `out` leads out of the root: through a link
    error: 3 things that were asked for are not in the prompt, and `--fail-on-loss` is set
    ");
    insta::assert_snapshot!(project.callsheet(&["pack", "logo.png"]), @r"
    exit: 0
    --- stdout

    --- stderr
    warning: `logo.png` is binary
    ");
    let document = project.run(&["pack", "logo.png", "--json"]).json();
    assert_eq!(document["omissions"][0]["loss"], true);
}

#[test]
fn what_is_named_and_excluded_was_not_asked_for() {
    let project = tree();
    let args = words("pack README.md src/main.rs logo.png --exclude *.png --fail-on-loss");
    let run = project.run(&args);
    assert_eq!((run.code(), run.stderr.as_slice()), (Some(0), &b""[..]));
    assert_eq!(
        run.text(),
        project.run(&["pack", "README.md", "src/main.rs"]).text()
    );
    insta::assert_snapshot!(project.callsheet(&words("pack logo.png --exclude *.png")), @r"
    exit: 2
    --- stderr
    error: everything that you name is excluded
    ");
    insta::assert_snapshot!(project.callsheet(&words("pack README.md -o README.md")), @r"
    exit: 2
    --- stderr
    error: `README.md` is to be packed and to be written
    hint: write to another file, or leave it out with `--exclude`
    ");
    assert_eq!(project.read("README.md"), "```\ncode\n```\n");
    project.file("callsheet.toml", "[recipes.pack]\nexclude = [\"*.md\"]\n");
    insta::assert_snapshot!(project.callsheet(&words("pack README.md --fail-on-loss")), @r"
    exit: 1
    --- stderr
    warning: `README.md` is left out by the recipe: `exclude` matches it
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
