//! The pages.

use std::num::NonZeroUsize;

use axum::{
    extract::{Path, Query, State},
    http::header,
    response::IntoResponse,
};
use maud::{Markup, html};
use queue_core::{
    Cursor, Error, Found, LeasingExt, MessageId, Page, Place, QueueInfo, QueueKind, QueueName,
    Standing,
};
use serde::Deserialize;

use super::{
    Web,
    frame::{Frame, Reader},
    group_table,
    show::{Failed, act, body, command, finding, live_page, page, standing},
    watch::{Watch, chart, rate},
};
use crate::{
    Sample, consumers::consumers_of, diagnose, duration_in_words as words, group_failures,
    hex::hex, list_queues, open::open_leasing, open_grouped, server_facts,
};

/// Rows of a page.
pub(super) const ROWS: usize = 100;

type Shown = Result<Markup, Failed>;

#[derive(Deserialize)]
pub(super) struct After<T> {
    pub(super) after: Option<T>,
}

/// The parts of a path are taken by their names: a router that nests this one may have parts of its own before them.
#[derive(Deserialize)]
pub(super) struct InQueue {
    pub(super) queue: String,
}

#[derive(Deserialize)]
pub(super) struct InPlace {
    queue: String,
    place: String,
}

#[derive(Deserialize)]
pub(super) struct OfMessage {
    pub(super) queue: String,
    pub(super) id: MessageId,
}

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

pub(super) fn name(queue: &str) -> Result<QueueName, Error> {
    QueueName::new(queue)
}

pub(super) async fn queues(
    State(web): State<Web>,
    frame: Frame,
    Query(After { after }): Query<After<String>>,
) -> Shown {
    let after = after.as_deref().map(name).transpose()?;
    let rows = NonZeroUsize::new(ROWS).expect("more than 0");
    let mut queues = web.backend.queues(after.as_ref(), rows).await?;
    let next = queues
        .last()
        .filter(|_| queues.len() == ROWS)
        .map(|last| last.name.to_string());
    // Queues with findings come first.
    queues.sort_by_cached_key(|queue| (finding_of(&web, queue).is_none(), queue.name.clone()));
    let content = html! {
        @if queues.is_empty() { p { "There are no queues. A program that opens one makes it." } }
        @else {
            div.scroll { table {
                thead { tr {
                    th scope="col" { "Finding" } th scope="col" { "Queue" } th scope="col" { "Kind" }
                    @for head in ["Ready", "Oldest", "Delayed", "Leased", "Dead", "In/s", "Out/s"] {
                        th.number scope="col" { (head) }
                    }
                } }
                tbody { @for queue in &queues { tr {
                    td { @if let Some(finding) = finding_of(&web, queue) { strong { (finding) } } }
                    td.text { a href=(frame.to(&["queues", queue.name.as_str()])) { (queue.name) } }
                    td { (queue.kind) }
                    @if let Some(counters) = queue.counters {
                        @let depth = counters.depth;
                        @let last = web.watch.as_ref().and_then(|watch| watch.of(&queue.name, |one| one.rates.last().copied()).flatten());
                        td.number { (depth.ready) }
                        td.number { @if let Some(age) = counters.oldest_ready { (words(age)) } }
                        @for count in [depth.delayed, depth.leased, depth.dead] { td.number { (count) } }
                        @if let Some(last) = last { td.number { (rate(last.pushed)) } td.number { (rate(last.acked)) } }
                        @else { td {} td {} }
                    } @else { td colspan="7" {} }
                } } }
            } }
        }
        @if let Some(next) = next { p { a href=(frame.after(&["queues"], &next)) { "More queues" } } }
    };
    Ok(live_page(&web, &frame, "Queues", "qk ls", &content))
}

/// The finding that the counters and samples of a queue show. Its page has the diagnosis.
fn finding_of(web: &Web, queue: &QueueInfo) -> Option<String> {
    let Some(counters) = queue.counters else {
        return Some("cannot be read: its page says why".to_owned());
    };
    if counters.paused {
        return Some("paused".to_owned());
    }
    let stands = |sample: &Sample| sample.stands_for;
    let stands = web.watch.as_ref()?.of(&queue.name, stands)?;
    (!stands.is_zero()).then(|| format!("stands still for {}", words(stands)))
}

