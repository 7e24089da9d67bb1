//! What git says of a work tree before and after an agent: the only record of changes that is not a claim.
//!
//! The files are put into a tree of an index and an object folder of the run's own, so that nothing in the repository
//! changes, and a work tree that was dirty from the start is told from one that the agent changed.

use std::path::Path;
use std::time::Duration;

use crate::git::copy_index;
use crate::{Bounds, Git};

/// What git may spend on one answer; it reads every file that has changed.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_mins(1),
    bytes: 64 << 20,
};

/// What was there before an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before {
    pub(crate) branch: Option<String>,
    pub(crate) head: Option<String>,
    pub(crate) tree: Option<String>,
}

/// What is there after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct After {
    pub(crate) head: Option<String>,
    pub(crate) dirty: Option<bool>,
    pub(crate) changed_files: Option<Vec<String>>,
}

/// Looks at a work tree before an agent; a folder that is not one has nothing to tell.
pub(crate) fn before(cwd: &Path, folder: &Path) -> Before {
    let Ok(git) = Git::open(cwd) else {
        return Before::default();
    };
    // One question for everything that costs next to nothing; it fails where there is no commit yet.
    let asked = [
        &PATHS[..],
        &["HEAD^{commit}", "--symbolic-full-name", "HEAD"],
    ]
    .concat();
    let [index, objects, head, branch] = match lines(&git, &asked) {
        Some(found) => found.map(Some),
        None => {
            let [index, objects] =
                lines(&git, &PATHS).map_or([None, None], |found| found.map(Some));
            [
                index,
                objects,
                None,
                line(&git, &["symbolic-ref", "--quiet", "HEAD"]),
            ]
        }
    };
    let own = index
        .zip(objects)
        .and_then(|paths| Own::of(&git, folder, &paths));
    Before {
        // Without a branch, git names `HEAD` itself.
        branch: branch.and_then(|name| Some(name.strip_prefix("refs/heads/")?.to_owned())),
        head,
        tree: own.and_then(|own| own.tree()),
    }
}

/// Looks at it again; `start` is the tree that was there before.
pub(crate) fn after(cwd: &Path, folder: &Path, start: Option<&str>) -> After {
    let Ok(git) = Git::open(cwd) else {
        return After::default();
    };
    let args = [
        "status",
        "--porcelain=v2",
        "--branch",
        "--no-ahead-behind",
        "-z",
    ];
    let status = git.run(&args, BOUNDS).ok();
    let fields = |status: &[u8]| -> Vec<Vec<u8>> {
        let fields = status.split(|byte| *byte == 0);
        fields
            .filter(|field| !field.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    };
    let fields = status.as_deref().map(fields);
    let changed = || {
        let [index, objects] = lines(&git, &PATHS)?;
        let own = Own::of(&git, folder, &(index, objects))?;
        own.changed(start?, &own.tree()?)
    };
    After {
        head: fields.as_ref().and_then(|fields| head(fields)),
        dirty: fields.map(|fields| fields.iter().any(|field| !field.starts_with(b"# "))),
        changed_files: changed(),
    }
}

/// Returns the commit that the status of a work tree names.
fn head(fields: &[Vec<u8>]) -> Option<String> {
    let hash_text = fields
        .iter()
        .find_map(|field| field.strip_prefix(b"# branch.oid "))?;
    let hash = String::from_utf8(hash_text.to_vec()).ok()?;
    Some(hash).filter(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn line(git: &Git, args: &[&str]) -> Option<String> {
    let said = String::from_utf8(git.run(args, BOUNDS).ok()?).ok()?;
    Some(said.trim_end_matches('\n').to_owned()).filter(|line| !line.is_empty())
}

/// Returns an answer of so many lines; a path with a line break in it has another number of them, and is not taken apart.
fn lines<const COUNT: usize>(git: &Git, args: &[&str]) -> Option<[String; COUNT]> {
    let said = line(git, args)?;
    let lines: Vec<String> = said.split('\n').map(str::to_owned).collect();
    lines.try_into().ok()
}

/// Asks where the index and the objects are.
const PATHS: [&str; 6] = [
    "rev-parse",
    "--path-format=absolute",
    "--git-path",
    "index",
    "--git-path",
    "objects",
];

/// A git that writes to the folder of the run and nowhere else.
struct Own(Git);

impl Own {
    /// Takes the index of a repository along; the paths are those of the index and of the objects.
    fn of(git: &Git, folder: &Path, (index, objects): &(String, String)) -> Option<Self> {
        std::fs::create_dir_all(folder.join("objects")).ok()?;
        // Where nothing was ever added there is no index, and everything is new.
        let _ = copy_index(Path::new(index), &folder.join("index"));
        Some(Self(
            git.clone()
                .with_env("GIT_INDEX_FILE", folder.join("index"))
                .with_env("GIT_OBJECT_DIRECTORY", folder.join("objects"))
                .with_env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects),
        ))
    }

    /// Returns the tree that the files of the work tree make, those that git ignores left out.
    fn tree(&self) -> Option<String> {
        self.0.run(&["add", "--all"], BOUNDS).ok()?;
        line(&self.0, &["write-tree"])
    }

    /// Returns the files that differ between two trees.
    fn changed(&self, start: &str, end: &str) -> Option<Vec<String>> {
        if start == end {
            return Some(Vec::new());
        }
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--name-only",
            start,
            end,
        ];
        let said = self.0.run(&args, BOUNDS).ok()?;
        let names = said.split(|byte| *byte == 0);
        let names = names.filter(|name| !name.is_empty());
        Some(
            names
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .collect(),
        )
    }
}
