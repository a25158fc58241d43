//! The server's features and the user's rights that this backend needs.

use queue_core::limits;
use redis_link::connection::{CONNECTION_COMMANDS, Needs};

use crate::{keys, scripts};

/// The commands for the list of queues and for large bodies, which are sent outside of scripts.
const PLAIN: &[&str] = &[
    "ZRANGEBYLEX",
    "ZADD",
    "ZREM",
    "HSET",
    "HDEL",
    "HMGET",
    "ZMSCORE",
];

/// The commands of the connection for waiting. The rules name the channels that they reach.
const WAITING: &[&str] = &["subscribe", "publish"];

const LATE: &str = "messages are noticed at the fall-back interval only";

/// The largest part of a call: a batch in one message, and what its frame adds.
const LARGEST_PART: u64 = limits::MAX_BATCH_BYTES as u64 + 64 * 1024;

/// The needs of queues whose keys have this prefix.
pub(crate) fn needs(prefix: &str) -> Needs {
    let channels = || keys::channels(prefix);
    let scripts: Vec<_> = scripts::ALL.iter().map(|script| script.whole()).collect();
    let called = scripts.iter().flat_map(|script| script.commands());
    Needs {
        commands: called.chain(PLAIN.iter().copied()).collect(),
        scripts,
        optional: vec![
            ("PUBLISH", channels(), LATE),
            ("SUBSCRIBE", channels(), LATE),
            (
                "PUBSUB",
                "NUMSUB".to_owned(),
                "a wake-up takes two round trips",
            ),
        ],
        // A user who may open queues may access this key.
        key: keys::registry(prefix),
        largest_part: LARGEST_PART,
        only_reads: false,
    }
}

/// Commands that show the state of queues outside of scripts, and the one that scripts begin with. Scripts read by
/// others; the error of a call names one that is missing.
const READING: &[&str] = &["HMGET", "TIME", "ZRANGEBYLEX", "ZRANGEBYSCORE"];

/// The needs of a user who only reads.
pub(crate) fn reading_needs(prefix: &str) -> Needs {
    Needs {
        scripts: Vec::new(),
        commands: READING.iter().copied().collect(),
        optional: Vec::new(),
        only_reads: true,
        ..needs(prefix)
    }
}

/// The rights of a user who only looks at queues, as rules of `ACL SETUSER`, for queues with this prefix: see
/// [`Builder::read_only`](crate::Builder::read_only). Needs Redis 7.0, or Valkey.
///
/// ```
/// let rules = queue_redis::read_only_rules("qk");
/// println!("ACL SETUSER viewer on >secret {rules}");
/// # assert!(rules.starts_with("resetkeys %R~qk:* resetchannels -@all +@read "));
/// ```
pub fn read_only_rules(prefix: &str) -> String {
    let prefix = literal(prefix);
    format!("resetkeys %R~{prefix}:* resetchannels -@all +@read +eval_ro +time +ping")
}

/// A right beyond [`access_rules`]: calls work without it, and it reaches more than the user's own keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionalRight {
    /// The rule, for `ACL SETUSER`.
    pub rule: &'static str,
    /// The gain by the right.
    pub gives: &'static str,
    /// The knowledge and the power beyond the keys of the queues that the user then has.
    pub exposes: &'static str,
}

const fn right(rule: &'static str, gives: &'static str, exposes: &'static str) -> OptionalRight {
    OptionalRight {
        rule,
        gives,
        exposes,
    }
}

/// The rights that [`access_rules`] leaves out.
const OPTIONAL: &[OptionalRight] = &[
    right(
        "+pubsub|numsub",
        "a push hands its message to a waiting consumer in one round trip",
        "how many clients listen to a channel, for anybody who knows its name",
    ),
    right(
        "+info",
        "connecting checks eviction and persistence; the server's state is shown",
        "the server's version, paths, memory and replicas, and how many keys and clients there are",
    ),
    right(
        "+config|get",
        "connecting warns of missing snapshots, and of limits of a request's size",
        "each setting of the server, also the passwords in requirepass and masterauth",
    ),
    right(
        "+acl|log",
        "the calls that the server refused are shown",
        "the names, addresses and refused keys of all users",
    ),
    right(
        "+cluster|nodes",
        "the node that a queue is moving to is shown",
        "the addresses of all nodes of the cluster",
    ),
    right(
        "+waitaof",
        "confirmations that a write is on disk (`flushed`)",
        "how many replicas have it on disk, too",
    ),
    right(
        "+select",
        "a database other than 0",
        "the keys with the same prefix in all databases",
    ),
];

/// The rights that [`access_rules`] leaves out, each with what it gives and what it exposes. Give one only to users who
/// may see that.
pub const fn optional_rights() -> &'static [OptionalRight] {
    OPTIONAL
}

/// The rights that a user of the server needs, as rules of `ACL SETUSER`: for queues with this
/// [prefix](crate::Builder::prefix) of their keys. They reach no other keys, no other channels, and no settings.
/// [`optional_rights`] lists what they leave out.
///
/// The prefix is taken literally: `*` and its like in it match no other character.
///
/// ```
/// let rules = queue_redis::access_rules("qk");
/// println!("ACL SETUSER shop on >secret {rules}");
/// # assert!(rules.starts_with("resetkeys ~qk:* resetchannels &qk:wake:* -@all +evalsha "));
/// ```
pub fn access_rules(prefix: &str) -> String {
    let prefix = &literal(prefix);
    let commands: Vec<_> = commands(prefix)
        .map(|command| format!("+{}", command.to_lowercase()))
        .collect();
    let (channels, commands) = (keys::channels(prefix), commands.join(" "));
    // A user who had more before has no more than this afterwards.
    format!("resetkeys ~{prefix}:* resetchannels &{channels} -@all {commands}")
}

/// The commands that queues with this prefix call.
pub(crate) fn commands(prefix: &str) -> impl Iterator<Item = &'static str> {
    let connections = CONNECTION_COMMANDS.iter().chain(WAITING).copied();
    connections.chain(needs(prefix).commands)
}

/// A pattern that matches this prefix alone. Blanks would end the rule, and no prefix has any.
fn literal(prefix: &str) -> String {
    let plain = |letter: &char| !letter.is_whitespace() && !letter.is_control();
    let mut pattern = String::with_capacity(prefix.len());
    for letter in prefix.chars().filter(plain) {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

/// The same for a user of a [cluster](crate#cluster), on each node.
///
/// ```
/// let rules = queue_redis::cluster_access_rules("qk");
/// # assert!(rules.ends_with(" +cluster|slots +asking"));
/// ```
pub fn cluster_access_rules(prefix: &str) -> String {
    format!("{} +cluster|slots +asking", access_rules(prefix))
}
