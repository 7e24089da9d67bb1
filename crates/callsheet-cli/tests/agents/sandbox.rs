//! Agents in the sandbox: what they can write, what they cannot, and that nothing of them is left all the same.

#![expect(
    clippy::unwrap_used,
    reason = "a file that cannot be used fails the test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use callsheet_run::launch::{Step, Word};
use callsheet_run::sandbox::{Sandbox, Support, WHOLE_ABI, git_paths, support};

use crate::agent::{Agent, PROGRAM, survivors, until, without_counts};

/// Tells whether the kernel can do what these tests are about; they say so where it cannot, and fail in CI.
fn is_there() -> bool {
    let is_there = matches!(support(), Support::Landlock { abi } if abi >= WHOLE_ABI);
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "skipped: no Landlock");
        let _ = writeln!(std::io::stderr(), "skipped: the kernel has no Landlock");
    }
    is_there
}

impl Agent {
    /// Lets the agent write here and nowhere else.
    fn sandboxed(mut self, write: &[&Path]) -> Self {
        let write = write.iter().map(|path| path.to_path_buf()).collect();
        self.launch.sandbox = Some(Sandbox { write });
        self
    }

    /// Lets the agent write in its own directory.
    fn at_home(self) -> Self {
        let folder = self.path("");
        self.sandboxed(&[&folder])
    }
}

/// Returns everything below a directory: what it is, and what is in it.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(everything(&path));
            found.insert(path, b"a directory".to_vec());
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            found.insert(path, target.into_os_string().into_encoded_bytes());
        } else {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
    found
}

/// Makes a script that tries each line and prints a line with its exit code.
fn tried(attempts: &[&str]) -> String {
    let mut script = String::new();
    for line in attempts {
        script.push_str(&format!("( {line} ) >/dev/null 2>&1; echo $?\n"));
    }
    script
}

/// Fails if one of the lines that an agent tried went through.
#[track_caller]
fn assert_refused(attempts: &[&str], agent: &Agent) {
    let stdout = agent.stdout();
    let codes: Vec<&str> = stdout.lines().collect();
    assert_eq!(codes.len(), attempts.len(), "{stdout}");
    let pairs = attempts.iter().zip(codes);
    let went_through: Vec<&&str> = pairs
        .filter(|(_, code)| *code == "0")
        .map(|(line, _)| line)
        .collect();
    assert_eq!(went_through, Vec::<&&str>::new());
}

/// A directory that no agent may write, but for one file in it.
struct Outside(tempfile::TempDir);

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "as it was\n").unwrap();
        fs::write(folder.path().join("named"), "one\n").unwrap();
        fs::create_dir(folder.path().join("empty")).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// What nobody in the sandbox can do to what is outside, `$O`.
const OUTSIDE: [&str; 18] = [
    "echo x >$O/new",
    "echo x >$O/file",
    "echo x >>$O/file",
    "python3 -c 'import os, sys; os.truncate(sys.argv[1], 0)' $O/file",
    "python3 -c 'import os, sys; os.open(sys.argv[1], os.O_RDONLY | os.O_TRUNC)' $O/file",
    "rm $O/file",
    "mv $O/file $O/other",
    "mv $O/file here",
    "ln $O/file here",
    "touch mine && mv mine $O/mine",
    "touch mine && ln mine $O/mine",
    "ln -s $O/file $O/link",
    "mkdir $O/folder",
    "rmdir $O/empty",
    "mkfifo $O/pipe",
    "rm $O/named",
    "ln -s $O link && echo x >link/new",
    "echo x >/proc/self/root$O/new",
];

#[test]
fn without_the_sandbox_all_of_it_can_be_done() {
    for line in OUTSIDE {
        let (outside, home) = (Outside::new(), tempfile::tempdir().unwrap());
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", line]).env("O", outside.path());
        assert!(
            shell.current_dir(&home).status().unwrap().success(),
            "{line}"
        );
    }
    for line in REPOSITORY {
        let repository = Repository::new();
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", line]).env("MAIN", repository.main());
        fs::write(repository.worktree().join("file"), "changed\n").unwrap();
        let done = shell.current_dir(repository.worktree()).output().unwrap();
        assert!(done.status.success(), "{line}: {done:?}");
    }
}

