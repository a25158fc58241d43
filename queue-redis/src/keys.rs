//! The names of all keys.
//!
//! A queue's keys begin with the prefix and the queue's name as a hash tag, `prefix:{name}:`. So they share a slot of a
//! cluster, one ACL pattern covers all queues (`~qk:*`), and an operator finds a queue's keys with `redis-cli --scan
//! --pattern 'qk:{orders}:*'`.
//!
//! | key | type | kinds | content |
//! | --- | --- | --- | --- |
//! | `…:meta` | hash | all | `config`, which may hold the mark of a new queue, see `queue/opening.rs`; `accepted` (also the last id), `acked` and the other counters; `token` (the last one); `flags`, see `lua/lib/config.lua`; `next_due`, see there; `capacity`, `resized`, `surplus` (messages that the last resize still has to drop); `joins` (the last place number in `line`); `holes` in `ready`; `packed` (messages minus elements in `ready`: a pack is two elements); `uncounted` (leased messages minus members of `leases`: a batch lease is one member); `rate_used` and `rate_at`, the bucket of the rate, see `lua/lib/limits.lua`; `rates_at`, while groups get another rate: the cursor in `groups` of the next step |
//! | `…:leases` | zset | leasing | live leases by deadline (ms); a lease's member is id (7 bytes) + token (7 bytes); a batch lease's member is the least id, the first token and the number of messages (1 byte), then the ids if they are not consecutive |
//! | `…:runs` | zset | leasing | the batch leases in `leases`, by their first token, see `lua/lib/batch_leases.lua` |
//! | `…:frames` | hash | leasing | id (7 bytes) → the message's frame, or a dead letter's record; frames in `ready` of a reliable or bounded queue are not in this hash. `p` and id → what precedes the id in `line`; `h` and id → its holder, and behind a byte 255 its progress; `u` and id → its dedup key, if the mark ends with the message; `e` and id → the end of its time to live, see `lua/lib/attachments.lua`; `b` and id → the reference of its large body; on any but a bounded queue, `d` and id → its distinct key, and `k` and a distinct key → the id of the message that holds it; `g` and id → the name of its group, while it holds a place; a batch lease → its frames or packs, if they come from `ready`; `h` and the batch lease → its holder; `a` and the batch lease → which of its messages are acked, see `lua/lib/batch_leases.lua` |
//! | `…:dead` | zset | leasing | ids of dead letters by number of the death |
//! | `…:arrivals` | zset | all | the marker for arrivals: the waiting processes, each perhaps with the terms of a lease; or `armed`, see `lua/lib/wake_up.lua` |
//! | `…:line` | zset | leasing | the ready ids that are not in `ready`; in a delay queue, all undelivered ids by due time |
//! | `…:delayed` | zset | reliable, bounded, priority, grouped | ids of delayed messages by due time (ms) |
//! | `…:ready` | list | reliable, bounded | frames of pushed messages, by id; a cancelled message leaves only its head, a hole; in a reliable queue also packs, see `lua/lib/packs.lua` |
//! | `…:room` | zset | bounded | the marker for room, with the same content |
//! | `…:distinct` | hash | bounded | distinct key → id of the message that holds it; behind the id perhaps the beginning (ms) of its chain, see `lua/lib/distinct.lua` |
//! | `…:owned` | hash | bounded | id → its distinct key |
//! | `…:groups` | hash | grouped | name of a group → its turn, its held places, the id that took the last of them, whether it may run, its rule and pause, and its bucket while that is not full; '' → the virtual time; see `lua/grouped/queue.lua` |
//! | `…:turns` | zset | grouped | the names of the groups: of those that may run by their turns, of the others with the score inf |
//! | `…:rules` | zset | grouped | the names of groups with a rule or a pause, or that wait for a token, by the end (ms) that comes first |
//! | `…:fills` | zset | grouped | the names of groups with a bucket, by the time (ms) at which it is full |
//! | `…:dedup` | zset | leasing | dedup keys by the end of their window (ms) |
//! | `…:firsts` | hash | leasing | dedup key → id of the first message |
//! | `…:ends` | zset | leasing | ids of undelivered messages with a time to live, by its end (ms) |
//! | `…:results` | hash | leasing | id → the result of an acked message, see `lua/lib/results.lua` |
//! | `…:result-ends` | zset | leasing | ids of messages with a result, by the end of its time (ms) |
//! | `…:end-<id>` | zset | leasing | the marker for the result of one message, its id in hexadecimal digits: the waiting processes |
//! | `…:ring` | zset | rotating | ids by number of their place; with a pace, of the visited items |
//! | `…:fresh` | zset | rotating with a pace | ids of items without a visit, by number of their place |
//! | `…:due` | zset | rotating with a pace | ids of visited items by their next due time (ms) |
//! | `…:bodies` | hash | all | reference → headers and body of a large message or item, see `lua/lib/uploads.lua`; a ring's id → headers and body, or a large item's reference, see `lua/rotating/ring.lua` |
//! | `…:uploads` | zset | all | references of bodies that wait for their push or insert, by the time (ms) at which a call first saw them |
//! | `…:keyed`, `…:named` | hash | rotating | key → id, and id → key |
//! | `…:once` | hash | once keys | `config`; `token` (the last one) |
//! | `…:once-claimed` | zset | once keys | claimed keys, by the end of the claim (ms) |
//! | `…:once-done` | zset | once keys | done keys, by the end of the mark (ms) |
//! | `…:once-tokens` | hash | once keys | key → token of its claim, or of the claim that finished it |
//! | `…:confirm` | hash | all | always empty: a confirmation's write is deleted in the same step, see `redis-link/lua/confirm.lua` |
//! | `…:guard`, `…:once-guard` | | all, once keys | never exists: see below |
//! | `prefix:queues` | zset | | the existing queues: `name kind token`, all with score 0, see `queue/opening.rs`; an entry that ends in `opening` is of a queue that is about to be created |
//!
//! On a cluster, every call of a script also names the *guard*, a key that never exists. While a slot moves to another
//! node, a node refuses a call that names a key which it does not have. Without the guard, the node would run a script
//! whose keys are all there. If that script removed the last member of a key and then accessed the key again, the node
//! would stop the script half-way.
//!
//! Each process that waits listens to its own channel, `prefix:wake:<number>` (an ACL pattern for all of them is
//! `&qk:wake:*`).
//!
//! Ids are 7 bytes, big-endian, so they sort by number: `ZRANGE 'qk:{orders}:line' 0 9` shows them in order. Only
//! end markers have an expiry, and they hold only hints. So a full server with a `volatile-*` policy, which evicts only
//! keys with an expiry, evicts none of the others.
//! `lua/lib/frames.lua` describes a frame.

