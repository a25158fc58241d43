//! The list of queues: one sorted set of entries `name kind`. It lies outside the queues' slots, and so
//! outside their scripts.

use queue_core::{QueueKind, QueueName, Result};

use crate::client::Client;

/// What errors call it.
pub(crate) const LIST: &str = "the list of queues";

/// The entry of a queue.
pub(crate) fn entry(name: &QueueName, kind: QueueKind) -> Vec<u8> {
    format!("{name} {kind}").into_bytes()
}

/// The entries under a name: more than one only while somebody makes a queue of another kind.
pub(crate) async fn entries_of(
    client: &Client,
    registry: &str,
    name: &QueueName,
) -> Result<Vec<Vec<u8>>> {
    let mut find = redis::cmd("ZRANGEBYLEX");
    find.arg(registry);
    // Entries are `name kind`; `!` follows the blank and comes before all characters of a name.
    find.arg(format!("[{name} "));
    find.arg(format!("({name}!"));
    client.ask(&find, LIST).await
}

/// Adds a queue.
pub(crate) async fn add(client: &Client, registry: &str, entry: &[u8]) -> Result<()> {
    let mut add = redis::cmd("ZADD");
    add.arg(registry).arg(0).arg(entry);
    client.command(&add).await.map(drop)
}

/// Takes entries out.
pub(crate) async fn remove(client: &Client, registry: &str, entries: &[Vec<u8>]) -> Result<()> {
    let mut remove = redis::cmd("ZREM");
    remove.arg(registry).arg(entries);
    client.command(&remove).await.map(drop)
}
