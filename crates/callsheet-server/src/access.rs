//! Who may ask: a token, from our own pages or from a program, under a name that is ours.
//!
//! A page on another site can make a browser send requests here. It gets nowhere: the name in `Host` has to be ours, which
//! keeps out names that are pointed at this machine later (DNS rebinding); a request that changes something has to come from
//! our own pages; and the cookie is not sent along from elsewhere.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName, HeaderValue,
    LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::{ApiError, Code};
use crate::pages;
use crate::server::Server;

/// What pages may load: files of ours, and nothing within the page itself that runs or draws.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A secret that lets somebody in.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Makes one that nobody can guess.
    pub fn random() -> Result<Self, std::io::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self(hex(&bytes)))
    }

    /// Returns the text of it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether a text is this token, in a time that says nothing about where they differ.
    fn is(&self, text: &str) -> bool {
        let differ = self.0.bytes().zip(text.bytes());
        let differ = differ.fold(0, |sum, (one, other)| sum | (one ^ other));
        differ == 0 && self.0.len() == text.len()
    }
}

impl From<String> for Token {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Returns bytes as digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        text.push_str(&format!("{byte:02x}"));
        text
    })
}

/// What somebody with a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum May {
    Read,
    Write,
}

/// Who may ask, and under which names.
#[derive(Clone, Debug)]
pub struct Access(Arc<Rules>);

#[derive(Debug)]
struct Rules {
    write: Token,
    read: Token,
    /// The values of `Host` that are ours.
    hosts: Vec<String>,
    /// The values of `Origin` that are ours.
    origins: Vec<String>,
    cookie: String,
    is_secure: bool,
}

impl Access {
    /// Makes the rules for a port on this machine, and for the address under which a proxy offers it.
    pub fn new(write: Token, read: Token, port: u16, proxy: Option<&Uri>) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let mut hosts: Vec<String> = names.map(|name| format!("{name}:{port}")).into();
        let mut origins: Vec<String> = hosts.iter().map(|host| format!("http://{host}")).collect();
        if let Some((authority, scheme)) =
            proxy.and_then(|uri| uri.authority().zip(uri.scheme_str()))
        {
            hosts.push(authority.to_string());
            origins.push(format!("{scheme}://{authority}"));
        }
        Self(Arc::new(Rules {
            write,
            read,
            hosts,
            origins,
            // Cookies do not know ports: each server needs its own name.
            cookie: format!("callsheet_{port}"),
            is_secure: proxy.is_some_and(|uri| uri.scheme_str() == Some("https")),
        }))
    }

    /// Returns what a token allows.
    fn token(&self, text: &str) -> Option<May> {
        if self.0.write.is(text) {
            Some(May::Write)
        } else {
            self.0.read.is(text).then_some(May::Read)
        }
    }

    /// Returns what whoever sends these headers may do.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<May> {
        let bearer = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        if let Some(bearer) = bearer {
            let (scheme, token) = bearer.split_once(' ')?;
            return scheme
                .eq_ignore_ascii_case("bearer")
                .then(|| self.token(token.trim()))?;
        }
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';'));
        pairs.find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.0.cookie).then(|| self.token(value))?
        })
    }

    /// Tells whether the request names this server.
    fn is_our_host(&self, request: &Request) -> bool {
        let host = request
            .headers()
            .get(HOST)
            .and_then(|host| host.to_str().ok());
        let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
        host.is_some_and(|host| {
            self.0
                .hosts
                .iter()
                .any(|ours| ours.eq_ignore_ascii_case(host))
        })
    }

    /// Tells whether the request comes from elsewhere.
    fn is_foreign(&self, headers: &HeaderMap) -> bool {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let origin = text(ORIGIN.as_str());
        if origin.is_some_and(|origin| !self.0.origins.iter().any(|ours| ours == origin)) {
            return true;
        }
        matches!(text("sec-fetch-site"), Some("cross-site" | "same-site"))
    }

    /// Returns the cookie that a token is kept in.
    fn cookie(&self, token: &str) -> String {
        let secure = if self.0.is_secure { "; Secure" } else { "" };
        let name = &self.0.cookie;
        format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict{secure}")
    }
}

