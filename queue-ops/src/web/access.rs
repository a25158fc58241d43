//! The right to act: by a session, or by the token itself.

use std::{fmt, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Form,
    extract::{ConnectInfo, FromRequestParts, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use maud::html;
use queue_core::Error;
use serde::Deserialize;

use super::{
    Web,
    attempts::{Attempts, Way},
    frame::{Frame, Reader},
    sessions::{AGE, Sessions},
    show::{Failed, page},
    token::Token,
};

/// The cookie that names the session of whoever signed in.
const COOKIE: &str = "qk-session";

/// The token, the sessions, and the wrong tokens so far. Clones share them.
#[derive(Clone)]
pub(super) struct Access(Arc<Inner>);

struct Inner {
    token: Token,
    sessions: Sessions,
    attempts: Attempts,
}

impl Access {
    /// Refuses a token that is easily guessed.
    pub(super) fn new(token: Arc<str>) -> Result<Self, Error> {
        Ok(Self(Arc::new(Inner {
            token: Token::new(token)?,
            sessions: Sessions::default(),
            attempts: Attempts::default(),
        })))
    }

    fn attempt(&self, way: Way, parts: &Parts, given: &str) -> Result<bool, Duration> {
        let from = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let from = from.map(|from| from.0.ip());
        let Inner {
            token, attempts, ..
        } = &*self.0;
        attempts.attempt(way, from, || token.is(given))
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").finish_non_exhaustive()
    }
}

/// The reader of the page, by the session of the request.
pub(super) fn reader(web: &Web, headers: &HeaderMap) -> Reader {
    match &web.access {
        None => Reader::ReadOnly,
        Some(access) if sessions(headers).any(|name| access.0.sessions.has(name)) => {
            Reader::SignedIn
        }
        Some(_) => Reader::SignedOut,
    }
}

/// The sessions that a request names. Another page of the host may have set a cookie of the same name.
fn sessions(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let cookies = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let pairs = cookies.filter_map(|cookie| cookie.trim().split_once('='));
    pairs
        .filter(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value)
}

/// Proof that a request may act. Every action asks for it.
pub(super) struct Operator(());

impl FromRequestParts<Web> for Operator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Self, Self::Rejection> {
        let Some(access) = &web.access else {
            let read_only = "this page is read-only: start it with `--token-file` to act";
            return Err((StatusCode::FORBIDDEN, read_only).into_response());
        };
        if reader(web, &parts.headers) == Reader::SignedIn {
            return Ok(Self(()));
        }
        let bearer = parts
            .headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.split_once(' '));
        let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        match bearer.map(|(_, given)| access.attempt(Way::Header, parts, given)) {
            Some(Ok(true)) => Ok(Self(())),
            Some(Ok(false)) => {
                Err((StatusCode::UNAUTHORIZED, "that is not the token").into_response())
            }
            Some(Err(wait)) => Err(later(wait)),
            None => Err((StatusCode::UNAUTHORIZED, "sign in first").into_response()),
        }
    }
}

/// The response to a token that is not looked at yet.
fn later(wait: Duration) -> Response {
    let seconds = wait.as_secs() + 1;
    let text = format!("too many wrong tokens came from this address: try again in {seconds} s");
    let again = [(header::RETRY_AFTER, seconds.to_string())];
    (StatusCode::TOO_MANY_REQUESTS, again, text).into_response()
}

/// A cookie that scripts do not see, and that no other site makes a browser send.
fn cookie(web: &Web, frame: &Frame, value: &str, age: Duration) -> String {
    let secure = match &web.public_url {
        Some(url) if url.is_secure => "; Secure",
        _ => "",
    };
    let (path, age) = (frame.cookie_path(), age.as_secs());
    format!("{COOKIE}={value}; Path={path}; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
}

/// Leads to the list of queues, with a new cookie.
fn home(frame: &Frame, cookie: String) -> Response {
    let headers = [
        (header::SET_COOKIE, cookie),
        (header::LOCATION, frame.to(&["queues"])),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

#[derive(Deserialize)]
pub(super) struct SignIn {
    token: String,
}

/// The head of a request, for handlers that also read its body.
pub(super) struct Head(Parts);

impl FromRequestParts<Web> for Head {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Web) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.clone()))
    }
}

/// Begins a session.
pub(super) async fn sign_in(
    State(web): State<Web>,
    frame: Frame,
    Head(head): Head,
    Form(SignIn { token }): Form<SignIn>,
) -> Result<Response, Failed> {
    let Some(access) = &web.access else {
        return Ok((StatusCode::FORBIDDEN, "this page is read-only").into_response());
    };
    match access.attempt(Way::Form, &head, token.trim()) {
        Ok(true) => {
            let session = access.0.sessions.begin()?;
            Ok(home(&frame, cookie(&web, &frame, &session, AGE)))
        }
        Ok(false) => {
            let content = html! {
                div.finding.standstill role="alert" { strong { "that is not the token" } }
                p { a href=(frame.to(&["sign-in"])) { "Try again" } }
            };
            let page = page(&frame, "Sign in", "qk web --token-file FILE", &content);
            Ok((StatusCode::UNAUTHORIZED, page).into_response())
        }
        Err(wait) => Ok(later(wait)),
    }
}

/// Ends the sessions of a request.
pub(super) async fn sign_out(State(web): State<Web>, frame: Frame, headers: HeaderMap) -> Response {
    if let Some(access) = &web.access {
        sessions(&headers).for_each(|name| access.0.sessions.end(name));
    }
    home(&frame, cookie(&web, &frame, "", Duration::ZERO))
}
