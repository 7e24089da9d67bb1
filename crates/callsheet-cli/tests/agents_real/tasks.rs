//! Every agent does a task from its beginning to its end: worktree, edit, facts, checks, decisions, merge.

#![expect(
    clippy::unwrap_used,
    reason = "a project that cannot be set up fails the test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use callsheet::Fingerprint;
use serde_json::{Value, json};

use crate::answers::worked;
use crate::cli::Cli;
use crate::desk::{Desk, Ran, processes};
use crate::model::{Edit, Model, ModelServer, Scenario};
use crate::runner::{settings, written};
use crate::sandboxed;

every_cli!(within_the_scope, outside_of_the_scope, beside_the_user);

/// The file that the task is about, before and after the agent; the check of the project passes afterwards only.
const BEFORE: &str = "one\ntwo\n";
const AFTER: &str = "one\nthree\n";

/// A task that an agent is to work on.
const TASK: [&str; 5] = ["run", "--title", "Count on", "--write", "src/**"];

/// A project with a check, whose agent is led to a model.
struct Bench {
    cli: Cli,
    desk: Desk,
}

/// What the main checkout is like: its commit, what git says of it, and its files.
type Checkout = (String, String, BTreeMap<PathBuf, Option<String>>);

impl Bench {
    /// Makes the project; there is none where the CLI cannot be started in the sandbox here.
    fn new(cli: Cli, model: &Model<'_>) -> Option<Self> {
        let program = cli.program()?;
        if !sandboxed::is_possible() {
            return None;
        }
        let mut settings = settings(cli, &program, model);
        // In the sandbox an agent may run commands unless it is told otherwise.
        let runner = settings["runners"][cli.name()].as_object_mut().unwrap();
        runner.remove("permissions");
        let check = ["grep", "-qx", "three", "src/count.txt"];
        settings["checks"] = json!([{"name": "counts", "command": check}]);
        let desk = Desk::new(&written(&settings));
        desk.file("src/count.txt", BEFORE);
        desk.file("README.md", "read me\n");
        desk.commit("files");
        Some(Self { cli, desk })
    }

    /// Makes a model edit the file of the task, wherever its CLI says that it works.
    fn edit(&self, model: &Model<'_>) {
        let file = ".callsheet/worktrees/task-*/src/count.txt";
        model.edits(Edit {
            file: self.desk.path(file),
            old: BEFORE.to_owned(),
            new: AFTER.to_owned(),
        });
    }

    fn run(&self) -> Ran {
        let args: Vec<&str> = TASK.into_iter().chain(self.runner()).collect();
        self.desk.finish(self.desk.begin(&args))
    }

    fn runner(&self) -> [&'static str; 2] {
        ["--runner", self.cli.name()]
    }

    fn main(&self) -> Checkout {
        let git = |line| self.desk.git(line).trim_end().to_owned();
        let (head, status) = (git("rev-parse HEAD"), git("status --porcelain"));
        (head, status, self.desk.files())
    }

