//! A callsheet that is killed at any moment between `run` and `merge`: no commit and no file is lost, every run and every
//! task is in a true state, and the next command works without help.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::bench::{Bench, changed, violations};
use crate::desk::{survivors, wait_for};

/// How often each command is killed; `./test --long` does it more often.
fn rounds() -> u32 {
    match std::env::var_os("CALLSHEET_TEST_LONG") {
        Some(_) => 20,
        None => 5,
    }
}

/// An agent that commits a file and leaves another one, and notes in a place of its own what is there from then on.
const AGENT: &str = "r=$CALLSHEET_RUN; n=NOTES; sleep 0.05; echo kept $r > src/kept-$r.rs; echo src/kept-$r.rs >> $n/files; \
    git add src/kept-$r.rs; git commit -qm $r src/kept-$r.rs; git rev-parse HEAD >> $n/commits; sleep 0.05; \
    echo left $r > src/left-$r.rs; echo src/left-$r.rs >> $n/files; sleep 0.05; echo done";

const SETTINGS: &str = r#"[scope]
default_exclude = ["**/*.env"]

[workspace]
copy = ["deps"]
setup = ["sh", "-c", "sleep 0.05; cp deps/one deps/two"]

[sandbox]
write = ["NOTES"]

[[checks]]
name = "builds"
command = ["sh", "-c", "rm -f src/left-*.rs; echo made > made.txt; sleep 0.1; test -f src/login.rs && cmp deps/one deps/two"]
"#;

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Run,
    Retry,
    Worker,
    Rerun,
    Merge,
}

const STEPS: [Step; 5] = [
    Step::Run,
    Step::Retry,
    Step::Worker,
    Step::Rerun,
    Step::Merge,
];

struct Killing {
    bench: Bench,
    /// Where the agents note what they did.
    notes: TempDir,
    task: String,
    /// How long each command takes if nobody kills it.
    whole: BTreeMap<Step, Duration>,
    /// Where the base was before the merge of the task.
    base: String,
}

#[test]
fn whenever_it_is_killed_no_work_is_lost_and_the_next_command_goes_on() {
    let mut killing = Killing::new();
    for round in 0..=rounds() {
        killing.next_task(round);
        for step in STEPS {
            killing.round(step, round);
        }
        killing.finish();
    }
    killing.leaves_nothing();
}

impl Killing {
    fn new() -> Self {
        let notes = tempfile::tempdir().unwrap();
        let named = |text: &str| text.replace("NOTES", notes.path().to_str().unwrap());
        let mut bench = Bench::with(&named(AGENT), &named(SETTINGS));
        bench.desk.project.file("deps/one", "1\n");
        let ignored = "*.log\n.env\n.callsheet/\ndeps/\n";
        bench.desk.project.file(".gitignore", ignored);
        bench.desk.commit("deps");
        // What is put into the directory for temporary files has to be gone in the end.
        let temporary = bench.desk.project.outside().join("temporary");
        std::fs::create_dir(&temporary).unwrap();
        let temporary = temporary.to_str().unwrap();
        bench.desk.project.variable("TMPDIR", temporary);
        Self {
            bench,
            notes,
            task: String::new(),
            whole: BTreeMap::new(),
            base: String::new(),
        }
    }

    /// Adds a task, and moves the base on so that the next merge has something to merge with.
    fn next_task(&mut self, round: u32) {
        let add = ["task", "add", "--title", "Fix it", "--write", "src/**"];
        let task = self.succeed(&add);
        task.trim().clone_into(&mut self.task);
        let key = format!("KEY={round}\n");
        self.bench.desk.project.file("infra/prod.env", key);
        let name = format!("docs/{round}.md");
        self.bench.desk.project.file(&name, "more\n");
        self.bench.desk.commit("meanwhile");
        self.base = self.bench.desk.git(&["rev-parse", "main"]);
    }

