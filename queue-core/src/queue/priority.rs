//! The urgent first.

use std::future::Future;

use async_trait::async_trait;

use super::leasing::{Leasing, chunks};
use crate::{Error, Push, Pushed, Result};

/// A priority queue: the most urgent ready message first (P1), in arrival order within a priority
/// (P2). What comes back keeps its priority (P3), and goes before others of it after a release or
/// an expired lease (L11).
///
/// With ageing (P4) the order is by (arrival in ms − priority × ageing, id) alone: what is
/// released, deferred or expired returns to its old place, and what is retried arrives anew.
#[async_trait]
pub trait PriorityQueue: Leasing {
    /// Puts messages in, each with its priority; answers one by one.
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
    /// How urgent it is: larger is more urgent, 0 is ordinary.
    pub priority: i16,
}

impl Prioritized {
    /// This message, this urgent. [`limits::priority`](crate::limits::priority) checks a wider
    /// number.
    pub fn new(push: impl Into<Push>, priority: i16) -> Self {
        Self {
            push: push.into(),
            priority,
        }
    }

    /// Checks a batch: what [`Push::check_all`] checks.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken.
    pub fn check_all(batch: &[Self], max_body: usize) -> Result<()> {
        Push::check_all(batch.iter().map(|entry| &entry.push), max_body)
    }
}

/// What a caller of a priority queue wants beside the primitives.
pub trait PriorityQueueExt: PriorityQueue {
    /// Puts one message in.
    ///
    /// # Errors
    ///
    /// Those of [`enqueue`](PriorityQueue::enqueue).
    fn enqueue_one(
        &self,
        message: impl Into<Push>,
        priority: i16,
    ) -> impl Future<Output = Result<Pushed>> + Send {
        let message = Prioritized::new(message, priority);
        async move {
            self.enqueue(&[message])
                .await?
                .pop()
                .ok_or_else(Error::unanswered)
        }
    }

    /// Puts any number of messages in, split into batches of at most 128 and 8 MiB; the splits
    /// are neither atomic nor contiguous.
    ///
    /// # Errors
    ///
    /// Those of [`enqueue`](PriorityQueue::enqueue).
    fn enqueue_all(
        &self,
        messages: &[Prioritized],
    ) -> impl Future<Output = Result<Vec<Pushed>>> + Send {
        async move {
            let mut pushed = Vec::with_capacity(messages.len());
            for chunk in chunks(messages, |message| message.push.size()) {
                pushed.append(&mut self.enqueue(chunk).await?);
            }
            Ok(pushed)
        }
    }
}

impl<Q: PriorityQueue + ?Sized> PriorityQueueExt for Q {}
