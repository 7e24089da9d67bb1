//! What goes wrong around a task, and what stays as it was.

use serde_json::json;

use crate::bench::{Bench, changed, violations};
use crate::project::Project;

/// Runs a new task with a worktree that needs something first, and returns all that a user sees.
fn shown(bench: &Bench, args: &[&str]) -> String {
    bench.desk.project.callsheet(args)
}

const RUN: [&str; 5] = ["run", "--title", "Fix it", "--write", "src/**"];

#[test]
fn a_task_in_place_has_no_worktree_and_no_merge() {
    let bench = Bench::new("echo work > src/work.rs; echo x > README.md");
    let args = [&RUN[..], &["--in-place"]].concat();
    let (run, code) = bench.document(&args);
    assert_eq!(code, Some(1), "{run:#}");
    assert_eq!(changed(&run), ["README.md", "src/work.rs"]);
    assert_eq!(violations(&run), ["outside_write README.md"]);
    assert_eq!(
        [&run["in_place"], &run["sandbox"]],
        [&json!(true), &json!(false)]
    );
    assert_eq!(run["worktree"], bench.desk.project.root().to_str().unwrap());
    assert_eq!(bench.desk.project.read("src/work.rs"), "work\n");
    assert_eq!(
        bench.desk.git(&["branch", "--format=%(refname)"]),
        "refs/heads/main"
    );
    let before = bench.main();
    let task = run["task"].as_str().unwrap();
    let violation = run["violations"][0]["id"].as_str().unwrap();
    assert_eq!(bench.call(&["approve", violation]).code(), Some(0));
    insta::assert_snapshot!(shown(&bench, &["merge", task]), @"
    exit: 3
    --- stderr
    error: run `[ID1]` worked in the main checkout, so there is nothing to merge
    hint: `git commit` keeps what it left there
    ");
    assert_eq!(bench.main(), before);
    assert_eq!(
        bench
            .call(&["checks", "rerun", run["id"].as_str().unwrap()])
            .code(),
        Some(0)
    );
    bench.desk.git(&["add", "--all"]);
    bench.desk.commit("work");
    assert_eq!(bench.status(task), "done: ");
    bench.desk.assert_clean();
}

#[test]
fn a_retry_of_a_task_in_place_is_in_place() {
    let bench = Bench::new("echo work > src/work.rs; exit 1");
    let args = [&RUN[..], &["--in-place"]].concat();
    let (run, _) = bench.document(&args);
    let (again, _) = bench.document(&["retry", run["id"].as_str().unwrap()]);
    assert_eq!(again["in_place"], true);
    assert_eq!(again["worktree"], run["worktree"]);
    bench.desk.assert_clean();
}

#[test]
fn a_new_worktree_gets_what_git_ignores_and_what_a_set_up_makes() {
    let settings = "[workspace]\ncopy = [\"deps\", \"cache.log\", \"notes.txt\", \"nowhere\"]\nsetup = [\"sh\", \"-c\", \"test -f deps/a/one && echo >> runs.log\"]\n";
    let bench = Bench::with(
        "cat deps/a/one cache.log; wc -l < runs.log; cat notes.txt",
        settings,
    );
    bench
        .desk
        .project
        .file(".gitignore", "*.log\n.callsheet/\ndeps/\n");
    bench.desk.commit("ignore");
    bench
        .desk
        .project
        .file("deps/a/one", "1\n")
        .file("cache.log", "cached\n")
        .file("notes.txt", "mine\n");
    let run = bench.call(&RUN);
    let said = String::from_utf8(run.stderr).unwrap();
    let notes: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("note: "))
        .collect();
    assert_eq!(
        notes,
        [
            "note: `notes.txt` is not copied: git does not ignore it",
            "note: `nowhere` is not in the main checkout, so it is not copied",
        ]
    );
    let id = run.stdout.strip_suffix(b"\n").unwrap();
    let id = String::from_utf8(id.rsplit(|byte| *byte == b'\n').next().unwrap().to_vec()).unwrap();
    let log = bench.call(&["log", &id, "--stream", "stdout"]).text();
    assert_eq!(log, "1\ncached\n1\n");
    // A worktree that is there is ready: nothing is copied or set up again.
    bench.desk.project.file("deps/a/one", "2\n");
    let (again, _) = bench.document(&["retry", &id]);
    let log = bench
        .call(&["log", again["id"].as_str().unwrap(), "--stream", "stdout"])
        .text();
    assert_eq!(log, "1\ncached\n1\n");
    bench.desk.assert_clean();
}

