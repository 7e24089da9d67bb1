//! Jinja that knows where each byte came from, and what a value may do where it stands.
//!
//! A text within a rendering stays a string of the engine. What it came from is found by its buffer: every string that
//! comes from the input or that a filter of ours makes has a buffer of its own, which the rendering keeps alive together
//! with a traced text (`rendering`). So operators, tests and comparisons are those of the engine. The rewriter turns what a
//! template prints into calls of ours (`print`), and what is printed goes to a page, which makes values harmless for the
//! place that they stand in (`page`). Captured texts keep their values as they are until they are printed in the end.

mod authors;
mod behind;
pub(super) mod keep;
mod page;
mod print;
mod rendering;
mod scene;
mod text;
mod values;

pub(crate) use authors::RAW;
pub(crate) use page::{Page, Safety};
pub(crate) use rendering::{Given, Rendering, SourceText};
pub(crate) use text::Text;
pub(super) use values::{Known, context};

use minijinja::Environment;

/// Puts the filters that keep and make provenance into an environment.
pub(super) fn install(environment: &mut Environment<'static>) {
    keep::install(environment);
    print::install(environment);
    authors::install(environment);
}
