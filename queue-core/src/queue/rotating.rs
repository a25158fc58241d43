//! Rotating queues: a ring, each item in turn, for ever.

use std::{fmt::Debug, future::Future, num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    config::{Millis, check_max_body, check_optional, same},
    confirmation::confirm,
    leasing::{nonzero, only},
    patience::Patience,
};
use crate::{
    Confirmed, Confirmer, Error, Headers, Message, MessageId, Page, Paged, Result, limits,
};

const MAX_PACE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A rotating queue: a ring of items, which callers visit in turn, again and again.
///
/// There are no leases. A visit moves the item from the head to the tail in one atomic step, so a crash loses
/// nothing (T1). A lost reply costs that item one cycle. Without a pace, two clients can be at work on one
/// item if the ring is shorter than its clients (T4).
// A ring is empty for an instant only, so there is no `is_empty` to invite a race.
#[allow(clippy::len_without_is_empty)]
#[async_trait]
pub trait RotatingQueue: Debug + Send + Sync + 'static {
    /// Puts items at the tail, in the batch's order; with a pace they are due at once. Returns one result for
    /// each. Atomic, all or nothing, but for entries whose key is in the ring already.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch, more than 128 entries or 8 MiB, or a body over the limit.
    async fn insert(&self, items: &[Insert]) -> Result<Vec<Inserted>>;

    /// Visits up to `max` items: takes them from the head and puts them at the tail, in one atomic step, each
    /// at most once (T1, T3). With a pace it visits only due items, in the ring's order (T4). It returns no
    /// more than 8 MiB of bodies and headers (but always one item). It may leave out an item that is removed
    /// meanwhile; if it leaves out all, `next` is zero.
    ///
    /// # Errors
    ///
    /// `Invalid` if `max` is over 128.
    async fn rotate(&self, max: NonZeroUsize) -> Result<Rotated>;

    /// Waits for a hint that an item may be due, no longer than `timeout`, as
    /// [`wait_for_arrival`](crate::Leasing::wait_for_arrival) does.
    ///
    /// # Errors
    ///
    /// As for [`wait_for_arrival`](crate::Leasing::wait_for_arrival).
    async fn wait_for_turn(&self, timeout: Duration) -> Result<()>;

    /// The items from the head on, a page at a time, moving nothing. Each page is a snapshot; the ring may
    /// turn between two pages.
    ///
    /// # Errors
    ///
    /// `Invalid` for a page of zero or over 1,000 entries.
    async fn list(&self, page: Page) -> Result<Paged<Message>>;

    /// Removes items for good (T2); returns how many it removed.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch or more than 128 ids.
    async fn remove(&self, ids: &[MessageId]) -> Result<u64>;

    /// How many items the ring has.
    async fn len(&self) -> Result<u64>;

    /// The confirmer of this handle's calls, if it has one (R2): callers use
    /// [`confirmed`](RotatingQueueExt::confirmed). `None` by default.
    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        None
    }
}

/// An item for a ring.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Insert {
    /// Opaque bytes.
    pub body: Bytes,
    /// Text beside the body.
    pub headers: Headers,
    /// Names the item, in 1 to 256 bytes. While an item with this key is in the ring, inserting it again
    /// changes nothing. So a restarted program can insert its whole list (T2).
    pub key: Option<Bytes>,
}

impl Insert {
    /// An item with this body.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..Self::default()
        }
    }

    /// Names the item.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets all headers.
    #[must_use]
    pub fn with_headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// Bytes of body and headers.
    pub fn size(&self) -> usize {
        self.body.len() + self.headers.size()
    }

    /// Checks a batch: its length, the sizes and the keys.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken.
    pub fn check_all(batch: &[Self], max_body: usize) -> Result<()> {
        limits::check_batch(batch.len())?;
        limits::check_sizes(batch.iter().map(Self::size), max_body)?;
        let mut keys = batch.iter().filter_map(|item| item.key.as_ref());
        keys.try_for_each(|key| limits::check_key(key))
    }
}

impl<B: Into<Bytes>> From<B> for Insert {
    fn from(body: B) -> Self {
        Self::new(body)
    }
}

/// The result of inserting one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Inserted {
    /// It is at the tail of the ring.
    Added(MessageId),
    /// An item with this key is in the ring already; nothing changed.
    Present(MessageId),
}

impl Inserted {
    /// The item's id, new or old.
    pub const fn id(self) -> MessageId {
        match self {
            Self::Added(id) | Self::Present(id) => id,
        }
    }
}

