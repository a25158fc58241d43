//! Bounded queues: a fixed length, never exceeded.

use std::{future::Future, num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    config::{leasing_setters, mismatch},
    leasing::{Leasing, chunks, half_way, only},
    patience::Patience,
};
use crate::{Dedup, Error, LeasingConfig, Message, MessageId, Push, Result, limits};

const MAX_CAPACITY: usize = u32::MAX as usize;

/// A bounded queue: ready + delayed + leased never exceed the capacity, at any instant that anyone
/// can observe (B1). It delivers in the order of a reliable queue (F1, L11).
#[async_trait]
pub trait BoundedQueue: Leasing {
    /// Puts messages at the tail as far as there is room; returns one result for each, in order.
    ///
    /// The first of these rules that applies to an entry decides. A duplicate of a dedup key changes nothing
    /// (L9). An entry whose distinct key an undelivered message holds replaces that message, also when the
    /// queue is full (B7). With room, the queue accepts the entry. Without room, `overflow` decides. The
    /// batch is one atomic step.
    ///
    /// # Errors
    ///
    /// As for [`ReliableQueue::push`](crate::ReliableQueue::push). A full queue is not an error here: the
    /// result is [`Offered::Full`].
    async fn offer(&self, messages: &[Offer], overflow: Overflow) -> Result<Vec<Offered>>;

    /// Waits for a hint that there may be room, no longer than `timeout`. It moves nothing and may end
    /// without a hint. A hint wakes one of several waiting callers, as for
    /// [`wait_for_arrival`](Leasing::wait_for_arrival) (B4).
    ///
    /// # Errors
    ///
    /// As for [`wait_for_arrival`](Leasing::wait_for_arrival).
    async fn wait_for_room(&self, timeout: Duration) -> Result<()>;

    /// The newest ready messages, newest first, taking nothing (B6): the reverse of the delivery
    /// order, at most `n`, and no more than 8 MiB (but always one).
    ///
    /// # Errors
    ///
    /// `Invalid` if `n` is zero or over 1,000.
    async fn recent(&self, n: usize) -> Result<Vec<Message>>;

    /// The most messages that fit.
    async fn capacity(&self) -> Result<NonZeroUsize>;

    /// Changes the capacity. From then on the stored capacity wins over that of an open, and the queue does
    /// not grow beyond it. Surplus messages are dropped in delivery order, delayed ones last, in steps of at
    /// most 128, each atomic; no leased message is dropped (B5). Returns the ids of the dropped messages.
    ///
    /// # Errors
    ///
    /// `Invalid` if `capacity` is over 2^32 − 1. After any other error, or if the call was dropped, the new
    /// capacity may hold. Then the next offers take the steps that are left.
    async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>>;
}

/// The policy for an entry that finds no room. To wait for room, use
/// [`offer_or_wait`](BoundedQueueExt::offer_or_wait).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overflow {
    /// Refuse the entry: [`Offered::Full`], and nothing changed (B3).
    Reject,
    /// Drop the next undelivered message in delivery order, a delayed one only if none is ready. If all are
    /// leased, the result is [`Offered::Full`] (B2).
    DropOldest,
}

/// A message for a bounded queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Offer {
    /// The message.
    pub push: Push,
    /// Makes this the only undelivered message under the key (B7): 1 to 256 bytes.
    ///
    /// The key belongs to the message last accepted under it. While that message is leased, an offer adds a
    /// new message and the key passes to it; the older one is an ordinary message from then on.
    pub distinct: Option<Bytes>,
}

impl Offer {
    /// This message.
    pub fn new(push: impl Into<Push>) -> Self {
        Self {
            push: push.into(),
            distinct: None,
        }
    }

    /// Replaces the undelivered message under the same key (B7).
    #[must_use]
    pub fn with_distinct(mut self, key: impl Into<Bytes>) -> Self {
        self.distinct = Some(key.into());
        self
    }

    /// Checks a batch as [`Push::check_all`] does, and the distinct keys.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken.
    pub fn check_all(batch: &[Self], max_body: usize) -> Result<()> {
        Push::check_all(batch.iter().map(|entry| &entry.push), max_body)?;
        let mut keys = batch.iter().filter_map(|entry| entry.distinct.as_ref());
        keys.try_for_each(|key| limits::check_key(key))
    }
}

impl<P: Into<Push>> From<P> for Offer {
    fn from(push: P) -> Self {
        Self::new(push)
    }
}

/// The result of offering one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Offered {
    /// It is in the queue.
    Accepted {
        /// Its id.
        id: MessageId,
        /// The message that the queue dropped to make room for it.
        evicted: Option<MessageId>,
    },
    /// It is in the queue, in the newest place, instead of the message that held its distinct key.
    Replaced {
        /// Its id.
        id: MessageId,
        /// The message that it replaced.
        replaced: MessageId,
    },
    /// A push with this dedup key came before, within the window: nothing changed. The id is the
    /// first push's.
    Duplicate(MessageId),
    /// No room: nothing changed.
    Full,
}