use queue_core::{MessageId, QueueKind, QueueName};

/// The keys of a kind that leases, in the order of `lua/<kind>/queue.lua`; the literals are those that not every such
/// kind has.
macro_rules! leasing {
    ($($own:literal),* $(; $late:literal)?) => {
        &[
            "meta", "leases", "frames", "dead", "arrivals", "line", $($own,)*
            "guard", "dedup", "firsts", "ends", "bodies", "uploads", $($late,)? "results", "result-ends",
        ]
    };
}

const RELIABLE: &[&str] = leasing!("delayed", "ready", "runs");
const DELAY: &[&str] = leasing!("runs");
const PRIORITY: &[&str] = leasing!("delayed", "runs");
const GROUPED: &[&str] = leasing!("delayed", "runs", "groups", "turns", "rules"; "fills");
const BOUNDED: &[&str] = leasing!("delayed", "ready", "runs", "room", "distinct", "owned");
/// The keys of a ring, in the order of `lua/rotating/ring.lua`.
const ROTATING: &[&str] = &[
    "meta", "ring", "bodies", "arrivals", "keyed", "named", "fresh", "due", "guard", "uploads",
];

/// The keys of all kinds, in the order of `remove` in `lua/leasing/queues.lua`.
const OF_ANY_KIND: &[&str] = &[
    "meta",
    "leases",
    "runs",
    "frames",
    "arrivals",
    "room",
    "dead",
    "line",
    "delayed",
    "ready",
    "distinct",
    "owned",
    "dedup",
    "firsts",
    "ends",
    "bodies",
    "uploads",
    "ring",
    "keyed",
    "named",
    "fresh",
    "due",
    "groups",
    "turns",
    "rules",
    "fills",
    "results",
    "result-ends",
    "guard",
];

/// The keys of a store of once keys, in the order of `lua/once/store.lua`.
const ONCE: &[&str] = &[
    "once",
    "once-claimed",
    "once-done",
    "once-tokens",
    "once-guard",
];

/// The type of the key with this name.
fn type_of(suffix: &&str) -> &'static str {
    match *suffix {
        "ready" => "list",
        "meta" | "frames" | "firsts" | "distinct" | "owned" | "bodies" | "keyed" | "named"
        | "groups" | "results" => "hash",
        "once" | "once-tokens" => "hash",
        _ => "zset",
    }
}

/// The channel of one process.
pub(crate) fn channel(prefix: &str, process: u64) -> String {
    format!("{prefix}:wake:{process:016x}")
}

/// The channels of all processes, as access rules name them.
pub(crate) fn channels(prefix: &str) -> String {
    format!("{prefix}:wake:*")
}

/// The key of a queue's configuration, the same for every kind.
pub(crate) fn meta(prefix: &str, queue: &QueueName) -> String {
    names(&["meta"], prefix, queue).swap_remove(0)
}

