//! The groups of a grouped queue.

use queue_core::{AnyQueue, Backend, Error, Page, millis_ceil};
use queue_ops::duration_in_words;
use serde_json::{Value, json};

use crate::{
    End, Outcome, open,
    output::{Output, body, table},
};

pub(crate) async fn list(
    backend: &dyn Backend,
    queue: &str,
    limit: usize,
    output: &Output,
) -> Outcome {
    let (_, opened) = open(backend, queue).await?;
    let AnyQueue::Grouped(grouped) = opened else {
        let kind = opened.kind();
        return Err(Error::invalid(format!(
            "`{queue}` is a {kind} queue: only grouped queues have groups"
        )));
    };
    let page = grouped.groups(Page::first(limit)).await?;
    let values: Vec<Value> = page
        .entries
        .iter()
        .map(|group| {
            json!({
                "key": body(&group.key),
                "ready": group.ready,
                "held": group.held,
                "oldest_ready_ms": group.oldest_ready.map(millis_ceil),
                "may_run": group.may_run,
                "held_by": group.held_by,
                "waits_ms": group.waits.map(millis_ceil),
            })
        })
        .collect();
    output.show(&values, || {
        let rows = page.entries.iter().map(|group| {
            let state = match (group.may_run, group.held_by, group.waits) {
                (true, ..) => "may run".to_owned(),
                (_, Some(id), Some(waits)) => {
                    format!("waits {} for the retry of {id}", duration_in_words(waits))
                }
                (_, Some(id), None) => format!("{id} is leased"),
                _ => "its places are taken".to_owned(),
            };
            vec![
                body(&group.key),
                group.ready.to_string(),
                group
                    .oldest_ready
                    .map(duration_in_words)
                    .unwrap_or_default(),
                group.held.to_string(),
                state,
            ]
        });
        let head = ["GROUP", "READY", "OLDEST", "HELD", "STATE"];
        let mut text = table(&head, &rows.collect::<Vec<_>>());
        if page.next.is_some() {
            text.push_str("… and more: -n shows more of them\n");
        }
        text
    });
    Ok(End::Well)
}
