//! Clones of one project, and refs of a task on their way between them.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::repository::test_user::User;

mod bundles;
mod killed;
mod remotes;
mod worktrees;

const BRANCH: &str = "callsheet/task-t1";

/// A project with a bare repository, and clones of it.
struct World {
    user: User,
    runs: Vec<String>,
}

/// A clone with the branch of the task, each commit of it made without a work tree.
struct Side<'a> {
    world: &'a World,
    top: PathBuf,
    repository: Repository,
}

impl World {
    /// Makes a repository `remote.git` with two commits on `main`.
    fn new() -> Self {
        let user = User::with_commit();
        user.commit("a.txt", "two\n");
        user.git(&["clone", "--quiet", "--bare", ".", "../remote.git"]);
        let runs = ["r1", "r2", "r3"].map(str::to_owned).into();
        Self { user, runs }
    }

    fn parcel(&self) -> Parcel<'_> {
        Parcel {
            task: "t1",
            branch: BRANCH,
            runs: &self.runs,
            base: "main",
        }
    }

    fn clone(&self, name: &str) -> Side<'_> {
        let top = self.user.path(name);
        let home = self.user.path("home");
        let (from, to) = ("../remote.git", format!("../{name}"));
        self.user.git_in(&home, &["clone", "--quiet", from, &to]);
        fs::create_dir(top.join(".callsheet")).unwrap();
        fs::write(top.join(".git/info/exclude"), ".callsheet/\n").unwrap();
        self.side(name)
    }

    fn side(&self, name: &str) -> Side<'_> {
        let top = self.user.path(name);
        Side {
            world: self,
            repository: Repository::open_with(&top, &self.user.env()).unwrap(),
            top,
        }
    }

    /// Returns the refs of the remote but `main`, a line each.
    fn remote_refs(&self) -> String {
        refs(&self.user, &self.user.path("remote.git"))
    }
}

/// Returns refs with the subjects of their commits; a hash in a name is the subject of what it names.
fn refs(user: &User, at: &std::path::Path) -> String {
    let format = "--format=%(refname) %(contents:subject)";
    let shown = user.git_in(
        at,
        &["for-each-ref", format, "refs/heads", "refs/callsheet"],
    );
    let shown = shown.lines().filter(|line| !line.contains("heads/main"));
    let named = |line: &str| {
        let (name, subject) = line.split_once(' ').unwrap();
        let name = match name.rsplit_once('/') {
            Some((before, hash)) if is_hash(hash) => {
                let subject = user.git_in(at, &["log", "-1", "--format=%s", hash]);
                format!("{before}/[{subject}]")
            }
            _ => name.to_owned(),
        };
        format!("{name} {subject}")
    };
    let mut shown: Vec<String> = shown.map(named).collect();
    shown.sort();
    shown.join("\n")
}

impl Side<'_> {
    fn home(&self) -> PathBuf {
        self.top.join(".callsheet")
    }

    fn git(&self, args: &[&str]) -> String {
        self.world.user.git_in(&self.top, args)
    }

    fn refs(&self) -> String {
        refs(&self.world.user, &self.top)
    }

    /// Returns the commit that a name means, or nothing.
    fn rev(&self, name: &str) -> Option<String> {
        self.repository.rev(name).unwrap()
    }

    /// Adds a commit with a file of its own to the branch, which begins at `main`.
    fn work(&self, subject: &str) -> String {
        let branch = format!("refs/heads/{BRANCH}");
        let parent = self.rev(&branch).or_else(|| self.rev("main")).unwrap();
        let made = self.commit_on(&parent, subject);
        self.git(&["update-ref", &branch, &made]);
        made
    }

    fn commit_on(&self, parent: &str, subject: &str) -> String {
        let path = self.world.user.path("blob");
        fs::write(&path, subject).unwrap();
        let blob = self.git(&["hash-object", "-w", path.to_str().unwrap()]);
        let entry = format!("100644 blob {blob}\t{subject}\n");
        let list = self.git(&["ls-tree", "-r", parent]) + "\n" + &entry;
        let tree = ask_with(
            self.repository.command(&["mktree", "--missing"]),
            file_of(list.as_bytes()).unwrap(),
            "git mktree",
            QUICK,
            false,
        );
        let tree = String::from_utf8(tree.unwrap()).unwrap();
        let args = ["commit-tree", tree.trim_end(), "-p", parent, "-m", subject];
        self.git(&args)
    }

    /// Makes the tip of the branch the result of a run.
    fn result(&self, run: &str) {
        let name = format!("refs/callsheet/runs/{run}");
        self.git(&["update-ref", &name, &format!("refs/heads/{BRANCH}")]);
    }

    fn publish(&self, owns_newest: bool) -> Result<Delivery, RunError> {
        let parcel = self.world.parcel();
        publish_to_remote(&self.repository, &parcel, "origin", owns_newest)
    }

    fn bring(&self) -> Result<Delivery, RunError> {
        let parcel = self.world.parcel();
        bring_from_remote(&self.repository, &self.home(), &parcel, "origin")
    }

    fn pack(&self) -> Vec<u8> {
        let packed = pack(&self.repository, &self.world.parcel());
        packed.unwrap().unwrap()
    }

    fn unpack(&self, bytes: &[u8]) -> Result<Delivery, RunError> {
        let parcel = self.world.parcel();
        unpack(&self.repository, &self.home(), &parcel, bytes)
    }

    fn fsck(&self) {
        self.git(&["fsck", "--strict", "--no-dangling", "--connectivity-only"]);
    }
}

