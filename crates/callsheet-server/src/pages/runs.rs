//! Runs: the newest first, and one of them with its facts, its stream and its changes.

use axum::Router;

use crate::server::Server;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new()
}
