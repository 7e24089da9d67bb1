//! A cycle: one or two stories, and what each of them still needs.
//!
//! What comes next follows from what is known of the stories, so that a cycle can be taken up again wherever it was left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::action::{AgentOrder, Model, Todo};
use super::input::{Chosen, Spec, Spent};
use super::rules::Rules;
use crate::sprint::{Finding, Phase, Status};

/// One or two stories that go through their phases together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cycle {
    /// Its number within the batch, from 1.
    pub number: u32,
    /// The epic of its first story.
    pub epic: String,
    /// Its stories.
    pub stories: Vec<Story>,
    /// The name of the worktree that it has of its own; it stays the same when a later batch takes the cycle up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// How far the commit is.
    #[serde(default)]
    pub(super) commit: CommitStep,
    /// The stories that the last agent worked on.
    #[serde(default)]
    pub(super) last_keys: Vec<String>,
    /// The last run of each phase that failed and is tried again.
    #[serde(default)]
    pub(super) failed_runs: BTreeMap<Phase, String>,
    /// How often in a row a limit was waited for.
    #[serde(default)]
    pub(super) waits: u32,
    /// How often in a row the commit was not what it should be.
    #[serde(default)]
    pub(super) commit_failures: u32,
    /// How often the merge met a conflict.
    #[serde(default)]
    pub(super) conflicts: u32,
    /// Its runs, each with the stories that it was for.
    #[serde(default)]
    pub(super) runs: Vec<(Vec<String>, String)>,
    /// What was moved to the archive, and where it is now.
    #[serde(default)]
    pub(super) moved: Vec<(String, String)>,
}

/// A story on its way.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each phase is over or not, in any combination that a crash leaves"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Story {
    /// Its key.
    pub key: String,
    /// What we last saw or wrote on the board.
    pub status: Status,
    /// Whether its file is written.
    pub(super) created: bool,
    /// Whether what it touches was explored.
    pub(super) discovered: bool,
    /// Whether its file was reviewed.
    pub(super) reviewed: bool,
    /// Its tech spec.
    pub(super) spec: Spec,
    /// Whether it is implemented.
    pub(super) developed: bool,
    /// How many code reviews it had.
    pub(super) reviews: u32,
    /// What each of them found, as fingerprints.
    pub(super) prints: Vec<String>,
    /// What the last of them found.
    pub(super) findings: Vec<Finding>,
    /// How often in a row agents failed on it, by phase: two phases can run side by side.
    pub(super) failures: BTreeMap<Phase, u32>,
    /// What it cost.
    pub(super) spent: Spent,
    /// What was decided, and waits to be written to the board.
    pub(super) decision: Option<Decision>,
    /// Whether the board has a word of an agent that has to be taken back.
    #[serde(default)]
    pub(super) meddled: bool,
    /// How it ended.
    pub outcome: Option<Outcome>,
}

/// What is decided about a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Decision {
    /// It is finished.
    Done,
    /// A person has to look at it.
    Blocked(String),
}

/// How a story left its cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It is finished.
    Done,
    /// A person has to look at it.
    Blocked {
        /// Why, as a sentence.
        reason: String,
    },
    /// Somebody changed it on the board, and it is theirs now.
    Left {
        /// The word that somebody wrote.
        word: String,
    },
}

/// How far the commit of a cycle is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CommitStep {
    /// Nothing happened yet.
    #[default]
    None,
    /// The repository was looked at.
    Baseline(Option<String>),
    /// The agent has committed.
    Made(Option<String>),
    /// The commit is what it should be.
    Good(String),
    /// There was nothing to commit.
    Nothing,
    /// Others changed the same lines, and an agent has to resolve that.
    Conflict {
        commit: Option<String>,
        paths: Vec<String>,
    },
    /// The commit is on the base, or was made there; files may be moved.
    Landed(Option<String>),
    /// The files are moved.
    Over(Option<String>),
    /// It could not be made, or does not get to the base.
    Failed,
}