pub(super) async fn queue(
    State(web): State<Web>,
    frame: Frame,
    Path(InQueue { queue }): Path<InQueue>,
) -> Shown {
    let queue = name(&queue)?;
    let diagnosis = diagnose(&*web.backend, queue.as_str()).await?;
    let numbers = diagnosis.numbers.as_ref();
    let counters = numbers.and_then(|numbers| numbers.counters);
    let to = |page: &[&str]| frame.to(&[&["queues", queue.as_str()], page].concat());
    let acts = frame.acts();
    let consumers = match numbers.filter(|numbers| numbers.counters.is_some()) {
        Some(numbers) => {
            let leasing = open_leasing(&*web.backend, &queue).await?;
            let waiting = numbers.facts.waiting_holders.clone();
            consumers_of(&*leasing, numbers.now, waiting).await?
        }
        None => Vec::new(),
    };
    let groups = match numbers.filter(|numbers| numbers.kind == QueueKind::Grouped) {
        Some(_) => {
            let grouped = open_grouped(&*web.backend, &queue).await?;
            Some(grouped.groups(Page::first(group_table::FIRST)).await?)
        }
        None => None,
    };
    let rates = web
        .watch
        .as_ref()
        .and_then(|watch| watch.of(&queue, |sample| sample.rates.clone()));
    let content = html! {
        section aria-label="Diagnosis" {
            @if diagnosis.is_healthy() { div.finding.well { strong { (diagnosis.headline()) } } }
            @for one in &diagnosis.findings { (finding(one)) }
        }
        @if let Some(counters) = counters {
            @let depth = counters.depth;
            h2 { "Messages" }
            div.scroll { table { tbody {
                @for (place, count) in [("ready", depth.ready), ("delayed", depth.delayed), ("leased", depth.leased)] {
                    tr { th scope="row" { a href=(to(&["in", place])) { (place) } } td.number { (count) } }
                }
                tr { th scope="row" { a href=(to(&["dead"])) { "dead" } } td.number { (depth.dead) } }
                @for (what, count) in [
                    ("accepted", counters.accepted), ("acked", counters.acked), ("retried", counters.retried),
                    ("expired leases", counters.expired), ("died", counters.died),
                ] { tr { th scope="row" { (what) } td.number { (count) } } }
                @if let Some(age) = counters.oldest_ready { tr { th scope="row" { "oldest ready" } td.number { (words(age)) } } }
            } } }
            @if let (Some(rates), Some(watch)) = (rates, &web.watch) {
                h2 { "Rates" }
                (chart(&rates, watch.every()))
            }
            @if let Some(groups) = &groups { (group_table::section(&frame, &queue, groups)) }
            @if !consumers.is_empty() {
                h2 { "Consumers" }
                div.scroll { table {
                    thead { tr { th scope="col" { "Holder" } th scope="col" { "Waits" } th.number scope="col" { "Leased" } } }
                    tbody { @for one in &consumers { tr {
                        td.text { (one.holder) } td { @if one.waits { "waits" } } td.number { (one.leased) }
                    } } }
                } }
            }
            @if acts {
                h2 { "Actions" }
                @let (verb, what) = if counters.paused { ("resume", "Hand out messages again") } else { ("pause", "Stop handing out messages") };
                (act(&to(&[]), verb, what, &[]))
            }
        }
    };
    Ok(live_page(
        &web,
        &frame,
        queue.as_str(),
        &command("why", &[queue.as_str()]),
        &content,
    ))
}

