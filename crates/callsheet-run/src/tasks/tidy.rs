//! What checks change in a worktree, taken back: it would pass for work of the next agent.
//!
//! Nothing is thrown away: what they made of the files is kept under a ref. The main checkout is never touched.

use std::path::Path;

use super::facts::{own_index, tree};
use crate::RunError;
use crate::workspace::Ground;

/// What a worktree has to look like, and what becomes of the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left<'a> {
    /// The tree that belongs there, or a commit with it.
    pub(crate) tree: &'a str,
    /// The name that keeps whatever else is found.
    pub(crate) name: &'a str,
    /// A tree, or a commit, that need not be kept, because it can be made again.
    pub(crate) known: Option<&'a str>,
}

/// Takes back what checks changed; `folder` is a private directory. Returns the paths that they changed.
pub(crate) fn tidy(
    ground: &Ground,
    folder: &Path,
    left: &Left<'_>,
) -> Result<Vec<String>, RunError> {
    if ground.is_main() {
        return Ok(Vec::new());
    }
    let of = |name: &str| ground.rev(&format!("{name}^{{tree}}"));
    let (index, _) = own_index(ground, folder)?;
    let now = tree(ground, &index)?;
    let Some(wanted) = of(left.tree)?.filter(|wanted| *wanted != now) else {
        return Ok(Vec::new());
    };
    let how = ["diff-tree", "-r", "-z", "--name-only", "--no-renames"];
    let args = [&how[..], &[&wanted, &now]].concat();
    let names = ground.git(&args)?;
    let names = names.split(|byte| *byte == 0);
    let names = names.filter(|name| !name.is_empty());
    let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
    let known = left.known.map(of).transpose()?.flatten();
    if let (Some(head), true) = (ground.rev("HEAD^{commit}")?, known.as_ref() != Some(&now)) {
        let message = format!("What checks of {} of callsheet left behind.\n", left.name);
        let kept = ground.snapshot(&now, &head, &message)?;
        ground.keep_checks(left.name, &kept)?;
    }
    ground.git_on(&index, &["read-tree", "--reset", "-u", &wanted])?;
    Ok(names.collect())
}