impl Story {
    /// Begins a story where the board says that it is.
    pub(super) fn begin(chosen: &Chosen) -> Self {
        let is_written = chosen.status != Status::Backlog;
        Self {
            key: chosen.key.clone(),
            status: chosen.status,
            created: is_written,
            discovered: is_written,
            reviewed: is_written,
            spec: match (chosen.spec, is_written) {
                (Spec::Undecided, true) => Spec::Required,
                (spec, _) => spec,
            },
            developed: chosen.status == Status::Review,
            reviews: 0,
            prints: Vec::new(),
            findings: Vec::new(),
            failures: BTreeMap::new(),
            spent: Spent::default(),
            decision: None,
            meddled: false,
            outcome: None,
        }
    }

    /// Returns what it cost; what agents cost that worked on several stories is shared.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Tells whether it still goes through phases.
    pub(super) fn is_active(&self) -> bool {
        self.outcome.is_none() && self.decision.is_none()
    }
}

impl Cycle {
    /// Begins a cycle.
    pub(super) fn begin(number: u32, epic: String, chosen: &[Chosen]) -> Self {
        Self {
            number,
            epic,
            stories: chosen.iter().map(Story::begin).collect(),
            workspace: None,
            commit: CommitStep::None,
            last_keys: Vec::new(),
            failed_runs: BTreeMap::new(),
            waits: 0,
            commit_failures: 0,
            conflicts: 0,
            runs: Vec::new(),
            moved: Vec::new(),
        }
    }

    /// Returns the keys of its stories.
    pub fn keys(&self) -> Vec<String> {
        self.keys_where(|_| true)
    }

    /// Returns the keys of the stories that it has finished.
    pub fn done(&self) -> Vec<String> {
        self.keys_where(|story| match (&story.outcome, &story.decision) {
            (Some(outcome), _) => *outcome == Outcome::Done,
            (None, decision) => *decision == Some(Decision::Done),
        })
    }

    /// Returns its runs, each with the stories that it was for.
    pub fn runs(&self) -> impl Iterator<Item = (&[String], &str)> {
        let runs = self.runs.iter();
        runs.map(|(keys, run)| (keys.as_slice(), run.as_str()))
    }

    /// Returns the paths that it has moved to the archive: where they were, and where they are.
    pub fn moved(&self) -> impl Iterator<Item = &str> {
        let moved = self.moved.iter();
        moved.flat_map(|(from, to)| [from.as_str(), to.as_str()])
    }

    pub(super) fn story(&mut self, key: &str) -> Option<&mut Story> {
        self.stories.iter_mut().find(|story| story.key == key)
    }

    fn keys_where(&self, wanted: impl Fn(&Story) -> bool) -> Vec<String> {
        let wanted = self.stories.iter().filter(|story| wanted(story));
        wanted.map(|story| story.key.clone()).collect()
    }

    fn active_where(&self, wanted: impl Fn(&Story) -> bool) -> Option<Vec<String>> {
        let keys = self.keys_where(|story| story.is_active() && wanted(story));
        (!keys.is_empty()).then_some(keys)
    }

    /// Returns what is to be done next, all of it at once; nothing when the cycle is over.
    pub(super) fn next(&self, rules: &Rules) -> Vec<Todo> {
        let words = self.words();
        if !words.is_empty() {
            return words;
        }
        let phases = self.shared_phases();
        if !phases.is_empty() {
            return phases;
        }
        if let Some(story) = self.stories.iter().find(|story| story.is_active()) {
            return vec![self.story_step(story, rules)];
        }
        self.last_step()
    }

    /// Returns what the board has to be told.
    fn words(&self) -> Vec<Todo> {
        // What is done in a worktree is done when it is on the base.
        let has_landed = self.workspace.is_none() || self.has_landed();
        let word = |story: &Story| {
            let to = match (&story.outcome, &story.decision) {
                (Some(_), _) => return None,
                (None, Some(Decision::Done)) if has_landed => Status::Done,
                (None, Some(Decision::Blocked(_))) => Status::Blocked,
                (None, None) if story.status == Status::Backlog && story.reviewed => {
                    Status::ReadyForDev
                }
                (None, None) if story.status == Status::InProgress && story.developed => {
                    Status::Review
                }
                (None, None | Some(Decision::Done)) => return None,
            };
            Some(story.set(to))
        };
        self.stories.iter().filter_map(word).collect()
    }

