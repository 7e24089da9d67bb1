//! Compose: a prompt as it would be, while its input is edited.

use axum::Router;

use crate::server::Server;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new()
}
