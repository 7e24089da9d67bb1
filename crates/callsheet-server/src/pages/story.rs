//! A story: its file, its attempts, and what changed between them.

use axum::Router;

use crate::server::Server;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new()
}
