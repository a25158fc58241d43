//! Priority queues: the most urgent message first.

use std::{future::Future, time::Duration};

use async_trait::async_trait;

use super::{
    config::{Millis, check_optional, leasing_setters, same},
    leasing::{Leasing, chunks, half_way, only},
};
use crate::{Error, LeasingConfig, Push, Pushed, Result};

const MAX_AGEING: Duration = Duration::from_secs(24 * 60 * 60);

/// A priority queue: the most urgent ready message first (P1), in arrival order within a priority (P2). A
/// message that comes back keeps its priority (P3). After a release or an expired lease it goes before the
/// others of its priority (L11).
///
/// With ageing (P4) the order is by (arrival in ms − priority × ageing, id) alone. A released, deferred or
/// expired message returns to its old place. A retried message arrives again.
#[async_trait]
pub trait PriorityQueue: Leasing {
    /// Puts messages in, each with its priority; returns one result for each.
    ///
    /// All or nothing, but for entries that are duplicates of a dedup key (L9).
    ///
    /// # Errors
    ///
    /// As for [`ReliableQueue::push`](crate::ReliableQueue::push).
    async fn enqueue(&self, messages: &[Prioritized]) -> Result<Vec<Pushed>>;
}

/// A message and how urgent it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Prioritized {
    /// The message.
    pub push: Push,
    /// Its priority: larger is more urgent, 0 is ordinary.
    pub priority: i16,
}

impl Prioritized {
    /// This message with this priority. [`limits::priority`](crate::limits::priority) checks a
    /// wider number.
    pub fn new(push: impl Into<Push>, priority: i16) -> Self {
        Self {
            push: push.into(),
            priority,
        }
    }

    /// Checks a batch as [`Push::check_all`] does.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken.
    pub fn check_all(batch: &[Self], max_body: usize) -> Result<()> {
        Push::check_all(batch.iter().map(|entry| &entry.push), max_body)
    }
}

/// Conveniences for callers of a priority queue.
pub trait PriorityQueueExt: PriorityQueue {
    /// Puts one message in.
    ///
    /// # Errors
    ///
    /// The errors of [`enqueue`](PriorityQueue::enqueue).
    fn enqueue_one(
        &self,
        message: impl Into<Push>,
        priority: i16,
    ) -> impl Future<Output = Result<Pushed>> + Send {
        let message = Prioritized::new(message, priority);
        async move { only(self.enqueue(&[message]).await?) }
    }

    /// Puts any number of messages in, split into batches of at most 128 and 8 MiB; the splits
    /// are neither atomic nor contiguous.
    ///
    /// # Errors
    ///
    /// The errors of [`enqueue`](PriorityQueue::enqueue). After the first batch, an error's outcome is unknown.
    fn enqueue_all(
        &self,
        messages: &[Prioritized],
    ) -> impl Future<Output = Result<Vec<Pushed>>> + Send {
        async move {
            let mut pushed = Vec::with_capacity(messages.len());
            for chunk in chunks(messages, |message| message.push.size()) {
                let answered = self.enqueue(chunk).await;
                let answered = answered.map_err(|error| half_way(error, !pushed.is_empty()));
                pushed.append(&mut answered?);
            }
            Ok(pushed)
        }
    }
}

impl<Q: PriorityQueue + ?Sized> PriorityQueueExt for Q {}

/// A priority queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct PriorityConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
    /// The waiting time that weighs as much as one step of priority (P4); `None` is strict
    /// priority.
    pub ageing: Option<Duration>,
}

impl PriorityConfig {
    leasing_setters!();

    /// The error of a change of the ageing while messages are ready.
    pub fn ageing_of_ready(ready: u64) -> Error {
        Error::invalid(format!(
            "another ageing while {ready} messages are ready would change their order: change it when \
             nothing is ready"
        ))
    }

    /// Makes one step of priority worth this much waiting, 1 ms to 24 h, so that strict priority
    /// cannot starve less urgent messages (P4).
    #[must_use]
    pub fn with_ageing(mut self, per_step: Duration) -> Self {
        self.ageing = Some(per_step);
        self
    }

    /// Checks the limits, as every open does first.
    ///
    /// # Errors
    ///
    /// `Invalid`, naming the value.
    pub fn check(&self) -> Result<()> {
        self.leasing.check()?;
        check_optional("ageing", self.ageing, MAX_AGEING)
    }

    /// Checks this against the stored configuration.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch`, naming both values.
    pub fn check_stored(&self, stored: &Self) -> Result<()> {
        self.leasing.check_stored(&stored.leasing)?;
        same("ageing", Millis(stored.ageing), Millis(self.ageing))
    }
}
