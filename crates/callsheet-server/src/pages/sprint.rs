//! The sprint: the cycle that runs, the board, and earlier batches.

use axum::Router;

use crate::server::Server;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new()
}
