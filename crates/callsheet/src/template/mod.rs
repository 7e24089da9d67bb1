//! Templates: Markdown files with an optional YAML header, filled with values.
//!
//! Two languages. *Plain* replaces `{{name}}` and nothing else; *jinja* has logic, chosen by `engine: jinja` in the
//! header. Everything is in memory: the caller reads the files, nothing here touches disk, clock or environment.

mod alias;
pub(crate) mod bounds;
mod check;
mod context;
mod diagnostic;
mod file;
mod frontmatter;
mod includes;
mod jinja;
pub(crate) mod numbers;
mod plain;
mod scan;
mod set;
pub(crate) mod traced;

pub use diagnostic::{Diagnostic, DiagnosticKind};
pub use file::{Language, Template, Variable};
pub(crate) use jinja::OUTPUT_LIMIT;
pub(crate) use jinja::Shared;
pub(crate) use plain::fill_plain;
pub use plain::{Missing, Rendered, Values, interpolate, render_plain};
pub use scan::{Placeholder, placeholders};
pub(crate) use set::Rights;
pub use set::TemplateSet;
pub(crate) use traced::Page;

#[cfg(test)]
mod tests;
