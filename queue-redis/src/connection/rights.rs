//! Asks what the user of a connection may do, before the backend trusts anything to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use queue_core::{Error, ErrorKind, Result};

use super::{Channel, Warning};
use crate::{error::Lack, keys, scripts};

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
    let refused: BTreeMap<&str, Lack> = refused.iter().filter_map(|line| read(line)).collect();

    let needed = |lack: Lack| {
        let needed = NEEDED.iter().chain(&["EVALSHA"]);
        let lacking = needed.filter(|command| refused.get(**command) == Some(&lack));
        lacking.copied().collect::<Vec<_>>()
    };
    let (missing, mut forbidden) = (needed(Lack::Missing), needed(Lack::Forbidden));
    // Who may not touch the key cannot be told of commands.
    let knows_key = |command: &&str| !forbidden.contains(command) && *command != WITHOUT_KEY;
    if !NEEDED.iter().any(knows_key) {
        forbidden.retain(|command| matches!(*command, WITHOUT_KEY | "EVALSHA"));
    }
    if !(missing.is_empty() && forbidden.is_empty()) {
        return Err(unusable(address, &missing, &forbidden));
    }
    let warned = optional.iter().filter_map(|(command, word, cost)| {
        let lack = *refused.get(command)?;
        Some(Warning::lacking(lack, command, word, cost))
    });
    Ok(warned.collect())
}

/// A command that cannot be had, as `refused.lua` tells it.
fn read(line: &str) -> Option<(&str, Lack)> {
    let (lack, command) = match line.split_at_checked(1)? {
        ("?", rest) => (Lack::Missing, rest),
        ("-", rest) => (Lack::Forbidden, rest),
        _ => return None,
    };
    Some((command.split(' ').next()?, lack))
}

/// The error for commands that scripts need.
fn unusable(address: &str, missing: &[&str], forbidden: &[&str]) -> Error {
    let told = [
        (Lack::Missing, missing, "give them back their names"),
        (Lack::Forbidden, forbidden, "allow them"),
    ];
    let told = told
        .into_iter()
        .filter(|(_, commands, _)| !commands.is_empty());
    let told: Vec<_> = told
        .map(|(lack, commands, way_out)| {
            let commands = commands.join(", ");
            format!("{lack} {commands}, without which calls would stop half-way; {way_out}")
        })
        .collect();
    let told = told.join("; ");
    let text = format!("{address} cannot be used: {told}");
    Error::new(ErrorKind::Configuration, text)
}