#[test]
fn only_what_is_named_can_be_written() {
    if !is_there() {
        return;
    }
    let outside = Outside::new();
    let before = everything(outside.path());
    let agent = Agent::new(&tried(&OUTSIDE));
    let (home, named) = (agent.path(""), outside.path().join("named"));
    let mut agent = agent.sandboxed(&[
        &home,
        &named,
        Path::new("/not/there"),
        Path::new("relative"),
    ]);
    let shown = outside.path().display().to_string();
    agent.launch.env.insert("O".into(), shown.clone());
    insta::assert_snapshot!(
        agent.play().replace(&shown, "[OUTSIDE]"), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"sandboxed","abi":"[ABI]","write":["[FOLDER]/","[OUTSIDE]/named"]}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"exited","code":0,"signal":null,"read":null}
    {"step":"done"}
    "#);
    assert_refused(&OUTSIDE, &agent);
    assert_eq!(everything(outside.path()), before);
}

#[test]
fn what_is_named_can_be_written_and_everything_read() {
    if !is_there() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let named = outside.path().join("named");
    fs::write(&named, "one\n").unwrap();
    let other = outside.path().join("other");
    fs::create_dir(&other).unwrap();
    let agent = Agent::new(
        "set -e
        echo two >>\"$NAMED\"; cat \"$NAMED\"
        mkdir a; echo x >a/b; mv a/b c; ln c a/d; ln -s c e; rm c; mkfifo p; rmdir \"$OTHER/x\" 2>/dev/null || mkdir \"$OTHER/x\"
        mv a/d \"$OTHER/moved\"; cat \"$OTHER/moved\"
        echo n >/dev/null; echo z >/dev/zero; head -c 1 /dev/urandom >/dev/null
        printf s >/dev/shm/callsheet-$$; rm /dev/shm/callsheet-$$
        python3 -c 'import os, pty; pty.spawn([\"true\"]); print(os.ttyname(os.openpty()[1])[:9])'
        head -c 5 /proc/version; echo; test -r /etc/passwd",
    );
    let home = agent.path("");
    let mut agent = agent.sandboxed(&[&home, &named, &other]);
    let env = &mut agent.launch.env;
    env.insert("NAMED".into(), named.display().to_string());
    env.insert("OTHER".into(), other.display().to_string());
    let journal = agent.play();
    assert!(
        journal.contains("\"step\":\"exited\",\"code\":0"),
        "{journal}"
    );
    assert_eq!(agent.stdout(), "one\ntwo\nx\n/dev/pts/\nLinux\n");
}