    /// Runs a command that nobody kills, and returns what it printed.
    #[track_caller]
    fn succeed(&self, args: &[&str]) -> String {
        let run = self.bench.call(args);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.code(), Some(0), "{args:?}: {said}{}", run.text());
        run.text()
    }

    /// Returns the runs of the task, the newest first.
    fn runs(&self) -> Vec<Value> {
        let listed = self.succeed(&["runs", "--json", "-n", "1000"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let mut runs = listed["runs"].as_array().unwrap().clone();
        runs.retain(|run| run["task"] == self.task.as_str());
        runs
    }

    /// Makes sure that the newest run of the task completed and that its checks passed.
    fn complete(&self) {
        // A worker that was killed early has left the run in the queue.
        self.succeed(&["worker", "--drain"]);
        let newest = &self.runs()[0];
        if newest["status"] != "completed" || newest["checks"][0]["status"] != "passed" {
            self.succeed(&["retry", newest["id"].as_str().unwrap()]);
        }
    }

    /// Returns the command of a step, after everything that has to be there before it.
    fn command(&self, step: Step) -> Vec<String> {
        let newest = self
            .runs()
            .first()
            .map(|run| run["id"].as_str().unwrap().to_owned());
        let again = match newest {
            Some(id) => vec!["retry".to_owned(), id],
            None => vec!["run".to_owned(), self.task.clone()],
        };
        match step {
            Step::Run | Step::Retry => again,
            Step::Worker => {
                let queue: Vec<&str> = again
                    .iter()
                    .map(String::as_str)
                    .chain(["--queue"])
                    .collect();
                self.succeed(&queue);
                vec!["worker".to_owned(), "--drain".to_owned()]
            }
            Step::Rerun => {
                self.complete();
                let newest = self.runs()[0]["id"].as_str().unwrap().to_owned();
                vec!["checks".to_owned(), "rerun".to_owned(), newest]
            }
            Step::Merge => {
                self.complete();
                vec!["merge".to_owned(), self.task.clone()]
            }
        }
    }

    /// Kills a step somewhere on its way; the first time it is measured instead.
    fn round(&mut self, step: Step, round: u32) {
        let args = self.command(step);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = self.bench.desk.project.command(&args);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let since = Instant::now();
        let mut child = command.spawn().unwrap();
        if round > 0 {
            std::thread::sleep(self.whole[&step] * 11 * share(step, round) / (10 * PARTS));
            child.kill().unwrap();
        }
        let done = child.wait_with_output().unwrap();
        if round == 0 {
            self.whole.insert(step, since.elapsed());
        }
        let what = format!("round {round}, {args:?}");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.success() || is_killed(done.status),
            "{what}: {said}"
        );
        self.holds(&what);
        let is_run = !matches!(step, Step::Rerun | Step::Merge);
        if is_run && done.status.success() {
            let newest = &self.runs()[0];
            assert_eq!(newest["status"], "completed", "{what}: {newest:#}");
            assert_eq!(newest["settled"], false, "{what}: {newest:#}");
            let check = &newest["checks"][0]["status"];
            assert_eq!(check, "passed", "{what}: {newest:#}");
        }
    }

    /// Ends the task: it is merged, whatever happened before.
    fn finish(&self) {
        self.succeed(&["merge", &self.task]);
        // The worktree is as the run left it, whatever it showed meanwhile.
        let newest = self.runs()[0]["id"].as_str().unwrap().to_owned();
        self.succeed(&["checks", "rerun", &newest]);
        assert_eq!(self.bench.status(&self.task), "done: ");
        assert_ne!(self.bench.desk.git(&["rev-parse", "main"]), self.base);
        self.succeed(&["verify"]);
    }

    /// Proves what has to hold after every kill, once a command has looked at the project.
    fn holds(&self, what: &str) {
        for run in self.runs() {
            assert_true(&run, what);
        }
        let desk = &self.bench.desk;
        wait_for("nothing is locked", || {
            let worktrees = desk.git(&["worktree", "list", "--porcelain"]);
            !worktrees.lines().any(|line| line.starts_with("locked"))
        });
        let main = desk.git(&["rev-parse", "main"]);
        let is_merged = main != self.base;
        assert!(
            !is_merged || desk.git(&["rev-parse", "main^1"]) == self.base,
            "{what}"
        );
        assert_eq!(desk.git(&["status", "--porcelain"]), "", "{what}");
        self.nothing_is_lost(what);
    }

    /// Fails if a commit or a file of an agent is on no ref, and in no worktree either.
    fn nothing_is_lost(&self, what: &str) {
        let desk = &self.bench.desk;
        desk.git(&["fsck", "--connectivity-only", "--no-dangling"]);
        let objects = desk.git(&["rev-list", "--objects", "--all"]);
        let objects: BTreeSet<&str> = objects.lines().map(str::trim_end).collect();
        for commit in self.notes("commits") {
            assert!(
                objects.contains(commit.as_str()),
                "{what}: {commit} is lost"
            );
        }
        for file in self.notes("files") {
            let kept = objects.iter().any(|line| line.ends_with(&file));
            let name = format!(".callsheet/worktrees/task-{}/{file}", self.task);
            let lies = desk.project.path(&name).is_file();
            assert!(kept || lies, "{what}: {file} is lost");
        }
    }

    fn notes(&self, name: &str) -> Vec<String> {
        let said = std::fs::read_to_string(self.notes.path().join(name)).unwrap_or_default();
        said.lines().map(str::to_owned).collect()
    }

    /// Proves that nothing is left of all that was killed.
    fn leaves_nothing(&self) {
        let desk = &self.bench.desk;
        desk.assert_clean();
        let names = |folder: &str| {
            let entries = std::fs::read_dir(desk.project.path(folder)).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect::<BTreeSet<_>>()
        };
        let own = |name: &String| {
            let (first, ending) = name.split_once('.').unwrap_or((name, ""));
            first.starts_with("task-") && ["", "lock", "ready"].contains(&ending)
        };
        let strange: Vec<String> = names(".callsheet/worktrees")
            .into_iter()
            .filter(|name| !own(name))
            .collect();
        assert_eq!(strange, [""; 0]);
        let known = [
            ".gitignore",
            "callsheet.db",
            "callsheet.db-reserve",
            "repository.lock",
            "runs",
            "worktrees",
        ];
        let strange: Vec<String> = names(".callsheet")
            .into_iter()
            .filter(|name| !known.contains(&name.as_str()))
            .collect();
        assert_eq!(strange, [""; 0]);
        let temporary = desk.project.outside().join("temporary");
        let left: Vec<_> = std::fs::read_dir(temporary).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        let git = names(".git")
            .into_iter()
            .filter(|name| name.contains("lock") || name.contains("callsheet"));
        assert_eq!(git.collect::<Vec<_>>(), [""; 0]);
    }
}

