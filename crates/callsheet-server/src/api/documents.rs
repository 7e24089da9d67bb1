//! Documents that commands print, as they stand in answers, and pages of what is numbered.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A run, in the shape `callsheet.run/1` that `callsheet show RUN --json` prints. What is not known is null.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub(super) struct RunDocument(pub(super) Value);

/// A task, in the shape `callsheet.task/1` that `callsheet task show TASK --json` prints. What is not known is null.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object)]
pub(super) struct TaskDocument(pub(super) Value);

/// A part of what is numbered.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Part<T> {
    pub(super) data: Vec<T>,
    pub(super) pagination: Next,
}

/// Where the next part begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Next {
    /// The number to ask for as `since`.
    pub(super) next_since: i64,
    /// Whether there are more after these now.
    pub(super) has_more: bool,
}
