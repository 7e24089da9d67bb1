//! Agent profiles: those of the settings file can be read, those in files of their own can be changed.
//!
//! A file is written below `callsheet/profiles` of the project and nowhere else, whole or not at all, and only if it reads
//! as a profile in which nothing is wrong.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use callsheet::Root;
use callsheet::profile::{Found, PROFILES, Profile, Profiles};
use callsheet::settings::PromptSettings;
use callsheet_run::below::{self, Below};
use callsheet_store::{Run, RunFilter, RunState};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, Item};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{Answer, Data, Many, ManyAnswer, PageQuery, created, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Json, Path, Query};
use crate::server::Server;
use crate::site::Site;

/// How long a name may be.
const LONGEST: usize = 64;

/// How many runs that are not over are looked at.
const MOST: usize = 10_000;

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(list_profiles, create_profile))
        .routes(routes!(show_profile, change_profile, remove_profile))
}

/// An agent profile.
#[derive(Debug, Serialize, ToSchema)]
struct ProfileDocument {
    /// Its name, which is its id.
    id: String,
    /// The file that it stands in. One in `callsheet.toml` is changed there.
    home: String,
    /// The version: the hash of what it says. Nothing where it cannot be read.
    fingerprint: Option<String>,
    /// What it says: `name`, `description`, `runner`, `model`, `prompt_template`, `default_exclude`, `default_write_scope`, `config`.
    #[schema(value_type = Object)]
    profile: Map<String, Value>,
    /// What is wrong with it, if anything is.
    problems: Vec<String>,
}

/// A profile that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewProfile {
    /// The name: letters, digits, `-` and `_`.
    name: String,
    /// The name of a runner.
    runner: String,
    /// What it is for, in a sentence.
    description: Option<String>,
    /// The model, in the words of the agent's program.
    model: Option<String>,
    /// The text of the role, with variables in it.
    prompt_template: Option<String>,
    /// Patterns of what no task of this profile may touch.
    default_exclude: Option<Vec<String>>,
    /// Patterns of what tasks of this profile usually write: a suggestion, never applied.
    default_write_scope: Option<Vec<String>>,
}

/// What is to be changed about a profile. What is left out stays, and null removes it.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
struct ProfileChange {
    /// The name of a runner, which every profile has.
    runner: Option<String>,
    #[schema(value_type = Option<String>)]
    description: Change<String>,
    #[schema(value_type = Option<String>)]
    model: Change<String>,
    #[schema(value_type = Option<String>)]
    prompt_template: Change<String>,
    #[schema(value_type = Option<Vec<String>>)]
    default_exclude: Change<Vec<String>>,
    #[schema(value_type = Option<Vec<String>>)]
    default_write_scope: Change<Vec<String>>,
}

/// What becomes of a value.
#[derive(Debug, Default)]
enum Change<T> {
    #[default]
    Stay,
    Remove,
    Set(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Change<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<T>::deserialize(deserializer)?;
        Ok(value.map_or(Self::Remove, Self::Set))
    }
}

impl<T: Serialize> Serialize for Change<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = match self {
            Self::Stay | Self::Remove => None,
            Self::Set(value) => Some(value),
        };
        value.serialize(serializer)
    }
}

impl<T> Change<T> {
    /// Returns what a value is set to, if it is said at all.
    fn of(value: Option<T>) -> Self {
        value.map_or(Self::Stay, Self::Set)
    }

    /// Makes an item of a file of the value.
    fn item(self, make: impl FnOnce(T) -> Item) -> Change<Item> {
        match self {
            Self::Stay => Change::Stay,
            Self::Remove => Change::Remove,
            Self::Set(value) => Change::Set(make(value)),
        }
    }
}

impl From<NewProfile> for ProfileChange {
    fn from(new: NewProfile) -> Self {
        Self {
            runner: Some(new.runner),
            description: Change::of(new.description),
            model: Change::of(new.model),
            prompt_template: Change::of(new.prompt_template),
            default_exclude: Change::of(new.default_exclude),
            default_write_scope: Change::of(new.default_write_scope),
        }
    }
}

impl ProfileChange {
    /// Puts it into the text of a profile; what it says nothing of stays as it is written.
    fn put(self, text: &str) -> Result<String, ApiError> {
        let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            ApiError::conflict(format!("the profile cannot be read: {}", error.message()))
        })?;
        let list = |globs: Vec<String>| toml_edit::value(globs.into_iter().collect::<Array>());
        let changes = [
            ("runner", Change::of(self.runner).item(toml_edit::value)),
            ("description", self.description.item(toml_edit::value)),
            ("model", self.model.item(toml_edit::value)),
            (
                "prompt_template",
                self.prompt_template.item(toml_edit::value),
            ),
            ("default_exclude", self.default_exclude.item(list)),
            ("default_write_scope", self.default_write_scope.item(list)),
        ];
        for (name, change) in changes {
            match change {
                Change::Stay => {}
                Change::Remove => drop(document.remove(name)),
                Change::Set(item) => put(&mut document, name, item),
            }
        }
        Ok(document.to_string())
    }
}

