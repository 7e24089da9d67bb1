//! Settings of the project: the file, and the settings of sprints.

use utoipa_axum::router::OpenApiRouter;

use crate::server::Server;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
}