pub(super) async fn place(
    State(web): State<Web>,
    frame: Frame,
    Path(InPlace { queue, place }): Path<InPlace>,
    Query(After { after }): Query<After<u64>>,
) -> Shown {
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
    let page_asked = match after {
        Some(after) => Page::after(Cursor::new(after), ROWS),
        None => Page::first(ROWS),
    };
    let peeked = open_leasing(&*web.backend, &queue)
        .await?
        .peek(shown, page_asked)
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
                    td.number { (one.attempts) } td { (words(one.age)) }
                    td.text { (one.message.headers.job().unwrap_or_default()) }
                    td.text { (one.failure.as_deref().unwrap_or_default()) }
                    td.text { code { (body(&one.message.body)) } }
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

pub(super) async fn message(
    State(web): State<Web>,
    frame: Frame,
    Path(OfMessage { queue, id }): Path<OfMessage>,
) -> Shown {
    let queue = name(&queue)?;
    let found = open_leasing(&*web.backend, &queue)
        .await?
        .find_one(id)
        .await?;
    let acts = frame.acts();
    let (state, what_next) = match &found {
        Found::Present {
            standing: place,
            attempts,
            age,
            failure,
            ..
        } => {
            let failure = failure
                .as_deref()
                .map(|failure| format!("; last failure: {failure}"));
            let state = format!(
                "{}; pushed {} ago, {attempts} attempts{}",
                standing(place),
                words(*age),
                failure.unwrap_or_default()
            );
            (
                state,
                match place {
                    Standing::Ready => "The next consumer that asks gets it.",
                    Standing::Delayed { .. } => "It is ready when it is due.",
                    Standing::Leased { .. } => {
                        "Its holder settles it, or extends its lease; when the lease ends, it is ready again."
                    }
                },
            )
        }
        Found::Dead {
            attempts,
            reason,
            failure,
            ..
        } => {
            let failure = failure.as_deref().map(|failure| format!(": {failure}"));
            (
                format!(
                    "dead after {attempts} attempts: {reason}{}",
                    failure.unwrap_or_default()
                ),
                "Nothing, until it is revived or discarded.",
            )
        }
        Found::Done(result) => (
            format!("done: {}", body(result)),
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
    };
    let own = frame.to(&["queues", queue.as_str(), "messages", &id.to_string()]);
    let content = html! {
        p.text { strong { (state) } }
        p { (what_next) }
        @if acts {
            @match &found {
                Found::Present { standing: Standing::Ready, .. } => {
                    (act(&own, "cancel", "Cancel it", &[]))
                }
                Found::Present { standing: Standing::Delayed { .. }, .. } => {
                    (act(&own, "run", "Run it now", &[]))
                    (act(&own, "cancel", "Cancel it", &[]))
                }
                Found::Dead { .. } => {
                    (act(&own, "revive", "Revive it", &[]))
                    (act(&own, "discard", "Discard it", &[]))
                }
                _ => {}
            }
        }
    };
    Ok(page(
        &frame,
        &format!("{queue}: message #{id}"),
        &command("show", &[queue.as_str(), &id.to_string()]),
        &content,
    ))
}

pub(super) async fn dead(
    State(web): State<Web>,
    frame: Frame,
    Path(InQueue { queue }): Path<InQueue>,
    Query(After { after }): Query<After<u64>>,
) -> Shown {
    let queue = name(&queue)?;
    let page_asked = match after {
        Some(after) => Page::after(Cursor::new(after), ROWS),
        None => Page::first(ROWS),
    };
    let letters = open_leasing(&*web.backend, &queue)
        .await?
        .dead_letters(page_asked)
        .await?;
    let groups = group_failures(&letters.entries);
    let acts = frame.acts();
    let own = frame.to(&["queues", queue.as_str(), "dead"]);
    let content = html! {
        h2 { "By failure, of this page" }
        @if acts { p { "A button acts on all dead letters of its cause, also on other pages." } }
        div.scroll { table {
            thead { tr { th.number scope="col" { "Dead" } th scope="col" { "For example" } th scope="col" { "Actions" } } }
            tbody { @for group in &groups {
                tr { td.number { (group.count) } td.text { (group.example) } td {
                    @if acts {
                        @let fingerprint = [("fingerprint_hex", hex(group.fingerprint.as_bytes()))];
                        (act(&own, "revive", "Revive these", &fingerprint))
                        (act(&own, "discard", "Discard these", &fingerprint))
                    }
                } }
            } }
        } }
        h2 { "Dead letters" }
        div.scroll { table {
            thead { tr { th scope="col" { "Message" } th scope="col" { "Why" } th scope="col" { "Body" } } }
            tbody { @for letter in &letters.entries { tr {
                td { a href=(frame.to(&["queues", queue.as_str(), "messages", &letter.id.to_string()])) { "#" (letter.id) } }
                td.text { (letter.why()) }
                td.text { code { (body(&letter.body)) } }
            } } }
        } }
        @if let Some(next) = letters.next { p { a href=(frame.after(&["queues", queue.as_str(), "dead"], &next.get().to_string())) { "More dead letters" } } }
    };
    Ok(page(
        &frame,
        &format!("{queue}: dead letters"),
        &command("dead groups", &[queue.as_str()]),
        &content,
    ))
}

/// Queues whose dead letters the page of all dead letters reads.
const DEAD_QUEUES: usize = 20;

pub(super) async fn all_dead(State(web): State<Web>, frame: Frame) -> Shown {
    let dead = |queue: &QueueInfo| queue.counters.map_or(0, |counters| counters.depth.dead);
    // The samples know many queues already.
    let mut queues = web.watch.as_ref().map(Watch::all).unwrap_or_default();
    if queues.is_empty() {
        queues = list_queues(&*web.backend, ROWS).await?;
    }
    queues.retain(|queue| dead(queue) > 0);
    queues.sort_by_key(|queue| std::cmp::Reverse(dead(queue)));
    let with_dead = queues.len();
    queues.truncate(DEAD_QUEUES);
    let mut groups = Vec::new();
    for queue in &queues {
        let leasing = open_leasing(&*web.backend, &queue.name).await?;
        let letters = leasing.dead_letters(Page::first(ROWS)).await?;
        let found = group_failures(&letters.entries).into_iter();
        let more = letters.next.is_some().then(|| dead(queue));
        groups.extend(found.map(|group| (&queue.name, group, more)));
    }
    groups.sort_by_key(|(_, group, _)| std::cmp::Reverse(group.count));
    let acts = frame.acts();
    let content = html! {
        @if let Some(watch) = &web.watch { p { "Of the queues that had dead letters at the last sample (every " (words(watch.every())) ")." } }
        @if groups.is_empty() { p { "There are no dead letters." } }
        @else {
            p { "By failure, of the first " (ROWS) " of each queue." @if acts { " A button acts on all dead letters of its cause and queue." } }
            @if with_dead > queues.len() { p { "Of " (with_dead) " queues, these have the most." } }
            div.scroll { table {
                thead { tr {
                    th.number scope="col" { "Dead" } th scope="col" { "Queue" } th scope="col" { "For example" }
                    @if acts { th scope="col" { "Actions" } }
                } }
                tbody { @for (queue, group, more) in &groups { tr {
                    td.number { (group.count) @if let Some(all) = more { " of the first " (ROWS) " of " (all) } }
                    td.text { a href=(frame.to(&["queues", queue.as_str(), "dead"])) { (queue) } }
                    td.text { (group.example) }
                    @if acts { td {
                        @let (to, fingerprint) = (frame.to(&["queues", queue.as_str(), "dead"]), [("fingerprint_hex", hex(group.fingerprint.as_bytes()))]);
                        (act(&to, "revive", "Revive these", &fingerprint))
                        (act(&to, "discard", "Discard these", &fingerprint))
                    } }
                } } }
            } }
        }
    };
    Ok(page(
        &frame,
        "Dead letters",
        "qk dead groups QUEUE",
        &content,
    ))
}

pub(super) async fn workers(State(web): State<Web>, frame: Frame) -> Shown {
    let mut workers = queue_core::workers(&*web.backend).await?;
    workers.sort_by_key(|worker| !worker.gone);
    let span = |millis| words(std::time::Duration::from_millis(millis));
    let content = html! {
        @if workers.is_empty() {
            p { "No worker registers. A program does it by " code { "register" } " of its worker." }
        } @else {
            div.scroll { table {
                thead { tr {
                    @for head in ["State", "Worker", "Program", "Queues", "Busy", "Ran for", "Last beat"] { th scope="col" { (head) } }
                } }
                tbody { @for worker in &workers { @let record = &worker.record; tr {
                    td { @if worker.gone { strong { "gone" } } @else { "works" } }
                    td.text { (record.holder) } td.text { (record.program) } td.text { (record.queues.join(", ")) }
                    td { (record.in_flight) " of " (record.slots) }
                    td { (span(record.uptime_ms)) } td { (span(worker.last_beat_ms)) " ago" }
                } } }
            } }
        }
    };
    Ok(live_page(&web, &frame, "Workers", "qk workers", &content))
}

pub(super) async fn server(State(web): State<Web>, frame: Frame) -> Shown {
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
                    tr { th scope="row" { "Memory" } td { (server.memory) " bytes" } }
                    tr { th scope="row" { "Limit" } td { @match server.memory_limit { Some(limit) => { (limit) " bytes" } None => "none" } } }
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
