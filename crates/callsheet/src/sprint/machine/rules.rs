//! What holds for a batch from its start to its end.

use serde::{Deserialize, Serialize};

use super::input::Spent;

/// What was agreed when a batch began. It never changes, so that a batch that is continued ends as it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// How many cycles there may be; nothing for all.
    pub max_cycles: Option<u32>,
    /// How many cycles may run at once.
    pub parallel: u32,
    /// The branch that worktrees start from and are merged into, where cycles have worktrees of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The model of later code reviews, and of reviews in the background.
    #[serde(default)]
    pub review_model: Option<String>,
    /// From which code review on the review model is taken.
    pub review_model_after: u32,
    /// How many code reviews a story may have.
    pub max_code_reviews: u32,
    /// How often in a row an agent may fail on a story.
    pub max_failures: u32,
    /// What a story may cost.
    #[serde(default)]
    pub story_budget: Budget,
    /// What the batch may cost.
    #[serde(default)]
    pub batch_budget: Budget,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            max_cycles: Some(2),
            parallel: 1,
            base: None,
            review_model: Some("haiku".to_owned()),
            review_model_after: 2,
            max_code_reviews: 10,
            max_failures: 3,
            story_budget: Budget::default(),
            batch_budget: Budget::default(),
        }
    }
}

/// What may be spent; what is not set is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Tokens in and out.
    pub tokens: Option<u64>,
    /// Money, in US dollars.
    pub cost_usd: Option<f64>,
    /// Time that agents run, in seconds.
    pub wall_s: Option<u64>,
}

impl Budget {
    /// Returns what is used up.
    pub(super) fn exceeded(self, spent: Spent) -> Option<String> {
        if let Some(most) = self.tokens.filter(|most| spent.tokens > *most) {
            return Some(format!("{} tokens of {most} are used", spent.tokens));
        }
        if let Some(most) = self.cost_usd.filter(|most| spent.cost_usd > *most) {
            return Some(format!("${:.2} of ${most:.2} are spent", spent.cost_usd));
        }
        let seconds = spent.wall_ms / 1000;
        let most = self.wall_s.filter(|most| seconds > *most)?;
        Some(format!("agents ran for {seconds} s of {most} s"))
    }
}

/// What a stop does with the agents that run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopPolicy {
    /// They end by themselves, and their results count.
    #[default]
    Drain,
    /// They are ended.
    Cancel,
}
