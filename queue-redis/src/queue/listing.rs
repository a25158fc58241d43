//! The list of queues: one sorted set of entries `name kind token`. It is outside the queues' slots, and so outside
//! their scripts; `opening.rs` explains how list and queues still agree.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use queue_core::{QueueKind, QueueName, Result};
use redis_link::Client;

use super::config::kind_named;

/// The name of the list in errors.
pub(crate) const LIST: &str = "the list of queues";

/// Ends an entry that an open adds before it creates the queue.
const OPENING: &str = " opening";

/// A token that no other process generates, and this process only once. All tokens have the same length.
pub(crate) fn new_token() -> String {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}{number:016x}", *PROCESS)
}

/// The entry of a queue. Each queue that is created under a name has its own entry.
pub(crate) fn entry(name: &QueueName, kind: QueueKind, token: &str) -> Vec<u8> {
    format!("{name} {kind} {token}").into_bytes()
}

/// The entry of a queue that is about to be created.
pub(crate) fn opening(name: &QueueName, kind: QueueKind, token: &str) -> Vec<u8> {
    format!("{name} {kind} {token}{OPENING}").into_bytes()
}

/// Whether this is the entry of a queue that was about to be created.
pub(crate) fn is_opening(entry: &[u8]) -> bool {
    entry.ends_with(OPENING.as_bytes())
}

/// The queue of an entry; `None` if queue-kit did not write it. Earlier versions wrote no token.
pub(crate) fn queue_of(entry: &[u8]) -> Option<(QueueName, QueueKind)> {
    let mut words = std::str::from_utf8(entry).ok()?.split(' ');
    let (name, kind) = (words.next()?, words.next()?);
    Some((QueueName::new(name).ok()?, kind_named(kind)?))
}

/// The first position behind all entries of a name, as Redis writes it.
pub(crate) fn behind(name: &QueueName) -> Vec<u8> {
    // `!` sorts after the blank and before all characters of a name.
    format!("({name}!").into_bytes()
}

/// The entries under a name.
pub(crate) async fn entries_of(
    client: &Client,
    registry: &str,
    name: &QueueName,
) -> Result<Vec<Vec<u8>>> {
    let mut find = redis::cmd("ZRANGEBYLEX");
    find.arg(registry).arg(format!("[{name} "));
    find.arg(behind(name));
    client.ask(&find, LIST).await
}

/// Adds an entry.
pub(crate) async fn add(client: &Client, registry: &str, entry: &[u8]) -> Result<()> {
    let mut add = redis::cmd("ZADD");
    add.arg(registry).arg(0).arg(entry);
    client.command(&add).await.map(drop)
}

/// Removes entries.
pub(crate) async fn remove(client: &Client, registry: &str, entries: &[Vec<u8>]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut remove = redis::cmd("ZREM");
    remove.arg(registry).arg(entries);
    client.command(&remove).await.map(drop)
}
