//! The server's features and the user's rights that this backend needs.

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

/// The commands of the connection for waiting.
const WAITING: &[&str] = &["subscribe", "publish", "pubsub|numsub"];

const LATE: &str = "messages are noticed at the fall-back interval only";

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
    }
}

/// Exactly the rights that a user of the server needs, as rules of `ACL SETUSER`: for queues with this
/// [prefix](crate::Builder::prefix) of their keys.
///
/// A user of a database other than 0 also needs `+select`.
///
/// ```
/// let rules = queue_redis::access_rules("qk");
/// println!("ACL SETUSER shop on >secret {rules}");
/// # assert!(rules.starts_with("~qk:* resetchannels &qk:wake:* -@all +evalsha "));
/// ```
pub fn access_rules(prefix: &str) -> String {
    let connections = CONNECTION_COMMANDS.iter().chain(WAITING).copied();
    let commands: Vec<_> = connections
        .chain(needs(prefix).commands)
        .map(|command| format!("+{}", command.to_lowercase()))
        .collect();
    let (channels, commands) = (keys::channels(prefix), commands.join(" "));
    format!("~{prefix}:* resetchannels &{channels} -@all {commands}")
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
