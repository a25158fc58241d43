//! The conditions of each request, and the headers of each response: hosts, origins, sizes, times.

use std::time::Duration;

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio::time::timeout;

use super::{Web, access::reader, frame::Frame, hosts, show::FailedPage};

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Bytes of the largest request: a form with a key of a group and a cause of death.
const LARGEST: usize = 64 * 1024;
/// The time within which all of a request has to arrive.
const ARRIVAL: Duration = Duration::from_secs(10);

/// Checks each request, and sets the headers of each response.
pub(super) async fn guard(State(web): State<Web>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&web, request).await {
        Ok((frame, request)) => {
            let mut response = next.run(request).await;
            match response.extensions_mut().remove::<FailedPage>() {
                Some(failed) => failed.render(&frame),
                None => response,
            }
        }
        Err(refused) => refused.into_response(),
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

type Refused = (StatusCode, &'static str);

/// The request with its frame, once all of it has arrived.
async fn admitted(web: &Web, request: Request) -> Result<(Frame, Request), Refused> {
    let (mut parts, body) = request.into_parts();
    check(web, &parts)?;
    let body = match timeout(ARRIVAL, to_bytes(body, LARGEST)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            return Err((
                StatusCode::PAYLOAD_TOO_LARGE,
                "a request has 64 KiB at most",
            ));
        }
        Err(_) => {
            return Err((
                StatusCode::REQUEST_TIMEOUT,
                "the request did not arrive within 10 s",
            ));
        }
    };
    let frame = Frame::of(web, &parts, reader(web, &parts.headers));
    parts.extensions.insert(frame.clone());
    Ok((frame, Request::from_parts(parts, Body::from(body))))
}

fn check(web: &Web, parts: &Parts) -> Result<(), Refused> {
    let host = hosts::of_request(&parts.uri, &parts.headers);
    let is_public = |host: &str| web.public_url.as_ref().is_some_and(|url| url.host == host);
    let served = host.filter(|host| is_public(host.as_str()) || hosts::is_served(&web.hosts, host));
    let Some(host) = served else {
        return Err((
            StatusCode::MISDIRECTED_REQUEST,
            "this host name is not served here: `Web::hosts`, or `--host` of `qk web`, adds it",
        ));
    };
    if parts.method == Method::GET || parts.method == Method::HEAD {
        return Ok(());
    }
    // A browser names the origin with each POST. A request of another program has none, and no cookie of the user's.
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    let is_own = |origin: &HeaderValue| {
        let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        match &web.public_url {
            // The scheme counts, too: a page without TLS can be anybody's.
            Some(url) if url.host == host.as_str() || origin == url.origin => origin == url.origin,
            _ => ["http", "https"]
                .iter()
                .any(|scheme| origin == format!("{scheme}://{host}")),
        }
    };
    match origins.all(is_own) {
        true => Ok(()),
        false => Err((
            StatusCode::FORBIDDEN,
            "the request comes from another origin",
        )),
    }
}
