//! Compose: a prompt as it would be, while its input is edited.

mod preview;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Extension, Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use callsheet::Root;
use callsheet::recipe::{self, Found};
use serde::Serialize;

use self::preview::preview;
use super::prompts::recipes;
use crate::access::May;
use crate::error::ApiError;
use crate::server::Server;

/// How many bytes an input may have.
const MOST: usize = 4 << 20;

/// The routes of this page.
pub(super) fn routes() -> Router<Server> {
    Router::new()
        .route("/compose", get(first))
        .route("/compose/{*recipe}", get(page).post(preview))
        .layer(DefaultBodyLimit::max(MOST))
}

#[derive(Serialize)]
struct Page {
    recipes: Vec<Offered>,
    recipe: String,
    layers: usize,
    fields: Vec<String>,
    sample: String,
}

/// A recipe that can be picked.
#[derive(Serialize)]
struct Offered {
    name: String,
    home: &'static str,
    description: String,
}

async fn first(State(server): State<Server>, Extension(may): Extension<May>) -> Response {
    let own = server.blocking(|site| {
        let root = Root::open(&site.root)?;
        let all = recipes(&site.root);
        let own = all.iter().find(|name| recipe::is_own(name, &root));
        Ok(own.cloned().unwrap_or_else(|| "layers".to_owned()))
    });
    match own.await {
        Ok(name) => Redirect::to(&format!("/compose/{}", address(&name))).into_response(),
        Err(error) => server.failed(may, &error),
    }
}

/// Returns the name of a recipe as a path.
fn address(name: &str) -> String {
    let words = name.split('/').map(super::show::encoded);
    words.collect::<Vec<String>>().join("/")
}

async fn page(
    State(server): State<Server>,
    Extension(may): Extension<May>,
    Path(name): Path<String>,
) -> Response {
    let made = server.blocking(move |site| {
        let root = Root::open(&site.root)?;
        let found = found(&name, &root)?;
        let offered = recipes(&site.root).into_iter().filter_map(|name| {
            let found = recipe::find(&name, Some(&root)).ok()?;
            Some(Offered {
                home: if matches!(found, Found::Own(_)) {
                    "project"
                } else {
                    "built in"
                },
                description: found.recipe().description.clone(),
                name,
            })
        });
        let mut offered: Vec<Offered> = offered.collect();
        offered.sort_by_key(|recipe| recipe.home != "project");
        Ok(Page {
            recipes: offered,
            layers: found.recipe().layers.len(),
            fields: found.recipe().schema.fields().map(str::to_owned).collect(),
            sample: sample(&found, &root).unwrap_or_default(),
            recipe: name,
        })
    });
    server.answer("compose.html", ("compose", "Compose"), may, made.await)
}

fn found(name: &str, root: &Root) -> Result<Found, ApiError> {
    let known = recipe::is_name(name) && recipe::known(name, Some(root)).is_ok();
    if !known {
        return Err(ApiError::not_found("recipe", name));
    }
    Ok(recipe::find(name, Some(root))?)
}

/// Returns an input to begin with.
fn sample(found: &Found, root: &Root) -> Option<String> {
    let recipe = found.recipe();
    match found {
        Found::BuiltIn(_) => recipe::built_in_sample(&recipe.name).map(str::to_owned),
        Found::Own(_) => {
            let bytes = root
                .read(&format!("{}/{}", recipe.home, recipe::SAMPLE_FILE))
                .ok()?;
            String::from_utf8(bytes).ok()
        }
    }
}
