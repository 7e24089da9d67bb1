//! What only whoever composes a prompt may allow: files from outside the root.
//!
//! A project can be somebody else's. Neither its settings nor the defaults of its recipes lead out of it.

use std::path::{Component, Path};

use serde_json::{Map, Value};

/// The field that allows files outside the root. It has this name in every recipe, so that nobody allows them unaware.
pub(crate) const ALLOW_OUTSIDE: &str = "allow_outside";

/// The field that names the directory of templates.
pub(crate) const PROMPTS_DIR: &str = "prompts_dir";

/// Returns why fields cannot be what a project sets, if one of them leads out of it.
pub(crate) fn refusal(fields: &Map<String, Value>) -> Option<String> {
    if fields.get(ALLOW_OUTSIDE) == Some(&Value::Bool(true)) {
        return Some(format!(
            "`{ALLOW_OUTSIDE}` can be set in an input only: a project does not allow itself files outside of it"
        ));
    }
    let folder = fields.get(PROMPTS_DIR)?.as_str()?;
    let mut parts = Path::new(folder).components();
    let is_below = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (!is_below).then(|| {
        format!("`{PROMPTS_DIR}` must be relative and without `..` here; an input can name any directory: `{folder}`")
    })
}