/// Lets in whoever may ask, and puts on every answer what browsers have to be told.
pub(crate) async fn guard(
    State(server): State<Server>,
    mut request: Request,
    next: Next,
) -> Response {
    let checked = check(&server, &mut request);
    let path = request.uri().path();
    let is_page = !path.starts_with("/api/") && !path.ends_with(".json") && path != "/ws";
    let mut response = match checked {
        Ok(None) => next.run(request).await,
        Ok(Some(response)) => response,
        Err(error) if is_page && request.method() == Method::GET => pages::refused(&server, &error),
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    };
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(X_FRAME_OPTIONS, "DENY");
    set(REFERRER_POLICY, "no-referrer");
    set(CACHE_CONTROL, "no-store");
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=()",
    );
    response
}

/// Checks a request; a page that brings its token is answered with a cookie and its address without the token.
fn check(server: &Server, request: &mut Request) -> Result<Option<Response>, ApiError> {
    let access = &server.access;
    if !access.is_our_host(request) {
        let sentence =
            "this is not a name of this server; open the address that `callsheet serve` printed";
        return Err(ApiError::new(Code::Forbidden, sentence));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_upgrade = request.uri().path() == "/ws";
    if (!reads || is_upgrade) && access.is_foreign(request.headers()) {
        let sentence = "the request comes from another site";
        return Err(ApiError::new(Code::Forbidden, sentence));
    }
    // What draws a page that says who may come in says nothing of the project.
    if reads && request.uri().path().starts_with("/assets/") {
        return Ok(None);
    }
    if let Some((token, rest)) = token_of(request.uri()).filter(|_| reads) {
        if access.token(&token).is_none() {
            return Err(unauthorized());
        }
        let mut response = (StatusCode::SEE_OTHER, [(LOCATION, rest)]).into_response();
        if let Ok(cookie) = HeaderValue::from_str(&access.cookie(&token)) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        return Ok(Some(response));
    }
    let may = access.of(request.headers()).ok_or_else(unauthorized)?;
    // A preview keeps nothing.
    let path = request.uri().path();
    let is_preview = path.starts_with("/api/compose/") || path.starts_with("/compose/");
    if !reads && may == May::Read && !is_preview {
        let sentence = "this token may only read";
        return Err(ApiError::new(Code::Forbidden, sentence));
    }
    request.extensions_mut().insert(may);
    Ok(None)
}

fn unauthorized() -> ApiError {
    let sentence = "a token is needed; open the address that `callsheet serve` printed, or send `Authorization: Bearer TOKEN`";
    ApiError::new(Code::Unauthorized, sentence)
}

/// Returns the token in an address, and the address without it.
fn token_of(uri: &Uri) -> Option<(String, String)> {
    let query = uri.query()?;
    let (tokens, rest): (Vec<&str>, Vec<&str>) = query
        .split('&')
        .partition(|pair| pair.starts_with("token="));
    let token = tokens.first()?.strip_prefix("token=")?.to_owned();
    // Two slashes at the beginning would lead to another server.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    let rest = if rest.is_empty() {
        path
    } else {
        format!("{path}?{}", rest.join("&"))
    };
    Some((token, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leaves_the_address() {
        let of = |uri: &str| token_of(&uri.parse().unwrap());
        let found = |token: &str, rest: &str| Some((token.to_owned(), rest.to_owned()));
        assert_eq!(of("/runs?token=ab&x=1"), found("ab", "/runs?x=1"));
        assert_eq!(of("/?token=ab"), found("ab", "/"));
        assert_eq!(
            of("//evil.example/?token=ab"),
            found("ab", "/evil.example/")
        );
        assert_eq!(of("/runs?tokens=1"), None);
        assert_eq!(of("/runs"), None);
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::from("abc".to_owned());
        assert!(token.is("abc"));
        for other in ["", "ab", "abcd", "abd", "ABC"] {
            assert!(!token.is(other), "{other}");
        }
    }
}
