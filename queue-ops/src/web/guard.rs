//! Access: hosts, tokens, and the origin of a request.

use axum::{
    Form,
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::Web;

/// The cookie that holds the token of whoever signed in.
const COOKIE: &str = "qk-token";

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Checks each request, and sets the headers of each response.
pub(super) async fn guard(State(web): State<Web>, request: Request, next: Next) -> Response {
    let mut response = match refused(&web, request.method(), request.headers()) {
        Some(refused) => refused.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Without any referrer, a browser would not name the origin of a form either.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refused(web: &Web, method: &Method, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    if !web.hosts.is_empty() && !web.hosts.iter().any(|allowed| allowed == host) {
        return Some((
            StatusCode::MISDIRECTED_REQUEST,
            "this host name is not served here",
        ));
    }
    if method == Method::GET || method == Method::HEAD {
        return None;
    }
    // A browser names the origin with each POST. A request of another program has none, and no cookie of the user's.
    if let Some(origin) = text(header::ORIGIN) {
        let from = origin.split_once("://").map(|(_, host)| host);
        if from != Some(host) {
            return Some((
                StatusCode::FORBIDDEN,
                "the request comes from another origin",
            ));
        }
    }
    None
}

/// Proof that a request has the token. Every action asks for it.
pub(super) struct Operator(());

impl FromRequestParts<Web> for Operator {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Self, Self::Rejection> {
        match &web.token {
            None => Err((
                StatusCode::FORBIDDEN,
                "this page is read-only: start it with `--token-file` to act",
            )),
            Some(_) if is_signed_in(web, &parts.headers) => Ok(Self(())),
            Some(_) => Err((StatusCode::UNAUTHORIZED, "sign in first")),
        }
    }
}

/// Whether a request has the token, in the header or in the cookie.
pub(super) fn is_signed_in(web: &Web, headers: &HeaderMap) -> bool {
    let Some(token) = &web.token else {
        return false;
    };
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let cookies = text(header::COOKIE).unwrap_or_default().split("; ");
    let mut cookies = cookies.filter_map(|cookie| cookie.split_once('='));
    let cookie = cookies
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value);
    bearer.is_some_and(|given| is_same(given, token))
        || cookie.is_some_and(|given| is_same(given, token))
}

/// Compares without telling by the time how much of the token was right.
fn is_same(given: &str, token: &str) -> bool {
    let (given, token) = (given.as_bytes(), token.as_bytes());
    let differences = given
        .iter()
        .zip(token)
        .fold(0, |all, (one, other)| all | (one ^ other));
    given.len() == token.len() && differences == 0
}

#[derive(Deserialize)]
pub(super) struct SignIn {
    token: String,
}

/// Stores the token in a cookie that scripts do not see, and that no other site makes a browser send.
pub(super) async fn sign_in(
    State(web): State<Web>,
    Form(SignIn { token }): Form<SignIn>,
) -> Response {
    match &web.token {
        Some(right) if is_same(&token, right) => {
            let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict");
            (
                StatusCode::SEE_OTHER,
                [
                    (header::SET_COOKIE, cookie),
                    (header::LOCATION, "./".to_owned()),
                ],
            )
                .into_response()
        }
        Some(_) => (StatusCode::UNAUTHORIZED, "that is not the token").into_response(),
        None => (StatusCode::FORBIDDEN, "this page is read-only").into_response(),
    }
}