    /// Checks that an agent did the task in the worktree and nowhere else, and that the record says what it was given.
    #[track_caller]
    fn assert_done(&self, ran: &Ran, model: &Model<'_>) {
        let (run, shown) = (&ran.run, ran.shown());
        worked(ran, self.cli, 2);
        let worktree = format!(".callsheet/worktrees/task-{}", text(&run["task"]));
        let worktree = self.desk.path(&worktree);
        for (field, value) in [
            ("sandbox", json!(true)),
            ("permissions", json!("full")),
            ("worktree", json!(worktree)),
            ("main", json!({"changed": []})),
            ("mode_changes", json!([])),
            ("links", json!([])),
        ] {
            assert_eq!(run[field], value, "{field}: {shown}");
        }
        let edited = fs::read_to_string(worktree.join("src/count.txt"));
        assert_eq!(edited.unwrap(), AFTER, "{shown}");
        let branch = format!("callsheet/task-{}", text(&run["task"]));
        assert_eq!(run["branch"], json!(branch), "{shown}");
        assert_eq!(run["end_branch"], json!(branch), "{shown}");
        self.assert_checked(&run["checks"], &run["result"]);
        let sealed = self.desk.callsheet(&["show", text(&run["prompt"])]);
        assert!(model.texts().contains(&sealed), "it is not what was sealed");
        let delivered = &run["delivered"]["prompt"];
        let fingerprint = Fingerprint::of(&sealed).to_string();
        assert_eq!(delivered["fingerprint"], fingerprint, "{shown}");
        let shown = self
            .desk
            .callsheet(&["show", text(&run["prompt"]), "--json"]);
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["fingerprint"], fingerprint, "{shown:#}");
    }

    /// Checks that the check passed on the files of a commit.
    #[track_caller]
    fn assert_checked(&self, checks: &Value, commit: &Value) {
        let tree = self
            .desk
            .git(&format!("rev-parse {}^{{tree}}", text(commit)));
        let fields = ["name", "required", "status", "exit_code", "tree"];
        let found: Vec<_> = fields.iter().map(|field| &checks[0][field]).collect();
        let expected = json!(["counts", true, "passed", 0, tree.trim_end()]);
        assert_eq!(json!(found), expected, "{checks:#}");
        assert_eq!(checks[1], Value::Null);
    }

    /// Merges the task of a run, and checks that the main checkout has its result and nothing else of it.
    #[track_caller]
    fn assert_merged(&self, ran: &Ran) {
        let merged = self
            .desk
            .callsheet(&["merge", text(&ran.run["task"]), "--json"]);
        let merged: Value = serde_json::from_str(&merged).unwrap();
        assert_eq!(merged["outcome"], "merged", "{merged:#}");
        self.assert_checked(&merged["checks"], &merged["commit"]);
        let (head, status, files) = self.main();
        assert_eq!(merged["commit"], json!(head));
        assert_eq!(status, "");
        assert_eq!(
            files[&self.desk.path("src/count.txt")].as_deref(),
            Some(AFTER)
        );
        let tree = |name: &str| self.desk.git(&format!("rev-parse {name}^{{tree}}"));
        assert_eq!(tree("HEAD"), tree(text(&ran.run["result"])));
        let verified = self.desk.callsheet(&["verify", "--json"]);
        let verified: Value = serde_json::from_str(&verified).unwrap();
        assert_eq!(verified["verified"], true, "{verified:#}");
        assert_eq!(processes(text(&ran.run["id"])), Vec::<String>::new());
    }
}

#[track_caller]
fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn within_the_scope(cli: Cli) {
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let Some(bench) = Bench::new(cli, &model) else {
        return;
    };
    bench.edit(&model);
    let before = bench.main();
    let ran = bench.run();
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    bench.assert_done(&ran, &model);
    assert_eq!(ran.run["changed_files"], json!(["src/count.txt"]));
    assert_eq!(ran.run["violations"], json!([]));
    assert_eq!(ran.run["commits"], json!([]));
    assert_eq!(ran.run["dirty"], true);
    assert_eq!(bench.main(), before);
    bench.assert_merged(&ran);
}