/// Sets a value; the comments around it stay.
fn put(document: &mut DocumentMut, name: &str, mut item: Item) {
    let Some(there) = document.get_mut(name) else {
        document.insert(name, item);
        return;
    };
    if let (Some(before), Some(value)) = (there.as_value(), item.as_value_mut()) {
        *value.decor_mut() = before.decor().clone();
    }
    *there = item;
}

/// The profiles of the project as they are now, and where they are.
struct Shelf {
    root: Root,
    profiles: Profiles,
}

impl Shelf {
    fn open(site: &Site, settings: &PromptSettings) -> Result<Self, ApiError> {
        let root = Root::open(&site.root)?;
        let profiles = Profiles::read(&root, settings)?;
        Ok(Self { root, profiles })
    }

    /// Returns the profile of a name, or what stands in its place.
    fn find(&self, name: &str) -> Result<ProfileDocument, ApiError> {
        let found = self.profiles.iter().find(|(known, _)| *known == name);
        let (_, found) = found.ok_or_else(|| ApiError::not_found("agent profile", name))?;
        Ok(self.document(name, found))
    }

    fn document(&self, name: &str, found: &Found) -> ProfileDocument {
        let problems = self.profiles.problems(name);
        let read = found.read.as_ref().ok();
        ProfileDocument {
            id: name.to_owned(),
            home: found.home.clone(),
            fingerprint: read.map(|profile| profile.fingerprint().to_string()),
            profile: read.map(Profile::document).unwrap_or_default(),
            problems: problems.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns the file of a profile that may be changed here, by its path.
    fn file(&self, name: &str) -> Result<String, ApiError> {
        let found = self.find(name)?;
        if found.home.starts_with(PROFILES) {
            return Ok(found.home);
        }
        Err(ApiError::conflict(format!(
            "profile `{name}` stands in `{}`; change it there",
            found.home
        )))
    }

    /// Writes the file of a profile, if it reads as one in which nothing is wrong.
    fn write(&self, name: &str, file: &str, text: &str) -> Result<(), ApiError> {
        let profile = Profile::parse(name, file, text)?;
        if let Some(problem) = profile.problems().into_iter().next() {
            return Err(problem.into());
        }
        below::write(&self.root, file, text.as_bytes())
            .map_err(|why| ApiError::precondition(format!("`{file}` {why}")))
    }
}

/// Refuses a name that could lead elsewhere than to a file of profiles.
fn checked(name: &str) -> Result<&str, ApiError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if (1..=LONGEST).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(name);
    }
    Err(ApiError::validation(format!(
        "`{name}` is not a name of a profile: letters, digits, `-` and `_`, at most {LONGEST}"
    )))
}

/// Lists the agent profiles of the project
#[utoipa::path(get, path = "/api/projects/{id}/agent-profiles", tag = "runners",
    params(("id" = String, Path, description = "The id of a project"), PageQuery),
    responses(
        (status = 200, description = "A page of profiles", body = Many<ProfileDocument>),
        (status = 400, description = "Something in the request or in the settings is wrong", body = ErrorBody),
        (status = 404, description = "No such project", body = ErrorBody),
        (status = 409, description = "The project is not served here", body = ErrorBody),
    ))]
async fn list_profiles(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(page): Query<PageQuery>,
) -> ManyAnswer<ProfileDocument> {
    page.bounds()?;
    server.find_served(&id).await?;
    let settings = server.settings()?.prompt;
    let all = server.blocking(move |site| {
        let shelf = Shelf::open(site, &settings)?;
        let profiles = shelf.profiles.iter();
        Ok(profiles
            .map(|(name, found)| shelf.document(name, found))
            .collect())
    });
    Ok(axum::Json(page.of(all.await?)?))
}

/// Makes an agent profile, in a file of its own
#[utoipa::path(post, path = "/api/projects/{id}/agent-profiles", tag = "runners",
    params(("id" = String, Path, description = "The id of a project")),
    request_body = NewProfile,
    responses(
        (status = 201, description = "The profile", body = Data<ProfileDocument>),
        (status = 404, description = "No such project", body = ErrorBody),
        (status = 409, description = "There is such a profile, or the project is not served here", body = ErrorBody),
        (status = 412, description = "The file cannot be written", body = ErrorBody),
    ))]
async fn create_profile(
    State(server): State<Server>,
    Path(id): Path<String>,
    Json(new): Json<NewProfile>,
) -> Result<Response, ApiError> {
    server.find_served(&id).await?;
    let settings = server.settings()?.prompt;
    let made = server.blocking(move |site| {
        let name = checked(&new.name)?.to_owned();
        let shelf = Shelf::open(site, &settings)?;
        if shelf.profiles.names().any(|known| known == name) {
            return Err(ApiError::conflict(format!(
                "there is a profile `{name}` already"
            )));
        }
        let file = format!("{PROFILES}/{name}.toml");
        shelf.write(&name, &file, &ProfileChange::from(new).put("")?)?;
        Shelf::open(site, &settings)?.find(&name)
    });
    Ok(created(made.await?))
}

