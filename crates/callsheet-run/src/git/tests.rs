//! Repositories that want to run something, and names that want to be something else.

use std::process::Stdio;

use tempfile::TempDir;

use super::*;

const BOUNDS: Bounds = Bounds {
    time: TIME,
    bytes: 1024 * 1024,
};

/// Makes a repository; `git` is the plain one, as its owner would use it.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]);
        command.args(args).current_dir(self.path());
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .stdout(Stdio::null());
        assert!(command.status().unwrap().success(), "{args:?}");
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=A commit"]);
    }

    fn open(&self) -> Git {
        Git::open(self.path()).unwrap()
    }
}

fn text(answer: Result<Vec<u8>, RunError>) -> String {
    String::from_utf8(answer.unwrap()).unwrap()
}

#[test]
fn status_diff_and_log_are_plain() {
    let repository = Repository::new();
    repository.write("a.txt", "one\n");
    repository.commit();
    repository.write("a.txt", "two\n");
    repository.write("new/b.txt", "new\n");
    // None of these may show.
    for (key, value) in [
        ("color.ui", "always"),
        ("diff.noprefix", "true"),
        ("diff.context", "0"),
        ("status.short", "true"),
        ("log.decorate", "full"),
        ("core.abbrev", "40"),
    ] {
        repository.git(&["config", key, value]);
    }
    let git = repository.open();
    insta::assert_snapshot!(text(git.status(BOUNDS)), @r#"
    On branch main
    Changes not staged for commit:
      (use "git add <file>..." to update what will be committed)
      (use "git restore <file>..." to discard changes in working directory)
    	modified:   a.txt

    Untracked files:
      (use "git add <file>..." to include in what will be committed)
    	new/

    no changes added to commit (use "git add" and/or "git commit -a")
    "#);
    insta::assert_snapshot!(text(git.diff_worktree(&[], BOUNDS)), @r"
    diff --git a/a.txt b/a.txt
    index 5626abf0f72e..f719efd430d5 100644
    --- a/a.txt
    +++ b/a.txt
    @@ -1 +1 @@
    -one
    +two
    diff --git a/new/b.txt b/new/b.txt
    new file mode 100644
    index 000000000000..3e757656cf36
    --- /dev/null
    +++ b/new/b.txt
    @@ -0,0 +1 @@
    +new
    ");
    let log = text(git.log(5, None, BOUNDS));
    let (hash, subject) = log.split_once(' ').unwrap();
    assert_eq!((hash.len(), subject), (12, "A commit\n"));
    let index = fs::read(repository.path().join(".git/index")).unwrap();
    drop(text(git.diff_worktree(&[], BOUNDS)));
    assert_eq!(
        index,
        fs::read(repository.path().join(".git/index")).unwrap()
    );
}

#[test]
fn a_folder_of_a_repository_is_seen_from_within() {
    let repository = Repository::new();
    repository.write("in/a.txt", "one\n");
    repository.write("out.txt", "one\n");
    let git = Git::open(repository.path().join("in")).unwrap();
    assert_eq!(git.top(), repository.path());
    let first = text(git.diff_worktree(&["--raw", "-z", "--no-renames"], BOUNDS));
    assert!(
        first.ends_with(" A\0a.txt\0"),
        "without any commit: {first:?}"
    );
    repository.commit();
    repository.write("in/a.txt", "two\n");
    repository.write("out.txt", "two\n");
    repository.write("in/b.txt", "new\n");
    let names = text(git.diff_worktree(&["--name-only"], BOUNDS));
    assert_eq!(names, "a.txt\nb.txt\n");
    let outside = tempfile::tempdir().unwrap();
    let error = Git::open(outside.path()).unwrap_err().to_string();
    assert_eq!(error, "not a git repository");
}

#[test]
fn nothing_of_a_repository_is_run() {
    let repository = Repository::new();
    repository.write("a.txt", "one\n");
    repository.write("b.bin", "one\n");
    repository.commit();
    let trace = repository.path().join(".git/was-run");
    let program = repository.path().join(".git/evil");
    let script = format!("#!/bin/sh\necho \"$0\" >> {}\ncat\n", trace.display());
    fs::write(&program, script).unwrap();
    let mut mode = fs::metadata(&program).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(&program, mode).unwrap();
    fs::create_dir_all(repository.path().join(".git/hooks")).unwrap();
    for hook in ["post-index-change", "fsmonitor-watchman", "query-watchman"] {
        fs::copy(&program, repository.path().join(".git/hooks").join(hook)).unwrap();
    }
    let evil = program.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "diff.external",
        "diff.mine.command",
        "diff.mine.textconv",
        "filter.a=b.clean",
        "filter.mine.clean",
        "filter.mine.smudge",
        "filter.mine.process",
        "gpg.program",
        "pager.diff",
        "pager.status",
    ] {
        repository.git(&["config", key, evil]);
    }
    repository.git(&["config", "filter.mine.required", "true"]);
    repository.git(&["config", "log.showSignature", "true"]);
    repository.git(&["config", "core.worktree", "/etc"]);
    repository.write(
        ".gitattributes",
        "* filter=mine diff=mine\nb.bin filter=a=b\n",
    );
    repository.write("a.txt", "two\n");
    repository.write("b.bin", "two\n");
    repository.write("c.txt", "new\n");
    let git = repository.open();
    let _ = fs::remove_file(&trace);
    text(git.status(BOUNDS));
    let diff = text(git.diff_worktree(&["--find-renames"], BOUNDS));
    assert!(diff.contains("+two") && diff.contains("+new"), "{diff}");
    text(git.diff(&["--cached", "HEAD", "--"], BOUNDS));
    text(git.log(3, None, BOUNDS));
    assert_eq!(
        text(git.run(&["cat-file", "blob", "HEAD:./a.txt"], BOUNDS)),
        "one\n"
    );
    let run = fs::read_to_string(&trace).unwrap_or_default();
    assert_eq!(run, "", "a program of the repository was run");
}

#[test]
fn a_missing_object_is_not_fetched() {
    let repository = Repository::new();
    repository.write("a.txt", "one\n");
    repository.commit();
    let trace = repository.path().join(".git/was-run");
    let url = format!("ext::sh -c touch% {}", trace.display());
    for (key, value) in [
        ("remote.origin.url", url.as_str()),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
        ("protocol.ext.allow", "always"),
    ] {
        repository.git(&["config", key, value]);
    }
    let objects = repository.path().join(".git/objects");
    let blob = objects.join("56/26abf0f72e58d7a153368ba57db4c673c0e171");
    fs::remove_file(blob).unwrap();
    repository.write("a.txt", "two\n");
    let git = repository.open();
    assert!(git.diff_worktree(&[], BOUNDS).is_err());
    assert!(!trace.exists(), "a transport of the repository was run");
}

#[test]
fn a_large_diff_is_refused_within_its_bound() {
    let repository = Repository::new();
    repository.write("large.txt", "0123456789\n".repeat(5_000_000));
    let error = repository.open().diff_worktree(&[], BOUNDS).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`git diff` printed more than 1048576 bytes"
    );
}
