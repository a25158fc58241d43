//! Reliable queues: first in, first out, and nothing lost.

use std::future::Future;

use async_trait::async_trait;

use super::{
    config::{leasing_setters, plain_checks},
    leasing::{Leasing, chunks, half_way, only},
};
use crate::{LeasingConfig, Push, Pushed, Result};

/// A reliable queue: it first delivers messages in push order (F1). A message that comes back by a
/// release or an expired lease goes before all others, by id (L11).
#[async_trait]
pub trait ReliableQueue: Leasing {
    /// Puts messages at the tail, in the batch's order (F2); returns one result for each.
    ///
    /// All or nothing, but for entries that are duplicates of a dedup key (L9).
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty batch, more than 128 entries or 8 MiB, a body over the limit, or a bad dedup
    /// key. The outcome of a dropped or unanswered push is unknown: repeat it with a dedup key (L8).
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>>;
}

/// Conveniences for callers of a reliable queue.
pub trait ReliableQueueExt: ReliableQueue {
    /// Puts one message at the tail.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](ReliableQueue::push).
    fn push_one(&self, message: impl Into<Push>) -> impl Future<Output = Result<Pushed>> + Send {
        let message = message.into();
        async move { only(self.push(&[message]).await?) }
    }

    /// Puts any number of messages at the tail, split into batches of at most 128 and 8 MiB.
    ///
    /// The splits are neither atomic nor contiguous: other producers' messages may come between,
    /// and an error or a drop half-way leaves the earlier ones pushed.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](ReliableQueue::push). After the first batch, an error's outcome is unknown.
    fn push_all(&self, messages: &[Push]) -> impl Future<Output = Result<Vec<Pushed>>> + Send {
        async move {
            let mut pushed = Vec::with_capacity(messages.len());
            for chunk in chunks(messages, Push::size) {
                let answered = self.push(chunk).await;
                let answered = answered.map_err(|error| half_way(error, !pushed.is_empty()));
                pushed.append(&mut answered?);
            }
            Ok(pushed)
        }
    }
}

impl<Q: ReliableQueue + ?Sized> ReliableQueueExt for Q {}

/// A reliable queue's configuration.
///
/// ```
/// use queue_core::ReliableConfig;
///
/// let config = ReliableConfig::default().with_max_attempts(3).with_dead_letter_cap(100);
/// assert_eq!(config.leasing.max_attempts, 3);
/// assert!(config.check().is_ok());
/// assert!(config.with_max_attempts(0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct ReliableConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
}

impl ReliableConfig {
    leasing_setters!();

    plain_checks!();
}
