//! Opening a queue, and the list of queues.
//!
//! A queue and the list are in different slots, so no step writes both, and a caller may be dropped or die between two
//! steps. List and queues still agree:
//!
//! * A queue is created with a mark that holds a new token. The mark is removed only after an entry with that token is
//!   in the list. A call that finds the mark does nothing; its caller adds the entry, removes the mark and calls again.
//!   So a queue without a mark has had its own entry.
//! * Only a removal deletes that entry, and it deletes only entries that it read before it removes the queue. Only
//!   callers that have seen the queue with the mark add an entry with its token. So if a removal reads the entry, the
//!   queue existed, and is gone once the removal has deleted the keys. Other calls delete an entry with another token
//!   only after they have seen the mark of a queue that was created later.
//! * So an existing queue without a mark is in the list, whichever callers died, and however removals and opens
//!   interleave.
//!
//! An entry without a queue is not shown. Before an open creates a queue, it adds an entry that ends in `opening`. So a
//! queue is shown even if its creator died and nobody calls it. The open deletes this entry at its end.

use queue_core::{Error, Outcome, Result};
use redis_link::error::is_wrong_type;

use super::{
    Handle,
    config::{self, Stored},
    listing,
};
use crate::{keys, reply::Reply, scripts};

impl Handle {
    /// Creates the queue, or returns its stored configuration, and adds it to the list of queues.
    pub(crate) async fn open(&self) -> Result<Stored> {
        self.try_open().await.map_err(|error| self.name(error))
    }

    /// The server does not say which key holds a wrong type; opening the queue does.
    pub(super) async fn name_key(&self, error: Error) -> Error {
        match self.look_or_create("").await {
            Err(named) if is_wrong_type(&named) => named.with_outcome(error.outcome()),
            _ => error,
        }
    }

    async fn try_open(&self) -> Result<Stored> {
        let (client, registry) = self.list_of_queues();
        // Read before the queue: entries that are added later may belong to a later queue.
        let listed = listing::entries_of(client, &registry, &self.name).await;
        let Some(stored) = self.look_or_create("").await? else {
            return self.create(listed?).await;
        };
        stored.check_kind(self.kind)?;
        let relisted = match listed {
            Ok(listed) => self.relist(&stored, listed).await,
            Err(error) => Err(error),
        };
        match relisted {
            // If nothing can be written now, the queue still works: the next open adds the entry.
            Err(error) if error.is_transient() => Ok(stored),
            relisted => relisted.map(|()| stored),
        }
    }

    /// Creates the queue, unless somebody else has created it meanwhile. `listed` are the entries of its name.
    async fn create(&self, listed: Vec<Vec<u8>>) -> Result<Stored> {
        let (client, registry) = self.list_of_queues();
        let token = listing::new_token();
        let opening = [listing::opening(&self.name, self.kind, &token)];
        listing::add(client, &registry, &opening[0]).await?;
        let text = config::marked(&self.config, &token);
        let stored = match self.look_or_create(&text).await {
            Ok(Some(stored)) => stored,
            Ok(None) => return Err(Error::unanswered()),
            Err(error) if error.outcome() == Outcome::Unknown => return Err(error),
            Err(error) => {
                drop(listing::remove(client, &registry, &opening).await);
                return Err(error);
            }
        };
        let is_own = stored.unlisted.as_ref() == Some(&token);
        let relisted = match stored.check_kind(self.kind) {
            Ok(()) if stored.unlisted.is_some() => self.relist(&stored, listed).await,
            // Somebody else has created it, and listed it.
            checked => checked,
        };
        // Nobody needs the entry any more, unless the queue is not listed.
        if relisted.is_ok() || !is_own {
            drop(listing::remove(client, &registry, &opening).await);
        }
        match relisted {
            Err(error) if is_own => Err(error.with_outcome(Outcome::Unknown)),
            Err(error) if !error.is_transient() => Err(error),
            _ => Ok(stored),
        }
    }

    /// Corrects the list for an existing queue of this kind. `listed` was read before the queue. Mostly this does
    /// nothing.
    async fn relist(&self, stored: &Stored, mut listed: Vec<Vec<u8>>) -> Result<()> {
        let (client, registry) = self.list_of_queues();
        if let Some(token) = &stored.unlisted {
            self.list(token).await?;
            // All other entries belong to queues that existed before this one.
            let own = listing::entry(&self.name, self.kind, token);
            listed.retain(|entry| *entry != own && !listing::is_opening(entry));
            return listing::remove(client, &registry, &listed).await;
        }
        let is_own =
            |entry: &Vec<u8>| listing::queue_of(entry).is_some_and(|(_, kind)| kind == self.kind);
        if !listed
            .iter()
            .any(|entry| is_own(entry) && !listing::is_opening(entry))
        {
            // Somebody has deleted the entry, or an earlier version never added it.
            let own = listing::entry(&self.name, self.kind, &listing::new_token());
            listing::add(client, &registry, &own).await?;
        }
        // A queue of another kind once had this name.
        listed.retain(|entry| !is_own(entry) && !listing::is_opening(entry));
        listing::remove(client, &registry, &listed).await
    }

    /// Adds the queue with this mark to the list, and removes the mark.
    pub(super) async fn list(&self, token: &str) -> Result<()> {
        let (client, registry) = self.list_of_queues();
        let own = listing::entry(&self.name, self.kind, token);
        listing::add(client, &registry, &own).await?;
        let keys = self.keys().of_mark(self.client().is_clustered());
        let mut call = self.client().prepare(&scripts::LISTED, keys);
        call.push(token);
        self.client().run(&call).await.map(drop)
    }

    fn list_of_queues(&self) -> (&redis_link::Client, String) {
        let context = self.context();
        (&context.client, keys::registry(&context.prefix))
    }

    /// The stored configuration. If there is none, stores `config`; if `config` is empty, stores nothing and returns
    /// `None`.
    async fn look_or_create(&self, config: &str) -> Result<Option<Stored>> {
        let mut call = self.client().prepare(&scripts::OPEN, self.keys().all());
        call.push(config);
        match self.capacity {
            Some(capacity) => call.push(capacity),
            None => call.push(""),
        }
        for kind in self.keys().types() {
            call.push(kind);
        }
        let value = self.client().run(&call).await?;
        if value == redis::Value::Nil {
            return Ok(None);
        }
        let mut reply = Reply::new(&scripts::OPEN, value).by(self.client());
        let text = reply.text()?;
        Ok(Some(Stored::new(text, reply.count()?, reply.count()? == 1)))
    }
}