/// Into how many parts the time of a command is split.
const PARTS: u32 = 1000;

/// Returns when a command is killed, in parts of its time: the same moments in every test, spread evenly and in no order.
fn share(step: Step, round: u32) -> u32 {
    let start = 100 * step as u32;
    (start + round * 618) % PARTS
}

fn is_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal() == Some(9)
}

/// Fails if a run says what is not so.
#[track_caller]
fn assert_true(run: &Value, what: &str) {
    let what = format!("{what}: {run:#}");
    let id = run["id"].as_str().unwrap();
    if run["state"] == "queued" {
        return;
    }
    assert_eq!(run["state"], "finished", "{what}");
    // Checks of a run that is over are ended by their supervisor alone.
    wait_for("nothing of the run is left", || survivors(id).is_empty());
    // An agent that stays within its scope is charged with nothing, wherever callsheet was when it was killed.
    assert_eq!(violations(run), [""; 0], "{what}");
    if run["status"] != "completed" {
        assert_eq!(
            [&run["status"], &run["class"]],
            ["failed", "incomplete"],
            "{what}"
        );
        assert_eq!(run["settled"], true, "{what}");
        return;
    }
    assert_eq!(run["exit_code"], 0, "{what}");
    let files = changed(run);
    assert_eq!(
        files,
        [format!("src/kept-{id}.rs"), format!("src/left-{id}.rs")],
        "{what}"
    );
    assert_eq!(run["commits"][0]["subject"], id, "{what}");
    assert!(run["result"].is_string(), "{what}");
    let check = &run["checks"][0]["status"];
    assert!(
        check == "passed" || (check == "pending" && run["settled"] == true),
        "{what}"
    );
}