fn delivery(branch: Tip, runs: &[&str]) -> Delivery {
    Delivery {
        branch,
        runs: runs.iter().map(|&run| run.to_owned()).collect(),
        ignored: Vec::new(),
    }
}

/// Returns an error with the place of the test left out.
fn error_text(world: &World, error: &RunError) -> String {
    let place = world.user.path("");
    error.to_string().replace(place.to_str().unwrap(), "/")
}

#[test]
fn names_that_are_options_or_patterns_are_refused() {
    let world = World::new();
    let side = world.clone("a");
    let good = world.parcel();
    let runs = ["--all".to_owned()];
    let bad = [
        Parcel { task: "-t", ..good },
        Parcel { task: "", ..good },
        Parcel {
            task: "../x",
            ..good
        },
        Parcel {
            runs: &runs,
            ..good
        },
        Parcel {
            branch: "-b",
            ..good
        },
        Parcel {
            branch: "callsheet/-b",
            ..good
        },
        Parcel {
            branch: "callsheet/*",
            ..good
        },
        Parcel {
            branch: "a..b",
            ..good
        },
        Parcel {
            branch: "a b\n",
            ..good
        },
        Parcel {
            base: "--all",
            ..good
        },
    ];
    let home = side.home();
    let mut all = String::new();
    for parcel in bad {
        let repository = &side.repository;
        let errors = [
            publish_to_remote(repository, &parcel, "origin", true).unwrap_err(),
            bring_from_remote(repository, &home, &parcel, "origin").unwrap_err(),
            pack(repository, &parcel).unwrap_err(),
            unpack(repository, &home, &parcel, b"").unwrap_err(),
        ];
        let errors = errors.map(|error| error.to_string());
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        all += &format!("{}\n", errors[0]);
    }
    for remote in ["--upload-pack=evil", ""] {
        let error = bring_from_remote(&side.repository, &home, &good, remote).unwrap_err();
        assert_eq!(
            error.to_string(),
            publish_to_remote(&side.repository, &good, remote, true)
                .unwrap_err()
                .to_string()
        );
        all += &format!("{error}\n");
    }
    insta::assert_snapshot!(all, @r"
    `-t` is not a name for a task, a run or their branch
    `` is not a name for a task, a run or their branch
    `../x` is not a name for a task, a run or their branch
    `--all` is not a name for a task, a run or their branch
    `-b` is not a name for a task, a run or their branch
    `callsheet/-b` is not a name for a task, a run or their branch
    `callsheet/*` is not a name for a task, a run or their branch
    `a..b` is not a name for a task, a run or their branch
    `a b\n` is not a name for a task, a run or their branch
    `--all` is not a name for a base branch
    `--upload-pack=evil` is not a name for a remote
    `` is not a name for a remote
    ");
}

#[test]
fn the_remote_is_the_one_that_is_set_or_origin() {
    let world = World::new();
    let side = world.clone("a");
    let of = |setting| remote(&side.repository, setting).map_err(|error| error.to_string());
    assert_eq!(of(None), Ok(Some("origin".to_owned())));
    assert_eq!(of(Some("up")), Err("no remote `up`".to_owned()));
    assert_eq!(
        of(Some("-u")),
        Err("`-u` is not a name for a remote".to_owned())
    );
    side.git(&["remote", "rename", "origin", "up"]);
    assert_eq!(of(None), Ok(None));
    assert_eq!(of(Some("up")), Ok(Some("up".to_owned())));
}
