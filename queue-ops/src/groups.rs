//! The groups of grouped queues, for operators.

use std::sync::Arc;

use queue_core::{
    AnyQueue, Backend, Error, Group, GroupedQueue, LeaseRate, QueueName, Result, is_unprintable,
    millis_ceil,
};
use serde_json::{Value, json};

use crate::words::duration_in_words;

/// Opens a grouped queue.
///
/// # Errors
///
/// `Invalid` if there is no such queue, and for a queue of another kind. Errors of the backend.
pub async fn open_grouped(
    backend: &dyn Backend,
    name: &QueueName,
) -> Result<Arc<dyn GroupedQueue>> {
    let stored = backend.open_stored(name).await?;
    let stored = stored.ok_or_else(|| Error::invalid(format!("there is no queue `{name}`")))?;
    let kind = stored.queue.kind();
    match stored.queue {
        AnyQueue::Grouped(queue) => Ok(queue),
        _ => Err(Error::invalid(format!(
            "`{name}` is a {kind} queue: only grouped queues have groups"
        ))),
    }
}

/// The key of a group, for people, see [`key_in_words`].
pub fn group_key(group: &Group) -> String {
    key_in_words(&group.key)
}

/// The key of a group, for people: text as it is, escaped if it has unprintable characters or is no text.
pub fn key_in_words(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if !text.contains(is_unprintable) => text.to_owned(),
        _ => key.escape_ascii().to_string(),
    }
}

/// The key of a group as data: text as it is, escaped if it is no text.
pub(crate) fn key_as_data(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) => text.to_owned(),
        _ => key_in_words(key),
    }
}

/// Whether a group may run, and what keeps it otherwise, in words.
pub fn group_in_words(group: &Group) -> String {
    if group.may_run {
        return "may run".to_owned();
    }
    let keeps = match (group.held_by, group.waits) {
        (Some(id), Some(waits)) => {
            let waits = duration_in_words(waits);
            Some(format!("waits {waits} for the retry of {id}"))
        }
        (Some(id), None) => Some(format!("{id} is leased")),
        _ if group.held >= group.at_once => Some("its places are taken".to_owned()),
        _ => token_in_words(group),
    };
    let paused = group.paused.map(duration_in_words);
    let paused = match group.parked {
        true => Some("parked, because one of its messages died".to_owned()),
        false => paused.map(|left| format!("paused for {left}")),
    };
    let words: Vec<String> = paused.into_iter().chain(keeps).collect();
    match words.is_empty() {
        true => "empty".to_owned(),
        false => words.join(", "),
    }
}

/// The wait of a group with ready messages for the next token of its rate.
fn token_in_words(group: &Group) -> Option<String> {
    let next = group.next_token.filter(|_| group.ready > 0)?;
    let rate = group.rate.map(rate_in_words).unwrap_or_default();
    Some(format!(
        "waits {} for a token of its rate of {rate}",
        duration_in_words(next)
    ))
}

/// A rate, in words.
pub fn rate_in_words(rate: LeaseRate) -> String {
    format!("{} in {}", rate.most, duration_in_words(rate.per))
}

/// The rule of a group, in words; empty without one.
pub fn rule_in_words(group: &Group) -> String {
    let rule = |ends| {
        let (weight, most, left) = (group.weight, group.at_once, duration_in_words(ends));
        let rate = group.rate.map(|rate| format!(", {}", rate_in_words(rate)));
        let rate = rate.unwrap_or_default();
        format!("weight {weight}, {most} at once{rate}, for {left}")
    };
    group.rule_ends.map(rule).unwrap_or_default()
}

/// A group as JSON, with times in milliseconds.
pub fn group_as_json(group: &Group) -> Value {
    json!({
        "key": key_as_data(&group.key),
        "ready": group.ready,
        "held": group.held,
        "oldest_ready_ms": group.oldest_ready.map(millis_ceil),
        "may_run": group.may_run,
        "held_by": group.held_by,
        "waits_ms": group.waits.map(millis_ceil),
        "at_once": group.at_once,
        "weight": group.weight,
        "rate": group.rate.map(|rate| json!({ "most": rate.most, "per_ms": millis_ceil(rate.per) })),
        "next_token_ms": group.next_token.map(millis_ceil),
        "rule_ends_ms": group.rule_ends.map(millis_ceil),
        "paused_ms": group.paused.map(millis_ceil),
        "parked": group.parked,
    })
}
