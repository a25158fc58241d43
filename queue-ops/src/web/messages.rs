//! The messages of a queue by place, and a single one.

use std::time::Duration;

use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use queue_core::{Error, Found, LeasingExt, Place, Standing};

use super::{
    Web,
    asked::{After, InPlace, OfMessage, name},
    body,
    frame::Frame,
    show::{Failed, act, command, number, page, standing},
};
use crate::{
    Family, StepState, duration_in_words as words, family, open::open_leasing, state_in_words,
};

pub(super) async fn place(
    State(web): State<Web>,
    frame: Frame,
    Path(InPlace { queue, place }): Path<InPlace>,
    Query(asked): Query<After<u64>>,
) -> Result<Markup, Failed> {
    let queue = name(&queue)?;
    let shown = match &*place {
        "ready" => Place::Ready,
        "delayed" => Place::Delayed,
        "leased" => Place::Leased,
        _ => {
            return Err(
                Error::invalid(format!("no place `{place}`: ready, delayed or leased")).into(),
            );
        }
    };
    let peeked = open_leasing(&*web.backend, &queue)
        .await?
        .peek(shown, asked.page())
        .await?;
    let acts = frame.acts();
    let content = html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "Message" } th scope="col" { "State" } th.number scope="col" { "Attempts" }
                th scope="col" { "Age" } th scope="col" { "Job" } th scope="col" { "Last failure" } th scope="col" { "Body" }
            } }
            tbody { @for one in &peeked.entries {
                @let id = one.message.id;
                tr {
                    @let own = frame.to(&["queues", queue.as_str(), "messages", &id.to_string()]);
                    td { a href=(own) { "#" (id) } }
                    td.text {
                        (standing(&one.standing))
                        @if let (true, Standing::Leased { receipt, .. }) = (acts, &one.standing) {
                            (act(&own, "release", "Release", &[("token", receipt.token.to_string())]))
                        }
                    }
                    td.number { (number(one.attempts.into())) } td { (words(one.age)) }
                    td.text { (one.message.headers.job().unwrap_or_default()) }
                    td.text { (one.failure.as_deref().unwrap_or_default()) }
                    td.text { (body::in_table(&one.message.body)) }
                }
            } }
        } }
        @if let Some(next) = peeked.next { p { a href=(frame.after(&["queues", queue.as_str(), "in", &place], &next.get().to_string())) { "More messages" } } }
    };
    Ok(page(
        &frame,
        &format!("{queue}: {place}"),
        &command("peek", &[queue.as_str(), &place]),
        &content,
    ))
}

/// A sentence about the message, and one about what happens next.
fn state_of(found: &Found) -> (String, &'static str) {
    match found {
        Found::Present {
            standing: place,
            attempts,
            age,
            failure,
            state_size,
            ..
        } => {
            let failure = failure.as_deref();
            let failure = failure.map(|failure| format!("; last failure: {failure}"));
            let (place_in_words, age) = (standing(place), words(*age));
            let state = format!(
                "{place_in_words}; pushed {age} ago, {attempts} attempts{}{}",
                failure.unwrap_or_default(),
                state_in_words(*state_size)
            );
            (state, next_of(place))
        }
        Found::Dead {
            attempts,
            reason,
            failure,
            state_size,
            ..
        } => {
            let failure = failure.as_deref().map(|failure| format!(": {failure}"));
            let state = format!(
                "dead after {attempts} attempts: {reason}{}{}",
                failure.unwrap_or_default(),
                state_in_words(*state_size)
            );
            (state, "Nothing, until it is revived or discarded.")
        }
        Found::Done(_) => (
            "done: ".to_owned(),
            "Its result goes when its time is over.",
        ),
        Found::Gone => (
            "gone".to_owned(),
            "It was acked, cancelled or dropped, and no result is kept.",
        ),
        Found::NeverWas => (
            "never was".to_owned(),
            "No message of this queue had this id.",
        ),
    }
}

/// The next event of a message in this place.
const fn next_of(place: &Standing) -> &'static str {
    match place {
        Standing::Ready => "The next consumer that asks gets it.",
        Standing::Delayed { .. } => "It is ready when it is due.",
        Standing::Leased { .. } => {
            "Its holder settles it, or extends its lease; when the lease ends, it is ready again."
        }
    }
}

/// The actions on a message, and their buttons.
const fn actions_on(found: &Found) -> &'static [(&'static str, &'static str)] {
    match found {
        Found::Present {
            standing: Standing::Ready,
            ..
        } => &[("cancel", "Cancel it")],
        Found::Present {
            standing: Standing::Delayed { .. },
            ..
        } => &[("run", "Run it now"), ("cancel", "Cancel it")],
        Found::Dead { state_size: 0, .. } => &[("revive", "Revive it"), ("discard", "Discard it")],
        Found::Dead { .. } => &[
            ("revive", "Revive it"),
            ("restart", "Revive it without its state"),
            ("discard", "Discard it"),
        ],
        _ => &[],
    }
}

pub(super) async fn message(
    State(web): State<Web>,
    frame: Frame,
    Path(OfMessage { queue, id }): Path<OfMessage>,
) -> Result<Markup, Failed> {
    let queue = name(&queue)?;
    let leasing = open_leasing(&*web.backend, &queue).await?;
    let found = leasing.find_one(id).await?;
    let family = family(&*web.backend, &*leasing, id, &found).await;
    let (state, what_next) = state_of(&found);
    let id = id.to_string();
    let own = frame.to(&["queues", queue.as_str(), "messages", &id]);
    let content = html! {
        p.text { strong { (state) } }
        @if let Found::Done(result) = &found { (body::on_page(result)) }
        p { (what_next) }
        @if frame.acts() {
            @for (verb, what) in actions_on(&found) { (act(&own, verb, what, &[])) }
            @if family.has_children() { (act(&own, "cancel_family", "Cancel it with its children", &[])) }
        }
        (family_on_page(&frame, &family))
    };
    Ok(page(
        &frame,
        &format!("{queue}: message #{id}"),
        &command("show", &[queue.as_str(), &id]),
        &content,
    ))
}

/// The parent of a message, and its steps.
fn family_on_page(frame: &Frame, family: &Family) -> Markup {
    html! {
        @if let Some(parent) = &family.parent {
            @let to = frame.to(&["queues", &parent.queue, "messages", &parent.id.to_string()]);
            p.text { "Child of " a href=(to) { (parent.queue) " #" (parent.id) } }
        }
        @if let Some(why) = &family.unread { div.finding.note { strong { "Its steps cannot be read: " (why) } } }
        @if !family.steps.is_empty() {
            h2 id="steps" { "Steps" }
            div.scroll { table {
                thead { tr { th scope="col" { "Step" } th scope="col" { "After the push" } th scope="col" { "What" } } }
                tbody { @for step in &family.steps { tr {
                    td.text { (step.name) }
                    td { (words(Duration::from_millis(step.after_ms))) }
                    td.text { (step_on_page(frame, &step.state)) }
                } } }
            } }
        }
    }
}

fn step_on_page(frame: &Frame, state: &StepState) -> Markup {
    let StepState::Children(children) = state else {
        return html! { (state) };
    };
    html! {
        @if let Some(count) = children.count.filter(|count| *count > 0) {
            progress value=(children.ended) max=(count) { (children.ended) " of " (count) }
            " "
        }
        a href=(frame.to(&["queues", &children.queue])) { (children) }
    }
}
