//! The work of a cycle on its way from its worktree to the base.
//!
//! What the sprint itself changed stays out of it: the board and the context count in the main checkout alone, and an
//! artifact that was only copied to the worktree is nobody's work.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use callsheet::sprint::machine::Merged;
use callsheet::task::CheckStatus;

use super::context::write;
use super::files::{self, Given, open};
use super::spot::Spot;
use crate::RunError;
use crate::checks::Checked;
use crate::git::values;
use crate::merge::{Merged as Landed, titled};
use crate::repository::{QUICK, Repository};
use crate::sandbox::Sandbox;
use crate::tasks::facts::tree_now;
use crate::tasks::{Landing, Rerun, Waiting};

/// What ends the name of the directory of files that make way for a merge.
const ASIDE: &str = "aside";

impl Spot<'_> {
    /// Merges the work of the cycle into the base, or leaves everything as it was.
    pub(super) fn merge(&self, keys: &[String], stops: &AtomicUsize) -> Result<Merged, RunError> {
        self.ready()?;
        let ground = self.ground();
        ground.disarm()?;
        let result = self.without_own()?;
        self.put_back(&result)?;
        let own = self.keep()?;
        let tip = self.base_tip()?;
        if self.is_within(&result, &tip)? {
            self.brought()?;
            return Ok(match self.merge_of(&result, &tip)? {
                Some(commit) => Merged::Good { commit },
                None => Merged::Nothing,
            });
        }
        let stage = self.stage;
        let given = stage.crew.writable()?;
        let sandbox = given.map(|given| {
            let mut write = self.workspace.writable(given);
            write.push(ground.path().to_owned());
            Sandbox { write }
        });
        let landing = Landing {
            rerun: Rerun {
                name: ground.name(),
                ground,
                program: stage.program,
                environment: stage.environment,
                sandbox: sandbox.as_ref(),
            },
            checks: stage.checks,
            home: stage.home,
            base: &self.base,
            result: &result,
            own: &own,
            message: &titled("Merge stories", &keys.join(", ")),
        };
        self.make_way(&tip, &result)?;
        let landed = landing.merge(&mut Stops(stops));
        // Whatever became of it: what made way is there again, unless the merge has brought it.
        self.put_back(&result)?;
        let (landed, checked) = landed?;
        self.merged(landed, &checked)
    }

    fn merged(&self, landed: Landed, checked: &[Checked]) -> Result<Merged, RunError> {
        Ok(match landed {
            Landed::Done { commit, .. } => {
                self.brought()?;
                Merged::Good { commit }
            }
            Landed::Already { .. } => {
                self.brought()?;
                Merged::Nothing
            }
            Landed::Conflict { paths } => Merged::Conflict {
                paths: paths.into_iter().collect(),
            },
            Landed::Refused { .. } => {
                let required = checked.iter().filter(|one| one.required);
                let bad: Vec<&Checked> = required
                    .filter(|one| one.status != CheckStatus::Passed)
                    .collect();
                if bad.iter().any(|one| one.status == CheckStatus::Pending) {
                    return Ok(Merged::Interrupted);
                }
                let checks = bad.iter().map(|one| one.name.clone()).collect();
                Merged::ChecksFailed { checks }
            }
            Landed::Blocked { why } => return Err(RunError::NotNow(why)),
        })
    }

    /// Brings what git does not have to the main checkout.
    fn brought(&self) -> Result<(), RunError> {
        let stage = self.stage;
        files::bring(stage.root, self.ground(), self.files(), stage.crew)
    }

    /// Returns the merge that has brought a commit to the base, if one has.
    fn merge_of(&self, result: &str, tip: &str) -> Result<Option<String>, RunError> {
        let range = format!("{result}..{tip}");
        let args = ["rev-list", "--merges", "--parents", &range];
        let said = self.ground().repository().run(&args)?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let mut lines = said.lines().map(|line| line.split(' '));
        Ok(lines.find_map(|mut words| {
            let commit = words.next()?;
            (words.nth(1)? == result).then(|| commit.to_owned())
        }))
    }

    /// Returns a commit with the files of the worktree; a ref keeps those that are not committed.
    pub(super) fn keep(&self) -> Result<String, RunError> {
        let ground = self.ground();
        let head = self.head()?;
        let tree = tree_now(ground, ground.hold().scratch()?.path())?;
        if ground.rev("HEAD^{tree}")?.as_deref() == Some(tree.as_str()) {
            return Ok(head);
        }
        let message = format!("What was not committed in {}.\n", ground.name());
        let kept = ground.snapshot(&tree, &head, &message)?;
        let locked = ground.repository().lock(self.stage.home)?;
        locked.update_ref(&self.kept_ref(), &kept, None)?;
        Ok(kept)
    }

    pub(super) fn head(&self) -> Result<String, RunError> {
        let head = self.ground().rev("HEAD^{commit}")?;
        head.ok_or_else(|| RunError::NotNow("the worktree has no commit".to_owned()))
    }

    /// Takes what the sprint itself changed out of the branch, in a commit of its own, and returns the tip.
    fn without_own(&self) -> Result<String, RunError> {
        let ground = self.ground();
        let (head, tip) = (self.head()?, self.base_tip()?);
        let began = ground.git(&["merge-base", &tip, &head])?;
        let began = String::from_utf8_lossy(&began).trim_end().to_owned();
        let own = self.own_changes(&began, &head)?;
        if own.is_empty() {
            return Ok(head);
        }
        let scratch = ground.hold().scratch()?;
        let index = scratch.path().join("index");
        ground.git_on(&index, &["read-tree", &head])?;
        for path in &own {
            let entry = ground.git(&["ls-tree", "-z", &began, "--", path])?;
            let entry = String::from_utf8_lossy(&entry).into_owned();
            let mut words = entry.split([' ', '\t']);
            match (words.next(), words.nth(1)) {
                (Some(mode), Some(hash)) => {
                    let info = format!("{mode},{hash},{path}");
                    ground.git_on(&index, &["update-index", "--add", "--cacheinfo", &info])?;
                }
                _ => {
                    let args = ["update-index", "--force-remove", "--", path];
                    ground.git_on(&index, &args)?;
                }
            }
        }
        let tree = ground.git_on(&index, &["write-tree"])?;
        let tree = String::from_utf8_lossy(&tree).trim_end().to_owned();
        let message = "Leave files of the sprint as they were\n";
        let commit = ground.snapshot(&tree, &head, message)?;
        let locked = ground.repository().lock(self.stage.home)?;
        locked.update_ref(&ground.own_ref(), &commit, Some(&head))?;
        drop(locked);
        ground.git(&["reset", "--quiet", "--mixed", "HEAD"])?;
        Ok(commit)
    }

    /// Returns the paths between two commits that are not the work of an agent.
    fn own_changes(&self, began: &str, head: &str) -> Result<Vec<String>, RunError> {
        let ground = self.ground();
        let given = Given::of(ground).unwrap_or_default();
        let mut own = Vec::new();
        for path in self.between(began, head)? {
            let is_given = || {
                let text = ground.git(&["cat-file", "blob", &format!("{head}:{path}")]);
                text.is_ok_and(|bytes| given.is_same(&path, &bytes))
            };
            if self.files().own().contains(&path.as_str()) || is_given() {
                own.push(path);
            }
        }
        Ok(own)
    }

    fn between(&self, one: &str, other: &str) -> Result<Vec<String>, RunError> {
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames"];
        let args = [&args[..], &[one, other]].concat();
        let names = values(&self.ground().git(&args)?).into_iter();
        Ok(names.filter_map(|name| name.into_string().ok()).collect())
    }

    fn aside(&self) -> PathBuf {
        self.ground().note(ASIDE)
    }

    /// Lets artifacts of the main checkout make way that the worktree was given and the merge would change.
    ///
    /// What a person changed since is not touched: the merge says that it is in the way.
    fn make_way(&self, tip: &str, result: &str) -> Result<(), RunError> {
        let root = self.stage.root;
        let given = Given::of(self.ground()).unwrap_or_default();
        let opened = open(root)?;
        let mut saved = BTreeMap::new();
        for path in self.between(tip, result)? {
            if !given.paths().any(|known| *known == path) {
                continue;
            }
            if let Ok(bytes) = opened.read(&path)
                && given.is_same(&path, &bytes)
            {
                saved.insert(path, bytes);
            }
        }
        if saved.is_empty() {
            return Ok(());
        }
        let refused = |cause| RunError::refused("cannot make way for the merge", cause);
        std::fs::create_dir_all(self.aside()).map_err(refused)?;
        let aside = open(&self.aside())?;
        let repository = Repository::open(root)?;
        let locked = repository.lock(self.stage.home)?;
        for (path, bytes) in saved {
            write(&aside, &path, &bytes).map_err(RunError::NotNow)?;
            let is_tracked = ["ls-files", "--error-unmatch", "--", &path];
            if repository.run(&is_tracked).is_ok() {
                let back = repository.command(&["checkout-index", "--force", "--", &path]);
                locked.change(back, QUICK)?;
            } else {
                std::fs::remove_file(root.join(&path)).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Brings back what made way for a merge, unless the merge has happened.
    fn put_back(&self, result: &str) -> Result<(), RunError> {
        let aside = self.aside();
        if !aside.is_dir() {
            return Ok(());
        }
        if !self.is_within(result, &self.base_tip()?)? {
            let (from, to) = (open(&aside)?, open(self.stage.root)?);
            let given = Given::of(self.ground()).unwrap_or_default();
            for path in given.paths() {
                if let Ok(bytes) = from.read(path) {
                    write(&to, path, &bytes).map_err(RunError::NotNow)?;
                }
            }
        }
        std::fs::remove_dir_all(&aside)
            .map_err(|cause| RunError::refused("cannot clear up after the merge", cause))
    }
}

/// Somebody who waits for the checks of a merge until the sprint is stopped.
struct Stops<'a>(&'a AtomicUsize);

impl Waiting for Stops<'_> {
    fn say(&mut self, _: &str) {}

    fn is_stopped(&mut self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}