/// The items that a rotation visited.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[must_use = "the items count as visited"]
#[non_exhaustive]
pub struct Rotated {
    /// The items, in the ring's order.
    pub items: Vec<Message>,
    /// Only when there are no items: the time until one is due. `None` for an empty ring.
    pub next: Option<Duration>,
}

impl Rotated {
    /// These items; if there are none, the time until one is due.
    pub const fn new(items: Vec<Message>, next: Option<Duration>) -> Self {
        Self { items, next }
    }
}

/// Conveniences for callers of a rotating queue.
pub trait RotatingQueueExt: RotatingQueue {
    /// Inserts one item.
    ///
    /// # Errors
    ///
    /// The errors of [`insert`](RotatingQueue::insert).
    fn insert_one(&self, item: impl Into<Insert>) -> impl Future<Output = Result<Inserted>> + Send {
        let item = item.into();
        async move { only(self.insert(&[item]).await?) }
    }

    /// Makes calls of this handle, and waits until their changes have as many copies as the handle's
    /// [`Confirmation`](crate::Confirmation) asks for (R2), as
    /// [`LeasingExt::confirmed`](crate::LeasingExt::confirmed) does.
    ///
    /// # Errors
    ///
    /// The errors of the calls. `Configuration` if the handle confirms nothing, before anything is done.
    fn confirmed<'a, A, F>(
        &'a self,
        calls: impl FnOnce(&'a Self) -> F,
    ) -> impl Future<Output = Result<Confirmed<A>>> + Send
    where
        A: Send,
        F: Future<Output = Result<A>> + Send + 'a,
    {
        confirm(self.confirmer(), calls(self))
    }

    /// Visits up to `max` items, waiting for one that is due up to `timeout`; empty if none came.
    ///
    /// It waits as [`LeasingExt`](crate::LeasingExt) says. Dropping the future while it waits changes
    /// nothing. A rotation that is dropped or cut may cost an item a cycle, and so may a rotation whose reply
    /// was lost.
    ///
    /// # Errors
    ///
    /// The errors of [`rotate`](RotatingQueue::rotate): a permanent error at once, a transient one at the
    /// timeout. `Invalid` if `max` is zero.
    fn visit(
        &self,
        max: usize,
        timeout: Duration,
    ) -> impl Future<Output = Result<Vec<Message>>> + Send {
        async move {
            let max = nonzero("max", max)?;
            let mut patience = Patience::new(timeout);
            loop {
                let Some(rotated) = patience.look(true, self.rotate(max)).await? else {
                    continue;
                };
                if !rotated.items.is_empty() || patience.is_over() {
                    return Ok(rotated.items);
                }
                patience
                    .wait(rotated.next, |longest| self.wait_for_turn(longest))
                    .await;
            }
        }
    }
}

impl<Q: RotatingQueue + ?Sized> RotatingQueueExt for Q {}

/// A rotating queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RotatingConfig {
    /// The time from a visit until the item is due again (T4); `None` rotates as fast as callers
    /// ask.
    pub pace: Option<Duration>,
    /// Bytes of body and headers in one item that this handle accepts. 1 MiB by default.
    pub max_body: usize,
}

impl Default for RotatingConfig {
    fn default() -> Self {
        Self {
            pace: None,
            max_body: limits::DEFAULT_MAX_BODY,
        }
    }
}

impl RotatingConfig {
    /// The error of a change of the pace of a ring with too many items.
    pub fn pace_of_many(items: u64) -> Error {
        Error::invalid(format!(
            "another pace for a ring of {items} items: at most {} are allowed; insert them into a \
             new ring",
            limits::MAX_REPACED
        ))
    }

    /// Visits each item at most once in this time, 1 ms to 365 days (T4).
    #[must_use]
    pub fn with_pace(mut self, pace: Duration) -> Self {
        self.pace = Some(pace);
        self
    }

    /// How many bytes of body and headers an item may have, up to [`limits::MAX_BATCH_BYTES`]. A
    /// limit of this handle, not stored.
    #[must_use]
    pub fn with_max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Checks the limits, as every open does first.
    ///
    /// # Errors
    ///
    /// `Invalid`, naming the value.
    pub fn check(&self) -> Result<()> {
        check_optional("pace", self.pace, MAX_PACE)?;
        check_max_body(self.max_body)
    }

    /// Checks this against the stored configuration.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch`, naming both values.
    pub fn check_stored(&self, stored: &Self) -> Result<()> {
        same("pace", Millis(stored.pace), Millis(self.pace))
    }
}
