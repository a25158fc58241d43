//! The page of workers.

use std::time::Duration;

use axum::{Form, extract::State, response::Response};
use maud::{Markup, html};
use queue_core::{Error, WorkerInfo, WorkerState, WorkerWish, ask_worker};
use serde::Deserialize;

use super::{
    Web,
    access::Operator,
    actions::back,
    frame::Frame,
    show::{Failed, act as form, live_page, number},
};
use crate::duration_in_words as words;

pub(super) async fn list(State(web): State<Web>, frame: Frame) -> Result<Markup, Failed> {
    let mut workers = queue_core::workers(&*web.backend).await?;
    workers.sort_by_key(|worker| !worker.gone);
    let heads = [
        "State",
        "Worker",
        "Program",
        "Queues",
        "Busy",
        "Ran for",
        "Last beat",
    ];
    let content = html! {
        @if workers.is_empty() {
            p { "No worker registers. A program does it by " code { "register" } " of its worker." }
        } @else {
            div.scroll { table {
                thead { tr {
                    @for head in heads { th scope="col" { (head) } }
                    @if frame.acts() { th scope="col" { "Actions" } }
                } }
                tbody { @for worker in &workers { tr {
                    (row(worker))
                    @if frame.acts() { td { (actions(&frame, worker)) } }
                } } }
            } }
            @if frame.acts() { p.aside { "A worker that is asked obeys at its next beat. A quiet one receives nothing; one that drains ends after its handlers." } }
        }
    };
    Ok(live_page(&web, &frame, "Workers", "qk workers", &content))
}

fn row(worker: &WorkerInfo) -> Markup {
    let record = &worker.record;
    let span = |millis| words(Duration::from_millis(millis));
    html! {
        td {
            @match (worker.gone, record.state) {
                (true, _) => strong.badge.standstill { "gone" },
                (false, WorkerState::Quiet) => strong.badge.trouble { "quiet" },
                (false, WorkerState::Drains) => strong.badge.trouble { "drains" },
                (false, _) => "works",
            }
            @if let (false, Some(asked)) = (worker.gone, record.asked) { " " span.aside { "asked to " (asked_in_words(asked)) } }
        }
        td.text { (record.holder) } td.text { (record.program) } td.text { (record.queues.join(", ")) }
        td { (number(record.in_flight)) " of " (number(record.slots)) }
        td { (span(record.uptime_ms)) } td { (span(worker.last_beat_ms)) " ago" }
    }
}

const fn asked_in_words(wish: WorkerWish) -> &'static str {
    match wish {
        WorkerWish::Quiet => "be quiet",
        WorkerWish::Drain => "drain",
        _ => "work",
    }
}

/// The buttons for a worker that can be asked.
fn actions(frame: &Frame, worker: &WorkerInfo) -> Markup {
    let record = &worker.record;
    let buttons: &[_] = match record.state {
        _ if worker.gone || record.key.is_empty() => &[],
        WorkerState::Works => &[("quiet", "Make it quiet"), ("drain", "Drain it")],
        WorkerState::Quiet => &[("work", "Let it work"), ("drain", "Drain it")],
        _ => &[],
    };
    let to = frame.to(&["workers"]);
    html! {
        @for (verb, what) in buttons { (form(&to, verb, what, &[("worker", record.key.clone())])) }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Action {
    action: String,
    /// The key of the worker's record.
    worker: String,
}

/// Asks a worker to be quiet, to drain, or to work again.
pub(super) async fn act(
    operator: Operator,
    frame: Frame,
    State(web): State<Web>,
    Form(action): Form<Action>,
) -> Result<Response, Failed> {
    let done = ask(&web, &action).await;
    let holder = done.as_deref().unwrap_or(&action.worker);
    let what = format!("{} worker {holder}", action.action);
    let outcome = done.as_ref().map(|_| "asked");
    web.note(&operator, what, outcome).await;
    done?;
    Ok(back(frame.to(&["workers"])))
}

/// Returns the name of the worker.
async fn ask(web: &Web, Action { action, worker }: &Action) -> Result<String, Error> {
    let wish = match &**action {
        "quiet" => WorkerWish::Quiet,
        "drain" => WorkerWish::Drain,
        "work" => WorkerWish::Work,
        other => {
            let message =
                format!("there is no action `{other}` for a worker: quiet, drain or work");
            return Err(Error::invalid(message));
        }
    };
    Ok(ask_worker(&*web.backend, worker, wish).await?.holder)
}
