//! What the demo does with the prompts that it has sealed: proof, a difference, and the same bytes again.

use callsheet_store::Id;
use serde_json::Value;

use crate::commands::{diff, replay, verify};
use crate::failure::Failure;
use crate::project::Project;

/// A step: what it shows, the command that does the same, and what that gives.
pub(super) struct Step {
    pub(super) title: &'static str,
    pub(super) command: String,
    pub(super) text: String,
    /// What it is called in the document, and what stands there.
    pub(super) name: &'static str,
    pub(super) document: Value,
}

/// Does all steps on what is sealed; two prompts are attempts at one task.
pub(super) fn steps(project: &Project, first: Id, second: Id) -> Result<[Step; 3], Failure> {
    let proof = verify::Proof::of(project, &[])?;
    let comparison = diff::Args::of_sealed(first, second).compare(project)?;
    let replayed = replay::Replayed::of(project, second.as_str())?;
    Ok([
        Step {
            title: "Proof that nothing was changed since it was sealed",
            command: "callsheet verify".to_owned(),
            text: proof.summary(),
            name: "verify",
            document: proof.document(),
        },
        Step {
            title: "What the second attempt was told and the first was not",
            command: format!("callsheet diff {first} {second}"),
            text: comparison.text(),
            name: "diff",
            document: comparison.document(),
        },
        Step {
            title: "The same bytes again, from what was sealed and without the project",
            command: format!("callsheet replay {second}"),
            text: replayed.text(),
            name: "replay",
            document: replayed.document(),
        },
    ])
}
