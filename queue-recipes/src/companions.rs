//! The names of the keys that a strategy keeps beside the published ones.

use redis_link::cluster::tag_of;

/// The key that is `set`, or else the companion of `key` that ends in `end`.
///
/// The companion of `jobs` is `{jobs}:end`, and the companion of `{jobs}` is `{jobs}:end`, too. So a companion is in
/// the slot of its key, and no queue has its name: names of queues have no braces.
pub(crate) fn companion(set: Option<&String>, key: &str, end: &str) -> String {
    match (set, tag_of(key.as_bytes())) {
        (Some(set), _) => set.clone(),
        (None, Some(_)) => format!("{key}:{end}"),
        (None, None) => format!("{{{key}}}:{end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis_link::cluster::slot_of;

    #[test]
    fn a_companion_is_in_its_keys_slot_and_is_no_queues_name() {
        for (key, expected) in [
            ("jobs", "{jobs}:dead"),
            ("a:b", "{a:b}:dead"),
            ("{jobs}", "{jobs}:dead"),
            ("a{jobs}b", "a{jobs}b:dead"),
            ("a{b", "{a{b}:dead"),
            ("{a{b}", "{a{b}:dead"),
        ] {
            let companion = companion(None, key, "dead");
            assert_eq!(companion, expected);
            assert_eq!(slot_of(companion.as_bytes()), slot_of(key.as_bytes()));
            assert!(queue_core::QueueName::new(companion).is_err());
        }
        let set = "graves".to_owned();
        assert_eq!(companion(Some(&set), "jobs", "dead"), "graves");
    }
}
