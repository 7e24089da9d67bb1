//! What went wrong: for whoever starts the server, and for whoever asks it.
//!
//! An answer that is an error has a status, a code that programs can branch on, and a sentence for people.

use std::fmt;
use std::io;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use callsheet_run::RunError;
use callsheet_store::StoreError;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::instance::Running;

/// Why nothing is served.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// Another process serves this store already.
    Busy(Box<Running>),
    /// Another process is about to serve it.
    Starting,
    /// What was asked for cannot be served.
    Input(String),
    /// The system refused.
    Refused {
        /// What was tried.
        what: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The store refused.
    Store(StoreError),
}

impl ServeError {
    /// Makes the error of something that the system refused.
    pub(crate) fn refused(what: impl Into<String>, cause: io::Error) -> Self {
        let what = what.into();
        Self::Refused { what, cause }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(running) => {
                write!(f, "this project is served already: {}", running.address)
            }
            Self::Starting => {
                f.write_str("another callsheet is just starting to serve this project; try again")
            }
            Self::Input(why) => f.write_str(why),
            Self::Refused { what, cause } => write!(f, "{what}: {cause}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<StoreError> for ServeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The codes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Code {
    /// Something in the request is wrong.
    ValidationError,
    /// No token, or one that is not known.
    Unauthorized,
    /// The token may only read, or the request comes from another site.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// It does not go with what is there, such as stopping a run that is over.
    Conflict,
    /// Something else has to be done first.
    PreconditionFailed,
    /// The server is at fault, or what it needs is out of reach.
    InternalError,
}

impl Code {
    fn status(self) -> StatusCode {
        match self {
            Self::ValidationError => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Conflict => StatusCode::CONFLICT,
            Self::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Why a request was not answered.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ApiError {
    code: Code,
    /// What is wrong, in a sentence.
    message: String,
    /// More about it, such as hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

/// The body of an answer that is an error.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: ApiError,
}

impl ApiError {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self::new(Code::ValidationError, message)
    }

    pub(crate) fn not_found(what: &str, name: &str) -> Self {
        Self::new(Code::NotFound, format!("no {what} `{name}`"))
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(Code::Conflict, message)
    }

    pub(crate) fn precondition(message: impl Into<String>) -> Self {
        Self::new(Code::PreconditionFailed, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::InternalError, message)
    }

    /// Adds what a program may look at.
    pub(crate) fn details(mut self, details: impl Into<Value>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Tells whether there is no such thing.
    pub(crate) fn is_missing(&self) -> bool {
        self.code == Code::NotFound
    }

    /// Returns the hints of a command that was asked.
    pub(crate) fn hints(&self) -> Vec<Value> {
        let hints = self.details.as_ref().map(|details| &details["hints"]);
        hints.and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// Takes what is wrong with an input for a conflict: the parts of it were fine.
    pub(crate) fn into_conflict(mut self) -> Self {
        if self.code == Code::ValidationError {
            self.code = Code::Conflict;
        }
        self
    }

    /// Takes a conflict for something that has to be done first.
    pub(crate) fn into_precondition(mut self) -> Self {
        if self.code == Code::Conflict {
            self.code = Code::PreconditionFailed;
        }
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.code.status()
    }

    /// Returns the hints among the details.
    pub(crate) fn hint_texts(&self) -> Vec<String> {
        let hints = self.details.as_ref().map(|details| &details["hints"]);
        let hints = hints.and_then(Value::as_array).into_iter().flatten();
        hints
            .filter_map(|hint| hint.as_str().map(str::to_owned))
            .collect()
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status(), Json(ErrorBody { error: self })).into_response()
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::Unknown { candidates, .. } if candidates.is_empty() => {
                Self::new(Code::NotFound, text)
            }
            StoreError::Unknown { candidates, .. } => Self::validation(text).details(candidates),
            StoreError::Refused { .. } => Self::conflict(text),
            _ => Self::internal(text),
        }
    }
}

impl From<RunError> for ApiError {
    fn from(error: RunError) -> Self {
        let text = error.to_string();
        match error {
            RunError::Input(_) => Self::validation(text),
            RunError::Unknown { known, .. } => Self::new(Code::NotFound, text).details(known),
            RunError::NotNow(_) => Self::conflict(text),
            RunError::Store(error) => error.into(),
            _ => Self::internal(text),
        }
    }
}

impl From<callsheet::Error> for ApiError {
    fn from(error: callsheet::Error) -> Self {
        let message = error.headline();
        match error.kind() {
            callsheet::ErrorKind::Unreadable | callsheet::ErrorKind::Untrusted => {
                Self::internal(message)
            }
            _ => Self::validation(message),
        }
    }
}
