//! Pages, rendered on the server. They read without scripts; small modules of ours make them live.

mod attention;
mod compose;
mod find;
mod history;
mod limits;
mod prompts;
mod runs;
mod settings;
pub(crate) mod show;
mod sprint;
mod story;

pub(crate) use show::encoded;

use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};
use rust_embed::RustEmbed;
use serde::Serialize;

use crate::access::May;
use crate::error::ApiError;
use crate::server::Server;
use crate::site::Warn;
use crate::view::attention::{self as waiting, Counted};

/// What is shown where a page cannot be drawn.
const BROKEN: &str = include_str!("../../templates/broken.html");

#[derive(RustEmbed)]
#[folder = "templates"]
struct Templates;

/// The templates of all pages.
pub(crate) struct Pages {
    templates: Environment<'static>,
    pub(crate) counted: Counted,
    warn: Warn,
}

tokio::task_local! {
    /// What the bar says around the page that is answered just now.
    static AROUND: Around;
}

/// What stands in the bar of every page.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Around {
    /// The number of the last event that the page knows; what comes later is sent to it.
    seq: i64,
    /// How many things wait for a person.
    waiting: usize,
}

/// What every page knows, whatever it shows.
#[derive(Debug, Serialize)]
pub(crate) struct Frame<'p> {
    /// The name of the page in the navigation.
    pub(crate) page: &'p str,
    /// What stands in the title of the window, before the project.
    pub(crate) title: &'p str,
    /// Whether whoever looks may only read.
    pub(crate) read_only: bool,
    #[serde(flatten)]
    around: Around,
}

impl<'p> Frame<'p> {
    pub(crate) fn new(page: &'p str, title: &'p str, may: May) -> Self {
        let read_only = may == May::Read;
        Self {
            page,
            title,
            read_only,
            around: AROUND.try_with(|around| *around).unwrap_or_default(),
        }
    }
}

/// Finds out what the bar says, before a page is made.
///
/// The number of the last event is read first: whatever is stored while the page is made comes to it as an event.
pub(crate) async fn around(State(server): State<Server>, request: Request, next: Next) -> Response {
    let store = &server.site.store;
    let seq = store.head(&server.site.project).await;
    let count = waiting::count(&server).await;
    let around = Around {
        seq: seq.map_or(0, |head| head.seq),
        waiting: count.unwrap_or_default(),
    };
    AROUND.scope(around, next.run(request)).await
}

impl Pages {
    /// Loads the templates, which are built into the program.
    pub(crate) fn new(warn: Warn) -> Self {
        let mut templates = Environment::new();
        templates.set_auto_escape_callback(|_| AutoEscape::Html);
        templates.set_loader(|name| {
            let file = Templates::get(name);
            Ok(file.map(|file| String::from_utf8_lossy(&file.data).into_owned()))
        });
        show::add_to(&mut templates);
        Self {
            templates,
            counted: Counted::default(),
            warn,
        }
    }

    /// Renders a page.
    fn render(
        &self,
        name: &str,
        site: &str,
        frame: &Frame<'_>,
        content: &impl Serialize,
    ) -> Result<String, minijinja::Error> {
        let template = self.templates.get_template(name)?;
        let values = context! {
            project => site,
            frame => Serde(frame),
            now => show::now(),
            ..Serde(content)
        };
        template.render(values)
    }

    /// Answers with a page; where it cannot be drawn, with one that says so and nothing of what went wrong inside.
    fn page(
        &self,
        name: &str,
        site: &str,
        frame: &Frame<'_>,
        content: &impl Serialize,
    ) -> Response {
        match self.render(name, site, frame, content) {
            Ok(text) => Html(text).into_response(),
            Err(error) => {
                (self.warn)(&format!("page `{name}` cannot be drawn: {error}"));
                (StatusCode::INTERNAL_SERVER_ERROR, Html(BROKEN)).into_response()
            }
        }
    }
}

