//! Rules of the repository that no compiler checks.
//!
//! Every rule is a pure function from text to complaints, tried on a bad example, and then on the real files.

mod face;
mod layers;
mod printing;
mod purity;
mod sizes;
mod tree;
mod words;

/// Fails with one complaint per line, each a sentence that says what to change.
#[track_caller]
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
