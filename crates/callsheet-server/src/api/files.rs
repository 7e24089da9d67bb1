//! The files of the project, as a tree. Names only, below its root only: contents are for editors.

use std::collections::BTreeMap;

use axum::extract::State;
use callsheet::Reason;
use callsheet::Root;
use rustix::fs::{Dir, FileType};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::{Answer, Data, data};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{Path, Query};
use crate::server::Server;

/// How deep a tree is at most.
const DEEPEST: usize = 5;

/// How many entries a tree has at most.
const MOST: usize = 2000;

/// What no project means when it speaks of its files.
const HIDDEN: [&str; 2] = [".git", ".callsheet"];

/// The kind of entries that have others below them.
const DIRECTORY: &str = "directory";

/// The routes of this page of the interface.
pub(super) fn routes() -> OpenApiRouter<Server> {
    OpenApiRouter::new().routes(routes!(list_files))
}

/// Which files are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// The directory, relative to the root; the root unless you say so.
    path: Option<String>,
    /// How many levels, 2 unless you say so, at most 5.
    #[param(minimum = 1, maximum = 5)]
    depth: Option<usize>,
}

/// Files and directories below a directory, by their paths.
#[derive(Debug, Default, Serialize, ToSchema)]
struct Files {
    entries: Vec<Entry>,
    /// Whether there are more than these; a list ends after 2000.
    has_more: bool,
}

/// A file or a directory.
#[derive(Debug, Serialize, ToSchema)]
struct Entry {
    /// Its path, relative to the root.
    path: String,
    /// `directory`, `file`, `link` or `other`.
    kind: &'static str,
}

/// Lists the files and directories of the project, by their paths
#[utoipa::path(get, path = "/api/projects/{id}/files", tag = "projects",
    params(("id" = String, Path, description = "The id of a project"), Wanted),
    responses(
        (status = 200, description = "The files", body = Data<Files>),
        (status = 400, description = "Something in the request is wrong, such as a path that leads out of the project", body = ErrorBody),
        (status = 404, description = "No such project or directory", body = ErrorBody),
        (status = 409, description = "The project is not served here", body = ErrorBody),
    ))]
async fn list_files(
    State(server): State<Server>,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Answer<Files> {
    server.find_served(&id).await?;
    let depth = wanted.depth.unwrap_or(2);
    if !(1..=DEEPEST).contains(&depth) {
        let why = format!("`depth` is {depth}; it has to be from 1 to {DEEPEST}");
        return Err(ApiError::validation(why));
    }
    let path = wanted.path.unwrap_or_else(|| ".".to_owned());
    let found = server.blocking(move |site| {
        let root = Root::open(&site.root)?;
        let path = relative(&path)?;
        let mut found = Files::default();
        list(&root, &path, depth, &mut found)?;
        Ok(found)
    });
    Ok(data(found.await?))
}

/// Returns a path without what goes nowhere; one that could lead out is refused, wherever it ends.
fn relative(path: &str) -> Result<String, ApiError> {
    let parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    let parts: Vec<&str> = parts.collect();
    if path.starts_with('/') || parts.contains(&"..") || path.contains('\0') {
        let why = format!("`{path}` is not a path below the root of the project");
        return Err(ApiError::validation(why));
    }
    if parts.first().is_some_and(|first| HIDDEN.contains(first)) {
        return Err(ApiError::not_found("directory", path));
    }
    Ok(if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    })
}

/// Adds what is in a directory, down to a depth.
fn list(root: &Root, path: &str, depth: usize, found: &mut Files) -> Result<(), ApiError> {
    for (name, kind) in children(root, path)? {
        if path == "." && HIDDEN.contains(&name.as_str()) {
            continue;
        }
        if found.entries.len() == MOST {
            found.has_more = true;
            return Ok(());
        }
        let path = if path == "." {
            name
        } else {
            format!("{path}/{name}")
        };
        found.entries.push(Entry {
            path: path.clone(),
            kind,
        });
        // What cannot be read is named and not entered.
        if kind == DIRECTORY && depth > 1 {
            let _ = list(root, &path, depth - 1, found);
        }
    }
    Ok(())
}

/// Returns what is in a directory, sorted by name. No link leads out on the way to it, and none is followed in it.
fn children(root: &Root, path: &str) -> Result<BTreeMap<String, &'static str>, ApiError> {
    let directory = root
        .open_directory(path)
        .map_err(|refusal| match refusal.reason {
            Reason::Missing => ApiError::not_found("directory", path),
            _ => ApiError::validation(format!("`{path}` {refusal}")),
        })?;
    let failed = |errno| {
        let cause = std::io::Error::from(errno);
        ApiError::validation(format!("`{path}` cannot be read: {cause}"))
    };
    let mut found = BTreeMap::new();
    for entry in Dir::new(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            found.insert(name, kind(entry.file_type()));
        }
    }
    Ok(found)
}

fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => DIRECTORY,
        FileType::RegularFile => "file",
        FileType::Symlink => "link",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_project() {
        assert_eq!(relative("src//./a/").unwrap(), "src/a");
        assert_eq!(relative(".").unwrap(), ".");
        assert_eq!(relative("").unwrap(), ".");
        for path in ["..", "a/../..", "/etc", "a/..", "a\0b", "../x"] {
            assert!(relative(path).is_err(), "{path}");
        }
        assert!(relative("./.git/objects").is_err());
        assert!(relative("src/.git").is_ok());
    }
}
