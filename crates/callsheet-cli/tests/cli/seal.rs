//! `--seal`: a prompt is kept, and nothing else about it changes.

use crate::project::{Project, finish};
use crate::sealed::{STORE, id_of, review, said, seal, seal_by, shop};

#[test]
fn the_id_goes_to_stderr_and_no_byte_of_stdout_changes() {
    let project = shop();
    project.file("layers.yaml", "rules: \"Never push.\\n\"\n");
    project.file("_bmad-output/implementation-artifacts/2a-1.md", "a story\n");
    let commands: [&[&str]; 5] = [
        &[
            "compose",
            "review",
            "-D",
            "path=src/login.rs",
            "-D",
            "who=you",
        ],
        &["compose", "layers", "--input", "layers.yaml"],
        &["compose", "run", "-D", "task.id:=1", "-D", "task.title=a"],
        &["inject", "--command", "dev", "--story", "2a-1"],
        &["pack", "src"],
    ];
    for command in commands {
        let plain = project.run(command);
        assert_eq!(plain.code(), Some(0), "{}", said(&plain));
        let sealed = project.run(&[command, &["--seal"]].concat());
        assert_eq!(sealed.stdout, plain.stdout, "{command:?}");
        assert_eq!(sealed.code(), Some(0));
        let id = id_of(&sealed);
        assert_eq!(said(&sealed), format!("{}sealed {id}\n", said(&plain)));
        let again = project.run(&[command, &["--seal"]].concat());
        assert_eq!(
            said(&again),
            format!("{}already sealed {id}\n", said(&plain))
        );
        assert_eq!(again.stdout, plain.stdout, "{command:?}");
    }
}

#[test]
fn what_is_sealed_is_ignored_by_git_and_by_packs() {
    let project = shop();
    let before = project.run(&["pack", "--hidden"]).text();
    seal(&project, "you");
    assert_eq!(project.read(".callsheet/.gitignore"), "*\n");
    assert_eq!(project.run(&["pack", "--hidden"]).text(), before);
}

#[test]
fn a_sealed_prompt_is_written_to_a_file_as_well() {
    let project = shop();
    let args = review("you");
    let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
    let plain = project.run(&args).text();
    args.extend(["--seal", "-o", "prompt.md"]);
    insta::assert_snapshot!(project.callsheet(&args), @"
    exit: 0
    --- stderr
    warning: `callsheet/recipes/review` stands in the place of the built-in recipe `review`; `--built-in` takes that one
    sealed [ID1]
    ");
    assert_eq!(project.read("prompt.md"), plain);
}

#[test]
fn the_document_has_the_id() {
    let project = shop();
    let args = ["compose", "layers", "-D", "rules=a", "--format", "json"];
    let plain = project.run(&args).json();
    let run = project.run(&[&args[..], &["--seal"]].concat());
    let mut sealed = run.json();
    assert_eq!(sealed["id"], id_of(&run));
    sealed.as_object_mut().map(|fields| fields.remove("id"));
    assert_eq!(sealed, plain);
    let by_flag = ["--json", "compose", "layers", "-D", "rules=a", "--seal"];
    assert_eq!(project.run(&by_flag).json()["id"], id_of(&run));
}

#[test]
fn quiet_is_quiet() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["compose", "layers", "-D", "rules=a", "--seal", "-q"]), @"
    exit: 0
    --- stdout
    a
    ");
    assert_eq!(
        project.run(&["prompts", "--json"]).json()["prompts"][0]["recipe"],
        "layers"
    );
}

#[test]
fn a_loss_that_is_refused_seals_nothing() {
    let project = shop();
    let args = [
        "inject",
        "--command",
        "dev",
        "--story",
        "9z-9",
        "--file",
        "nowhere.md",
        "--seal",
        "--fail-on-loss",
    ];
    insta::assert_snapshot!(project.callsheet(&args), @"
    exit: 1
    --- stderr
    warning: `nowhere.md` does not exist
    warning: injection:empty: No file was found to inject for command 'dev'
    error: 1 thing that was asked for is not in the prompt, and `--fail-on-loss` is set
    ");
    assert!(!project.path(".callsheet").exists());
    seal(&project, "you");
    assert_eq!(project.run(&args).code(), Some(1));
    assert_eq!(project.run(&["prompts"]).text().lines().count(), 2);
}

#[test]
fn an_input_that_is_wrong_seals_nothing() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["compose", "layers", "-D", "rule=a", "--seal"]), @"
    exit: 2
    --- stderr
    error: unknown field `rule`
    hint: did you mean `rules`?
    hint: `callsheet schema layers` prints what the recipe takes
    ");
    assert!(!project.path(".callsheet").exists());
}

