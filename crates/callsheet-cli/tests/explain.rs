//! What explains and guards a prompt, as a user sees it: cache plans, redaction, denied tools, instruction files.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A project folder that goes away with its value.
struct Folder(tempfile::TempDir);

/// What a command did.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, &[])
    }

    fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_callsheet"))
            .args(args)
            .args(["--root", "."])
            .current_dir(self.0.path())
            .env_clear()
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        Ran {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

const FIRST: &str = "identity: {name: task-agent}\nproject_context: Rust.\ncontext: [{name: task, content: \"Fix it.\\nSlowly.\"}]\n";

/// A secret, put together here so that no text of this repository looks like one.
fn secret() -> String {
    ["gh", "p_", "k7Qz2Lm9Xw4Rt6Yb1Nc8Vd3Fs5Gh0Jp2Ae7U"].concat()
}

#[test]
fn a_plan_is_the_same_from_inputs_and_from_documents() {
    let second = FIRST.replace("Slowly", "Slow, and well");
    let folder = Folder::new(&[("a.yaml", FIRST), ("b.yaml", &second)]);
    let plan = folder.run(&["cache", "--recipe", "layers", "a.yaml", "b.yaml", "--json"]);
    assert_eq!((plan.code, plan.stderr.as_str()), (0, ""));
    for name in ["a", "b"] {
        let (input, output) = (format!("{name}.yaml"), format!("{name}.json"));
        let composed = [
            "compose", "layers", "--input", &input, "--format", "json", "-o", &output,
        ];
        assert_eq!(folder.run(&composed).code, 0);
    }
    let documents = folder.run(&["cache", "a.json", "b.json", "--json"]);
    assert_eq!(documents.json(), plan.json());

    let plan = plan.json();
    assert_eq!(plan["schema"], "callsheet.cache/1");
    let divergence = &plan["divergence"];
    assert_eq!(divergence["reason"], "`input:context[0].content` changed");
    assert_eq!(divergence["a"]["line"], 2);
    assert_eq!(divergence["byte"], plan["prefix"]["bytes"]);
    let changes: Vec<&Value> = plan["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|section| &section["change"])
        .collect();
    assert_eq!(changes, ["same", "same", "changed"]);
}

#[test]
fn a_file_that_changed_is_named_with_its_line() {
    let recipe =
        "[[layers]]\nname = 'rules'\nfile = 'RULES.md'\n[[layers]]\nname = 'end'\ntext = 'End.'\n";
    let folder = Folder::new(&[
        ("callsheet/recipes/mine/recipe.toml", recipe),
        ("RULES.md", "one\ntwo\nthree\n"),
        ("in.json", "{}"),
    ]);
    let compose = ["compose", "mine", "--format", "json", "-o"];
    assert_eq!(folder.run(&[&compose[..], &["a.json"]].concat()).code, 0);
    folder.write("RULES.md", "one\ntwo\nfour\n");
    let plan = folder.run(&["cache", "a.json", "in.json"]);
    assert!(
        plan.stdout.contains("common prefix: 0 of 20 bytes"),
        "an input without its recipe is a plain text: {}",
        plan.stdout
    );
    assert_eq!(folder.run(&[&compose[..], &["b.json"]].concat()).code, 0);
    let plan = folder.run(&["cache", "a.json", "b.json"]);
    assert!(
        plan.stdout.contains(
            "`file:RULES.md` changed\n  A: layer rules, section RULES.md: file:RULES.md:3\n"
        ),
        "{}",
        plan.stdout
    );
    let missing = folder.run(&["cache", "gone.json"]);
    assert_eq!(missing.code, 2);
    assert_eq!(
        missing.stderr,
        "error: gone.json: no such file or directory\n"
    );
}

#[test]
fn nobody_is_told_to_change_the_order_of_a_built_in_recipe() {
    let task = |title: &str| {
        format!("task: {{id: t-1, title: {title}, write_scope: [src]}}\nscope: {{write: [src]}}\n")
    };
    let folder = Folder::new(&[("a.yaml", &task("Fix it")), ("b.yaml", &task("Mend it"))]);
    for files in [&["a.yaml"][..], &["a.yaml", "b.yaml"]] {
        let ran = folder.run(&[&["cache", "--recipe", "run", "--json"], files].concat());
        let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(plan["advice"], serde_json::json!([]), "{files:?}");
    }
}

#[test]
fn every_manifest_has_the_declared_half_of_a_plan() {
    let recipe = "[[layers]]\nname = 'now'\nvalue = 'now'\nvolatility = 'turn'\n[[layers]]\nname = 'end'\ntext = 'End.'\n";
    let folder = Folder::new(&[("callsheet/recipes/mine/recipe.toml", recipe)]);
    let ran = folder.run(&["compose", "mine", "-D", "now=noon", "--manifest", "m.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "noon\n\nEnd."));
    let manifest: Value = serde_json::from_str(&folder.read("m.json")).unwrap();
    assert_eq!(
        manifest["cache"],
        serde_json::json!({"stable_prefix_bytes": 0, "first_volatile_section": "now", "out_of_order": [
            {"layer": "now", "volatility": "turn", "before": "end", "before_volatility": "constant", "bytes": 4}
        ]})
    );
}

/// Makes a project with a secret in a file and in inputs.
fn leaky() -> Folder {
    let secret = secret();
    Folder::new(&[
        ("env.txt", &format!("TOKEN={secret}\n")),
        ("a.json", &format!("{{\"rules\": \"{secret}\"}}")),
        ("b.json", &format!("{{\"rules\": \"{secret} again\"}}")),
    ])
}

/// Splits a command line at its spaces.
fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[test]
fn no_prompt_and_no_record_of_it_gives_a_secret_away() {
    let folder = leaky();
    let files = "-o out.txt --manifest m.json --source-map map.json --events e.ndjson";
    for command in [
        "pack env.txt",
        "compose layers --input a.json",
        "compose layers --input a.json --format json",
        "compose layers --input a.json --format messages",
        "inject --command dev --story a-1 --file env.txt",
    ] {
        let command = format!("{command} {files}");
        let open = folder.run(&words(&command));
        assert_eq!(open.code, 0, "{}", open.stderr);
        assert!(folder.read("out.txt").contains(&secret()), "{command}");
        let hidden = folder.run(&words(&format!("{command} --redact")));
        assert_eq!(hidden.code, 0, "{}", hidden.stderr);
        let note = "note: 1 secret became a pseudonym (1 github-token)";
        assert!(hidden.stderr.contains(note), "{}", hidden.stderr);
        let prompt = folder.read("out.txt");
        assert!(prompt.contains("‹secret:github-token:9004›"), "{command}");
        for file in ["out.txt", "m.json", "map.json", "e.ndjson"] {
            assert!(!folder.read(file).contains(&secret()), "{command} {file}");
        }
    }
}

#[test]
fn no_explanation_gives_a_secret_away() {
    let folder = leaky();
    for command in [
        "explain layers --input a.json",
        "explain layers --input a.json --json",
        "why layers --input a.json --text ‹secret",
        "diff --recipe layers a.json b.json",
        "cache --recipe layers a.json b.json --json",
    ] {
        let ran = folder.run(&words(&format!("{command} --redact")));
        assert!(ran.code < 2, "{}", ran.stderr);
        assert!(!ran.stdout.contains(&secret()) && !ran.stderr.contains(&secret()));
    }
    for (command, option) in [
        ("diff env.txt env.txt", "--redact"),
        ("cache env.txt env.txt", "--redact"),
        ("why env.txt --at 0", "--redact"),
        ("why env.txt --at 0", "--redact-entropy"),
    ] {
        let ran = folder.run(&words(&format!("{command} {option}")));
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        assert_eq!(
            ran.stderr,
            format!(
                "error: `{option}` works on what is composed, not on a finished prompt\n\
                 hint: name an input and its recipe instead of a prompt\n"
            )
        );
    }
    let unknown = format!("compose layers --redact -D missing={}", secret());
    let refused = folder.run(&words(&unknown));
    assert_eq!(refused.code, 2);
    assert!(!refused.stderr.contains(&secret()), "{}", refused.stderr);
}

#[test]
fn what_only_looks_random_stays_unless_entropy_is_asked_for() {
    let (own, known) = (["v9Tq3ZrB7mKx", "W2pLh8Nf4CdY"].concat(), secret());
    let recipe = "redact = 'entropy'\n[[layers]]\nname = 'note'\nvalue = 'note'\n";
    let folder = Folder::new(&[
        (
            "callsheet/recipes/sure/recipe.toml",
            &recipe.replace("'entropy'", "true"),
        ),
        ("callsheet/recipes/guess/recipe.toml", recipe),
    ]);
    let note = format!("note={own} {known}");
    let compose = |args: &str| folder.run(&[&words(args)[..], &["-D", &note]].concat());
    let sure = compose("compose sure");
    assert_eq!(sure.stdout, format!("{own} ‹secret:github-token:9004›"));
    let guess = compose("compose guess");
    assert!(!guess.stdout.contains(&own), "{}", guess.stdout);
    assert!(guess.stdout.starts_with("‹secret:entropy:"));
    assert!(guess.stdout.ends_with("› ‹secret:github-token:9004›"));
    let note = "note: 2 secrets became pseudonyms (1 entropy, 1 github-token)\n";
    assert_eq!(guess.stderr, note);
    for more in [
        "compose sure --redact-entropy",
        "compose guess --redact",
        "compose guess --redact --redact-entropy",
    ] {
        let ran = compose(more);
        assert_eq!((ran.code, &ran.stdout), (0, &guess.stdout), "{more}");
    }
    for command in [
        "explain guess",
        "explain guess --json",
        "compose guess --format json",
    ] {
        let ran = compose(command);
        assert!(ran.code == 0 && !ran.stdout.contains(&own), "{command}");
    }
    folder.write("env.txt", &format!("TOKEN={own}\n"));
    for command in [
        "pack env.txt",
        "inject --command dev --story a-1 --file env.txt",
    ] {
        let ran = folder.run(&words(&format!("{command} --redact")));
        assert!(ran.stdout.contains(&own), "{}", ran.stderr);
        let ran = folder.run(&words(&format!("{command} --redact-entropy")));
        assert!(
            ran.stdout.contains("TOKEN=‹secret:entropy:"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn the_key_of_a_project_changes_its_pseudonyms() {
    let recipe = "redact = true\n[[layers]]\nname = 'note'\nvalue = 'note'\n";
    let folder = Folder::new(&[("callsheet/recipes/mine/recipe.toml", recipe)]);
    let note = format!("note={}", secret());
    let command = ["compose", "mine", "-q", "-D", &note];
    let plain = folder.run(&command).stdout;
    assert_eq!(plain, "‹secret:github-token:9004›");
    folder.write("callsheet.toml", "redact_key = \"ours\"\n");
    let own = folder.run(&command).stdout;
    assert_ne!(own, plain);
    assert_eq!(folder.run(&command).stdout, own);
    let variables = [("CALLSHEET_REDACT_KEY", "another")];
    let other = folder.run_with(&command, &variables).stdout;
    assert!(other != own && other != plain && other.starts_with("‹secret:github-token:"));
}

#[test]
fn a_check_is_a_negative_verdict_and_the_prompt_is_there() {
    let recipe = "denies = 'policy'\n[[layers]]\nname = 'rules'\ntext = \"Never use `bash`.\\nCall `fs.read` first.\"\n";
    let folder = Folder::new(&[("callsheet/recipes/mine/recipe.toml", recipe)]);
    let denied = [
        "compose",
        "mine",
        "-D",
        "policy:={\"fs\": {\"enabled\": false}}",
    ];
    let open = folder.run(&denied);
    assert_eq!((open.code, open.stderr.as_str()), (0, ""));
    let ran = folder.run(&[&denied[..], &["--check"]].concat());
    assert_eq!((ran.code, &ran.stdout), (1, &open.stdout));
    assert_eq!(
        ran.stderr,
        "warning: line 2: asks for `fs.read`, which the policy denies: Call `fs.read` first (layer rules, recipe:mine/rules:2)\n"
    );
    let document = folder
        .run(&[&denied[..], &["--check", "--json"]].concat())
        .json();
    let [finding] = document["findings"].as_array().unwrap().as_slice() else {
        panic!("{document}");
    };
    assert_eq!(finding["tool"], "fs.read");
    assert_eq!(finding["denied_by"], "fs.*");
    assert_eq!(
        (&finding["line"], &finding["layer"]),
        (&2.into(), &"rules".into())
    );

    let fine = folder.run(&[
        "compose",
        "mine",
        "-D",
        "policy:=[\"bash\"]",
        "--check",
        "--json",
    ]);
    assert_eq!(fine.code, 0);
    assert_eq!(fine.json()["findings"], serde_json::json!([]));
    let nothing = folder.run(&["compose", "mine", "--check"]);
    assert_eq!(nothing.code, 0);
    assert_eq!(
        nothing.stderr,
        "note: the input denies no tool, so there is nothing to check\n"
    );
}

#[test]
fn instructions_that_cannot_be_followed_are_losses() {
    let recipe = "[[layers]]\nname = 'rules'\ninstructions = { folder_from = 'folder' }\n";
    let folder = Folder::new(&[
        ("callsheet/recipes/mine/recipe.toml", recipe),
        ("AGENTS.md", "Test first.\n@docs/more.md\n"),
        ("docs/more.md", "More.\n@gone.md\n"),
        ("src/CLAUDE.md", "No panics.\n@../AGENTS.md\n"),
    ]);
    let command = ["compose", "mine", "-D", "folder=src"];
    let ran = folder.run(&command);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.stdout,
        "Test first.\nMore.\n@gone.md\n\n\nNo panics.\n@../AGENTS.md\n"
    );
    assert_eq!(
        ran.stderr,
        "warning: `docs/gone.md` does not exist: `docs/more.md` imports it\n\
         note: 1 file left out (1 duplicate); `-v` names them\n"
    );
    let strict = folder.run(&[&command[..], &["--fail-on-loss"]].concat());
    assert_eq!((strict.code, strict.stdout.as_str()), (1, ""));
    let why = folder.run(&["why", "mine", "-D", "folder=src", "--text", "More"]);
    assert_eq!(
        why.stdout,
        "bytes 12 to 16 (line 2 of the prompt)\n  layer rules, section AGENTS.md: file:docs/more.md:1\n"
    );
}
