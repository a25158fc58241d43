//! Removing a queue.

use queue_core::{Error, ErrorKind, LAYOUT_VERSION, Outcome, QueueName, Removal, Result};

use super::RedisBackend;
use crate::{
    keys::{self, Keys},
    queue::listing,
    reply::Reply,
    scripts,
};

impl RedisBackend {
    /// Removes all keys of the queue from the server in one step, then removes the entries that were listed before.
    /// Entries that others add after that belong to a later queue, see `queue/opening.rs`. If the call is interrupted
    /// between the two steps, the entries stay; nobody sees them, and a repeated removal deletes them.
    pub(super) async fn take_away(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let (client, registry) = (self.client(), keys::registry(self.prefix()));
        let entries = listing::entries_of(client, &registry, name).await?;
        let existed = self.unlink(name, removal).await?;
        match self.unlist(name, &entries).await {
            Ok(()) => Ok(existed),
            Err(error) if existed => Err(error.with_outcome(Outcome::Unknown)),
            Err(error) => Err(error),
        }
    }

    /// Returns true if there was a queue.
    async fn unlink(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let keys = Keys::of_any_kind(self.prefix(), name);
        let client = self.client().at(&keys.all()[0]);
        let mut call = client.prepare(&scripts::REMOVE, keys.all());
        call.push(i32::from(removal == Removal::EvenIfLeased));
        call.push(LAYOUT_VERSION);
        for kind in keys.types() {
            call.push(kind);
        }
        let reply = Reply::new(&scripts::REMOVE, client.run(&call).await?);
        let mut reply = reply.by(&client);
        let (what, leased, config) = (reply.text()?, reply.count()?, reply.text()?);
        match &*what {
            "r" => Ok(true),
            "a" => Ok(false),
            "l" => Err(match removal.check(leased) {
                Err(refused) => refused,
                Ok(()) => reply.unexpected(),
            }),
            "o" => Err(of_another_layout(&config)),
            _ => Err(reply.unexpected()),
        }
    }

    /// Removes these entries from the list.
    async fn unlist(&self, name: &QueueName, entries: &[Vec<u8>]) -> Result<()> {
        let (client, registry) = (self.client(), keys::registry(self.prefix()));
        listing::remove(client, &registry, entries).await?;
        if !entries.iter().any(|entry| listing::is_opening(entry)) {
            return Ok(());
        }
        // The caller that was about to create the queue may have died since, and the queue needs that entry.
        let Some(stored) = self.read(name).await? else {
            return Ok(());
        };
        match (&stored.unlisted, stored.read()) {
            (Some(token), Ok(config)) => {
                let entry = listing::entry(name, config.kind(), token);
                listing::add(client, &registry, &entry).await
            }
            _ => Ok(()),
        }
    }
}

fn of_another_layout(config: &str) -> Error {
    Error::new(
        ErrorKind::ConfigMismatch,
        format!(
            "the queue is stored as [{config}], and this version knows the keys of layout \
             {LAYOUT_VERSION} alone: remove it with the version that made it"
        ),
    )
}