/// Conveniences for callers of a bounded queue.
pub trait BoundedQueueExt: BoundedQueue {
    /// Offers one message.
    ///
    /// # Errors
    ///
    /// The errors of [`offer`](BoundedQueue::offer).
    fn offer_one(
        &self,
        message: impl Into<Offer>,
        overflow: Overflow,
    ) -> impl Future<Output = Result<Offered>> + Send {
        let message = message.into();
        async move { only(self.offer(&[message], overflow).await?) }
    }

    /// Offers one message and waits for room up to `timeout`: the policy called *block* (B4). It returns
    /// [`Offered::Full`] if no room came.
    ///
    /// It waits as [`LeasingExt`](crate::LeasingExt) says, with one exception. After a try that perhaps took
    /// effect, it offers the message again only if that has a dedup key (and is not unique until done). The
    /// result is then [`Offered::Duplicate`] if the first try was accepted and its reply was lost.
    ///
    /// Dropping the future between two tries leaves nothing behind. If it is dropped during a try, or cut at
    /// the timeout, the queue may or may not have accepted the message (L8).
    ///
    /// # Errors
    ///
    /// The errors of [`offer`](BoundedQueue::offer): at once if permanent, or if of unknown outcome without a
    /// dedup key; otherwise at the timeout.
    fn offer_or_wait(
        &self,
        message: impl Into<Offer>,
        timeout: Duration,
    ) -> impl Future<Output = Result<Offered>> + Send {
        let message = [message.into()];
        async move {
            let dedup = message[0].push.dedup.as_ref();
            let repeatable = dedup.is_some_and(Dedup::makes_repeats_safe);
            let mut patience = Patience::new(timeout);
            loop {
                let offer = self.offer(&message, Overflow::Reject);
                let Some(offered) = patience.look(repeatable, offer).await? else {
                    continue;
                };
                let offered = only(offered)?;
                if offered != Offered::Full || patience.is_over() {
                    return Ok(offered);
                }
                let room = |longest| self.wait_for_room(longest);
                patience.wait(None, room).await;
            }
        }
    }

    /// Offers any number of messages, split into batches of at most 128 and 8 MiB; the splits are
    /// neither atomic nor contiguous.
    ///
    /// # Errors
    ///
    /// The errors of [`offer`](BoundedQueue::offer). After the first batch, an error's outcome is unknown.
    fn offer_all(
        &self,
        messages: &[Offer],
        overflow: Overflow,
    ) -> impl Future<Output = Result<Vec<Offered>>> + Send {
        async move {
            let mut offered = Vec::with_capacity(messages.len());
            for chunk in chunks(messages, |message| message.push.size()) {
                let answered = self.offer(chunk, overflow).await;
                let answered = answered.map_err(|error| half_way(error, !offered.is_empty()));
                offered.append(&mut answered?);
            }
            Ok(offered)
        }
    }
}

impl<Q: BoundedQueue + ?Sized> BoundedQueueExt for Q {}

/// A bounded queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BoundedConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
    /// The most messages, ready, delayed and leased together (B1): 1 to 2^32 − 1.
    pub capacity: usize,
}

impl BoundedConfig {
    /// The default configuration with this capacity.
    pub fn new(capacity: usize) -> Self {
        Self {
            leasing: LeasingConfig::default(),
            capacity,
        }
    }

    leasing_setters!();

    /// Checks the limits, as every open does first.
    ///
    /// # Errors
    ///
    /// `Invalid`, naming the value.
    pub fn check(&self) -> Result<()> {
        self.leasing.check()?;
        check_capacity(self.capacity)
    }

    /// Checks this against the stored configuration. `resized` says that a
    /// [`resize`](crate::BoundedQueue::resize) has changed the capacity: from then on the stored
    /// one wins, and this does not compare it.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch`, naming both values; for the capacity also the open that changes it,
    /// [`Queues::bounded_or_resize`](crate::Queues::bounded_or_resize).
    pub fn check_stored(&self, stored: &Self, resized: bool) -> Result<()> {
        self.leasing.check_stored(&stored.leasing)?;
        if resized || stored.capacity == self.capacity {
            return Ok(());
        }
        Err(mismatch(
            "capacity",
            stored.capacity,
            self.capacity,
            "open it with the stored value, change the capacity to this one by bounded_or_resize \
             (open_or_resize of a backend), or use another name",
        ))
    }
}

/// Checks a bounded queue's capacity: 1 to 2^32 − 1.
///
/// # Errors
///
/// `Invalid`, naming the value.
pub fn check_capacity(capacity: usize) -> Result<()> {
    if capacity == 0 || capacity > MAX_CAPACITY {
        return Err(Error::invalid(format!(
            "a capacity of {capacity}: 1 to {MAX_CAPACITY} is allowed"
        )));
    }
    Ok(())
}
