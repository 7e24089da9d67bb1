//! Prompts: what was sealed, and one of them byte by byte.

use axum::Router;

use crate::server::Server;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new()
}
