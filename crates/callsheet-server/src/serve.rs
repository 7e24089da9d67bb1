//! Serving: from the lock to the last request, and what becomes of agents then.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Uri;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use utoipa_axum::router::OpenApiRouter;

use crate::access::{Access, Token, guard};
use crate::error::ServeError;
use crate::instance::{Instance, Running};
use crate::live::{self, Bus};
use crate::pages::{self, Pages};
use crate::program::Program;
use crate::server::{Inner, Server};
use crate::site::Site;
use crate::{api, assets};

/// How many ports after the wanted one are tried.
const TRIES: u16 = 100;

/// How long a worker or a sprint may take to end its agents before it is asked again.
const ENDING: Duration = Duration::from_secs(15);

/// How long requests may take to end after a stop; streams never do.
const LAST: Duration = Duration::from_secs(2);

/// The name of the worker among the commands that go on.
const WORKER: &str = "worker";

/// How a project is served.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Where to listen.
    pub bind: IpAddr,
    /// The port, or one of the next if it is taken.
    pub port: u16,
    /// The address under which a proxy offers the server to others.
    pub proxy: Option<String>,
    /// Whether a worker runs along.
    pub worker: bool,
    /// Whether agents that run are left to come to their end when the server stops.
    pub hand_over: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: Ipv4Addr::LOCALHOST.into(),
            port: 6419,
            proxy: None,
            worker: true,
            hand_over: false,
        }
    }
}

/// A server that is ready to be started.
pub struct Serving {
    /// The project.
    pub site: Site,
    /// How it is served.
    pub options: Options,
    /// The lock of its store.
    pub instance: Instance,
}

/// Serves a project until the process is asked to stop; `ready` hears where.
pub fn serve(serving: Serving, ready: impl FnOnce(&Running)) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|cause| ServeError::refused("cannot start threads", cause))?;
    let served = runtime.block_on(serving.run(ready));
    // A request that blocks on a thread keeps nobody from stopping.
    runtime.shutdown_timeout(LAST);
    served
}

impl Serving {
    async fn run(self, ready: impl FnOnce(&Running)) -> Result<(), ServeError> {
        let Self {
            site,
            options,
            instance,
        } = self;
        let proxy = options.proxy()?;
        // Whoever stops it while it starts has stopped it as well.
        let stopped = stopped()?;
        let random =
            || Token::random().map_err(|cause| ServeError::refused("cannot make a token", cause));
        let (write, read) = (random()?, random()?);
        let listener = options.listen().await?;
        let at = listener.local_addr();
        let at = at.map_err(|cause| ServeError::refused("cannot tell the port", cause))?;
        let access = Access::new(write.clone(), read.clone(), at.port(), proxy.as_ref());
        let program = Program::new(site.program.clone(), site.root.clone());
        let site = Arc::new(site);
        let pages = Pages::new(Arc::clone(&site.warn));
        let server = Server::new(Inner {
            bus: Bus::follow(&site.store, &site.project).await?,
            site,
            access,
            program,
            pages,
            began: crate::server::now(),
            starts: tokio::sync::Mutex::default(),
        });
        if options.worker {
            server.program.start(WORKER, &["worker", "--leash"], true)?;
        }
        let address = match proxy {
            Some(proxy) => proxy.to_string().trim_end_matches('/').to_owned(),
            None => format!("http://{at}"),
        };
        let running = Running {
            url: format!("{address}/?token={}", write.as_str()),
            address,
            token: write.as_str().to_owned(),
            read_token: read.as_str().to_owned(),
            pid: std::process::id(),
        };
        instance.publish(&running)?;
        ready(&running);
        let served = answer(listener, &server, stopped).await;
        if options.hand_over {
            server.program.leave_all();
        } else {
            server.program.stop_all(ENDING).await;
        }
        served
    }
}

/// Answers requests until it is time to stop.
async fn answer(
    listener: TcpListener,
    server: &Server,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let (stop, is_stopped) = tokio::sync::oneshot::channel();
    let serving = axum::serve(listener, router(server)).with_graceful_shutdown(async move {
        stopped.await;
        let _ = stop.send(());
    });
    tokio::select! {
        served = serving => served.map_err(|cause| ServeError::refused("cannot serve", cause)),
        // Whoever follows events would keep the server for ever.
        () = async { let _ = is_stopped.await; tokio::time::sleep(LAST).await } => Ok(()),
    }
}

/// Returns everything that is answered, behind the guard.
fn router(server: &Server) -> Router {
    let (router, document) = OpenApiRouter::with_openapi(api::document())
        .merge(api::routes())
        .merge(live::routes())
        .split_for_parts();
    let document = Arc::new(api::completed(&document));
    router
        .route(
            "/openapi.json",
            get(move || async move { axum::Json(document.as_ref().clone()) }),
        )
        .route("/ws", get(live::socket))
        .route("/assets/{*name}", get(assets::asset))
        .merge(pages::routes(server))
        .fallback(pages::unknown)
        .method_not_allowed_fallback(api::wrong_method)
        .layer(from_fn_with_state(server.clone(), guard))
        .with_state(server.clone())
}

impl Options {
    /// Returns the address of the proxy; anything but this machine needs one.
    fn proxy(&self) -> Result<Option<Uri>, ServeError> {
        let Some(text) = &self.proxy else {
            if self.bind.is_loopback() {
                return Ok(None);
            }
            return Err(ServeError::Input(format!(
                "`{}` is not this machine alone: others could read along; serve 127.0.0.1 behind a proxy with TLS, \
                or name its address with `--proxy https://…`",
                self.bind
            )));
        };
        let wrong = || {
            ServeError::Input(format!(
                "`{text}` is not the address of a proxy; use one such as `https://callsheet.example.com`"
            ))
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let is_whole =
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some();
        if is_whole && uri.path() == "/" && uri.query().is_none() {
            Ok(Some(uri))
        } else {
            Err(wrong())
        }
    }

    /// Listens on the port, or on the next that is free; 0 is any.
    async fn listen(&self) -> Result<TcpListener, ServeError> {
        let last = self.port.saturating_add(TRIES);
        for port in self.port..=last {
            match TcpListener::bind(SocketAddr::new(self.bind, port)).await {
                Ok(listener) => return Ok(listener),
                Err(cause) if cause.kind() == ErrorKind::AddrInUse && port < last => {}
                Err(cause) => {
                    let what = format!("cannot listen on {}", SocketAddr::new(self.bind, port));
                    return Err(ServeError::refused(what, cause));
                }
            }
        }
        Err(ServeError::Input("no port is free".to_owned()))
    }
}

/// Returns what is ready when this process is asked to stop.
fn stopped() -> Result<impl Future<Output = ()> + Send + 'static, ServeError> {
    let listen = |kind| {
        signal(kind).map_err(|cause| ServeError::refused("cannot listen for signals", cause))
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}
