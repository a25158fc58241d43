//! The groups of a grouped queue.

use std::time::Duration;

use axum::{
    extract::{Path, Query, State},
    http::HeaderMap,
};
use maud::{Markup, html};
use queue_core::{Cursor, Error, Group, GroupedQueueExt, Page, Paged, QueueName};

use super::{
    Web, guard,
    pages::{After, ROWS, act, name},
    show::{Failed, page},
};
use crate::{duration_in_words as words, group_in_words, group_key, open_grouped, rule_in_words};

/// The groups that the page of a queue shows.
pub(super) const FIRST: usize = 10;
/// The time for which the page pauses a group.
const PAUSE: Duration = Duration::from_secs(3_600);

/// A page of groups: first those that may run, in their turns.
pub(super) async fn list(
    State(web): State<Web>,
    headers: HeaderMap,
    Path(queue): Path<String>,
    Query(After { after }): Query<After<u64>>,
) -> Result<Markup, Failed> {
    let queue = name(&queue)?;
    let asked = match after {
        Some(after) => Page::after(Cursor::new(after), ROWS),
        None => Page::first(ROWS),
    };
    let groups = open_grouped(&*web.backend, &queue)
        .await?
        .groups(asked)
        .await?;
    let acts = guard::is_signed_in(&web, &headers);
    let content = html! {
        (table(&groups.entries, acts, "groups"))
        @if let Some(next) = groups.next { p { a href={ "?after=" (next.get()) } { "More groups" } } }
    };
    Ok(page(
        &format!("{queue}: groups"),
        "../../",
        &format!("qk groups {queue}"),
        &content,
    ))
}

/// The first groups, for the page of their queue.
pub(super) fn section(queue: &QueueName, groups: &Paged<Group>, acts: bool) -> Markup {
    html! {
        h2 { "Groups" }
        (table(&groups.entries, acts, queue.as_str()))
        @if groups.next.is_some() { p { a href={ (queue) "/groups" } { "All groups" } } }
    }
}

fn table(groups: &[Group], acts: bool, to: &str) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th scope="col" { "Group" } th.number scope="col" { "Ready" } th scope="col" { "Oldest" }
                th.number scope="col" { "Held" } th scope="col" { "Rule" } th scope="col" { "State" }
            } }
            tbody { @for group in groups { tr {
                td.text { (group_key(group)) } td.number { (group.ready) }
                td { @if let Some(age) = group.oldest_ready { (words(age)) } }
                td.number { (group.held) } td { (rule_in_words(group)) }
                td {
                    (group_in_words(group))
                    // A form sends text only.
                    @if let (true, Ok(key)) = (acts, std::str::from_utf8(&group.key)) {
                        @let (verb, what) = match group.paused {
                            Some(_) => ("resume", "Resume"),
                            None => ("pause", "Pause for an hour"),
                        };
                        (act(to, verb, what, &[("group", key.to_owned())]))
                    }
                }
            } } }
        } }
    }
}

/// Pauses or resumes a group.
pub(super) async fn change(
    web: &Web,
    queue: &QueueName,
    verb: &str,
    group: &str,
) -> Result<String, Error> {
    let grouped = open_grouped(&*web.backend, queue).await?;
    let group = group.to_owned();
    match verb {
        "pause" => {
            grouped.pause_group(group, PAUSE).await?;
            Ok(format!("paused for {}", words(PAUSE)))
        }
        "resume" => {
            grouped.resume_group(group).await?;
            Ok("resumed".to_owned())
        }
        other => Err(Error::invalid(format!(
            "there is no action `{other}` for a group: pause or resume"
        ))),
    }
}
