//! Bounded queues: a fixed length, never exceeded.

use std::{future::Future, num::NonZeroUsize, time::Duration};

use async_trait::async_trait;

use super::{
    config::{leasing_setters, mismatch},
    leasing::{Leasing, only},
    patience::Patience,
};
use crate::{Dedup, Error, LeasingConfig, Message, MessageId, Overflow, Push, Pushed, Result};

const MAX_CAPACITY: usize = u32::MAX as usize;

/// A bounded queue: ready + delayed + leased never exceed the capacity, at any instant that anyone
/// can observe (B1). It delivers in the order of a reliable queue (F1, L11).
#[async_trait]
pub trait BoundedQueue: Leasing {
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
    /// capacity may hold. Then the next pushes take the steps that are left.
    async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>>;
}

/// Conveniences for callers of a bounded queue.
pub trait BoundedQueueExt: BoundedQueue {
    /// Puts one message in, and waits for room up to `timeout`: the policy called *block* (B4). It returns
    /// [`Pushed::Full`] if no room came. The message's own policy for a full queue has no effect.
    ///
    /// It waits as [`LeasingExt`](crate::LeasingExt) says, with one exception. After a try that perhaps took
    /// effect, it pushes the message again only if that has a dedup key (and is not unique until done). The
    /// result is then [`Pushed::Duplicate`] if the first try was accepted and its reply was lost.
    ///
    /// Dropping the future between two tries leaves nothing behind. If it is dropped during a try, or cut at
    /// the timeout, the queue may or may not have accepted the message (L8).
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Leasing::push): at once if permanent, or if of unknown outcome without a
    /// dedup key; otherwise at the timeout.
    fn push_or_wait(
        &self,
        message: impl Into<Push>,
        timeout: Duration,
    ) -> impl Future<Output = Result<Pushed>> + Send {
        let message = [message.into().with_overflow(Overflow::Reject)];
        async move {
            let dedup = message[0].dedup.as_ref();
            let repeatable = dedup.is_some_and(Dedup::makes_repeats_safe);
            let mut patience = Patience::new(timeout);
            loop {
                let push = self.push(&message);
                let Some(pushed) = patience.look(repeatable, push).await? else {
                    continue;
                };
                let pushed = only(pushed)?;
                if pushed != Pushed::Full || patience.is_over() {
                    return Ok(pushed);
                }
                let room = |longest| self.wait_for_room(longest);
                patience.wait(None, room).await;
            }
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
    /// [`Opening::open_or_resize`](crate::Opening::open_or_resize).
    pub fn check_stored(&self, stored: &Self, resized: bool) -> Result<()> {
        self.leasing.check_stored(&stored.leasing)?;
        if resized || stored.capacity == self.capacity {
            return Ok(());
        }
        Err(mismatch(
            "capacity",
            stored.capacity,
            self.capacity,
            "open it with the stored value, change the capacity to this one by open_or_resize, or \
             use another name",
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
