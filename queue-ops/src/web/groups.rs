//! The groups of a grouped queue.

use std::time::Duration;

use axum::extract::{Path, Query, State};
use maud::{Markup, html};
use queue_core::{Bytes, Cursor, Error, GroupedQueueExt, Page, QueueName};

use super::{
    Web,
    asked::{After, InQueue, ROWS, name},
    frame::Frame,
    group_table::table,
    show::{Failed, command, page},
};
use crate::{duration_in_words as words, open_grouped};

/// The time for which the page pauses a group.
const PAUSE: Duration = Duration::from_secs(3_600);

/// A page of groups: first those that may run, in their turns.
pub(super) async fn list(
    State(web): State<Web>,
    frame: Frame,
    Path(InQueue { queue }): Path<InQueue>,
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
    let own = ["queues", queue.as_str(), "groups"];
    let content = html! {
        (table(&groups.entries, frame.acts(), &frame.to(&own)))
        @if let Some(next) = groups.next {
            p { a href=(frame.after(&own, &next.get().to_string())) { "More groups" } }
        }
    };
    Ok(page(
        &frame,
        &format!("{queue}: groups"),
        &command("groups", &[queue.as_str()]),
        &content,
    ))
}

/// Pauses or resumes a group.
pub(super) async fn change(
    web: &Web,
    queue: &QueueName,
    verb: &str,
    group: Bytes,
) -> Result<String, Error> {
    let grouped = open_grouped(&*web.backend, queue).await?;
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
