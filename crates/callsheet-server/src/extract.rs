//! What handlers take from a request: path, query and body.
//!
//! They are those of axum with one difference: what is wrong with a request is answered as every other error is. A text
//! with the character NUL is refused here, because neither a store nor an argument of a program can have one.

use axum::body::Bytes;
use axum::extract::{
    FromRequest, FromRequestParts, OptionalFromRequest, Path as AxumPath, Query as AxumQuery,
    Request,
};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ApiError;

/// A body of JSON. Where it may be left out, handlers take an `Option` of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Json<T>(pub(crate) T);

/// The parameters in the query of an address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Query<T>(pub(crate) T);

/// The parameters in the path of an address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path<T>(pub(crate) T);

impl<T, S> FromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let is_json = is_json(request.headers());
        let bytes = bytes(request, state).await?;
        // Forms cannot send this type, so that no other site can post one here.
        if !is_json {
            return Err(ApiError::validation(
                "the body has to be JSON, with `Content-Type: application/json`",
            ));
        }
        parse(&bytes).map(Self)
    }
}

impl<T, S> OptionalFromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, ApiError> {
        let is_json = is_json(request.headers());
        let bytes = bytes(request, state).await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        if !is_json {
            return Err(ApiError::validation(
                "the body has to be JSON, with `Content-Type: application/json`",
            ));
        }
        parse(&bytes).map(|value| Some(Self(value)))
    }
}

impl<T, S> FromRequestParts<S> for Query<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        refuse_nul(parts.uri.query().unwrap_or_default())?;
        AxumQuery::try_from_uri(&parts.uri)
            .map(|AxumQuery(query)| Self(query))
            .map_err(|rejection| wrong("the query", &rejection))
    }
}

impl<T, S> FromRequestParts<S> for Path<T>
where
    T: DeserializeOwned + Send,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        refuse_nul(path_of(&parts.uri))?;
        let taken = AxumPath::from_request_parts(parts, state).await;
        taken
            .map(|AxumPath(path)| Self(path))
            .map_err(|rejection| wrong("the path", &rejection))
    }
}

fn path_of(uri: &Uri) -> &str {
    uri.path()
}

async fn bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    Bytes::from_request(request, state)
        .await
        .map_err(|rejection| ApiError::validation(rejection.body_text()))
}

/// Tells whether a body says that it is JSON.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Reads a body; what is wrong with it is told by its line and column.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let wrong = |error: serde_json::Error| ApiError::validation(format!("the body: {error}"));
    // Only an escape can stand for it: the byte itself is not JSON.
    if bytes.windows(5).any(|five| five == b"u0000")
        && has_nul(&serde_json::from_slice(bytes).map_err(wrong)?)
    {
        return Err(ApiError::validation(
            "the body has a text with the character NUL",
        ));
    }
    serde_json::from_slice(bytes).map_err(wrong)
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

fn refuse_nul(encoded: &str) -> Result<(), ApiError> {
    if encoded.contains("%00") {
        return Err(ApiError::validation("the address has the character NUL"));
    }
    Ok(())
}

/// Says what is wrong with a part of a request: the innermost cause, which names the parameter.
fn wrong(part: &str, rejection: &dyn std::error::Error) -> ApiError {
    let mut cause = rejection;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    ApiError::validation(format!("{part}: {cause}"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Note {
        #[expect(dead_code, reason = "only its type counts")]
        text: String,
    }

    fn of(body: &str) -> String {
        match parse::<Note>(body.as_bytes()) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn what_is_wrong_with_a_body_is_told() {
        assert_eq!(of(r#"{"text": "a"}"#), "fine");
        assert_eq!(of(r#"{"text": "\\u0000"}"#), "fine");
        let nul = "the body has a text with the character NUL";
        assert_eq!(of(r#"{"text": "\u0000"}"#), nul);
        assert_eq!(of(r#"{"\u0000": 1}"#), nul);
        assert_eq!(
            of(r#"{"text": 1}"#),
            "the body: invalid type: integer `1`, expected a string at line 1 column 10"
        );
        assert_eq!(
            of(r#"{"txt": "a"}"#),
            "the body: unknown field `txt`, expected `text` at line 1 column 6"
        );
        assert_eq!(
            of(""),
            "the body: EOF while parsing a value at line 1 column 0"
        );
    }
}
