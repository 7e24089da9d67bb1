//! Every agent takes a story from the backlog to a commit: all phases, the same board and the same commit for all.

#![expect(
    clippy::unwrap_used,
    reason = "a project that cannot be set up fails the test"
)]

use std::collections::BTreeSet;
use std::fs;

use callsheet::Fingerprint;
use serde_json::{Value, json};

use crate::cli::{Cli, MODEL};
use crate::desk::{Desk, processes};
use crate::model::{Asked, Model, ModelServer, PhaseScript, Request, Scenario};
use crate::runner::{settings, written};
use crate::{sandboxed, users};

every_cli!(from_backlog_to_commit, with_the_state_of_the_user);

/// The model of reviews, which no CLI knows either.
const REVIEW_MODEL: &str = "review-model";

const BOARD: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";
const STORY: &str = "_bmad-output/implementation-artifacts/sprint-1-1-greeting";
const CONTEXT: &str = "_bmad-output/planning-artifacts/project-context.md";

/// A board with one story, and what only a person would write.
fn board(status: &str) -> String {
    format!(
        "# Sprint 1\ndevelopment_status:\n  epic-1: in-progress\n  1-1-greeting: {status} # first\n  epic-1-retrospective: optional\n"
    )
}

/// Does what an agent does in a phase: writes its files with a command, and ends with its markers.
fn play(asked: &Asked) -> PhaseScript {
    let files = format!("{STORY}.md {STORY}-discovery-story.md {STORY}-tech-spec.md");
    let is_first = asked.field("Review attempt") == Some("1");
    let (command, said) = match asked.field("Command").unwrap() {
        "generate-project-context" => (
            format!("mkdir -p _bmad-output/planning-artifacts && echo 'It greets.' >{CONTEXT}"),
            "It covers everything.".to_owned(),
        ),
        "sprint-create-story" => (
            format!("printf 'Status: ready-for-dev\\n\\n# Greeting\\n' >{STORY}.md"),
            "[TECH-SPEC-DECISION: 1-1-greeting: REQUIRED]".to_owned(),
        ),
        "sprint-create-story-discovery" => (
            format!("echo 'Nothing is there.' >{STORY}-discovery-story.md"),
            "I found nothing.".to_owned(),
        ),
        "sprint-story-review" if is_first => (
            format!("echo 'It says hello.' >>{STORY}.md"),
            "- [HIGH] sprint-1-1-greeting.md:3 says nothing\nHIGHEST SEVERITY: HIGH\n[CRITICAL-ISSUES-FOUND: YES]".to_owned(),
        ),
        "sprint-create-tech-spec" => (
            format!("echo 'One file.' >{STORY}-tech-spec.md"),
            "One file is enough.".to_owned(),
        ),
        "sprint-dev-story" => (
            "mkdir -p src && echo helo >src/greeting.txt".to_owned(),
            "[DEV-STORY-COMPLETE: YES]".to_owned(),
        ),
        "sprint-code-review" if is_first => (
            "echo hello >src/greeting.txt".to_owned(),
            "- [HIGH] src/greeting.txt:1 a letter is missing\nIssues: 0 CRITICAL, 1 HIGH, 0 MEDIUM, 0 LOW\nHIGHEST SEVERITY: HIGH".to_owned(),
        ),
        "sprint-commit" => (
            format!(
                "git add src/greeting.txt {files} && git -c user.name=a -c user.email=a@b.c commit -q \
                 -m 'feat(1): implement stories 1-1-greeting' && git rev-parse HEAD"
            ),
            format!("[COMMIT-SUCCESS: {}]", asked.commit().unwrap_or_default()),
        ),
        // Later reviews find nothing.
        _ => (
            "true".to_owned(),
            "ZERO ISSUES\n[CRITICAL-ISSUES-FOUND: NO]".to_owned(),
        ),
    };
    PhaseScript {
        command: Some(command),
        said,
    }
}

/// A project with a board, whose agents are led to a model.
struct Sprint {
    cli: Cli,
    desk: Desk,
}

impl Sprint {
    /// Makes the project; there is none where the CLI cannot be started in the sandbox here.
    fn new(cli: Cli, model: &Model<'_>, isolate: &Value) -> Option<Self> {
        let program = cli.program()?;
        if !sandboxed::is_possible() {
            return None;
        }
        let mut settings = settings(cli, &program, model);
        let runner = settings["runners"][cli.name()].as_object_mut().unwrap();
        // Nobody is there to answer, so that an agent in the sandbox may do everything unless it is told otherwise.
        runner.remove("permissions");
        runner.insert("isolate".to_owned(), isolate.clone());
        settings["sprint"] = json!({"review_model": review_model(cli)});
        if cli == Cli::Opencode {
            let models = "/adapters/opencode/settings/all/provider/local/models";
            let models = settings.pointer_mut(models).unwrap();
            models[REVIEW_MODEL] = models[MODEL].clone();
        }
        let desk = Desk::new(&written(&settings));
        Some(Self { cli, desk })
    }