#[test]
fn what_an_agent_in_the_sandbox_leaves_behind_is_ended() {
    if !is_there() {
        return;
    }
    let agent = Agent::new(
        "setsid sh -c 'setsid sleep 300 & echo $! >twice' & wait
        (trap '' TERM INT HUP; exec setsid env -i \"$(command -v sleep)\" 300) & up $! sleep
        up $(cat twice) sleep; exit 3",
    );
    let agent = agent.at_home();
    insta::assert_snapshot!(agent.play(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"sandboxed","abi":"[ABI]","write":["[FOLDER]/"]}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"exited","code":3,"signal":null,"read":null}
    {"step":"leftovers","names":["sleep","sleep"]}
    {"step":"signalled","signal":"TERM","processes":2,"why":"leftovers"}
    {"step":"signalled","signal":"KILL","processes":1,"why":"leftovers"}
    {"step":"done"}
    "#);
}

#[test]
fn an_agent_in_the_sandbox_is_stopped_and_does_not_outlive_its_driver() {
    if !is_there() {
        return;
    }
    let script = "trap '' TERM; setsid sleep 300 & up $! sleep; echo ready; exec sleep 300";
    let agent = Agent::new(script).at_home();
    let mut supervised = agent.start();
    agent.wait_ready();
    until("its start is on record", || agent.entries().len() > 2);
    supervised.say(Word::Kill);
    until("it is gone", || supervised.is_gone());
    insta::assert_snapshot!(without_counts(&agent.journal()), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"sandboxed","abi":"[ABI]","write":["[FOLDER]/"]}
    {"step":"spawned","process":"[PROCESS]"}
    {"step":"signalled","signal":"KILL","processes":"[COUNT]","why":"kill"}
    {"step":"exited","code":null,"signal":9,"read":null}
    {"step":"done"}
    "#);

    let agent = Agent::new(script).at_home();
    let supervised = agent.start();
    agent.wait_ready();
    drop(supervised);
    until("it is done", || {
        agent.entries().last().map(|entry| entry.step.clone()) == Some(Step::Done)
    });
    assert_eq!(survivors(agent.run()), Vec::<i32>::new());
}

/// A kernel lets a process be put into sixteen sandboxes, one in the other. The next one fails, and so does its agent.
#[test]
fn an_agent_is_not_started_when_it_cannot_be_put_into_the_sandbox() {
    if !is_there() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = |name: String| place.path().join(name);
    let mut agents: Vec<Agent> = Vec::new();
    for depth in (0..17).rev() {
        let script = if depth == 16 {
            "echo up >started".to_owned()
        } else {
            // A supervisor stays as long as somebody could tell it something.
            format!(
                "mkfifo pipe{depth}; exec 3<>pipe{depth}; cat launch{depth} >&3; {PROGRAM} supervise <&3"
            )
        };
        let mut agent = Agent::new(&script).sandboxed(&[place.path()]);
        agent.launch.cwd = place.path().to_owned();
        agent.launch.journal = path(format!("journal{depth}"));
        agent.launch.stdout = path(format!("stdout{depth}"));
        agent.launch.stderr = path(format!("stderr{depth}"));
        if depth > 0 {
            let line = agent.launch.to_line().unwrap();
            fs::write(path(format!("launch{}", depth - 1)), line).unwrap();
        }
        agents.push(agent);
    }
    let first = agents.last().unwrap();
    let journal = first.play();
    assert!(
        journal.contains("\"step\":\"exited\",\"code\":0"),
        "{journal}"
    );
    insta::assert_snapshot!(agents[0].journal(), @r#"
    {"step":"supervising","process":"[PROCESS]"}
    {"step":"not_spawned","why":"the agent cannot be put into the sandbox: failed to restrict the calling thread: Argument list too long (os error 7)","missing":false}
    {"step":"done"}
    "#);
    assert!(!place.path().join("started").exists());
}

/// A repository with a commit, and a linked worktree on a branch of its own.
struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Self { folder };
        let main = repository.main();
        fs::create_dir(&main).unwrap();
        fs::write(main.join("file"), "as it was\n").unwrap();
        for args in [
            "init -q -b main .",
            "config user.name a",
            "config user.email a@b.c",
            "add --all",
            "commit -q -m start",
            "worktree add -q -b callsheet/task-1 ../worktree",
        ] {
            let mut git = Command::new("git");
            let git = git.args(args.split(' ')).current_dir(&main);
            assert!(git.status().unwrap().success(), "{args}");
        }
        repository
    }

    fn main(&self) -> PathBuf {
        self.folder.path().join("main")
    }

    fn worktree(&self) -> PathBuf {
        self.folder.path().join("worktree")
    }

    /// Returns an agent in the worktree that may write what a commit there needs.
    fn agent(&self, script: &str) -> Agent {
        let common = self.main().join(".git");
        let own = common.join("worktrees/worktree");
        let paths = git_paths(&common, &own, "callsheet/task-1");
        let (mut agent, worktree) = (Agent::new(script), self.worktree());
        agent.launch.cwd.clone_from(&worktree);
        let env = &mut agent.launch.env;
        env.insert("MAIN".into(), self.main().display().to_string());
        for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
            env.insert(name.into(), "/dev/null".into());
        }
        let write: Vec<&Path> = paths
            .iter()
            .chain([&worktree])
            .map(PathBuf::as_path)
            .collect();
        agent.sandboxed(&write)
    }

    /// Returns the main checkout, byte by byte, without what every worktree shares.
    fn untouched(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let common = self.main().join(".git");
        let mut found = everything(&self.main());
        let shared = git_paths(
            &common,
            &common.join("worktrees/worktree"),
            "callsheet/task-1",
        );
        found.retain(|path, _| !shared.iter().any(|shared| path.starts_with(shared)));
        found
    }
}

