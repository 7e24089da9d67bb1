//! Runners and what they can do, and what keeps them and their accounts waiting.

use axum::extract::State;
use callsheet_run::account::{RUNNERS, SETTING, Standing, Standings};
use callsheet_run::{Resolved, find_program};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{Answer, Data, Many, ManyAnswer, PageQuery, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::Query;
use crate::server::{Server, now};
use crate::site::Site;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(list_runners))
        .routes(routes!(show_limits))
}

/// Who runs agents, under a name. No command and no variable is told.
#[derive(Debug, Serialize, ToSchema)]
struct RunnerDocument {
    /// Its name.
    name: String,
    /// The adapter, and the product for people.
    adapter: String,
    title: String,
    /// Whether the settings of the project have it; the others are there without any.
    configured: bool,
    /// Whether its program is found on this machine.
    installed: bool,
    /// The model, in the words of its program; nothing where that decides.
    model: Option<String>,
    /// The account whose limits it has.
    account: String,
    /// What its agents may do: `read`, `edit` or `full`; nothing where the sandbox decides.
    #[schema(value_type = Option<String>)]
    permissions: Option<callsheet_run::Permissions>,
    capabilities: Capabilities,
    /// Why it is paused, if it is.
    paused: Option<Hold>,
}

/// What the program of a runner can do.
#[derive(Debug, Serialize, ToSchema)]
struct Capabilities {
    /// Whether it takes a model.
    supports_model: bool,
    /// Whether it works without asking; all of them do.
    supports_non_interactive: bool,
    /// Whether it reads its prompt from a file.
    supports_prompt_file_inclusion: bool,
    /// The models that people choose from; any other name is passed on, too.
    available_models: Vec<String>,
}

/// Why something waits.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct Hold {
    /// The class of the failure, such as `quota`.
    class: String,
    /// What happened, for people.
    reason: Option<String>,
    /// Since when, in milliseconds since 1970.
    since: i64,
    /// Until when, in milliseconds since 1970; nothing where it waits for a person.
    until: Option<i64>,
    /// How often in a row.
    times: u32,
    /// Whether it waits now; if not, the next run is a probe.
    waiting: bool,
}

/// An account or a runner that waits.
#[derive(Debug, Serialize, ToSchema)]
struct Closed {
    /// Its name.
    name: String,
    #[serde(flatten)]
    why: Hold,
}

/// What waits now.
#[derive(Debug, Serialize, ToSchema)]
struct Limits {
    /// Accounts that a provider has closed.
    accounts: Vec<Closed>,
    /// Runners that this machine could not start.
    runners: Vec<Closed>,
    /// The time of the server, in milliseconds since 1970: countdowns begin here.
    now: i64,
}

impl Hold {
    fn of(standing: &Standing, now: i64) -> Self {
        Self {
            class: standing.class.as_str().to_owned(),
            reason: standing.reason.clone(),
            since: standing.since,
            until: standing.until,
            times: standing.times,
            waiting: standing.until.is_none_or(|until| until > now),
        }
    }
}

/// Lists the runners of the project, and those that need no settings
#[utoipa::path(get, path = "/api/runners", tag = "runners", params(PageQuery),
    responses(
        (status = 200, description = "A page of runners", body = Many<RunnerDocument>),
        (status = 400, description = "Something in the request or in the settings is wrong", body = ErrorBody),
    ))]
async fn list_runners(
    State(server): State<Server>,
    Query(page): Query<PageQuery>,
) -> ManyAnswer<RunnerDocument> {
    page.bounds()?;
    let paused = standings(&server, RUNNERS).await?;
    let runners = server.settings()?.runners;
    let found = server.blocking(move |site: &Site| {
        let path = std::env::var("PATH").ok();
        let names = runners.names().into_iter();
        let one = |name: String| {
            let configured = runners.runners.contains_key(&name);
            let resolved = runners.resolve(&name, &site.root, false)?;
            let why = paused.get(&name).map(|one| Hold::of(one, now()));
            Ok(described(resolved, (configured, path.as_deref()), why))
        };
        names.map(one).collect::<Result<Vec<_>, ApiError>>()
    });
    Ok(axum::Json(page.of(found.await?)?))
}

fn described(
    runner: Resolved,
    (configured, path): (bool, Option<&str>),
    paused: Option<Hold>,
) -> RunnerDocument {
    let program = runner.command.first();
    let installed = program.is_none_or(|program| find_program(program, path).is_some());
    let by_file = |arguments: &[String]| arguments.iter().any(|one| one.contains("{prompt_file}"));
    let sheet = &runner.sheet;
    let supports_prompt_file_inclusion =
        by_file(&runner.command) || by_file(&sheet.arguments) || by_file(&sheet.last);
    RunnerDocument {
        configured,
        installed,
        paused,
        capabilities: Capabilities {
            supports_model: !sheet.model.is_empty(),
            supports_non_interactive: true,
            supports_prompt_file_inclusion,
            available_models: sheet.models.clone(),
        },
        adapter: sheet.name.clone(),
        title: sheet.title.clone(),
        model: runner.runner.model,
        permissions: runner.runner.permissions,
        account: runner.account,
        name: runner.name,
    }
}

/// Tells which accounts and runners wait, why and until when
#[utoipa::path(get, path = "/api/limits", tag = "runners",
    responses(
        (status = 200, description = "What waits", body = Data<Limits>),
    ))]
async fn show_limits(State(server): State<Server>) -> Answer<Limits> {
    let now = now();
    let closed = |standings: Standings| {
        let one = |(name, standing): (String, Standing)| Closed {
            why: Hold::of(&standing, now),
            name,
        };
        standings.into_iter().map(one).collect()
    };
    Ok(data(Limits {
        accounts: closed(standings(&server, SETTING).await?),
        runners: closed(standings(&server, RUNNERS).await?),
        now,
    }))
}

/// Returns what is kept of accounts or of runners.
async fn standings(server: &Server, setting: &str) -> Result<Standings, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let kept = store.setting(project, setting).await?;
    let kept = kept.filter(|kept| !kept.is_null());
    let read = kept.map(serde_json::from_value).transpose();
    let read = read.map_err(|error| ApiError::internal(format!("`{setting}`: {error}")))?;
    Ok(read.unwrap_or_default())
}
