//! Bounds on what a jinja template can make, beside its fuel.
//!
//! The engine counts steps, not bytes: one step can double a text or nest a list once more. So a template is written anew
//! before it is compiled: what makes a value goes through a filter of ours that counts (`rewrite`), the engine's filters are
//! replaced by ones that count first (`filters`), and everything that is printed is counted, into a variable or into the
//! output. All of it draws on one budget per rendering. What a template means stays the same.

mod budget;
mod filters;
mod operators;
mod rewrite;

use minijinja::Environment;

pub(super) use budget::{keep, keep_parts, read, refused, spend, text_cost};
pub(super) use filters::{argument, bounded, looked};
pub(crate) use rewrite::{Site, expression, filter_line, template};

/// The number of bytes that the values made by one rendering may take, all together.
pub(crate) const VALUE_LIMIT: u64 = 256 * 1024 * 1024;

/// Puts the counting filters, functions and the counting printer into an environment.
pub(crate) fn install(environment: &mut Environment<'static>) {
    filters::install(environment);
    operators::install(environment);
    environment.set_formatter(budget::print);
}