impl Server {
    /// Answers with a page.
    pub(crate) fn page(&self, name: &str, frame: &Frame<'_>, content: &impl Serialize) -> Response {
        self.pages.page(name, &self.site.name, frame, content)
    }

    /// Answers with a page of this name and title in the bar, or with one that says why there is none.
    pub(crate) fn answer(
        &self,
        name: &str,
        (page, title): (&str, &str),
        may: May,
        content: Result<impl Serialize, ApiError>,
    ) -> Response {
        match content {
            Ok(content) => self.page(name, &Frame::new(page, title, may), &content),
            Err(error) => self.failed(may, &error),
        }
    }

    /// Answers a page that failed with a page that says why.
    pub(crate) fn failed(&self, may: May, error: &ApiError) -> Response {
        let content = context_of(error);
        let frame = Frame::new("", "Error", may);
        with_status(error.status(), self.page("error.html", &frame, &content))
    }
}

/// What the page of an error shows.
#[derive(Serialize)]
struct Shown<'e> {
    status: u16,
    message: &'e str,
}

fn context_of(error: &ApiError) -> Shown<'_> {
    Shown {
        status: error.status().as_u16(),
        message: error.message(),
    }
}

/// The routes of all pages.
pub(crate) fn routes(server: &Server) -> Router<Server> {
    let pages = Router::new()
        .merge(attention::routes())
        .merge(compose::routes())
        .merge(history::routes())
        .merge(limits::routes())
        .merge(prompts::routes())
        .merge(runs::routes())
        .merge(settings::routes())
        .merge(sprint::routes())
        .merge(story::routes());
    pages
        .layer(from_fn_with_state(server.clone(), around))
        .merge(find::routes())
        // Browsers ask for it where a page cannot name its icon, such as beside raw text.
        .route("/favicon.ico", get(crate::assets::icon))
}

/// Answers whoever may not come in, with a page that says how to.
pub(crate) fn refused(server: &Server, error: &ApiError) -> Response {
    let frame = Frame::new("", "Not signed in", May::Read);
    // Whoever has no token learns nothing of the project.
    let page = server
        .pages
        .page("refused.html", "", &frame, &context_of(error));
    with_status(error.status(), page)
}

/// Gives a page the status of the error that it tells of; that of a page that cannot be drawn stays.
fn with_status(status: StatusCode, mut page: Response) -> Response {
    if page.status() == StatusCode::OK {
        *page.status_mut() = status;
    }
    page
}

/// Answers a path that leads nowhere.
pub(crate) async fn unknown(
    State(server): State<Server>,
    may: Option<Extension<May>>,
    uri: Uri,
) -> Response {
    let error = ApiError::not_found("page", uri.path());
    if uri.path().starts_with("/api/") {
        return error.into_response();
    }
    let may = may.map_or(May::Read, |Extension(may)| may);
    server.failed(may, &error)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::body::to_bytes;
    use axum::http::header::CONTENT_TYPE;

    use super::*;

    #[tokio::test]
    async fn a_page_that_cannot_be_drawn_says_nothing_of_the_inside() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let pages = Pages::new(Arc::new(move |what| {
            heard.lock().unwrap().push(what.to_owned());
        }));
        let frame = Frame::new("runs", "Runs", May::Read);
        // The templates of both ask for more than this.
        for name in ["runs.html", "nothing.html"] {
            let response = pages.page(name, "todo", &frame, &context! { runs => 3 });
            assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(response.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
            let body = to_bytes(response.into_body(), usize::MAX).await;
            assert_eq!(body.ok().as_deref(), Some(BROKEN.as_bytes()));
        }
        assert!(!BROKEN.contains("template"));
        let told = told.lock().unwrap().join("\n");
        assert!(
            told.starts_with("page `runs.html` cannot be drawn: "),
            "{told}"
        );
        assert!(
            told.contains("\npage `nothing.html` cannot be drawn: template not found"),
            "{told}"
        );
    }
}