    /// Puts a board into the project.
    fn board(&self, status: &str) {
        self.desk.file(BOARD, &board(status));
        self.desk.commit("board");
    }

    /// Runs the sprint and returns its report.
    #[track_caller]
    fn run(&self) -> Value {
        let args = ["sprint", "run", "1", "--json", "--runner", self.cli.name()];
        let (code, stdout, stderr) = self.desk.call(&args);
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        let again = self.desk.callsheet(&["sprint", "report", "--json"]);
        assert_eq!(report, serde_json::from_str::<Value>(&again).unwrap());
        assert_eq!(report["status"], "completed", "{report:#}");
        report
    }

    /// Returns the document of a run of the sprint, and looks whether anything of it is left.
    #[track_caller]
    fn document(&self, phase: &Value) -> Value {
        let id = phase["run"].as_str().unwrap();
        assert_eq!(processes(id), Vec::<String>::new());
        let run: Value =
            serde_json::from_str(&self.desk.callsheet(&["show", id, "--json"])).unwrap();
        assert_eq!(run["status"], "completed", "{run:#}");
        assert_eq!(run["sandbox"], true, "{run:#}");
        assert_eq!(run["permissions"], "full", "{run:#}");
        run
    }

    /// Returns the message of the last commit, and everything in it but the settings, which name the model.
    fn committed(&self) -> String {
        let files = self.desk.git("ls-tree -r HEAD -- _bmad-output src");
        let files = files.replace("100644 blob ", "").replace('\t', " ");
        format!("{}{files}", self.desk.git("log -1 --format=%B"))
    }
}

/// Returns the name of the model of reviews, in the words of the CLI.
fn review_model(cli: Cli) -> String {
    cli.model().replace(MODEL, REVIEW_MODEL)
}

/// Returns the model that a request names.
fn model_of(request: &Request) -> &'static str {
    let body = String::from_utf8_lossy(&request.body);
    let names_review = request.path.contains(REVIEW_MODEL)
        || body.contains(&format!("\"model\":\"{REVIEW_MODEL}\""));
    if names_review { REVIEW_MODEL } else { MODEL }
}

fn from_backlog_to_commit(cli: Cli) {
    let server = ModelServer::start();
    let model = server.model(Scenario::Phases(play));
    let Some(sprint) = Sprint::new(cli, &model, &json!("auto")) else {
        return;
    };
    sprint.board("backlog");
    let report = sprint.run();
    let after = fs::read_to_string(sprint.desk.path(BOARD)).unwrap();
    assert_eq!(after, board("done"), "{report:#}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(sprint.committed(), @"
    feat(1): implement stories 1-1-greeting

    6d87e090d47e16c4c55d46735d7143eeb1f63dbb _bmad-output/implementation-artifacts/sprint-1-1-greeting-discovery-story.md
    0fd0aaa215f3165de0c28670debc517fd616fe14 _bmad-output/implementation-artifacts/sprint-1-1-greeting-tech-spec.md
    c64f2be3b1a56ce6821300a0dc68dce5b3cb686a _bmad-output/implementation-artifacts/sprint-1-1-greeting.md
    e3dd954027b16912184c2040a4a00c92d4bcb2d8 _bmad-output/implementation-artifacts/sprint-status.yaml
    ce013625030ba8dba906f756967f9e9ca394464a src/greeting.txt
    ");
    }
    let story = &report["stories"][0];
    assert_eq!(story["outcome"], "done", "{report:#}");
    assert_eq!(
        story["commit"],
        json!(sprint.desk.git("rev-parse HEAD").trim_end())
    );
    assert_phases(&sprint, story, &model);
    assert_asked(&model);
}

