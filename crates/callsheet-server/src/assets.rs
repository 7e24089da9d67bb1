//! The files that pages load: styles, scripts and pictures of ours, built into the program.

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use crate::access::hex;
use crate::error::ApiError;

/// The icon.
const ICON: &str = "mark.svg";

#[derive(RustEmbed)]
#[folder = "assets"]
struct Assets;

/// Answers with the icon of every page.
pub(crate) async fn icon(headers: HeaderMap) -> Response {
    asset(Path(ICON.to_owned()), headers).await
}

/// Answers with a file; a browser that has it already is told so.
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(file) = Assets::get(&name) else {
        return ApiError::not_found("file", &name).into_response();
    };
    let hash = file.metadata.sha256_hash();
    let tag = format!("\"{}\"", hex(&hash[..16]));
    let kept = [
        (ETAG, tag.clone()),
        (CACHE_CONTROL, "private, no-cache".to_owned()),
    ];
    if headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes())
    {
        return (StatusCode::NOT_MODIFIED, kept).into_response();
    }
    let kind = match name.rsplit_once('.').map(|(_, end)| end) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    };
    (kept, [(CONTENT_TYPE, kind)], file.data).into_response()
}
