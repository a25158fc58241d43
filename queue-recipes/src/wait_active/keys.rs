//! The names of the keys.

/// The registry of the sets of waiting messages: a set of their keys.
pub(super) const WAITING_TOPICS: &str = "delay:meta:topic:wait";
/// The registry of the lists of active messages.
pub(super) const ACTIVE_TOPICS: &str = "delay:meta:topic:active";
const WAITING: &str = "delay:wait";
const ACTIVE: &str = "delay:active";

/// The sorted set of a topic's waiting messages.
pub(super) fn waiting(topic: &str) -> String {
    format!("{WAITING}:{topic}")
}

/// The list of a topic's active messages.
pub(super) fn active(topic: &str) -> String {
    format!("{ACTIVE}:{topic}")
}

/// The list for the due messages of a set. The set comes from the registry, which may contain any name.
pub(super) fn active_of(waiting: &str) -> Option<String> {
    // Without the prefix, the list would be the set itself, and the script would lose the messages that it moves.
    let topic = waiting.strip_prefix(WAITING)?;
    Some(format!("{ACTIVE}{topic}"))
}
