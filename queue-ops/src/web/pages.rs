//! The files of the page, and its small pages: the server, the audit, the sign-in.

use axum::{extract::State, http::header, response::IntoResponse};
use maud::{Markup, html};

use super::{
    Web,
    frame::{Frame, Reader},
    show::{Failed, number, page},
};
use crate::{duration_in_words as words, server_facts};

pub(super) async fn style() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "text/css")],
        include_str!("style.css"),
    )
}

pub(super) async fn script() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "text/javascript")],
        include_str!("live.js"),
    )
}

pub(super) async fn server(State(web): State<Web>, frame: Frame) -> Result<Markup, Failed> {
    let server = server_facts(&*web.backend).await?;
    let content = html! {
        @match server {
            None => { p { "The backend has no server, or its user may not ask about it." } }
            Some(server) => {
                @if let Some(why) = &server.refuses_writes { div.finding.standstill { strong { "It refuses writes: " (why) } } }
                @for denied in &server.denied { div.finding.trouble {
                    strong { "User " (denied.user) " lacks the right to " (denied.what) } ", last " (words(denied.age)) " ago"
                } }
                @for warning in &server.warnings { div.finding { (warning) } }
                div.scroll { table { tbody {
                    tr { th scope="row" { "Version" } td { (server.version) } }
                    tr { th scope="row" { "Address" } td.text { (server.address) } }
                    tr { th scope="row" { "Memory" } td { (number(server.memory)) " bytes" } }
                    tr { th scope="row" { "Limit" } td { @match server.memory_limit { Some(limit) => { (number(limit)) " bytes" } None => "none" } } }
                } } }
            }
        }
    };
    Ok(page(&frame, "Server", "qk check", &content))
}

pub(super) async fn audit(State(web): State<Web>, frame: Frame) -> Markup {
    let content = html! {
        p { "The last hundred actions since this page was started." }
        div.scroll { table {
            thead { tr { th scope="col" { "When (ms since 1970)" } th scope="col" { "Action" } th scope="col" { "Outcome" } } }
            tbody { @for entry in web.audit.entries() { tr {
                td { (entry.at.as_millis()) } td.text { (entry.action) } td.text { (entry.outcome) }
            } } }
        } }
    };
    page(&frame, "Audit", "qk web", &content)
}

pub(super) async fn sign_in(frame: Frame) -> Markup {
    let content = html! {
        @match frame.reader {
            Reader::ReadOnly => p { "This page is read-only. Start it with " code { "--token-file" } " to act." },
            Reader::SignedIn => p { "You are signed in." },
            Reader::SignedOut => form method="post" action=(frame.to(&["sign-in"])) {
                label for="token" { "Token " }
                input id="token" name="token" type="password" autocomplete="current-password" required;
                " " button { "Sign in" }
            },
        }
    };
    page(&frame, "Sign in", "qk web --token-file FILE", &content)
}
