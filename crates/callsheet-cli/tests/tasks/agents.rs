//! Agents that stay within their scope, and agents that do not: what is observed of each, and what the main checkout is like.

use serde_json::json;

use crate::bench::{Bench, changed, violations};

/// An agent, what it changes, and what it is charged with.
#[track_caller]
fn observe(line: &str, files: &[&str], charges: &[&str]) -> (Bench, serde_json::Value) {
    let bench = Bench::new(line);
    let before = bench.main();
    let (run, code) = bench.run();
    assert_eq!(changed(&run), files, "{run:#}");
    assert_eq!(violations(&run), charges);
    assert_eq!(code, Some(i32::from(!charges.is_empty())), "{run:#}");
    assert_eq!(bench.main(), before);
    bench.desk.assert_clean();
    (bench, run)
}

#[test]
fn an_agent_that_stays_within_its_scope_is_fine() {
    let (bench, run) = observe(
        "echo 'fn out() {}' > src/logout.rs",
        &["src/logout.rs"],
        &[],
    );
    assert_eq!(run["status"], "completed");
    assert_eq!(run["dirty"], true);
    assert_eq!(run["head"], run["start_head"]);
    assert_eq!(run["sandbox"], true);
    assert_eq!(run["permissions"], "full");
    let check = &run["checks"][0];
    assert_eq!(
        [&check["name"], &check["status"], &check["exit_code"]],
        [&json!("builds"), &json!("passed"), &json!(0)]
    );
    // The check is bound to the tree that the result has.
    let result = run["result"].as_str().unwrap();
    let tree = bench
        .desk
        .git(&["rev-parse", &format!("{result}^{{tree}}")]);
    assert_eq!(check["tree"], tree.as_str());
    let kept = format!("refs/callsheet/runs/{}", run["id"].as_str().unwrap());
    assert_eq!(bench.desk.git(&["rev-parse", &kept]), result);
    let branch = format!("callsheet/task-{}", run["task"].as_str().unwrap());
    assert_eq!(run["branch"], branch.as_str());
    assert_eq!(
        bench.desk.git(&["rev-parse", &branch]),
        run["start_head"].as_str().unwrap()
    );
    // The prompt is the first record of the log.
    let id = run["id"].as_str().unwrap();
    let log = bench.call(&["log", id, "--json"]).text();
    assert!(log.lines().next().unwrap().contains("## Role"), "{log}");
}

