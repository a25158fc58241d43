//! Opening a queue, and the list of queues.
//!
//! A queue and the list lie in different slots, so no step writes both, and a caller may be dropped or die between
//! two steps. The list agrees all the same:
//!
//! * A queue is created with a mark that holds a new token. It loses the mark only after an entry with that token
//!   is in the list. A call that finds the mark does nothing; its caller adds the entry, takes the mark off and
//!   calls again. So a queue without a mark has had its own entry.
//! * Only a removal takes that entry out, and only what it has read before it removes the queue. An entry with the
//!   token is added by those alone who have seen the queue with the mark. So if a removal reads the entry, the
//!   queue was there, and is gone once the removal has removed what is there. Other calls take out an entry of
//!   another token only after they have seen the mark of a queue that was made later.
//! * So a queue that is there without a mark is in the list, whoever died, and however removals and opens take turns.
//!
//! An entry without a queue is not shown. Before an open creates a queue, it adds an entry that ends in `opening`: so
//! a queue whose maker died and that nobody calls is shown, too. The open takes this entry out at its end.

use queue_core::{Error, Outcome, Result};
use redis_link::error::is_wrong_type;

use super::{
    Handle,
    config::{self, Stored},
};
use crate::{keys, listing, reply::Reply, scripts};

impl Handle {
    /// Creates the queue, or returns its stored configuration, and adds it to the list of queues.
    pub(crate) async fn open(&self) -> Result<Stored> {
        self.try_open().await.map_err(|error| self.name(error))
    }

    /// The server does not say which key holds another type; opening the queue does.
    pub(super) async fn name_key(&self, error: Error) -> Error {
        match self.look_or_create("").await {
            Err(named) if is_wrong_type(&named) => named.with_outcome(error.outcome()),
            _ => error,
        }
    }

    async fn try_open(&self) -> Result<Stored> {
        let (client, registry) = self.list_of_queues();
        // Before the queue is looked at: what is listed later may belong to a later queue.
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
            // Where nothing can be written for now, the queue serves all the same: the next open
            // adds it.
            Err(error) if error.is_transient() => Ok(stored),
            relisted => relisted.map(|()| stored),
        }
    }

    /// Creates the queue, unless somebody else has meanwhile. `listed` are the entries of its name.
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
            // Somebody else has made it, and listed it.
            checked => checked,
        };
        // Nobody needs the entry now, unless the queue is not listed.
        if relisted.is_ok() || !is_own {
            drop(listing::remove(client, &registry, &opening).await);
        }
        match relisted {
            Err(error) if is_own => Err(error.with_outcome(Outcome::Unknown)),
            Err(error) if !error.is_transient() => Err(error),
            _ => Ok(stored),
        }
    }

    /// Corrects the list for a queue of this kind, which is there. `listed` was read before. Mostly this does
    /// nothing.
    async fn relist(&self, stored: &Stored, mut listed: Vec<Vec<u8>>) -> Result<()> {
        let (client, registry) = self.list_of_queues();
        if let Some(token) = &stored.unlisted {
            self.list(token).await?;
            // All others belong to queues that were there before this one.
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

    /// Adds the queue with this mark to the list, and takes the mark off.
    pub(super) async fn list(&self, token: &str) -> Result<()> {
        let (client, registry) = self.list_of_queues();
        let own = listing::entry(&self.name, self.kind, token);
        listing::add(client, &registry, &own).await?;
        let keys = self.keys().of_mark(self.client().is_clustered());
        let mut call = self.client().prepare(&scripts::LISTED, keys);
        call.push(token);
        self.client().run(call).await.map(drop)
    }

    fn list_of_queues(&self) -> (&redis_link::Client, String) {
        let backend = self.backend();
        (backend.client(), keys::registry(backend.prefix()))
    }

    /// What is stored. If nothing is, this stores `config`; or nothing if that is empty, and then returns `None`.
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
        let value = self.client().run(call).await?;
        if value == redis::Value::Nil {
            return Ok(None);
        }
        let mut reply = Reply::new(&scripts::OPEN, value).by(self.client());
        let text = reply.text()?;
        Ok(Some(Stored::new(text, reply.count()?, reply.count()? == 1)))
    }
}
