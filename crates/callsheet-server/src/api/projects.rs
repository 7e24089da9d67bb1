//! Projects: what is kept in the store, and the one that is served.

use utoipa_axum::router::OpenApiRouter;

use crate::server::Server;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
}