#[test]
fn what_the_agent_commits_is_observed_like_what_it_leaves() {
    let line = "echo a > src/a.rs; git add -A; git commit -qm one; echo b > docs.md; git add -A; git commit -qm two; git revert --no-edit HEAD";
    let (_, run) = observe(line, &["docs.md", "src/a.rs"], &["outside_write docs.md"]);
    assert_eq!(run["dirty"], false);
    assert_eq!(run["head"], run["result"]);
    let subjects: Vec<&str> = run["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|commit| commit["subject"].as_str().unwrap())
        .collect();
    assert_eq!(subjects, ["Revert \"two\"", "two", "one"]);
}

#[test]
fn a_rename_has_two_paths() {
    observe(
        "git mv README.md src/README.md",
        &["README.md", "src/README.md"],
        &["outside_write README.md"],
    );
}

#[test]
fn a_change_of_mode_is_a_change() {
    let (_, run) = observe(
        "chmod +x src/login.rs run.sh",
        &["run.sh", "src/login.rs"],
        &["outside_write run.sh"],
    );
    assert_eq!(run["mode_changes"], json!(["run.sh", "src/login.rs"]));
}

#[test]
fn an_excluded_file_is_absent_and_one_that_comes_back_is_seen() {
    let (_, run) = observe(
        "test -e infra/prod.env && exit 9; mkdir infra; git show HEAD:infra/prod.env > infra/prod.env; mkdir -p src; echo K > src/x.env; echo L > .env; true",
        &[".env", "infra/prod.env", "src/x.env"],
        &[
            "excluded_path .env",
            "excluded_path infra/prod.env",
            "excluded_path src/x.env",
        ],
    );
    assert_eq!(run["exit_code"], 0);
}

#[test]
fn an_excluded_file_that_stays_away_is_no_change() {
    let (bench, run) = observe(
        "test ! -e infra/prod.env && git status --porcelain",
        &[],
        &[],
    );
    let id = run["id"].as_str().unwrap();
    let said = bench.call(&["log", id, "--stream", "stdout"]).text();
    assert_eq!(said, "");
    assert_eq!(run["dirty"], false);
}

#[test]
fn what_git_is_told_not_to_look_at_is_seen() {
    let (_, run) = observe(
        "git update-index --assume-unchanged README.md; git update-index --skip-worktree run.sh; chmod u+w README.md run.sh; echo x >> README.md; echo x >> run.sh; git status --porcelain",
        &["README.md", "run.sh"],
        &["outside_write README.md", "outside_write run.sh"],
    );
    assert_eq!(run["dirty"], true);
}

#[test]
fn a_change_that_is_only_in_the_index_is_not_committed() {
    let line = "echo x > src/new.rs; git add -A; rm src/new.rs";
    let (_, run) = observe(line, &[], &[]);
    assert_eq!(run["dirty"], true);
    assert_eq!(run["result"], run["start_head"]);
}

#[test]
fn no_program_that_a_worktree_names_in_its_settings_is_run() {
    let bench = Bench::new(
        "M=$(dirname $(dirname $(dirname $PWD))); A=$(git rev-parse --git-dir); echo /nowhere/.git > $A/gitdir; echo '*.rs filter=x' > src/.gitattributes; echo x > src/x.rs; git config -f $A/config.worktree filter.x.clean \"touch $M/ran; cat\"",
    );
    bench
        .desk
        .git(&["config", "extensions.worktreeConfig", "true"]);
    let before = bench.main();
    let (run, code) = bench.run();
    assert_eq!(changed(&run), ["src/.gitattributes", "src/x.rs"]);
    assert_eq!(code, Some(0), "{run:#}");
    assert_eq!(bench.main(), before);
    bench.desk.assert_clean();
}

#[test]
fn links_that_lead_out_of_the_scope_are_charged() {
    let (_, run) = observe(
        "ln -s /etc/passwd src/pw; ln -s ../README.md src/readme; ln -s login.rs src/same.rs; ln -s ../infra/prod.env src/key",
        &["src/key", "src/pw", "src/readme", "src/same.rs"],
        &[
            "link_out_of_scope src/key",
            "link_out_of_scope src/pw",
            "link_out_of_scope src/readme",
        ],
    );
    assert_eq!(
        run["links"][1],
        json!({"path": "src/pw", "target": "/etc/passwd"})
    );
}

#[test]
fn an_agent_that_switches_branches_is_charged_and_its_work_is_kept() {
    let bench =
        Bench::unboxed("git switch -qc other; echo x > src/x.rs; git add -A; git commit -qm x");
    let (run, code) = bench.run();
    assert_eq!(code, Some(1));
    assert_eq!(run["end_branch"], "other");
    assert!(
        violations(&run).contains(&"branch_switched other".to_owned()),
        "{run:#}"
    );
    assert_eq!(changed(&run), ["src/x.rs"]);
    let kept = format!("refs/callsheet/runs/{}", run["id"].as_str().unwrap());
    assert_eq!(bench.desk.git(&["show", &format!("{kept}:src/x.rs")]), "x");
    // In the sandbox there is no other branch to switch to.
    let (boxed, _) = Bench::new("git switch -qc other || git checkout -q --detach").run();
    assert_eq!(violations(&boxed), ["branch_switched HEAD"]);
}

#[test]
fn an_agent_that_deletes_its_worktree_is_charged_and_the_next_run_has_a_new_one() {
    let bench = Bench::new("cd /; rm -rf \"$OLDPWD\"");
    let before = bench.main();
    let (run, code) = bench.run();
    assert_eq!(code, Some(1));
    assert_eq!(violations(&run), ["worktree_missing ."], "{run:#}");
    assert_eq!(run["checks"][0]["status"], "pending");
    assert_eq!(bench.main(), before);
    bench.agent("echo again > src/again.rs");
    let (again, code) = bench.document(&["retry", run["id"].as_str().unwrap()]);
    assert_eq!(changed(&again), ["src/again.rs"], "{again:#}");
    assert_eq!(code, Some(0));
    assert!(bench.worktree(&again).join("src/login.rs").is_file());
    bench.desk.assert_clean();
}

#[test]
fn no_way_into_the_main_checkout_leaves_a_trace_there() {
    let root = "M=$(dirname $(dirname $(dirname $PWD)))";
    for way in [
        "echo x > $M/README.md",
        "echo x > $M/new.txt; rm $M/run.sh; mv $M/src $M/src2",
        "git -C $M commit -q --allow-empty -m x",
        "git -C $M checkout -q -b mine",
        "GIT_DIR=$M/.git GIT_WORK_TREE=$M git commit -q --allow-empty -m x",
        "GIT_DIR=$M/.git git update-ref refs/heads/main $(git commit-tree HEAD^{tree} -m x)",
        "git update-ref refs/heads/main $(git commit-tree HEAD^{tree} -m x)",
        "git -C $M config user.name evil; echo '#!/bin/sh' > $M/.git/hooks/post-commit",
        "git push -q . HEAD:refs/heads/main; git branch -qf main $(git commit-tree HEAD^{tree} -m x)",
        "git -C $M stash -q -u; git -C $M reset -q --hard HEAD~1",
        "rm -rf $M/.callsheet/callsheet.db $M/.git/HEAD",
    ] {
        let bench = Bench::new(&format!("{root}; {way}; true"));
        let before = bench.main();
        let (run, code) = bench.run();
        assert_eq!(bench.main(), before, "{way}");
        assert_eq!(run["main"], json!({"changed": []}), "{way}");
        assert_eq!((changed(&run), code), (Vec::new(), Some(0)), "{way}");
        bench.desk.assert_clean();
    }
}

#[test]
fn without_the_sandbox_a_change_of_the_main_checkout_is_charged() {
    let bench = Bench::unboxed(
        "M=$(dirname $(dirname $(dirname $PWD))); echo x > $M/README.md; git -C $M commit -q --allow-empty -m x",
    );
    let (run, code) = bench.run();
    assert_eq!(code, Some(1));
    assert_eq!(run["sandbox"], false);
    assert_eq!(run["permissions"], "edit");
    assert_eq!(
        violations(&run),
        ["main_checkout README.md", "main_checkout refs/heads/main"]
    );
}
