//! The frame of each page, and the forms of values on it.

use std::sync::Arc;

use axum::{
    Extension,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, html};
use queue_core::{Error, ErrorKind, Standing};

use super::{
    Web,
    frame::{Frame, Reader},
};
use crate::{Finding, Severity, ShellCommand, standing_in_words};

/// A page.
pub(super) fn page(frame: &Frame, title: &str, command: &str, content: &Markup) -> Markup {
    page_with(frame, title, command, content, false)
}

/// A page that reads itself again after each sample.
pub(super) fn live_page(
    web: &Web,
    frame: &Frame,
    title: &str,
    command: &str,
    content: &Markup,
) -> Markup {
    page_with(frame, title, command, content, web.watch.is_some())
}

fn page_with(frame: &Frame, title: &str, command: &str, content: &Markup, is_live: bool) -> Markup {
    let to = |page: &str| frame.to(&[page]);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " – queues" }
                link rel="stylesheet" href=(to("style.css"));
            }
            body {
                header { nav aria-label="Site" {
                    strong { a href=(to("queues")) { "Queues" } }
                    a href=(to("dead")) { "Dead letters" }
                    a href=(to("workers")) { "Workers" }
                    @if cfg!(feature = "schedules") { a href=(to("schedules")) { "Schedules" } }
                    a href=(to("server")) { "Server" }
                    a href=(to("audit")) { "Audit" }
                    @match frame.reader {
                        Reader::ReadOnly => {}
                        Reader::SignedOut => a href=(to("sign-in")) { "Sign in" },
                        Reader::SignedIn => form method="post" action=(to("sign-out")) { button { "Sign out" } },
                    }
                } }
                main {
                    h1 { (title) }
                    (content)
                }
                footer { "The same in a terminal: " code { (command) } }
                @if is_live { script src=(to("live.js")) data-events=(to("events")) {} }
            }
        }
    }
}

/// The command that shows the same as a page.
pub(super) fn command(verb: &'static str, values: &[&str]) -> String {
    let command = ShellCommand::new(verb);
    let command = values.iter().fold(command, ShellCommand::value);
    command.text().unwrap_or_default()
}

/// An error that becomes a page, with the status that fits it.
pub(super) struct Failed(pub(super) Error);

/// An error on its way to the guard, which knows the frame of its page.
#[derive(Clone)]
pub(super) struct FailedPage(Arc<Failed>);

impl FailedPage {
    pub(super) fn render(self, frame: &Frame) -> Response {
        let content = html! {
            div.finding.standstill role="alert" { strong { (self.0.0.to_string()) } }
        };
        let page = page(frame, "It did not work", "qk check", &content);
        (self.0.status(), page).into_response()
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl Failed {
    pub(super) fn status(&self) -> StatusCode {
        match self.0.kind() {
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::Unavailable | ErrorKind::OutOfMemory => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::ConfigMismatch
            | ErrorKind::InUse
            | ErrorKind::LeaseLost
            | ErrorKind::Full => StatusCode::CONFLICT,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The error as plain text, for machines.
    pub(super) fn as_text(&self) -> Response {
        (self.status(), self.0.to_string()).into_response()
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let failed = FailedPage(Arc::new(self));
        (failed.0.status(), Extension(failed)).into_response()
    }
}

pub(super) fn finding(finding: &Finding) -> Markup {
    let class = severity_class(finding.severity);
    html! {
        div class={ "finding " (class) } {
            strong { (finding.sentence) }
            @if let Some(remedy) = &finding.remedy {
                br;
                (remedy.what)
                @if let Some(command) = &remedy.command { ": " code { (command) } }
            }
        }
    }
}

pub(super) fn standing(standing: &Standing) -> String {
    standing_in_words(standing, |text| String::from_utf8_lossy(text).into_owned())
}

/// A number for people: `12,345`.
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The class that colours a finding.
pub(super) const fn severity_class(severity: Severity) -> &'static str {
    match severity {
        Severity::Standstill => "standstill",
        Severity::Trouble => "trouble",
        Severity::Note => "note",
    }
}

/// A form with one button.
pub(super) fn act(to: &str, verb: &str, what: &str, fields: &[(&str, String)]) -> Markup {
    html! {
        form method="post" action=(to) {
            input type="hidden" name="action" value=(verb);
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button { (what) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn thousands_are_separated() {
        for (value, shown) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345, "12,345"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(number(value), shown);
        }
    }
}
