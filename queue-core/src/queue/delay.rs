//! Delay queues: each message at its due time.

use std::{future::Future, time::Duration};

use async_trait::async_trait;

use super::{
    config::{leasing_setters, plain_checks},
    leasing::{Leasing, chunks, half_way, only},
};
use crate::{Due, Error, LeasingConfig, MessageId, Push, Pushed, Result};

/// A delay queue: never early (D1), in (due, id) order (D2). A message that comes back is due at its
/// deadline, at its release, or at the end of its retry delay.
#[async_trait]
pub trait DelayQueue: Leasing {
    /// Puts messages in, each with its due time; returns one result for each.
    ///
    /// All or nothing, but for entries that are duplicates of a dedup key (L9). Equal bodies are different
    /// messages (D3). The queue wakes a waiting consumer (D5).
    ///
    /// # Errors
    ///
    /// As for [`ReliableQueue::push`](crate::ReliableQueue::push), and `Invalid` for a due time
    /// that is too far away.
    async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>>;

    /// Gives an undelivered message another due time, sooner or later (D4).
    ///
    /// # Errors
    ///
    /// `Invalid` for a due time that is too far away.
    async fn reschedule(&self, id: MessageId, due: Due) -> Result<Rescheduled>;

    /// The time until the first undelivered message is due, from now: zero if one is due
    /// already, `None` if there is none.
    async fn next_due(&self) -> Result<Option<Duration>>;
}

/// A message and when it is due.
///
/// ```
/// use std::time::Duration;
/// use queue_core::{Due, Scheduled};
///
/// let reminder = Scheduled::new("pay order 42", Duration::from_secs(30 * 60));
/// assert_eq!(reminder.due, Due::After(Duration::from_secs(1800)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scheduled {
    /// The message.
    pub push: Push,
    /// When it is due.
    pub due: Due,
}

impl Scheduled {
    /// `push`, due at `due`.
    pub fn new(push: impl Into<Push>, due: impl Into<Due>) -> Self {
        Self {
            push: push.into(),
            due: due.into(),
        }
    }

    /// Checks a batch as [`Push::check_all`] does, and that each message has one due time, which its time to
    /// live allows.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken.
    pub fn check_all(batch: &[Self], max_body: usize) -> Result<()> {
        Push::check_all(batch.iter().map(|entry| &entry.push), max_body)?;
        for entry in batch {
            entry.due.check()?;
            if let Some(time_to_live) = entry.push.time_to_live {
                time_to_live.check(Some(entry.due))?;
            }
            if let Some(second) = entry.push.due {
                return Err(Error::invalid(format!(
                    "a message due {:?} whose push says {second:?}, too: leave Push::with_due out \
                     on a delay queue",
                    entry.due
                )));
            }
        }
        Ok(())
    }
}

/// The result of rescheduling one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "it may have been too late"]
pub enum Rescheduled {
    /// It has the new due time.
    Moved,
    /// The message is leased, dead, done, or was never there; nothing changed.
    TooLate,
}

/// Conveniences for callers of a delay queue.
pub trait DelayQueueExt: DelayQueue {
    /// Puts one message in.
    ///
    /// # Errors
    ///
    /// The errors of [`schedule`](DelayQueue::schedule).
    fn schedule_one(
        &self,
        message: impl Into<Push>,
        due: impl Into<Due>,
    ) -> impl Future<Output = Result<Pushed>> + Send {
        let message = Scheduled::new(message, due);
        async move { only(self.schedule(&[message]).await?) }
    }

    /// Puts any number of messages in, split into batches of at most 128 and 8 MiB; the splits
    /// are neither atomic nor contiguous.
    ///
    /// # Errors
    ///
    /// The errors of [`schedule`](DelayQueue::schedule). After the first batch, an error's outcome is unknown.
    fn schedule_all(
        &self,
        messages: &[Scheduled],
    ) -> impl Future<Output = Result<Vec<Pushed>>> + Send {
        async move {
            let mut pushed = Vec::with_capacity(messages.len());
            for chunk in chunks(messages, |message| message.push.size()) {
                let answered = self.schedule(chunk).await;
                let answered = answered.map_err(|error| half_way(error, !pushed.is_empty()));
                pushed.append(&mut answered?);
            }
            Ok(pushed)
        }
    }
}

impl<Q: DelayQueue + ?Sized> DelayQueueExt for Q {}

/// A delay queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct DelayConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
}

impl DelayConfig {
    leasing_setters!();

    plain_checks!();
}
