//! Batches: one sprint run each, with its stories and events.

use serde_json::{Value, json};
use utoipa_axum::router::OpenApiRouter;

use crate::server::Server;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
}

/// Returns what a client of the WebSocket gets first: the batch that is open, and its newest events.
pub(crate) async fn init(server: &Server) -> Value {
    let _ = server;
    json!({"batch": null, "events": []})
}