/// Shows an agent profile
#[utoipa::path(get, path = "/api/agent-profiles/{id}", tag = "runners",
    params(("id" = String, Path, description = "The name of a profile")),
    responses(
        (status = 200, description = "The profile", body = Data<ProfileDocument>),
        (status = 400, description = "Something in the settings is wrong", body = ErrorBody),
        (status = 404, description = "No such profile", body = ErrorBody),
    ))]
async fn show_profile(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Answer<ProfileDocument> {
    let settings = server.settings()?.prompt;
    let found = server.blocking(move |site| Shelf::open(site, &settings)?.find(&id));
    Ok(data(found.await?))
}

/// Changes an agent profile that stands in a file of its own; comments in it stay
#[utoipa::path(patch, path = "/api/agent-profiles/{id}", tag = "runners",
    params(("id" = String, Path, description = "The name of a profile")),
    request_body = ProfileChange,
    responses(
        (status = 200, description = "The profile as it is now", body = Data<ProfileDocument>),
        (status = 404, description = "No such profile", body = ErrorBody),
        (status = 409, description = "The profile stands in `callsheet.toml`, or cannot be read", body = ErrorBody),
        (status = 412, description = "The file cannot be written", body = ErrorBody),
    ))]
async fn change_profile(
    State(server): State<Server>,
    Path(id): Path<String>,
    Json(change): Json<ProfileChange>,
) -> Answer<ProfileDocument> {
    let settings = server.settings()?.prompt;
    let changed = server.blocking(move |site| {
        let shelf = Shelf::open(site, &settings)?;
        let file = shelf.file(&id)?;
        let text = shelf.root.read(&file);
        let text = text.map_err(|refusal| ApiError::conflict(format!("`{file}` {refusal}")))?;
        let text = String::from_utf8_lossy(&text);
        shelf.write(&id, &file, &change.put(&text)?)?;
        Shelf::open(site, &settings)?.find(&id)
    });
    Ok(data(changed.await?))
}

/// Deletes the file of an agent profile, unless a run that is not over has the profile
#[utoipa::path(delete, path = "/api/agent-profiles/{id}", tag = "runners",
    params(("id" = String, Path, description = "The name of a profile")),
    responses(
        (status = 204, description = "It is deleted"),
        (status = 404, description = "No such profile", body = ErrorBody),
        (status = 409, description = "It is in use, or stands in `callsheet.toml`", body = ErrorBody),
        (status = 412, description = "The file cannot be deleted", body = ErrorBody),
    ))]
async fn remove_profile(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let settings = server.settings()?.prompt;
    let (name, of) = (id.clone(), settings.clone());
    let file = server
        .blocking(move |site| Shelf::open(site, &of)?.file(&name))
        .await?;
    for state in [RunState::Queued, RunState::Running] {
        let filter = RunFilter {
            state: Some(state),
            ..RunFilter::default()
        };
        let (store, project) = (&server.site.store, &server.site.project);
        let (runs, _) = store.find_runs(project, filter, (0, MOST)).await?;
        let of = |run: &&Run| {
            run.request
                .as_ref()
                .is_some_and(|asked| asked["profile"] == *id)
        };
        if let Some(run) = runs.iter().find(of) {
            let why = format!("profile `{id}` is in use: run `{}` is not over", run.id);
            return Err(ApiError::conflict(why));
        }
    }
    let removed = server.blocking(move |site| {
        let shelf = Shelf::open(site, &settings)?;
        let failed =
            |why: String| ApiError::precondition(format!("`{file}` cannot be deleted: {why}"));
        let (above, name) = below::split(&file);
        let directory = Below::open(&shelf.root, above);
        let directory = directory.map_err(|refusal| failed(refusal.to_string()))?;
        directory
            .remove(name)
            .map_err(|cause| failed(cause.to_string()))
    });
    removed.await.map(|()| StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path() {
        assert_eq!(checked("coder-2_b").unwrap(), "coder-2_b");
        let long = "a".repeat(65);
        for name in [
            "", ".", "..", "../x", "a/b", "a\\b", "a.toml", "a\0", "ä", "a b", &long,
        ] {
            assert!(checked(name).is_err(), "{name}");
        }
    }

    #[test]
    fn what_is_not_changed_stays_as_it_is_written() {
        let text = "# who\nrunner = 'a'  # the one\nmodel = \"x\"\n\n[config]\nb = 1\n";
        let change: ProfileChange =
            serde_json::from_str(r#"{"runner": "b", "model": null, "default_exclude": ["*.env"]}"#)
                .unwrap();
        assert_eq!(
            change.put(text).unwrap(),
            "# who\nrunner = \"b\"  # the one\ndefault_exclude = [\"*.env\"]\n\n[config]\nb = 1\n"
        );
    }
}