    /// Returns the phases that take several stories at once.
    fn shared_phases(&self) -> Vec<Todo> {
        let is_new = |story: &Story| story.status == Status::Backlog;
        let is_ready = |story: &Story| story.status == Status::ReadyForDev;
        let mut both = Vec::new();
        if let Some(keys) = self.active_where(|story| is_new(story) && !story.created) {
            both.push(self.agent(Phase::CreateStory, keys, 1));
        }
        if let Some(keys) = self.active_where(|story| is_new(story) && !story.discovered) {
            both.push(self.agent(Phase::Discovery, keys, 1));
        }
        if !both.is_empty() {
            return both;
        }
        let one = if let Some(keys) = self.active_where(is_new) {
            self.agent(Phase::StoryReview, keys, 1)
        } else if let Some(keys) =
            self.active_where(|story| is_ready(story) && story.spec == Spec::Required)
        {
            self.agent(Phase::TechSpec, keys, 1)
        } else if let Some(keys) =
            self.active_where(|story| is_ready(story) && story.spec == Spec::Written)
        {
            self.agent(Phase::TechSpecReview, keys, 1)
        } else {
            return Vec::new();
        };
        vec![one]
    }

    /// Returns the next step of one story.
    fn story_step(&self, story: &Story, rules: &Rules) -> Todo {
        match story.status {
            Status::ReadyForDev => story.set(Status::InProgress),
            Status::Review => {
                let attempt = story.reviews + 1;
                let mut order = self.order(Phase::CodeReview, vec![story.key.clone()], attempt);
                if attempt >= rules.review_model_after {
                    order.model = Model::Review;
                }
                order.findings.clone_from(&story.findings);
                Todo::Agent(order)
            }
            // A new story never gets here: its shared phases come first.
            Status::InProgress | Status::Backlog | Status::Done | Status::Blocked => {
                self.agent(Phase::DevStory, vec![story.key.clone()], 1)
            }
        }
    }

    fn has_landed(&self) -> bool {
        matches!(self.commit, CommitStep::Landed(_) | CommitStep::Over(_))
    }

    /// Returns what is left when all stories have ended.
    fn last_step(&self) -> Vec<Todo> {
        let keys = self.done();
        if keys.is_empty() {
            return Vec::new();
        }
        vec![match &self.commit {
            CommitStep::None => Todo::Baseline,
            CommitStep::Baseline(_) => self.agent(Phase::Commit, keys, 1),
            CommitStep::Made(baseline) => Todo::VerifyCommit {
                keys,
                baseline: baseline.clone(),
            },
            CommitStep::Good(_) | CommitStep::Nothing if self.workspace.is_some() => {
                Todo::Merge { keys }
            }
            CommitStep::Conflict { .. } => self.agent(Phase::ResolveConflict, keys, self.conflicts),
            CommitStep::Good(_) | CommitStep::Nothing | CommitStep::Landed(_) => {
                Todo::Archive { keys }
            }
            CommitStep::Over(_) | CommitStep::Failed => return Vec::new(),
        }]
    }

    /// Returns the commit that it has made.
    pub fn commit(&self) -> Option<&str> {
        match &self.commit {
            CommitStep::Good(commit)
            | CommitStep::Conflict {
                commit: Some(commit),
                ..
            }
            | CommitStep::Landed(Some(commit))
            | CommitStep::Over(Some(commit)) => Some(commit),
            _ => None,
        }
    }

    /// Returns the paths that its merge has met conflicts in, while they are to be resolved.
    pub fn conflicts(&self) -> &[String] {
        match &self.commit {
            CommitStep::Conflict { paths, .. } => paths,
            _ => &[],
        }
    }

    pub(super) fn order(&self, phase: Phase, keys: Vec<String>, attempt: u32) -> AgentOrder {
        AgentOrder {
            phase,
            keys,
            epic: self.epic.clone(),
            attempt,
            model: Model::Default,
            background: false,
            findings: Vec::new(),
            failed_run: self.failed_runs.get(&phase).cloned(),
        }
    }

    fn agent(&self, phase: Phase, keys: Vec<String>, attempt: u32) -> Todo {
        Todo::Agent(self.order(phase, keys, attempt))
    }
}

impl Story {
    fn set(&self, to: Status) -> Todo {
        Todo::SetStatus {
            key: self.key.clone(),
            from: self.status,
            to,
            force: self.meddled,
        }
    }
}
