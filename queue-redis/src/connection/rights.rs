//! Asks what the user of a connection may do, before the backend trusts anything to it.

use std::{collections::BTreeSet, sync::LazyLock};

use queue_core::{Error, ErrorKind, Result};

use super::{Channel, Warning};
use crate::{keys, scripts};

/// Tells which commands a user may not run.
const REFUSED: &str = include_str!("../../lua/connection/refused.lua");

/// The commands for the list of queues and for large bodies, which the backend sends by themselves.
const PLAIN: &[&str] = &[
    "ZRANGEBYLEX",
    "ZADD",
    "ZREM",
    "HSET",
    "HDEL",
    "HMGET",
    "ZMSCORE",
];

/// What the connections need besides.
const CONNECTIONS: &[&str] = &[
    "evalsha",
    "eval",
    "script|exists",
    "script|load",
    "subscribe",
    "publish",
    "pubsub|numsub",
    "ping",
    "info",
    "config|get",
    "wait",
];

/// The rights that a user of the server needs, and no more, as the rules of `ACL SETUSER`: for queues
/// with this [prefix](crate::Builder::prefix) of their keys.
///
/// A user of another database than 0 needs `+select`, too.
///
/// ```
/// let rules = queue_redis::access_rules("qk");
/// println!("ACL SETUSER shop on >secret {rules}");
/// # assert!(rules.starts_with("~qk:* resetchannels &qk:wake:* -@all +evalsha "));
/// ```
pub fn access_rules(prefix: &str) -> String {
    let connections = CONNECTIONS.iter().copied();
    let commands: Vec<_> = connections
        .chain(NEEDED.iter().copied())
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

/// The commands that scripts call, and those that the backend sends by themselves.
static NEEDED: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let called = scripts::ALL.iter().flat_map(|script| script.commands());
    called.chain(PLAIN.iter().copied()).collect()
});

/// The command that scripts call without a key.
const WITHOUT_KEY: &str = "TIME";

const LATE: &str = "messages are noticed at the fall-back interval only";

/// Asks whether the user may run all commands that the scripts call: a script that stops half-way
/// would lease messages that nobody gets. Commands that the backend can do without give a warning.
///
/// Only servers from 7.0 on, and Valkey, can tell.
pub(super) async fn check(channel: &Channel, prefix: &str, address: &str) -> Result<Vec<Warning>> {
    // A user who may open queues may touch this key. A user who may not cannot ask this way.
    let key = keys::registry(prefix);
    let wake = keys::channels(prefix);
    let optional = [
        ("PUBLISH", &*wake, LATE),
        ("SUBSCRIBE", &*wake, LATE),
        ("PUBSUB", "NUMSUB", "a wake-up takes two round trips"),
        ("PING", "", "ping is refused"),
        ("WAIT", "", "no call can be confirmed by replicas"),
    ];

    let mut request = redis::cmd("EVAL");
    request.arg(REFUSED).arg(0).arg("EVALSHA - 0");
    for command in &*NEEDED {
        request.arg(format!("{command} {key}"));
    }
    for (command, word, _) in optional {
        request.arg(format!("{command} {word}"));
    }
    let answer = channel.request(&request).await;
    let answer = answer.map_err(|failure| failure.into_error(address))?;
    let refused: Vec<String> = redis::from_redis_value(answer).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("the rights of the user at {address}: {error}"),
        )
    })?;
    let refused: BTreeSet<&str> = refused
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();

    let mut lacking: Vec<&str> = NEEDED.intersection(&refused).copied().collect();
    if NEEDED
        .iter()
        .all(|command| refused.contains(command) || *command == WITHOUT_KEY)
    {
        lacking.retain(|command| *command == WITHOUT_KEY);
    }
    lacking.extend(refused.get("EVALSHA"));
    if !lacking.is_empty() {
        let lacking = lacking.join(", ");
        return Err(Error::new(
            ErrorKind::Configuration,
            format!(
                "{address} cannot be used: its user may not run {lacking}, without which calls \
                 would stop half-way; allow them"
            ),
        ));
    }
    let warned = optional
        .iter()
        .filter(|(command, ..)| refused.contains(command));
    let warned = warned.map(|(command, word, cost)| Warning::forbidden(command, word, cost));
    Ok(warned.collect())
}
