//! The main checkout, compared before and after a run: nobody but its owner may change it while an agent works elsewhere.
//!
//! Looks, and changes nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use callsheet::Fingerprint;
use serde::{Deserialize, Serialize};

use crate::{Bounds, Git, RunError};

/// What git may spend on one answer.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_mins(1),
    bytes: 64 << 20,
};

/// Refs that belong to tasks, and those that follow a remote: they move without anybody working in the main checkout.
const FOREIGN: [&str; 3] = ["refs/heads/callsheet/", "refs/callsheet/", "refs/remotes/"];

/// What a checkout was like at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkout {
    /// `HEAD`, the branches and tags, the configuration and the hooks, each with what it holds.
    pub state: BTreeMap<String, String>,
    /// Files that differ from `HEAD`, each with how it differs.
    pub files: BTreeMap<String, String>,
}

impl Checkout {
    /// Looks at the checkout in a directory; `home` is where the program keeps what belongs to the project.
    pub fn look(root: &Path, home: &Path) -> Result<Self, RunError> {
        let git = Git::open(root)?;
        let common = git.run(
            &["rev-parse", "--path-format=absolute", "--git-common-dir"],
            BOUNDS,
        )?;
        let common = String::from_utf8_lossy(&common).trim_end().to_owned();
        let common = Path::new(&common);
        let mut state = refs(&git)?;
        let head = std::fs::read_to_string(root.join(".git/HEAD"));
        let head = head.or_else(|_| std::fs::read_to_string(common.join("HEAD")));
        state.insert(
            "HEAD".to_owned(),
            head.unwrap_or_default().trim().to_owned(),
        );
        state.insert("config".to_owned(), hash(&common.join("config")));
        for hook in std::fs::read_dir(common.join("hooks"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = format!("hooks/{}", hook.file_name().to_string_lossy());
            state.insert(name, hash(&hook.path()));
        }
        Ok(Self {
            state,
            files: files(&git, root, home)?,
        })
    }

    /// Names what is not as it was, sorted.
    pub fn differences(&self, after: &Self) -> Vec<String> {
        let mut names = differing(&self.state, &after.state);
        names.extend(differing(&self.files, &after.files));
        names.sort();
        names
    }
}

fn differing(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let other = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(*value))
        .map(|(name, _)| name);
    gone.chain(other).cloned().collect()
}

fn refs(git: &Git) -> Result<BTreeMap<String, String>, RunError> {
    let said = git.run(
        &["for-each-ref", "--format=%(refname) %(objectname)"],
        BOUNDS,
    )?;
    let said = String::from_utf8_lossy(&said);
    let pairs = said.lines().filter_map(|line| line.split_once(' '));
    let own = pairs.filter(|(name, _)| !FOREIGN.iter().any(|prefix| name.starts_with(prefix)));
    Ok(own
        .map(|(name, hash)| (name.to_owned(), hash.to_owned()))
        .collect())
}

/// Returns the files that git calls changed or does not know; what changes again has another time or size.
fn files(git: &Git, root: &Path, home: &Path) -> Result<BTreeMap<String, String>, RunError> {
    let args = [
        "status",
        "--porcelain=v1",
        "--no-renames",
        "--untracked-files=all",
        "-z",
    ];
    let said = git.run(&args, BOUNDS)?;
    let mut files = BTreeMap::new();
    for entry in said
        .split(|byte| *byte == 0)
        .filter(|entry| entry.len() > 3)
    {
        let (how, name) = entry.split_at(3);
        let name = String::from_utf8_lossy(name).into_owned();
        let path = root.join(&name);
        if path.starts_with(home) {
            continue;
        }
        let seen = std::fs::symlink_metadata(&path).map_or_else(
            |_| "absent".to_owned(),
            |file| {
                format!(
                    "{:o} {} {}.{}",
                    file.mode(),
                    file.size(),
                    file.mtime(),
                    file.mtime_nsec()
                )
            },
        );
        files.insert(
            name,
            format!("{} {seen}", String::from_utf8_lossy(how).trim()),
        );
    }
    Ok(files)
}

fn hash(path: &Path) -> String {
    std::fs::read(path).map_or_else(
        |_| "absent".to_owned(),
        |bytes| Fingerprint::of(bytes).to_string(),
    )
}