/// The agent changes a file that is not its own, tries to write into the main checkout, and commits.
fn outside_of_the_scope(cli: Cli) {
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let Some(bench) = Bench::new(cli, &model) else {
        return;
    };
    model.commands(&format!(
        "echo no >>{}; sed -i s/two/three/ src/count.txt; chmod u+w README.md; echo more >>README.md; \
         git -c user.name=a -c user.email=a@b.c commit -q -a -m mine",
        bench.desk.path("notes.txt").display()
    ));
    let before = bench.main();
    let ran = bench.run();
    let shown = ran.shown();
    assert_eq!(ran.code, Some(1), "{shown}");
    bench.assert_done(&ran, &model);
    let files = json!(["README.md", "src/count.txt"]);
    assert_eq!(ran.run["changed_files"], files, "{shown}");
    let violation = format!("{}.1", text(&ran.run["id"]));
    let found = &ran.run["violations"];
    assert_eq!(found.as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(found[0]["id"], json!(violation), "{shown}");
    assert_eq!(found[0]["path"], "README.md", "{shown}");
    assert_eq!(found[0]["reason"], "outside_write", "{shown}");
    assert_eq!(ran.run["dirty"], false, "{shown}");
    let commits = json!([{"hash": ran.run["head"], "subject": "mine"}]);
    assert_eq!(ran.run["commits"], commits, "{shown}");
    assert_eq!(ran.run["result"], ran.run["head"], "{shown}");
    let (code, _, stderr) = bench.desk.call(&["merge", text(&ran.run["task"])]);
    assert_eq!(code, Some(1), "{stderr}");
    let why = format!("not approved: {violation} README.md (pending)");
    assert!(stderr.contains(&why), "{stderr}");
    assert_eq!(bench.main(), before);
    bench.desk.callsheet(&["approve", &violation]);
    bench.assert_merged(&ran);
    let readme = fs::read_to_string(bench.desk.path("README.md")).unwrap();
    assert_eq!(readme, "read me\nmore\n");
}

/// What the user keeps in the main checkout and not in git comes along where the record says so, and nowhere else.
fn beside_the_user(cli: Cli) {
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let Some(bench) = Bench::new(cli, &model) else {
        return;
    };
    let names = ["AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md"];
    for name in names {
        bench.desk.file(name, &format!("Words in {name}.\n"));
    }
    let hooks = json!({"hooks": {"Stop": []}}).to_string();
    // The server is one that ends at once, so that no CLI waits for it.
    let servers = json!({"mcpServers": {"files": {"command": "true"}}}).to_string();
    for folder in [".claude", ".gemini"] {
        bench.desk.file(&format!("{folder}/settings.json"), &hooks);
    }
    bench.desk.file(".claude/settings.local.json", &hooks);
    bench.desk.file(".mcp.json", &servers);
    let before = bench.main();
    let ran = bench.run();
    assert_eq!(ran.run["status"], "completed", "{}", ran.shown());
    assert_eq!(bench.main(), before);
    let texts = model.texts();
    let came = |name: &&&str| {
        let words = format!("Words in {name}.");
        texts.iter().any(|text| text.contains(&words))
    };
    let came: Vec<_> = names.iter().filter(came).collect();
    let (expected, ambient): (&[&str], _) = match cli {
        Cli::Claude => (
            &["CLAUDE.local.md"],
            json!({"instructions": ["../../../CLAUDE.local.md"], "hooks": ["Stop"], "mcp_servers": ["files"]}),
        ),
        _ => (
            &[],
            json!({"instructions": [], "hooks": [], "mcp_servers": []}),
        ),
    };
    assert_eq!(json!(came), json!(expected));
    assert_eq!(ran.run["ambient"], ambient);
}

/// A worker does what whoever queues a run would do.
#[test]
fn opencode_works_for_a_worker() {
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let Some(bench) = Bench::new(Cli::Opencode, &model) else {
        return;
    };
    bench.edit(&model);
    let before = bench.main();
    let args: Vec<&str> = TASK.into_iter().chain(bench.runner()).collect();
    let queued = bench
        .desk
        .callsheet(&[&args[..], &["--queue", "--json"]].concat());
    let queued: Value = serde_json::from_str(&queued).unwrap();
    assert_eq!(queued["state"], "queued", "{queued:#}");
    assert!(model.requests().is_empty());
    let (code, _, stderr) = bench.desk.call(&["worker", "--drain"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("1 run done"), "{stderr}");
    let run = bench
        .desk
        .callsheet(&["show", text(&queued["id"]), "--json"]);
    let run = serde_json::from_str(&run).unwrap();
    let ran = bench.desk.ran(run, code, stderr);
    bench.assert_done(&ran, &model);
    assert_eq!(ran.run["prompt"], queued["prompt"]);
    assert_eq!(ran.run["changed_files"], json!(["src/count.txt"]));
    assert_eq!(ran.run["violations"], json!([]));
    assert_eq!(bench.main(), before);
    bench.assert_merged(&ran);
}
