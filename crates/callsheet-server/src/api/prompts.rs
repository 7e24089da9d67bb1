//! Sealed prompts: text, manifest, source map, and what differs between two.

use utoipa_axum::router::OpenApiRouter;

use crate::server::Server;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
}
