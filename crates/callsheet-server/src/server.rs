//! What every handler has at hand.

use std::sync::Arc;

use axum::extract::FromRef;

use crate::access::Access;
use crate::error::ApiError;
use crate::live::Bus;
use crate::pages::Pages;
use crate::program::Program;
use crate::site::{Site, SiteSettings};

/// The server, shared by all requests.
#[derive(Clone)]
pub(crate) struct Server(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) site: Arc<Site>,
    pub(crate) access: Access,
    pub(crate) bus: Bus,
    pub(crate) program: Program,
    pub(crate) pages: Pages,
    /// When the server began, in milliseconds since 1970.
    pub(crate) began: i64,
    /// Held by whoever starts a run that is to be started once.
    pub(crate) starts: tokio::sync::Mutex<()>,
}

impl std::ops::Deref for Server {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Server {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Returns the settings of the project as they are now.
    pub(crate) fn settings(&self) -> Result<SiteSettings, ApiError> {
        (self.site.settings)().map_err(ApiError::validation)
    }

    /// Does something that blocks, such as looking at files or at git, on a thread that may.
    pub(crate) async fn blocking<T, F>(&self, work: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(&Site) -> Result<T, ApiError> + Send + 'static,
    {
        let site = Arc::clone(&self.site);
        let done = tokio::task::spawn_blocking(move || work(&site)).await;
        done.map_err(|_| ApiError::internal("the server failed; this is a bug"))?
    }
}

impl Server {
    /// Checks that a project is the one that is served, by its name or by the id that [`project_id`](Self::project_id) gives.
    pub(crate) fn check_project(&self, name: &str) -> Result<(), ApiError> {
        if name == self.project_id() || name == self.site.name {
            Ok(())
        } else {
            Err(ApiError::not_found("project", name))
        }
    }

    /// Returns the id of the project in addresses: its name, as it stands in the store, in characters that a path may have.
    pub(crate) fn project_id(&self) -> &str {
        &self.site.name
    }
}

/// Returns the time in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

impl FromRef<Server> for Access {
    fn from_ref(server: &Server) -> Self {
        server.access.clone()
    }
}
