//! The life of a task: what has to hold before a run, what follows from one, and what a person decides.

use crate::bench::{Bench, changed, violations};

#[test]
fn a_retry_is_a_new_run_with_a_digest_of_the_one_before() {
    let bench = Bench::new("echo x > README.md; echo y > src/y.rs; exit 3");
    let (first, code) = bench.run();
    assert_eq!(code, Some(1));
    assert_eq!(first["status"], "failed");
    bench.agent("git checkout -q README.md; true");
    let (second, code) = bench.document(&["retry", first["id"].as_str().unwrap()]);
    assert_eq!(code, Some(1), "{second:#}");
    assert_eq!(second["kind"], "retry");
    assert_eq!(second["parent"], first["id"]);
    assert_eq!(second["task"], first["task"]);
    assert_ne!(second["prompt"], first["prompt"]);
    assert_eq!(changed(&second), ["README.md"]);
    assert_eq!(violations(&second), ["outside_write README.md"]);
    let prompt = bench
        .call(&["show", second["prompt"].as_str().unwrap()])
        .text();
    let digest = prompt.split("## Retry/Continue Digest\n").nth(1).unwrap();
    let digest = digest.split("\n## ").next().unwrap();
    insta::assert_snapshot!(digest, @"
    - previous run: failed, exit code 3, reason exit
    - check builds: passed
    - scope violations: 1 (pending 1, approved 0, rejected 0)
      - README.md outside_write pending
    - changed files: 2
      - README.md
      - src/y.rs
    ");
    bench.desk.assert_clean();
}

#[test]
fn a_task_is_done_when_its_result_is_merged_and_its_checks_passed() {
    let bench = Bench::new("echo 'fn out() {}' > src/logout.rs");
    let (run, code) = bench.run();
    assert_eq!(code, Some(0), "{run:#}");
    let task = run["task"].as_str().unwrap();
    assert_eq!(bench.status(task), "ready: merge_pending");
    let merged = bench.call(&["merge", task, "--json"]);
    assert_eq!(merged.code(), Some(0), "{}", merged.text());
    let merged = merged.json();
    assert_eq!(merged["outcome"], "merged");
    assert_eq!(merged["checks"][0]["status"], "passed");
    assert_eq!(bench.status(task), "done: ");
    assert_eq!(
        bench.desk.git(&["rev-parse", "HEAD"]),
        merged["commit"].as_str().unwrap()
    );
    assert_eq!(bench.desk.git(&["status", "--porcelain"]), "");
    assert_eq!(
        bench.desk.git(&["log", "-1", "--format=%s"]),
        format!("Merge task {task}: Fix the login")
    );
    assert!(bench.desk.project.path("src/logout.rs").is_file());
    // The worktree shows what the run left.
    assert!(bench.worktree(&run).join("src/logout.rs").is_file());
    let again = bench.call(&["merge", task]);
    assert_eq!(again.code(), Some(0), "{}", again.text());
    bench.desk.assert_clean();
}

#[test]
fn a_merge_is_checked_on_its_own_files_and_the_worktree_gets_back_what_the_run_left() {
    for base_moves in [false, true] {
        let settings = "[[checks]]\nname = \"writes\"\ncommand = [\"sh\", \"-c\", \"! test -e now.log || echo x >> src/login.rs\"]\n";
        let bench = Bench::with("echo 'fn out() {}' > src/logout.rs", settings);
        let (run, _) = bench.run();
        let task = run["task"].as_str().unwrap();
        if base_moves {
            bench.desk.project.file("README.md", "read me again\n");
            bench.desk.commit("again");
        }
        let worktree = bench.worktree(&run);
        let read = |name: &str| std::fs::read_to_string(worktree.join(name)).unwrap();
        let before = (read("src/login.rs"), read("README.md"));
        std::fs::write(worktree.join("now.log"), "").unwrap();
        let merged = bench.call(&["merge", task, "--json"]).json();
        assert_eq!(merged["outcome"], "merged", "{merged:#}");
        let tree = format!("{}^{{tree}}", merged["commit"].as_str().unwrap());
        let tree = bench.desk.git(&["rev-parse", &tree]);
        assert_eq!(merged["checks"][0]["tree"], tree.as_str());
        assert_eq!((read("src/login.rs"), read("README.md")), before);
        assert_eq!(read("src/logout.rs"), "fn out() {}\n");
    }
}

/// A project whose check leaves a file behind, and changes one.
const LITTER: &str = "[[checks]]\nname = \"builds\"\ncommand = [\"sh\", \"-c\", \"echo x > litter.txt; echo y >> src/login.rs\"]\n";

#[test]
fn what_checks_leave_behind_is_nobodys_work() {
    let bench = Bench::with("echo a > src/a.rs", LITTER);
    let (run, code) = bench.run();
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(changed(&run), ["src/a.rs"]);
    assert_eq!(
        run["changed_by_checks"],
        serde_json::json!(["litter.txt", "src/login.rs"])
    );
    let worktree = bench.worktree(&run);
    assert!(!worktree.join("litter.txt").exists());
    let kept = format!("refs/callsheet/checks/{}", run["id"].as_str().unwrap());
    assert_eq!(
        bench.desk.git(&["show", &format!("{kept}:litter.txt")]),
        "x"
    );
    let task = run["task"].as_str().unwrap();
    assert_eq!(bench.call(&["merge", task]).code(), Some(0));
    assert!(!bench.desk.project.path("litter.txt").exists());
    assert!(!worktree.join("litter.txt").exists());
    let login = std::fs::read_to_string(bench.desk.project.path("src/login.rs")).unwrap();
    assert_eq!(login, "fn login() {}\n");
}

#[test]
fn a_worktree_made_anew_takes_nothing_back_from_its_base() {
    let bench = Bench::new("echo a > src/a.rs");
    let (run, _) = bench.run();
    let task = run["task"].as_str().unwrap();
    std::fs::remove_dir_all(bench.worktree(&run)).unwrap();
    bench.desk.git(&["worktree", "prune"]);
    bench
        .desk
        .git(&["branch", "-D", &format!("callsheet/task-{task}")]);
    bench.desk.project.file("README.md", "read me again\n");
    bench.desk.commit("base moves");
    let (again, code) = bench.document(&["retry", run["id"].as_str().unwrap()]);
    assert_eq!(code, Some(0), "{again:#}");
    assert!(bench.worktree(&again).join("src/a.rs").is_file());
    assert_eq!(bench.call(&["merge", task]).code(), Some(0));
    let readme = std::fs::read_to_string(bench.desk.project.path("README.md")).unwrap();
    assert_eq!(readme, "read me again\n");
    assert!(bench.desk.project.path("src/a.rs").is_file());
}

#[test]
fn what_the_checks_say_of_the_merged_tree_counts() {
    let settings = "[[checks]]\nname = \"builds\"\ncommand = [\"test\", \"-f\", \"needed.txt\"]\n";
    let bench = Bench::with("echo a > src/a.rs", settings);
    let (run, code) = bench.run();
    assert_eq!(code, Some(1), "{run:#}");
    let task = run["task"].as_str().unwrap();
    assert_eq!(bench.status(task), "failed: dod_failed, merge_pending");
    bench.desk.project.file("needed.txt", "here\n");
    bench.desk.commit("needed");
    let merged = bench.call(&["merge", task]);
    assert_eq!(merged.code(), Some(0), "{}", merged.text());
    assert_eq!(bench.status(task), "done: ");
}

#[test]
fn a_base_without_a_commit_is_told_before_anything_runs() {
    let bench = Bench::new("true");
    bench
        .desk
        .git(&["checkout", "--quiet", "--orphan", "empty"]);
    let run = bench.call(&["run", "--title", "Try", "--write", "src/**"]);
    assert_eq!(run.code(), Some(2), "{}", run.text());
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(
        said.ends_with("error: branch `empty` has no commit to start from\n"),
        "{said}"
    );
    assert!(bench.desk.runs().is_empty());
}

#[test]
fn what_a_person_changed_in_a_worktree_is_not_overwritten_by_a_merge() {
    let bench = Bench::new("echo a > src/a.rs");
    let (run, _) = bench.run();
    let mine = bench.worktree(&run).join("src/a.rs");
    std::fs::write(&mine, "by hand\n").unwrap();
    let merged = bench.call(&["merge", run["task"].as_str().unwrap()]);
    assert_eq!(merged.code(), Some(3), "{}", merged.text());
    let said = String::from_utf8_lossy(&merged.stderr).into_owned();
    let end = format!(
        "has changes that run `{}` did not make\n",
        run["id"].as_str().unwrap()
    );
    assert!(said.ends_with(&end), "{said}");
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "by hand\n");
    assert!(!bench.desk.project.path("src/a.rs").exists());
    // Without the change, it goes on.
    std::fs::write(&mine, "a\n").unwrap();
    assert_eq!(
        bench.call(&["merge", run["task"].as_str().unwrap()]).code(),
        Some(0)
    );
}

#[test]
fn a_worktree_without_any_change_of_its_own_does_not_keep_a_result_from_being_merged() {
    let bench = Bench::new("echo a > src/a.rs");
    let (run, _) = bench.run();
    // As on a machine that made the worktree, and where the agent then ran elsewhere.
    std::fs::remove_file(bench.worktree(&run).join("src/a.rs")).unwrap();
    let merged = bench.call(&["merge", run["task"].as_str().unwrap()]);
    assert_eq!(merged.code(), Some(0), "{}", merged.text());
    let made = bench.desk.project.path("src/a.rs");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "a\n");
}
