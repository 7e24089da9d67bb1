//! Which paths belong to the stories of a commit: what their agents changed, and files that have their names.
//!
//! What a story was given in an earlier batch counts too: work that a person has looked at is committed by the batch after.

use std::collections::BTreeSet;

use callsheet::sprint::story_file::file_list;
use callsheet::sprint::{Board, Phase};
use callsheet::story::Match;
use callsheet_store::{BatchPage, Run, Wait};
use serde_json::Value;

use super::commit;
use super::driver::Driver;
use super::observed::changed_files;
use crate::RunError;

/// How many batches back agents are asked for what they changed.
const BATCHES: usize = 20;

/// The paths of some stories, from the top of the repository.
#[derive(Debug)]
pub(super) struct Ours {
    /// What agents changed for the stories, and what a sprint itself changes.
    changed: BTreeSet<String>,
    /// What a story file names that somebody else has developed.
    listed: BTreeSet<String>,
    /// The directories whose files are named after stories, each with a slash at its end.
    directories: [String; 2],
    /// The stories.
    mine: Match,
    /// Other stories whose keys have one of ours in them.
    longer: Match,
    /// All other stories.
    others: Match,
    /// What a worktree was given, which is taken out again where nobody changed it.
    given: BTreeSet<String>,
}

impl Ours {
    /// Allows what a worktree was given.
    pub(super) fn allow(&mut self, given: impl IntoIterator<Item = String>) {
        self.given.extend(given);
    }

    /// Tells whether a path may be in a commit of the stories.
    pub(super) fn has(&self, path: &str) -> bool {
        if self.given.contains(path) {
            return true;
        }
        match self.name(path) {
            Some(name) if self.mine.hits(name) && !self.longer.hits(name) => true,
            Some(name) if self.others.hits(name) => false,
            _ => self.changed.contains(path) || self.listed.contains(path),
        }
    }

    /// Tells whether a path that differs from what is committed shows that something was left out.
    pub(super) fn is_changed(&self, path: &str) -> bool {
        self.changed.contains(path) && self.has(path)
    }

    /// Returns the name of a file in one of the directories.
    fn name<'p>(&self, path: &'p str) -> Option<&'p str> {
        let mut names = self
            .directories
            .iter()
            .filter_map(|above| path.strip_prefix(above.as_str()));
        names.find(|name| !name.contains('/'))
    }
}

impl Driver<'_> {
    /// Returns what belongs to stories, and to those that cycles before have finished.
    pub(super) fn ours(&self, keys: &[String]) -> Result<Ours, RunError> {
        let (root, layout) = (self.stage.root, self.stage.layout);
        let prefix = commit::prefix(root);
        let (mut changed, developed) = self.changed_for(keys)?;
        changed.extend(self.files().own().map(|path| format!("{prefix}{path}")));
        // Files that earlier cycles of the sprint moved belong to it, whoever commits them.
        let mut mine = keys.to_vec();
        for cycle in self.batch.ended_cycles() {
            changed.extend(cycle.moved().map(|path| format!("{prefix}{path}")));
            mine.extend(cycle.done());
        }
        let rule = Match::new(&mine, false);
        let board = self.board.read()?;
        let listed = self.listed(&board, keys, &developed)?;
        let others = board.stories().map(|story| story.key.clone());
        let others: Vec<String> = others.filter(|key| !mine.contains(key)).collect();
        let longer: Vec<&String> = others.iter().filter(|key| rule.hits(key)).collect();
        Ok(Ours {
            listed: listed
                .into_iter()
                .map(|path| format!("{prefix}{path}"))
                .collect(),
            changed,
            directories: [&layout.implementation_artifacts, &layout.archived_artifacts]
                .map(|directory| format!("{prefix}{directory}/")),
            longer: Match::new(&longer, false),
            others: Match::new(&others, false),
            mine: rule,
            given: BTreeSet::new(),
        })
    }

    /// Returns what agents changed for stories, in this batch and in those before it, and which of them agents developed.
    fn changed_for(&self, keys: &[String]) -> Result<(BTreeSet<String>, Vec<String>), RunError> {
        let (store, project) = (self.stage.store, self.stage.project);
        let page = BatchPage {
            offset: 0,
            limit: BATCHES,
        };
        let (mut changed, mut developed) = (BTreeSet::new(), Vec::new());
        for batch in store.batches(project, page).wait()?.batches {
            let runs = store.runs_of_batch(project, batch.id).wait()?;
            changed.extend(runs.iter().flat_map(|run| changed_by(run, keys)));
            developed.extend(runs.iter().filter(|run| is_dev(run)).flat_map(stories_of));
        }
        Ok((changed, developed))
    }

    /// Returns what the files of stories list that no agent of ours developed: their code was there before.
    fn listed(
        &self,
        board: &Board,
        keys: &[String],
        developed: &[String],
    ) -> Result<Vec<String>, RunError> {
        let mut listed = Vec::new();
        let files = self.board.story_files(board)?;
        for key in keys.iter().filter(|key| !developed.contains(key)) {
            for file in files.get(key).into_iter().flatten() {
                let text = std::fs::read_to_string(self.stage.root.join(&file.path));
                listed.extend(file_list(&text.unwrap_or_default()));
            }
        }
        Ok(listed)
    }
}

fn is_dev(run: &Run) -> bool {
    let request = run.request.as_ref();
    request.is_some_and(|request| request["phase"] == Phase::DevStory.command())
}

fn stories_of(run: &Run) -> Vec<String> {
    let stories = run.request.as_ref().map(|request| &request["stories"]);
    let stories = stories.and_then(Value::as_array).into_iter().flatten();
    stories
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Returns what a run changed, if it was for one of some stories.
///
/// An agent that worked on several stories has changed files of all of them; those that name another story are not meant.
fn changed_by(run: &Run, keys: &[String]) -> Vec<String> {
    let stories = stories_of(run).into_iter();
    let (mine, others): (Vec<String>, Vec<String>) =
        stories.partition(|story| keys.contains(story));
    if mine.is_empty() {
        return Vec::new();
    }
    let (mine, others) = (Match::new(&mine, false), Match::new(&others, false));
    let mut changed = changed_files(run);
    changed.retain(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        mine.hits(name) || !others.hits(name)
    });
    changed
}