/// What nobody in the sandbox of a worktree can do to the main checkout, and to what all worktrees share.
const REPOSITORY: [&str; 24] = [
    "git -C $MAIN commit -q --allow-empty -m mine",
    "GIT_DIR=$MAIN/.git git commit -q --allow-empty -m mine",
    "GIT_DIR=$MAIN/.git GIT_WORK_TREE=. git add --all",
    "git -C $MAIN checkout -q -b other",
    "git -C $MAIN reset -q --hard HEAD",
    "git -C $MAIN add --all",
    "git update-ref refs/heads/main $(git commit-tree -m mine HEAD^{tree})",
    "git stash",
    "git branch other",
    "git tag mine",
    "git config core.editor mine",
    "git worktree add ../another",
    "git pack-refs --all",
    "echo x >$MAIN/file",
    "echo x >$MAIN/new",
    "rm $MAIN/file",
    "rm $MAIN/.git/index",
    "echo x >$MAIN/.git/HEAD",
    "echo x >$MAIN/.git/refs/heads/main",
    "echo x >$MAIN/.git/logs/refs/heads/main",
    "echo x >>$MAIN/.git/config",
    "echo x >$MAIN/.git/hooks/post-commit",
    "mkdir $MAIN/.git/worktrees/other",
    "echo x >$MAIN/.git/packed-refs",
];

#[test]
fn a_commit_in_a_worktree_needs_four_directories() {
    let folder = tempfile::tempdir().unwrap();
    let common = folder.path();
    let paths = git_paths(common, &common.join("worktrees/x"), "callsheet/task-1");
    let below: Vec<&Path> = paths
        .iter()
        .map(|path| path.strip_prefix(common).unwrap())
        .collect();
    assert_eq!(
        below,
        [
            "objects",
            "worktrees/x",
            "refs/heads/callsheet",
            "logs/refs/heads/callsheet"
        ]
        .map(Path::new)
    );
    assert!(paths[2].is_dir() && paths[3].is_dir());
    // Every other branch is beside it.
    assert_eq!(git_paths(common, &common.join("w"), "main").len(), 2);
}

#[test]
fn an_agent_commits_in_its_worktree() {
    if !is_there() {
        return;
    }
    let repository = Repository::new();
    let before = repository.untouched();
    let agent = repository.agent(
        "set -e
        for n in 1 2 3; do echo $n >file; echo $n >new$n; git add --all; git commit -q -m \"change $n\"; done
        git commit -q --amend -m last; git reset -q --hard HEAD~1; git rm -q new1; git commit -q -m less
        git status --short; git log --format=%s",
    );
    let journal = agent.play();
    let said = fs::read_to_string(&agent.launch.stderr).unwrap();
    assert!(
        journal.contains("\"step\":\"exited\",\"code\":0"),
        "{journal}\n{said}"
    );
    // Since 2.44, git deletes a ref of its own after each commit, for which it would lock all packed refs. It says that it cannot,
    // and the commit is made all the same.
    let other: Vec<&str> = said
        .lines()
        .filter(|line| !line.contains("main/.git/packed-refs.lock': Permission denied"))
        .collect();
    assert_eq!(other, Vec::<&str>::new());
    assert_eq!(agent.stdout(), "less\nchange 2\nchange 1\nstart\n");
    assert_eq!(repository.untouched(), before);
}

#[test]
fn an_agent_cannot_change_the_main_checkout() {
    if !is_there() {
        return;
    }
    let repository = Repository::new();
    let before = repository.untouched();
    let script = format!("echo changed >file\n{}", tried(&REPOSITORY));
    let agent = repository.agent(&script);
    agent.play();
    assert_refused(&REPOSITORY, &agent);
    assert_eq!(repository.untouched(), before);
}