/// The key of the configuration of the queue that a marker belongs to.
pub(crate) fn meta_beside(marker: &[u8]) -> Vec<u8> {
    beside(marker, b"meta")
}

/// The results of the queue that a marker belongs to, if it is the end marker of a message.
pub(crate) fn results_beside(marker: &[u8]) -> Option<Vec<u8>> {
    let colon = marker.iter().rposition(|byte| *byte == b':')?;
    let is_end = marker[colon + 1..].starts_with(b"end-");
    is_end.then(|| beside(marker, b"results"))
}

/// The guard of the queue that a marker belongs to.
pub(crate) fn guard_beside(marker: &[u8]) -> Vec<u8> {
    beside(marker, b"guard")
}

fn beside(marker: &[u8], suffix: &[u8]) -> Vec<u8> {
    let colon = marker.iter().rposition(|byte| *byte == b':');
    let shared = &marker[..colon.map_or(0, |colon| colon + 1)];
    [shared, suffix].concat()
}

/// The keys of one queue, or of one store of once keys. The keys behind the guard come last, and only calls that need
/// them send them.
#[derive(Debug)]
pub(crate) struct Keys {
    suffixes: &'static [&'static str],
    names: Vec<String>,
    /// The index of the guard.
    guard: usize,
}

impl Keys {
    /// The keys of a queue.
    pub(crate) fn new(prefix: &str, queue: &QueueName, kind: QueueKind) -> Self {
        Self::of(table(kind), prefix, queue)
    }

    /// All keys that a queue of this name may have, of whatever kind.
    pub(crate) fn of_any_kind(prefix: &str, queue: &QueueName) -> Self {
        Self::of(OF_ANY_KIND, prefix, queue)
    }

    /// The keys of a store of once keys.
    pub(crate) fn of_once(prefix: &str, store: &QueueName) -> Self {
        Self::of(ONCE, prefix, store)
    }

    fn of(suffixes: &'static [&'static str], prefix: &str, name: &QueueName) -> Self {
        let guard = suffixes.iter().position(|suffix| suffix.ends_with("guard"));
        Self {
            suffixes,
            names: names(suffixes, prefix, name),
            guard: guard.expect("each has one"),
        }
    }

    /// All keys but the keys of results.
    pub(crate) fn without_results(&self) -> &[String] {
        let results = self.suffixes.iter().position(|suffix| *suffix == "results");
        &self.names[..results.unwrap_or(self.names.len())]
    }

    /// All keys, as `KEYS` wants them.
    pub(crate) fn all(&self) -> &[String] {
        &self.names
    }

    /// The keys that every call needs, without the keys of dedup marks, times to live and staged bodies; with the guard
    /// if `guarded`.
    pub(crate) fn of_every_call(&self, guarded: bool) -> &[String] {
        &self.names[..self.guard + usize::from(guarded)]
    }

    /// The key that holds the mark of a new queue; with the guard if `guarded`.
    pub(crate) fn of_mark(&self, guarded: bool) -> Vec<&str> {
        let guard = guarded.then(|| &*self.names[self.guard]);
        [&*self.names[0]].into_iter().chain(guard).collect()
    }

    /// The type of each key.
    pub(crate) fn types(&self) -> impl Iterator<Item = &'static str> {
        self.suffixes.iter().map(type_of)
    }

    /// The marker for arrivals.
    pub(crate) fn arrivals(&self) -> &str {
        self.named("arrivals")
    }

    /// The marker for room. Only a bounded queue has one.
    pub(crate) fn room(&self) -> String {
        self.beside("room")
    }

    /// The leases.
    pub(crate) fn leases(&self) -> &str {
        self.named("leases")
    }

    /// The marker for the result of a message.
    pub(crate) fn end_marker(&self, id: MessageId) -> String {
        self.beside(&format!("end-{:x}", id.get()))
    }

    /// A key for a write that leaves nothing behind: the key exists only within that step.
    pub(crate) fn confirm(&self) -> String {
        self.beside("confirm")
    }

    /// The large bodies.
    pub(crate) fn bodies(&self) -> &str {
        self.named("bodies")
    }

    /// The staged bodies, which wait for their push.
    pub(crate) fn uploads(&self) -> &str {
        self.named("uploads")
    }

    fn beside(&self, suffix: &str) -> String {
        let meta = self.named("meta");
        format!("{}{suffix}", meta.trim_end_matches("meta"))
    }

    fn named(&self, suffix: &str) -> &str {
        let place = self.suffixes.iter().position(|name| *name == suffix);
        &self.names[place.expect("a key of this kind")]
    }
}

