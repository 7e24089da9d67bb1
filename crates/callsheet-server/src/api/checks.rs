//! Checks, violations and proofs: what a decision about a run rests on.

use utoipa_axum::router::OpenApiRouter;

use crate::server::Server;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
}
