//! Histories in which the same work arrives in every way, or does not arrive.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::repository::test_user::User;

/// A file of numbered lines, some of them replaced.
fn lines(replaced: &BTreeMap<usize, String>) -> String {
    let line = |number| replaced.get(&number).cloned();
    (0..40).fold(String::new(), |mut text, number| {
        let line = line(number).unwrap_or_else(|| format!("line {number}"));
        let _ = writeln!(text, "{line}");
        text
    })
}

fn ask(user: &User, start: &str, result: &str) -> bool {
    let git = Git::open(user.top()).unwrap();
    is_merged(&git, Work { start, result }, "main").unwrap()
}

/// Makes a branch `work` of two commits and returns where it began and its tip; `main` is checked out.
fn two_commits(user: &User) -> (String, String) {
    let start = user.rev("HEAD");
    user.git(&["switch", "--quiet", "--create", "work"]);
    user.commit("b.txt", "new\n");
    let result = user.commit("a.txt", &lines(&[(5, "mine".to_owned())].into()));
    user.git(&["switch", "--quiet", "main"]);
    (start, result)
}

fn numbered() -> User {
    let user = User::new();
    user.commit("a.txt", &lines(&BTreeMap::new()));
    user
}

#[test]
fn every_way_to_merge_is_seen_also_when_the_base_moves_on() {
    type Way = fn(&User);
    let ways: [(&str, Way); 5] = [
        ("merge", |user| {
            user.git(&["merge", "--quiet", "--no-ff", "work"]);
        }),
        ("squash", |user| {
            user.git(&["merge", "--quiet", "--squash", "work"]);
            user.git(&["commit", "--quiet", "--message=All of it"]);
        }),
        ("pick", |user| {
            user.git(&["cherry-pick", "main..work"]);
        }),
        ("pick in another order", |user| {
            user.git(&["cherry-pick", "work", "work~1"]);
        }),
        ("pick with others between", |user| {
            user.git(&["cherry-pick", "work~1"]);
            user.commit("c.txt", "between\n");
            user.git(&["cherry-pick", "work"]);
        }),
    ];
    for (name, way) in ways {
        let user = numbered();
        let (start, result) = two_commits(&user);
        assert!(!ask(&user, &start, &result), "before {name}");
        user.commit("a.txt", &lines(&[(30, "moved on".to_owned())].into()));
        assert!(!ask(&user, &start, &result), "before {name}");
        way(&user);
        assert!(ask(&user, &start, &result), "after {name}");
        user.commit("a.txt", "all is different\n");
        user.git(&["rm", "--quiet", "b.txt"]);
        user.commit("d.txt", "more\n");
        assert!(ask(&user, &start, &result), "later, after {name}");
    }
}

#[test]
fn half_of_it_or_something_like_it_is_not_it() {
    let user = numbered();
    let (start, result) = two_commits(&user);
    user.git(&["cherry-pick", "work~1"]);
    assert!(!ask(&user, &start, &result), "one of two");
    user.commit("a.txt", &lines(&[(5, "mine ".to_owned())].into()));
    assert!(!ask(&user, &start, &result), "white space counts");
    user.commit(
        "a.txt",
        &lines(&[(5, "mine".to_owned()), (9, "and".to_owned())].into()),
    );
    assert!(
        ask(&user, &start, &result),
        "in other commits, but all of it"
    );
}

#[test]
fn a_change_beside_the_work_does_not_hide_it() {
    let user = numbered();
    let (start, result) = two_commits(&user);
    user.commit("a.txt", &lines(&[(7, "close by".to_owned())].into()));
    user.git(&["merge", "--quiet", "--squash", "work"]);
    user.git(&["commit", "--quiet", "--message=All of it"]);
    assert!(ask(&user, &start, &result));
}

#[test]
fn a_patch_from_before_the_fork_does_not_count() {
    let user = numbered();
    let base = lines(&BTreeMap::new());
    let changed = lines(&[(5, "mine".to_owned())].into());
    user.commit("a.txt", &changed);
    user.commit("a.txt", &base);
    let start = user.rev("HEAD");
    user.git(&["switch", "--quiet", "--create", "work"]);
    let result = user.commit("a.txt", &changed);
    user.git(&["switch", "--quiet", "main"]);
    assert!(!ask(&user, &start, &result));
    user.commit("b.txt", "moved on\n");
    assert!(!ask(&user, &start, &result));
    user.git(&["cherry-pick", "work"]);
    assert!(ask(&user, &start, &result));
    user.git(&["revert", "--no-edit", "HEAD"]);
    assert!(ask(&user, &start, &result), "it was merged, and taken back");
}