fn names(table: &[&str], prefix: &str, name: &QueueName) -> Vec<String> {
    let name = |suffix: &&str| format!("{prefix}:{{{name}}}:{suffix}");
    table.iter().map(name).collect()
}

/// The key of the list of queues.
pub(crate) fn registry(prefix: &str) -> String {
    format!("{prefix}:queues")
}

fn table(kind: QueueKind) -> &'static [&'static str] {
    match kind {
        QueueKind::Reliable => RELIABLE,
        QueueKind::Delay => DELAY,
        QueueKind::Priority => PRIORITY,
        QueueKind::Grouped => GROUPED,
        QueueKind::Bounded => BOUNDED,
        QueueKind::Rotating => ROTATING,
        // Opens refuse a kind that this version does not know.
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_keys_of_a_queue_share_its_hash_tag() {
        let name = QueueName::new("shop:orders").unwrap();
        for kind in QueueKind::ALL {
            let keys = Keys::new("qk", &name, kind);
            assert_eq!(keys.all()[0], "qk:{shop:orders}:meta");
            assert!(
                keys.all()
                    .iter()
                    .all(|key| key.starts_with("qk:{shop:orders}:"))
            );
            assert_eq!(keys.types().count(), keys.all().len());
            assert_eq!(
                keys.of_every_call(false).len() + 1,
                keys.of_every_call(true).len()
            );
            assert_eq!(keys.arrivals(), "qk:{shop:orders}:arrivals");
        }
    }

    #[test]
    fn a_store_of_once_keys_shares_no_key_with_a_queue() {
        let name = QueueName::new("shop:orders").unwrap();
        let store = Keys::of_once("qk", &name);
        assert_eq!(store.all()[0], "qk:{shop:orders}:once");
        assert_eq!(store.types().count(), store.all().len());
        assert_eq!(store.of_every_call(false).len() + 1, store.all().len());
        for kind in QueueKind::ALL {
            let keys = Keys::new("qk", &name, kind);
            assert!(store.all().iter().all(|key| !keys.all().contains(key)));
        }
    }

    #[test]
    fn a_removal_knows_the_keys_of_every_kind_and_no_others() {
        let name = QueueName::new("shop:orders").unwrap();
        let all = Keys::of_any_kind("qk", &name);
        let (known, count) = (all.all(), all.all().len());
        assert_eq!(all.types().count(), count);
        let all: BTreeSet<&String> = known.iter().collect();
        assert_eq!(all.len(), count, "each once");
        let kinds = QueueKind::ALL.map(|kind| Keys::new("qk", &name, kind));
        let of_kinds: BTreeSet<&String> = kinds.iter().flat_map(Keys::all).collect();
        assert_eq!(all, of_kinds);
        for (place, suffix) in ["meta", "leases", "runs", "frames", "arrivals", "room"]
            .iter()
            .enumerate()
        {
            assert_eq!(known[place], format!("qk:{{shop:orders}}:{suffix}"));
        }
    }

    #[test]
    fn the_key_for_confirmations_shares_the_hash_tag_whatever_the_queues_name() {
        let name = QueueName::new("shop:meta").unwrap();
        let keys = Keys::new("qk", &name, QueueKind::Delay);
        assert_eq!(keys.confirm(), "qk:{shop:meta}:confirm");
    }

    #[test]
    fn a_markers_queue_is_known_by_its_configuration() {
        let name = QueueName::new("shop:orders").unwrap();
        let keys = Keys::new("qk", &name, QueueKind::Bounded);
        for marker in [keys.arrivals(), &keys.room()] {
            let beside = meta_beside(marker.as_bytes());
            assert_eq!(beside, meta("qk", &name).as_bytes());
            let guard = guard_beside(marker.as_bytes());
            assert_eq!(guard, keys.named("guard").as_bytes());
        }
    }

    #[test]
    fn the_keys_that_few_calls_need_stand_last() {
        let name = QueueName::new("q").unwrap();
        for kind in QueueKind::ALL {
            let last: &[&str] = match kind {
                QueueKind::Rotating => &["guard", "uploads"],
                QueueKind::Grouped => &[
                    "guard",
                    "dedup",
                    "firsts",
                    "ends",
                    "bodies",
                    "uploads",
                    "fills",
                    "results",
                    "result-ends",
                ],
                _ => &[
                    "guard",
                    "dedup",
                    "firsts",
                    "ends",
                    "bodies",
                    "uploads",
                    "results",
                    "result-ends",
                ],
            };
            assert!(table(kind).ends_with(last), "{kind}");
            let keys = Keys::new("qk", &name, kind);
            assert_eq!(
                keys.of_every_call(false).len() + last.len(),
                keys.all().len()
            );
            assert_eq!(
                keys.of_every_call(true).len(),
                keys.of_every_call(false).len() + 1
            );
        }
    }
}