/// Checks which agents there were, what was heard of each, and that each was given its files.
#[track_caller]
fn assert_phases(sprint: &Sprint, story: &Value, model: &Model<'_>) {
    let review_model = json!(review_model(sprint.cli));
    let phases = story["phases"].as_array().unwrap();
    let mut seen = Vec::new();
    for phase in phases {
        let run = sprint.document(phase);
        let background = if phase["background"] == true {
            " in the background"
        } else {
            ""
        };
        let findings = phase["findings"].as_array().unwrap().len();
        seen.push(format!(
            "{} {}{background}: {}, {findings} findings, {}\n",
            phase["phase"].as_str().unwrap(),
            phase["attempt"],
            phase["severity"].as_str().unwrap(),
            if run["model"] == review_model {
                REVIEW_MODEL
            } else {
                MODEL
            },
        ));
        assert_injected(&run, model, true);
    }
    // Agents that run at the same time end in any order.
    seen.sort();
    insta::allow_duplicates! {
        insta::assert_snapshot!(seen.concat(), @"
    code-review 1: HIGH, 1 findings, test-model
    code-review 2: ZERO, 0 findings, review-model
    commit 1: UNKNOWN, 0 findings, test-model
    create-story 1: UNKNOWN, 0 findings, test-model
    dev-story 1: UNKNOWN, 0 findings, test-model
    discovery 1: UNKNOWN, 0 findings, test-model
    story-review 1: HIGH, 1 findings, test-model
    story-review 2 in the background: ZERO, 0 findings, review-model
    tech-spec 1: UNKNOWN, 0 findings, test-model
    tech-spec-review 1: ZERO, 0 findings, test-model
    ");
    }
}

/// Checks which model was asked in each phase.
#[track_caller]
fn assert_asked(model: &Model<'_>) {
    let asked: BTreeSet<(String, &str)> = model
        .requests()
        .iter()
        .map(|request| (command_of(request), model_of(request)))
        .collect();
    let asked: Vec<String> = asked
        .iter()
        .map(|(phase, model)| format!("{phase} {model}\n"))
        .collect();
    insta::allow_duplicates! {
        insta::assert_snapshot!(asked.concat(), @"
    generate-project-context test-model
    sprint-code-review review-model
    sprint-code-review test-model
    sprint-commit test-model
    sprint-create-story test-model
    sprint-create-story-discovery test-model
    sprint-create-tech-spec test-model
    sprint-dev-story test-model
    sprint-story-review review-model
    sprint-story-review test-model
    sprint-tech-spec-review test-model
    ");
    }
}

/// Returns the command that a request is about.
fn command_of(request: &Request) -> String {
    let asked = Asked::of(&request.body);
    asked.field("Command").unwrap_or("?").to_owned()
}

/// Checks that the files of a phase arrived byte for byte: as system text, or in front of the prompt.
#[track_caller]
fn assert_injected(run: &Value, model: &Model<'_>, takes_system: bool) {
    let texts = model.texts();
    let field = if takes_system { "system" } else { "prompt" };
    let delivered = &run["delivered"][field];
    let Some(bytes) = delivered["bytes"].as_u64() else {
        // Whoever writes the context of the project is given no files.
        assert!(takes_system, "{run:#}");
        return;
    };
    let bytes = usize::try_from(bytes).unwrap();
    let arrived = texts.iter().any(|text| {
        let starts = text
            .match_indices("<file_injections rule=")
            .map(|(at, _)| at);
        let mut found = starts.filter_map(|at| text.get(at..at + bytes));
        found.any(|text| delivered["fingerprint"] == json!(Fingerprint::of(text).to_string()))
    });
    assert!(arrived, "the files did not arrive whole: {run:#}");
}

/// An agent with the state of its user is given the files in front of its prompt where it has no other place for them.
fn with_the_state_of_the_user(cli: Cli) {
    let server = ModelServer::start();
    let model = server.model(Scenario::Phases(play));
    let Some(sprint) = Sprint::new(cli, &model, &json!(false)) else {
        return;
    };
    for (name, text) in users::files(cli) {
        sprint.desk.file_of_user(name, &text);
    }
    sprint.desk.file(CONTEXT, "It greets.\n");
    for end in ["", "-discovery-story", "-tech-spec"] {
        sprint.desk.file(&format!("{STORY}{end}.md"), "Greet.\n");
    }
    sprint.board("in-progress");
    let report = sprint.run();
    let after = fs::read_to_string(sprint.desk.path(BOARD)).unwrap();
    assert_eq!(after, board("done"), "{report:#}");
    let takes_system = matches!(cli, Cli::Claude | Cli::Opencode);
    let phases = report["stories"][0]["phases"].as_array().unwrap();
    assert_eq!(phases.len(), 4, "{report:#}");
    for phase in phases {
        let run = sprint.document(phase);
        assert_eq!(run["isolated"], false, "{run:#}");
        assert_injected(&run, &model, takes_system);
    }
}