#[test]
fn work_without_a_change_is_never_merged() {
    let user = numbered();
    let start = user.rev("HEAD");
    assert!(!ask(&user, &start, &start));
    user.git(&["commit", "--quiet", "--allow-empty", "--message=Nothing"]);
    let empty = user.rev("HEAD");
    assert!(
        !ask(&user, &start, &empty),
        "an ancestor with nothing in it"
    );
    user.git(&["switch", "--quiet", "--create", "work"]);
    user.commit("b.txt", "new\n");
    user.git(&["revert", "--no-edit", "HEAD"]);
    let back = user.rev("HEAD");
    user.git(&["switch", "--quiet", "main"]);
    assert!(!ask(&user, &start, &back));
    // The run began at what it took back, and both went to the base.
    let began = user.rev("work~1");
    user.commit("c.txt", "moved on\n");
    user.git(&["cherry-pick", "main..work"]);
    assert!(!ask(&user, &began, &back));
}

#[test]
fn many_are_asked_about_at_once() {
    let user = numbered();
    let (start, result) = two_commits(&user);
    let git = Git::open(user.top()).unwrap();
    let gone = "0123456789012345678901234567890123456789";
    let [first, whole] = [user.rev("work~1"), result];
    let asked = [
        Work {
            start: &start,
            result: &first,
        },
        Work {
            start: &start,
            result: gone,
        },
        Work {
            start: &start,
            result: &whole,
        },
        Work {
            start: &whole,
            result: &whole,
        },
        Work {
            start: &first,
            result: &whole,
        },
    ];
    let mut view = MergeView::new(&git, "main").unwrap();
    assert_eq!(view.merged(&asked).unwrap(), [false; 5]);
    assert_eq!(view.merged(&[]).unwrap(), [false; 0]);
    user.git(&["cherry-pick", "work~1"]);
    let mut view = MergeView::new(&git, "main").unwrap();
    assert_eq!(
        view.merged(&asked).unwrap(),
        [true, false, false, false, false]
    );
    user.git(&["cherry-pick", "work"]);
    let mut view = MergeView::new(&git, "main").unwrap();
    for _ in 0..2 {
        assert_eq!(
            view.merged(&asked).unwrap(),
            [true, false, true, false, true]
        );
    }
}

#[test]
fn what_cannot_be_judged_is_not_merged() {
    let user = numbered();
    let (start, result) = two_commits(&user);
    user.git(&["merge", "--quiet", "work"]);
    assert!(ask(&user, &start, &result));
    let gone = "0123456789012345678901234567890123456789";
    assert!(!ask(&user, &start, gone));
    assert!(!ask(&user, gone, &result));
    assert!(!ask(&user, &start, &result[..12]), "not a whole hash");
    assert!(!ask(&user, &start, &result.to_uppercase()));
    assert!(!ask(&user, &start, "work\n--all"));
    user.git(&["tag", "--annotate", "--message=x", "tagged", "work"]);
    assert!(!ask(&user, &start, &user.rev("tagged")), "not a commit");
    user.git(&["switch", "--quiet", "--orphan", "alone"]);
    let alone = user.commit("x.txt", "x\n");
    assert!(!ask(&user, &start, &alone), "no common history");
    let git = Git::open(user.top()).unwrap();
    for base in ["nothing", "--all", "-"] {
        let error = is_merged(
            &git,
            Work {
                start: &start,
                result: &result,
            },
            base,
        )
        .unwrap_err();
        assert_eq!(error.to_string(), format!("no branch or commit `{base}`"));
    }
}

#[test]
fn files_that_are_not_text_are_compared_whole() {
    let user = User::new();
    user.commit("a.bin", "\0one");
    let start = user.rev("HEAD");
    user.git(&["switch", "--quiet", "--create", "work"]);
    let result = user.commit("a.bin", "\0two");
    user.git(&["switch", "--quiet", "main"]);
    user.commit("a.bin", "\0other");
    assert!(!ask(&user, &start, &result));
    user.commit("a.bin", "\0one");
    user.git(&["cherry-pick", "work"]);
    user.commit("a.bin", "\0other");
    assert!(ask(&user, &start, &result));
}

#[test]
fn nothing_of_the_repository_is_run_or_written() {
    let user = numbered();
    user.commit(".gitattributes", "* merge=mine diff=mine filter=mine\n");
    let (start, result) = two_commits(&user);
    let evil = user.program("evil");
    for key in [
        "merge.mine.driver",
        "diff.mine.textconv",
        "diff.external",
        "filter.mine.clean",
    ] {
        user.git(&["config", key, evil.to_str().unwrap()]);
    }
    let text = lines(&[(5, "mine".to_owned()), (6, "and".to_owned())].into());
    user.git(&[
        "-c",
        "filter.mine.clean=",
        "commit",
        "--quiet",
        "--allow-empty",
        "--message=x",
    ]);
    user.write("b.txt", "new\n");
    user.write("a.txt", &text);
    user.git(&["-c", "filter.mine.clean=", "add", "--all"]);
    user.git(&[
        "-c",
        "filter.mine.clean=",
        "commit",
        "--quiet",
        "--message=y",
    ]);
    let _ = std::fs::remove_file(user.path("ran"));
    let before = user.git(&["count-objects", "-v"]);
    assert!(
        !ask(&user, &start, &result),
        "only the driver could have told"
    );
    assert_eq!(user.ran(), "");
    assert_eq!(user.git(&["count-objects", "-v"]), before);
}

