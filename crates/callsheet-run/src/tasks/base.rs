//! The branch that a task starts from and is merged into.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{Bounds, Git, RunError, git};

/// What git may spend on the list of branches.
const BOUNDS: Bounds = Bounds {
    time: git::TIME,
    bytes: 16 << 20,
};

/// Returns the base of a new task: the branch that somebody asks for, else the one that is checked out at the root.
///
/// It has to be there. Nothing comes back where nobody asks for one and none is checked out. A branch that is checked out
/// may be without any commit.
pub fn base(root: &Path, asked: Option<&str>) -> Result<Option<String>, RunError> {
    let git = Git::open(root)?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(git.top()) != real(root) {
        return Err(RunError::Input(format!(
            "`{}` is not the top of its git repository, which is `{}`",
            root.display(),
            git.top().display()
        )));
    }
    let current = match git.run(&["symbolic-ref", "--quiet", "HEAD"], BOUNDS) {
        Ok(name) => branch(&name),
        // HEAD is a commit.
        Err(RunError::Failed { code: Some(1), .. }) => None,
        Err(error) => return Err(error),
    };
    let Some(asked) = asked.filter(|asked| Some(*asked) != current.as_deref()) else {
        return Ok(current);
    };
    let all = git.run(
        &["for-each-ref", "--format=%(refname)", "refs/heads/"],
        BOUNDS,
    )?;
    let names = all.split(|byte| *byte == b'\n').filter_map(branch);
    // A branch without a commit is checked out and not listed.
    let known: BTreeSet<String> = names.chain(current).collect();
    if known.contains(asked) {
        return Ok(Some(asked.to_owned()));
    }
    Err(RunError::Unknown {
        what: "branch",
        name: asked.to_owned(),
        known: known.into_iter().collect(),
    })
}

/// Returns the name of the branch that a line names; a name that is not text is nobody's base.
fn branch(line: impl AsRef<[u8]>) -> Option<String> {
    let line = std::str::from_utf8(line.as_ref()).ok()?;
    Some(line.trim_end().strip_prefix("refs/heads/")?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(folder).env_clear();
        git.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        git.args(["-c", "user.name=n", "-c", "user.email=e@x"])
            .args(args);
        let done = git.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    #[test]
    fn a_base_is_a_branch_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(
            base(root, None).unwrap_err().to_string(),
            "not a git repository"
        );
        git(root, &["init", "--quiet", "--initial-branch=main"]);
        let found = |asked| base(root, asked).unwrap();
        // There is no commit yet.
        assert_eq!(found(None).as_deref(), Some("main"));
        assert_eq!(found(Some("main")).as_deref(), Some("main"));
        let below = root.join("below");
        std::fs::create_dir(&below).unwrap();
        let error = base(&below, None).unwrap_err().to_string();
        assert!(error.contains("` is not the top of its git repository, which is `"));
        git(root, &["commit", "--quiet", "--allow-empty", "--message=x"]);
        git(root, &["branch", "feature/x"]);
        git(root, &["tag", "main"]);
        assert_eq!(found(Some("main")).as_deref(), Some("main"));
        assert_eq!(found(Some("feature/x")).as_deref(), Some("feature/x"));
        let RunError::Unknown { known, .. } = base(root, Some("mian")).unwrap_err() else {
            panic!("there is no such branch");
        };
        assert_eq!(known, ["feature/x", "main"]);
        git(root, &["switch", "--quiet", "--detach", "feature/x"]);
        assert_eq!(found(None), None);
        assert_eq!(found(Some("main")).as_deref(), Some("main"));
        for asked in ["mian", "HEAD", "refs/heads/main", "-x", "", "feature"] {
            let error = base(root, Some(asked)).unwrap_err();
            let RunError::Unknown { what, known, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(
                (what, known.join(" ").as_str()),
                ("branch", "feature/x main"),
                "{asked}"
            );
        }
    }
}