#[test]
fn a_set_up_that_fails_starts_no_agent() {
    let settings = |line: &str| {
        let line = toml::Value::from(line);
        format!("[workspace]\nsetup_timeout_s = 1\nsetup = [\"sh\", \"-c\", {line}]\n")
    };
    let bench = Bench::with(
        "true",
        &settings("echo out; echo >&2; echo 'no such thing' >&2; exit 7"),
    );
    insta::assert_snapshot!(shown(&bench, &RUN), @"
    exit: 3
    --- stderr
    task [ID1]
    error: the setup of the worktree, `sh -c echo out; echo >&2; echo 'no such thing' >&2; exit 7`, failed with exit code 7: no such thing
    ");
    let task = bench.call(&["task", "list", "--json"]).json()["tasks"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(bench.status(&task), "open: ");
    assert_eq!(bench.desk.runs(), Vec::<serde_json::Value>::new());
    assert_eq!(bench.call(&["run", &task, "--queue"]).code(), Some(0));
    insta::assert_snapshot!(shown(&bench, &["worker", "--drain"]), @"
    exit: 0
    --- stderr
    waiting for runs of agent
    run [ID2]
    warning: run [ID2]: the setup of the worktree, `sh -c echo out; echo >&2; echo 'no such thing' >&2; exit 7`, failed with exit code 7: no such thing
    1 run done
    ");
    let run = &bench.desk.runs()[0];
    assert_eq!(
        [&run["state"], &run["status"], &run["class"]],
        ["finished", "failed", "environment"]
    );
    assert_eq!(violations(run), [""; 0]);
    let bench = Bench::with("true", &settings("sleep 600"));
    insta::assert_snapshot!(shown(&bench, &RUN), @"
    exit: 3
    --- stderr
    task [ID1]
    error: the setup of the worktree, `sh -c sleep 600`, failed: it took longer than 1 s
    ");
    let bench = Bench::with("true", "[workspace]\nsetup = [\"no-such-program\"]\n");
    insta::assert_snapshot!(shown(&bench, &RUN), @"
    exit: 3
    --- stderr
    task [ID1]
    error: the setup of the worktree, `no-such-program`, failed: no program `no-such-program` in `PATH`
    ");
}

#[test]
fn a_retry_that_takes_a_rejected_change_back_leads_out_of_review() {
    let bench = Bench::new("echo x > README.md; echo y > src/y.rs");
    let (run, code) = bench.run();
    assert_eq!(code, Some(1));
    let task = run["task"].as_str().unwrap();
    assert_eq!(
        bench.status(task),
        "needs_review: scope_violation_pending, merge_pending"
    );
    let violation = run["violations"][0]["id"].as_str().unwrap();
    assert_eq!(bench.call(&["reject", violation]).code(), Some(0));
    assert_eq!(
        bench.status(task),
        "needs_review: scope_violation_rejected, merge_pending"
    );
    insta::assert_snapshot!(shown(&bench, &["merge", task]), @"
    exit: 1
    --- stderr
    error: task `[ID1]` has scope violations that are not approved: [ID2].1 README.md (rejected)
    hint: `callsheet approve VIOLATION` lets the change pass; `callsheet retry RUN` can take it back
    ");
    bench.agent("chmod u+w README.md; git checkout -q README.md");
    let (again, code) = bench.document(&["retry", run["id"].as_str().unwrap()]);
    // What the first run did is gone. The second has touched the file as well, which it cannot take back itself.
    assert_eq!(code, Some(1), "{again:#}");
    assert_eq!(violations(&again), ["outside_write README.md"]);
    assert_eq!(
        bench.status(task),
        "needs_review: scope_violation_pending, merge_pending"
    );
    bench.agent("true");
    let (third, code) = bench.document(&["retry", again["id"].as_str().unwrap()]);
    assert_eq!(code, Some(0), "{third:#}");
    assert_eq!(bench.status(task), "ready: merge_pending");
    assert_eq!(bench.call(&["merge", task]).code(), Some(0));
    assert_eq!(bench.status(task), "done: ");
    bench.desk.assert_clean();
}

#[test]
fn a_merge_that_conflicts_leaves_everything_as_it_was() {
    let bench = Bench::new("echo agent > src/login.rs");
    let (run, code) = bench.run();
    assert_eq!(code, Some(0), "{run:#}");
    bench.desk.project.file("src/login.rs", "person\n");
    bench.desk.commit("meanwhile");
    let before = bench.main();
    let task = run["task"].as_str().unwrap();
    insta::assert_snapshot!(shown(&bench, &["merge", task]), @"
    exit: 1
    --- stderr
    error: task [ID1] conflicts with main in src/login.rs; nothing has changed
    ");
    let document = bench.call(&["merge", task, "--json"]);
    assert_eq!(document.code(), Some(1));
    assert_eq!(document.json()["conflicts"], json!(["src/login.rs"]));
    assert_eq!(bench.main(), before);
    let left = bench.worktree(&run).join("src/login.rs");
    assert_eq!(std::fs::read_to_string(left).unwrap(), "agent\n");
    assert_eq!(bench.status(task), "ready: merge_pending");
    bench.desk.assert_clean();
}

#[test]
fn a_check_that_fails_on_the_merged_tree_alone_keeps_the_base_where_it_is() {
    let check = "[[checks]]\nname = \"one-of-them\"\ncommand = [\"sh\", \"-c\", \"! test -e src/a.rs || ! test -e docs/b.md\"]\n";
    let bench = Bench::with("echo a > src/a.rs", check);
    let (run, code) = bench.run();
    assert_eq!(code, Some(0), "{run:#}");
    bench.desk.project.file("docs/b.md", "b\n");
    bench.desk.commit("meanwhile");
    let before = bench.main();
    let task = run["task"].as_str().unwrap();
    insta::assert_snapshot!(shown(&bench, &["merge", task]), @"
    exit: 1
    --- stderr
    check one-of-them
    check one-of-them: failed
    error: check `one-of-them` did not pass on the merged tree; nothing has changed
    ");
    assert_eq!(bench.main(), before);
    assert!(!bench.worktree(&run).join("docs").exists());
    assert_eq!(bench.status(task), "ready: merge_pending");
    bench.desk.assert_clean();
}

#[test]
fn a_merge_by_hand_is_a_merge() {
    for how in [&["merge", "--squash"][..], &["cherry-pick"]] {
        let bench =
            Bench::new("echo a > src/a.rs; git add src; git commit -qm one; echo b > src/b.rs");
        let (run, code) = bench.run();
        assert_eq!(code, Some(0), "{run:#}");
        bench.desk.project.file("docs/new.md", "new\n");
        bench.desk.commit("meanwhile");
        let task = run["task"].as_str().unwrap();
        let kept = format!("refs/callsheet/runs/{}", run["id"].as_str().unwrap());
        let range = format!("{}..{kept}", run["start_head"].as_str().unwrap());
        let what = if how[0] == "merge" { &kept } else { &range };
        bench.desk.git(&[how, &[what]].concat());
        if how[0] == "merge" {
            assert_eq!(bench.status(task), "ready: merge_pending");
            bench
                .desk
                .git(&["commit", "--quiet", "--message", "by hand"]);
        }
        assert_eq!(bench.status(task), "done: ", "{how:?}");
        bench.desk.assert_clean();
    }
}

#[test]
fn an_agent_whose_work_cannot_be_looked_at_has_failed() {
    // git takes no repository without a commit for a part of another one.
    let bench = Bench::new("echo a > src/a.rs; git init -q src/own");
    let before = bench.main();
    let (run, code) = bench.run();
    assert_eq!(code, Some(1));
    assert_eq!([&run["status"], &run["class"]], ["failed", "unknown"]);
    assert_eq!(
        run["reason"],
        "cannot tell what the agent changed: `git add` failed with exit code 128: error: 'src/own/' does not have a commit checked out"
    );
    assert_eq!(run["checks"][0]["status"], "pending");
    assert_eq!(bench.main(), before);
    bench.desk.assert_clean();
    let again = shown(&bench, &["retry", run["id"].as_str().unwrap()]);
    insta::assert_snapshot!(again, @"
    exit: 3
    --- stderr
    runner agent: any program, permissions full, sandboxed
    error: `git add` failed with exit code 128: error: 'src/own/' does not have a commit checked out
    ");
    std::fs::remove_dir_all(bench.worktree(&run).join("src/own")).unwrap();
    bench.agent("true");
    let (again, code) = bench.document(&["retry", run["id"].as_str().unwrap()]);
    assert_eq!(code, Some(0), "{again:#}");
    bench.desk.assert_clean();
}

#[test]
fn a_task_needs_the_top_of_a_repository() {
    let bench = Bench::new("true");
    let mut below = bench.desk.project.command(&RUN);
    bench.desk.project.file(
        "sub/callsheet.toml",
        "[runners.agent]\nadapter = \"command\"\ncommand = [\"true\"]\n",
    );
    below.current_dir(bench.desk.project.path("sub"));
    let below = crate::project::finish(&mut below);
    insta::assert_snapshot!(bench.desk.project.shown(&below), @"
    exit: 2
    --- stderr
    error: tasks need git: `[ROOT]/sub` is not the top of its git repository, which is `[ROOT]`
    hint: the `callsheet.toml` of a project with tasks belongs to the top
    ");
    assert_eq!(bench.desk.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_task_needs_a_repository() {
    let mut project = Project::new();
    std::fs::remove_dir(project.path(".git")).unwrap();
    let path = std::env::var("PATH").unwrap();
    project.variable("PATH", &path);
    project.file(
        "callsheet.toml",
        "[runners.agent]\nadapter = \"command\"\ncommand = [\"true\"]\n",
    );
    insta::assert_snapshot!(project.callsheet(&RUN), @"
    exit: 2
    --- stderr
    error: tasks need git: not a git repository
    hint: `git init` makes a repository
    ");
    insta::assert_snapshot!(project.callsheet(&["task", "add", "--title", "Fix it", "--write", "src/**"]), @"
    exit: 2
    --- stderr
    error: tasks need git: not a git repository
    hint: `git init` makes a repository
    ");
}

#[test]
fn a_set_up_that_starts_what_an_agent_wrote_writes_nothing_outside() {
    let settings =
        "[workspace]\nsetup = [\"sh\", \"-c\", \"test ! -f src/up.sh || sh src/up.sh\"]\n";
    let bench = Bench::with("echo 'echo > ../../../up' > src/up.sh", settings);
    let (run, _) = bench.run();
    std::fs::remove_dir_all(bench.worktree(&run)).unwrap();
    let retried = bench.call(&["retry", run["id"].as_str().unwrap()]);
    // Only where the kernel has a sandbox can there be one.
    if run["sandbox"] == true {
        assert!(!bench.desk.project.path("up").exists());
        assert_eq!(retried.code(), Some(3), "{}", retried.text());
    }
}