#[test]
fn changed_paths_are_those_since_the_fork() {
    let user = numbered();
    let (_, result) = two_commits(&user);
    user.commit("base.txt", "the base's own\n");
    let git = Git::open(user.top()).unwrap();
    let paths = still_changed(&git, "main", &result).unwrap();
    assert_eq!(Vec::from_iter(paths), ["a.txt", "b.txt"]);
    user.git(&["switch", "--quiet", "--orphan", "alone"]);
    user.git(&["rm", "-r", "--quiet", "--force", "--ignore-unmatch", "."]);
    let alone = user.commit("x.txt", "x\n");
    let paths = still_changed(&git, "main", &alone).unwrap();
    assert_eq!(Vec::from_iter(paths), ["x.txt"]);
}

/// How work gets to the base.
#[derive(Clone, Copy, Debug)]
enum How {
    Not,
    Merge,
    FastForward,
    Squash,
    Rebase,
    /// As a squash, with one line that is not the same.
    Almost,
}

type Edits = BTreeMap<usize, String>;

fn edits(at: std::ops::Range<usize>) -> impl Strategy<Value = Edits> {
    proptest::collection::btree_map(at, "[xyz]", 1..3)
}

fn history() -> impl Strategy<Value = (Vec<Edits>, Vec<Edits>, Vec<Edits>, How)> {
    let how = prop_oneof![
        Just(How::Not),
        Just(How::Merge),
        Just(How::FastForward),
        Just(How::Squash),
        Just(How::Rebase),
        Just(How::Almost),
    ];
    let branch = proptest::collection::vec(edits(0..12), 1..4);
    let before = proptest::collection::vec(edits(20..40), 0..3);
    let after = proptest::collection::vec(edits(0..40), 0..3);
    (branch, before, after, how)
}

fn arrive(user: &User, how: How, total: &Edits) {
    match how {
        How::Not => {}
        How::Merge => {
            user.git(&["merge", "--quiet", "--no-ff", "work"]);
        }
        How::FastForward => {
            user.git(&["switch", "--quiet", "work"]);
            user.git(&["rebase", "--quiet", "main"]);
            user.git(&["switch", "--quiet", "main"]);
            user.git(&["merge", "--quiet", "--ff-only", "work"]);
        }
        How::Squash => {
            user.git(&["merge", "--quiet", "--squash", "work"]);
            user.git(&["commit", "--quiet", "--allow-empty", "--message=All of it"]);
        }
        How::Rebase => {
            user.git(&["cherry-pick", "--allow-empty", "main..work"]);
        }
        How::Almost => {
            user.git(&["merge", "--quiet", "--squash", "work"]);
            let line = total.keys().next().copied().unwrap_or(0);
            let text = std::fs::read_to_string(user.top().join("a.txt")).unwrap();
            let mut text: Vec<&str> = text.lines().collect();
            text[line] = "another";
            user.commit("a.txt", &(text.join("\n") + "\n"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn work_is_merged_exactly_when_it_arrived((branch, before, after, how) in history()) {
        let user = numbered();
        let start = user.rev("HEAD");
        user.git(&["switch", "--quiet", "--create", "work"]);
        let mut total = Edits::new();
        for (number, step) in branch.iter().enumerate() {
            total.extend(step.clone());
            user.write("a.txt", lines(&total));
            user.git(&["add", "--all"]);
            let message = format!("--message=Step {number}");
            user.git(&["commit", "--quiet", "--allow-empty", &message]);
        }
        let result = user.rev("HEAD");
        user.git(&["switch", "--quiet", "main"]);
        let mut base = Edits::new();
        for step in &before {
            base.extend(step.clone());
            user.write("a.txt", lines(&base));
            user.git(&["add", "--all"]);
            user.git(&["commit", "--quiet", "--allow-empty", "--message=Base"]);
        }
        arrive(&user, how, &total);
        let arrived = !matches!(how, How::Not | How::Almost);
        prop_assert_eq!(ask(&user, &start, &result), arrived, "{:?}", how);
        // What follows on the base takes nothing back, and brings nothing about but the same lines by chance.
        let mut text: Vec<String> = std::fs::read_to_string(user.top().join("a.txt")).unwrap().lines().map(str::to_owned).collect();
        for step in after {
            for (line, _) in step {
                text[line] = format!("later {line}");
            }
            user.write("a.txt", text.join("\n") + "\n");
            user.git(&["add", "--all"]);
            user.git(&["commit", "--quiet", "--allow-empty", "--message=Later"]);
        }
        prop_assert_eq!(ask(&user, &start, &result), arrived, "{:?}, later", how);
    }
}
