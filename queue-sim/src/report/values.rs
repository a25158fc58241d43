//! Single values in the words of the history view: `103 instead of the oldest, 101`.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    Bytes, Counters, Depth, Insert, Message, OnDeath, Pushed, QueueConfig, millis_ceil,
};

/// The longest body or key to show. A longer text loses its end, and longer bytes do not show.
const LONGEST: usize = 24;

pub(super) fn reconfigure(config: &QueueConfig) -> String {
    match config {
        QueueConfig::Rotating(config) => match config.pace {
            Some(pace) => format!("reconfigure to a pace of {}", ms(pace)),
            None => "reconfigure to no pace".to_owned(),
        },
        config => config.leasing().map_or_else(String::new, |leasing| {
            let (attempts, cap) = (leasing.max_attempts, leasing.dead_letter_cap);
            let at_once = leasing.at_once.map(|most| format!(", {most} at once"));
            let rate = leasing.rate.map(|rate| format!(", {rate}"));
            let parks =
                matches!(config, QueueConfig::Grouped(config) if config.on_death == OnDeath::Park);
            let parks = parks.then(|| ", a death parks its group".to_owned());
            let group_rate = match config {
                QueueConfig::Grouped(config) => config.group_rate,
                _ => None,
            };
            let group_rate = group_rate.map(|rate| format!(", {rate} of each group"));
            let limits = [at_once, rate, group_rate, parks]
                .into_iter()
                .flatten()
                .collect::<String>();
            format!("reconfigure to {attempts} attempts, {cap} dead letters{limits}")
        }),
    }
}

pub(super) fn list<T>(entries: &[T], word: impl Fn(&T) -> String) -> String {
    if entries.is_empty() {
        return "nothing".to_owned();
    }
    entries.iter().map(word).collect::<Vec<_>>().join(", ")
}

pub(super) fn debug<T: std::fmt::Debug>(value: &T) -> String {
    format!("{value:?}")
}

pub(super) fn lease(max: NonZeroUsize, lease_time: Duration) -> String {
    match max.get() {
        1 => format!("lease for {}", ms(lease_time)),
        max => format!("lease {max} for {}", ms(lease_time)),
    }
}

pub(super) fn ms(duration: Duration) -> String {
    format!("{} ms", millis_ceil(duration))
}

pub(super) fn next_in(next: Option<Duration>) -> String {
    next.map_or_else(
        || "nothing".to_owned(),
        |next| format!("nothing for {}", ms(next)),
    )
}

pub(super) fn bytes(bytes: &Bytes) -> String {
    // In a simulated run, bodies are numbers.
    if let Ok(number) = <[u8; 8]>::try_from(&**bytes) {
        let number = u64::from_be_bytes(number);
        if number < 1 << 32 {
            return format!("b{number}");
        }
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => excerpt(text),
        Err(_) => format!("{} bytes", bytes.len()),
    }
}

/// A text, or its beginning. JSON is shown unquoted, because quoted JSON is hard to read.
pub(super) fn excerpt(text: &str) -> String {
    let json = text.starts_with(['{', '[', '"']) && !text.contains(char::is_control);
    let shown: String = text.chars().take(LONGEST).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    if json {
        format!("{shown}{rest}")
    } else {
        format!("{shown:?}{rest}")
    }
}

pub(super) fn insert(item: &Insert) -> String {
    let body = bytes(&item.body);
    match &item.key {
        Some(key) => format!("{body} as {}", bytes(key)),
        None => body,
    }
}

pub(super) fn pushed_as(pushed: &Pushed) -> String {
    match pushed {
        Pushed::Accepted(id) => id.to_string(),
        Pushed::Evicted { id, evicted } => format!("{id} instead of the oldest, {evicted}"),
        Pushed::Replaced { id, replaced } => format!("{id} replaces {replaced}"),
        Pushed::Duplicate(id) => format!("duplicate of {id}"),
        Pushed::Full => "Full".to_owned(),
    }
}

pub(super) fn message(message: &Message) -> String {
    message.id.to_string()
}

pub(super) fn held(depth: Depth) -> String {
    let places = [
        ("ready", depth.ready),
        ("delayed", depth.delayed),
        ("leased", depth.leased),
        ("dead", depth.dead),
    ];
    amounts(&places)
}

pub(super) fn counted(counters: &Counters) -> String {
    let happened = [
        ("accepted", counters.accepted),
        ("acked", counters.acked),
        ("retried", counters.retried),
        ("deferred", counters.deferred),
        ("released", counters.released),
        ("expired", counters.expired),
        ("died", counters.died),
        ("revived", counters.revived),
        ("evicted", counters.evicted),
        ("replaced", counters.replaced),
        ("cancelled", counters.cancelled),
        ("discarded", counters.discarded),
        ("trimmed", counters.trimmed),
        ("purged", counters.purged),
        ("outdated", counters.outdated),
        ("dedup marks", counters.dedup_marks),
    ];
    let paused = if counters.paused { "; paused" } else { "" };
    format!(
        "{}; holds {}{paused}",
        amounts(&happened),
        held(counters.depth)
    )
}

pub(super) fn amounts(amounts: &[(&str, u64)]) -> String {
    let some: Vec<_> = amounts.iter().filter(|(_, amount)| *amount > 0).collect();
    list(&some, |(name, amount)| format!("{name} {amount}"))
}
