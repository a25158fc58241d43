//! Adding a message to a queue by a form.

use std::time::Duration;

use axum::{
    Form,
    extract::{Path, State},
    response::Response,
};
use maud::{Markup, html};
use queue_core::{
    Due, Error, ErrorKind, Headers, LeasingExt, MessageId, Push, QueueKind, QueueName,
};
use serde::Deserialize;

use super::{
    Web,
    access::Operator,
    actions::back,
    asked::{InQueue, name},
    frame::Frame,
    show::Failed,
};
use crate::open::open_leasing;

/// A message as the form has it. A field that is left empty is not set.
#[derive(Debug, Deserialize)]
pub(super) struct Added {
    body: String,
    #[serde(default)]
    job: String,
    #[serde(default)]
    delay_seconds: String,
    #[serde(default)]
    priority: String,
    #[serde(default)]
    group: String,
}

impl Added {
    fn push(self) -> Result<Push, Error> {
        // A browser sends each line break of a form as two characters.
        let mut push = Push::new(self.body.replace("\r\n", "\n"));
        if !self.job.trim().is_empty() {
            push = push.with_headers(Headers::new().with_job(self.job.trim()));
        }
        push.due = match number("delay", &self.delay_seconds)? {
            Some(seconds) => {
                let delay = Duration::try_from_secs_f64(seconds);
                let delay = delay.map_err(|_| invalid("delay", &self.delay_seconds))?;
                Some(Due::After(delay))
            }
            None => None,
        };
        push.priority = number("priority", &self.priority)?;
        if !self.group.is_empty() {
            push.group = Some(self.group.into());
        }
        Ok(push)
    }
}

/// The number in a field; none if it is empty.
fn number<T: std::str::FromStr>(field: &str, text: &str) -> Result<Option<T>, Error> {
    match text.trim() {
        "" => Ok(None),
        digits => digits.parse().map(Some).map_err(|_| invalid(field, text)),
    }
}

fn invalid(field: &str, text: &str) -> Error {
    let range = match field {
        "priority" => "a whole number from -32768 to 32767",
        _ => "seconds, 0 or more",
    };
    Error::invalid(format!("a {field} of {text:?}: {range}"))
}

/// The form, with the options of the queue's kind.
pub(super) fn form(frame: &Frame, queue: &QueueName, kind: QueueKind) -> Markup {
    let field = |name: &str, label: &str, kind: &str, hint: &str| {
        html! {
            p {
                label for={ "add-" (name) } { (label) }
                input id={ "add-" (name) } name=(name) type=(kind) placeholder=(hint) step=[(kind == "number").then_some("any")];
            }
        }
    };
    html! {
        details.form {
            summary { "Add a message" }
            form method="post" action=(frame.to(&["queues", queue.as_str(), "messages"])) {
                p {
                    label for="add-body" { "Body" }
                    textarea id="add-body" name="body" rows="5" spellcheck="false" {}
                }
                (field("job", "Job type", "text", "none"))
                (field("delay_seconds", "Due in seconds", "number", "at once"))
                @if kind == QueueKind::Priority { (field("priority", "Priority", "number", "0")) }
                @if kind == QueueKind::Grouped { (field("group", "Group", "text", Push::NO_GROUP)) }
                button { "Add it" }
            }
        }
    }
}

/// Adds a message, and leads to its page.
pub(super) async fn add(
    operator: Operator,
    frame: Frame,
    State(web): State<Web>,
    Path(InQueue { queue }): Path<InQueue>,
    Form(added): Form<Added>,
) -> Result<Response, Failed> {
    let queue = name(&queue)?;
    let done = push(&web, &queue, added).await;
    let outcome = done.as_ref().map(|id| format!("#{id}"));
    let outcome = outcome.as_deref().map_err(|error| *error);
    web.note(&operator, format!("push {queue}"), outcome).await;
    let id = done?.to_string();
    Ok(back(frame.to(&["queues", queue.as_str(), "messages", &id])))
}

async fn push(web: &Web, queue: &QueueName, added: Added) -> Result<MessageId, Error> {
    let push = added.push()?;
    let pushed = open_leasing(&*web.backend, queue)
        .await?
        .push_one(push)
        .await?;
    pushed.id().ok_or_else(|| {
        Error::new(ErrorKind::Full, "the queue is full: nothing was added").with_queue(queue)
    })
}
