//! The dead letters of a queue, and of all queues.

use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use queue_core::{DeadLetter, Page, QueueInfo, QueueName};

use super::{
    Web,
    asked::{After, InQueue, ROWS, name},
    body,
    filter::Filter,
    frame::Frame,
    show::{Failed, act, command, number, page},
    watch::Watch,
};
use crate::{
    ShellCommand, duration_in_words as words, group_failures, hex::hex, list_queues,
    open::open_leasing,
};

pub(super) async fn dead(
    State(web): State<Web>,
    frame: Frame,
    Path(InQueue { queue }): Path<InQueue>,
    Query(asked): Query<After<u64>>,
    Query(filter): Query<Filter>,
) -> Result<Markup, Failed> {
    let queue = name(&queue)?;
    if !filter.is_empty() {
        return matching(&web, &frame, &queue, &filter).await;
    }
    let letters = open_leasing(&*web.backend, &queue)
        .await?
        .dead_letters(asked.page())
        .await?;
    let groups = group_failures(&letters.entries);
    let acts = frame.acts();
    let own = frame.to(&["queues", queue.as_str(), "dead"]);
    let content = html! {
        (filter_form(&frame, &queue, &filter))
        h2 { "By failure, of this page" }
        @if acts { p { "A button acts on all dead letters of its cause, also on other pages." } }
        div.scroll { table {
            thead { tr { th.number scope="col" { "Dead" } th scope="col" { "For example" } th scope="col" { "Actions" } } }
            tbody { @for group in &groups {
                tr { td.number { (number(group.count)) } td.text { (group.example) } td {
                    @if acts {
                        @let fingerprint = [("fingerprint_hex", hex(group.fingerprint.as_bytes()))];
                        (act(&own, "revive", "Revive these", &fingerprint))
                        (act(&own, "discard", "Discard these", &fingerprint))
                    }
                } }
            } }
        } }
        h2 { "Dead letters" }
        (table(&frame, &queue, &letters.entries))
        @if let Some(next) = letters.next { p { a href=(frame.after(&["queues", queue.as_str(), "dead"], &next.get().to_string())) { "More dead letters" } } }
    };
    Ok(page(
        &frame,
        &format!("{queue}: dead letters"),
        &command("dead groups", &[queue.as_str()]),
        &content,
    ))
}

fn table(frame: &Frame, queue: &QueueName, letters: &[DeadLetter]) -> Markup {
    let message = |letter: &DeadLetter| {
        let id = letter.id.to_string();
        frame.to(&["queues", queue.as_str(), "messages", &id])
    };
    html! {
        div.scroll { table {
            thead { tr { th scope="col" { "Message" } th scope="col" { "Why" } th scope="col" { "Body" } } }
            tbody { @for letter in letters { tr {
                td { a href=(message(letter)) { "#" (letter.id) } }
                td.text { (letter.why()) }
                td.text { (body::in_table(&letter.body)) }
            } } }
        } }
    }
}

fn filter_form(frame: &Frame, queue: &QueueName, filter: &Filter) -> Markup {
    let own = frame.to(&["queues", queue.as_str(), "dead"]);
    html! {
        form.search method="get" action=(own) role="search" {
            label for="reason" { "Letters whose reason has" }
            input id="reason" name="reason" type="search" value=(filter.reason()) required spellcheck="false";
            button { "Count them" }
            @if !filter.is_empty() { " " a href=(own) { "All dead letters" } }
        }
    }
}

/// The letters that a filter means: how many there are, and the first of them. A reader who may act can revive or discard
/// them.
async fn matching(
    web: &Web,
    frame: &Frame,
    queue: &QueueName,
    filter: &Filter,
) -> Result<Markup, Failed> {
    let leasing = open_leasing(&*web.backend, queue).await?;
    let matching = filter.count(&*leasing).await?;
    let own = frame.to(&["queues", queue.as_str(), "dead"]);
    let reason = [("reason", filter.reason().to_owned())];
    let count = number(matching.count);
    let content = html! {
        (filter_form(frame, queue, filter))
        div.finding.note {
            strong { (count) " of " @if !matching.is_whole { "the first " } (number(matching.read)) " dead letters match." }
            @if matching.count > 0 && frame.acts() {
                br;
                "A button acts on all that match then" @if !matching.is_whole { ", also behind those that were counted" } "."
                br;
                (act(&own, "revive", &format!("Revive these {count}"), &reason))
                (act(&own, "discard", &format!("Discard these {count}"), &reason))
            }
        }
        @if matching.count > 0 {
            h2 { @if matching.count > matching.first.len() as u64 { "The first " (number(matching.first.len() as u64)) } @else { "These match" } }
            (table(frame, queue, &matching.first))
        }
    };
    let command = ShellCommand::new("dead revive").value(queue.as_str());
    let command = command.option("reason", filter.reason()).text();
    Ok(page(
        frame,
        &format!("{queue}: dead letters"),
        &command.unwrap_or_default(),
        &content,
    ))
}

/// Queues whose dead letters the page of all dead letters reads.
const DEAD_QUEUES: usize = 20;

pub(super) async fn all_dead(State(web): State<Web>, frame: Frame) -> Result<Markup, Failed> {
    let dead = |queue: &QueueInfo| queue.counters.map_or(0, |counters| counters.depth.dead);
    // The samples know many queues already.
    let sampled = |watch: &Watch| watch.all(|sample| sample.info.clone());
    let sampled = web.watch.as_ref().and_then(sampled);
    let mut queues = match sampled {
        Some((_, queues)) => queues,
        None => list_queues(&*web.backend, ROWS).await?,
    };
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
                    td.number { (number(group.count)) @if let Some(all) = more { " of the first " (ROWS) " of " (number(*all)) } }
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
