//! `sprint parse`: what the markers in an agent's output say.

use std::io::Read as _;
use std::process::ExitCode;

use callsheet::sprint::{Markers, Phase};

use crate::failure::{Failure, did_you_mean};
use crate::output::Output;

/// The phases whose agents print markers.
const PHASES: [Phase; 6] = [
    Phase::CreateStory,
    Phase::StoryReview,
    Phase::TechSpecReview,
    Phase::CodeReview,
    Phase::DevStory,
    Phase::Commit,
];

/// Read the markers in an agent's output, and print what they say
///
/// Reads the text that an agent wrote on stdin and prints the verdict as JSON. Quoted lines and fenced code are not read. Where
/// markers contradict each other, the worse one wins; without any, the severity is UNKNOWN.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet sprint parse --phase code-review < review.md
  callsheet sprint parse --phase create-story --story 2a-1 --story 2a-2 < output.md")]
pub(crate) struct Args {
    /// The phase that the agent was in: create-story, story-review, tech-spec-review, code-review, dev-story or commit
    #[arg(long, value_name = "PHASE")]
    phase: String,

    /// A story that the phase was for; more in the order in which the agent had them
    #[arg(long = "story", value_name = "KEY")]
    stories: Vec<String>,
}

impl Args {
    pub(crate) fn run(self, out: Output) -> Result<ExitCode, Failure> {
        let phase = phase(&self.phase)?;
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|cause| Failure::refused("cannot read stdin", &cause))?;
        let text = String::from_utf8_lossy(&bytes);
        out.document(&Markers::parse(phase, &text, &self.stories))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn phase(name: &str) -> Result<Phase, Failure> {
    if let Some(phase) = Phase::named(name).filter(|phase| PHASES.contains(phase)) {
        return Ok(phase);
    }
    let known = PHASES.map(|phase| phase.as_str().to_owned());
    let unknown = match Phase::named(name) {
        Some(_) => Failure::input(format!("phase `{name}` has no markers")),
        None => Failure::input(format!("no phase `{name}`")),
    };
    let unknown = match did_you_mean(name, &known) {
        Some(known) => unknown.hint(format!("did you mean `{known}`?")),
        None => unknown,
    };
    Err(unknown.hint(format!("there are `{}`", known.join("`, `"))))
}