#[test]
fn an_id_may_be_cut_as_long_as_it_is_the_only_one() {
    let project = shop();
    let (one, other) = (seal(&project, "you"), seal(&project, "me"));
    let all = project.run(&["show", &one, "-q"]).text();
    let common = one
        .bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    for length in common + 1..=one.len() {
        assert_eq!(project.run(&["show", &one[..length], "-q"]).text(), all);
    }
    assert_eq!(
        project.run(&["show", &one.to_uppercase(), "-q"]).text(),
        all
    );
    insta::assert_snapshot!(project.callsheet(&["show", "1"]), @"
    exit: 2
    --- stderr
    error: more than one prompt begins with `1`: `[ID1]`, `[ID2]`
    hint: write one more character
    ");
    for command in ["explain", "replay", "verify", "export"] {
        let run = project.run(&[command, "1"]);
        assert_eq!(run.code(), Some(2), "{command}: {}", said(&run));
        assert!(
            said(&run).contains("more than one prompt begins with `1`"),
            "{}",
            said(&run)
        );
    }
}

#[test]
fn ids_that_nothing_has() {
    let project = shop();
    insta::assert_snapshot!(project.callsheet(&["show", "1m7f6zd4"]), @"
    exit: 3
    --- stderr
    error: `1m7f6zd4` is not a file, and nothing is sealed in this project yet
    hint: `callsheet compose RECIPE --seal` seals a prompt
    ");
    seal(&project, "you");
    insta::assert_snapshot!(project.callsheet(&["show", "0m7f6zd4"]), @"
    exit: 2
    --- stderr
    error: no prompt or run `0m7f6zd4`
    hint: `callsheet prompts` lists what there is
    ");
    insta::assert_snapshot!(project.callsheet(&["show", "unknown"]), @"
    exit: 2
    --- stderr
    error: no prompt or run `unknown`
    hint: `callsheet prompts` lists what there is
    ");
    insta::assert_snapshot!(project.callsheet(&["show", "not/there.txt"]), @"
    exit: 2
    --- stderr
    error: not/there.txt: no such file or directory
    ");
    insta::assert_snapshot!(project.callsheet(&["show", "0123456789abcdef"]), @"
    exit: 2
    --- stderr
    error: 0123456789abcdef: no such file or directory
    ");
    insta::assert_snapshot!(project.callsheet(&["show", "src"]), @"
    exit: 2
    --- stderr
    error: no prompt or run `src`
    hint: `callsheet prompts` lists what there is
    ");
    let unknown = project.callsheet(&["show", "0m7f6zd4"]);
    let commands: [&[&str]; 8] = [
        &["replay", "0m7f6zd4"],
        &["verify", "0m7f6zd4"],
        &["export", "0m7f6zd4", "-o", "x"],
        &["diff", "0m7f6zd4", "1"],
        &["cache", "0m7f6zd4"],
        &["explain", "0m7f6zd4"],
        &["why", "0m7f6zd4", "--at", "1"],
        &["why", "0m7f6zd4", "--text", "a"],
    ];
    for command in commands {
        assert_eq!(project.callsheet(command), unknown, "{command:?}");
    }
    assert_eq!(
        project.callsheet(&["prompts", "--before", "0m7f6zd4"]),
        unknown.replace("prompt or run", "prompt")
    );
}

#[test]
fn many_processes_seal_at_once() {
    let project = shop();
    let runs: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let project = &project;
                scope.spawn(move || {
                    // Two by two they seal the same thing.
                    let args = review(&format!("number {}", number / 2));
                    let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
                    args.push("--seal");
                    let run = finish(&mut project.command(&args));
                    assert_eq!(run.code(), Some(0), "{}", said(&run));
                    id_of(&run)
                })
            })
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    assert_eq!(runs.len(), 8);
    let different: std::collections::BTreeSet<_> = runs.iter().collect();
    assert_eq!(different.len(), 4);
    let run = project.run(&["verify"]);
    assert_eq!(run.code(), Some(0), "{}", run.text());
    assert_eq!(project.run(&["prompts"]).text().lines().count(), 5);
}

#[test]
fn the_same_prompt_at_another_place_is_another_seal_of_the_same_bytes() {
    let (one, other) = (shop(), shop());
    let (first, second) = (seal(&one, "you"), seal(&other, "you"));
    let bytes = |project: &Project, id: &str| project.run(&["show", id, "-q"]).stdout;
    assert_eq!(bytes(&one, &first), bytes(&other, &second));
    assert!(one.path(STORE).is_file() && other.path(STORE).is_file());
}

#[test]
fn a_check_that_finds_something_seals_what_it_hands_over() {
    let project = shop();
    let input = "text: Use the shell tool.\n";
    project.file("input.yaml", input);
    let args = [
        "compose",
        "layers",
        "-D",
        "rules=Use the tool shell.",
        "--check",
    ];
    let run = project.run(&args);
    let id = seal_by(&project, &args);
    assert_eq!(project.run(&["show", &id, "-q"]).stdout, run.stdout);
}
