//! The conflicts of a merge: begun in the worktree of the cycle for an agent, and looked at afterwards.
//!
//! Nothing is resolved here. What the agent says counts for nothing: no path may be unmerged, and no marker may be left.

use std::io::{BufRead as _, BufReader};

use super::spot::Spot;
use crate::RunError;
use crate::git::values;
use crate::merge::titled;
use crate::repository::Identity;

/// How the lines begin that git marks a conflict with.
const MARKERS: [&[u8]; 3] = [b"<<<<<<< ", b"||||||| ", b">>>>>>> "];

impl Spot<'_> {
    /// Begins the merge of the base in the worktree, and leaves its conflicts there.
    pub(super) fn begin_merge(&self) -> Result<(), RunError> {
        self.ready()?;
        let ground = self.ground();
        ground.disarm()?;
        let tip = self.base_tip()?;
        if self.is_within(&tip, &self.head()?)? || ground.rev("MERGE_HEAD")?.as_ref() == Some(&tip)
        {
            return Ok(());
        }
        // What is not committed would be in the way, and is on a ref now.
        self.keep()?;
        ground.git(&["reset", "--quiet", "--hard", "HEAD"])?;
        // git wants to know who merges, although nothing is committed here.
        let set = [
            "user.name=callsheet",
            "user.email=callsheet@localhost",
            "rerere.enabled=false",
        ];
        let set: Vec<&str> = set.iter().flat_map(|set| ["-c", set]).collect();
        let args = [
            "merge",
            "--quiet",
            "--no-ff",
            "--no-commit",
            "--no-stat",
            &tip,
        ];
        let merged = ground.git(&[&set[..], &args].concat());
        match merged {
            Err(error) if ground.rev("MERGE_HEAD")?.is_none() => Err(error),
            // It says by its exit code that there are conflicts.
            Ok(_) | Err(RunError::Failed { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Commits the merge that an agent has resolved; the inner error says what it left.
    pub(super) fn end_merge(
        &self,
        conflicts: &[String],
        keys: &[String],
    ) -> Result<Result<(), String>, RunError> {
        self.ready()?;
        let ground = self.ground();
        ground.disarm()?;
        let tip = self.base_tip()?;
        let head = self.head()?;
        // Somebody was killed who had come this far.
        if self.is_within(&tip, &head)? {
            return Ok(Ok(()));
        }
        if ground.rev("MERGE_HEAD")?.as_ref() != Some(&tip) {
            return Ok(Err("the merge was given up".to_owned()));
        }
        let unmerged = ground.git(&["diff", "--name-only", "--diff-filter=U", "-z"])?;
        if let Some(path) = values(&unmerged).first() {
            let path = path.to_string_lossy().into_owned();
            return Ok(Err(format!("`{path}` is still in conflict")));
        }
        if let Some(path) = conflicts.iter().find(|path| self.is_marked(path)) {
            return Ok(Err(format!("`{path}` still has conflict markers")));
        }
        ground.git(&["add", "--update"])?;
        let tree = ground.git(&["write-tree"])?;
        let tree = String::from_utf8_lossy(&tree).trim_end().to_owned();
        let message = titled("Merge the base into stories", &keys.join(", "));
        let parents = [head.as_str(), &tip];
        let identity = Identity::callsheet();
        let repository = ground.repository();
        let commit = repository.commit_tree(&tree, &parents, &message, &identity)?;
        let locked = repository.lock(self.stage.home)?;
        locked.update_ref(&ground.own_ref(), &commit, Some(&head))?;
        drop(locked);
        // It forgets the merge that was in progress.
        ground.git(&["reset", "--quiet", "--mixed", "HEAD"])?;
        Ok(Ok(()))
    }

    /// Tells whether a file has a line that git marks a conflict with.
    fn is_marked(&self, path: &str) -> bool {
        let Ok(root) = super::files::open(self.ground().path()) else {
            return true;
        };
        // One that is gone was resolved that way; one that is too large cannot be looked at, and is what the checks are for.
        let Ok(bytes) = root.read(path) else {
            return false;
        };
        let lines = BufReader::new(bytes.as_slice()).split(b'\n');
        lines
            .map_while(Result::ok)
            .any(|line| MARKERS.iter().any(|marker| line.starts_with(marker)))
    }
}
