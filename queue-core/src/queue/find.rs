//! Finding: what became of a message, by its id (L18).

use std::time::Duration;

use bytes::Bytes;

use crate::{DeathReason, Standing, Timestamp};

/// What became of a message (L18).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Found {
    /// It is ready, delayed or leased.
    Present {
        /// How many attempts it has had, including the one under way.
        attempts: u32,
        /// The time since it was pushed.
        age: Duration,
        /// The reason of the last retry (L14); `None` if that gave none, or there was no retry.
        failure: Option<String>,
        /// Its place, and of a lease the holder and the progress.
        standing: Standing,
    },
    /// It is among the dead letters.
    Dead {
        /// How many attempts it had.
        attempts: u32,
        /// Why it died.
        reason: DeathReason,
        /// The reason of the last retry (L14).
        failure: Option<String>,
        /// When it was pushed, by the backend's clock.
        pushed_at: Timestamp,
        /// When it died, by the backend's clock.
        died_at: Timestamp,
    },
    /// It was acked with this result, whose time is not over (S1, S2).
    Done(Bytes),
    /// It was there and is gone: acked, cancelled, or gone otherwise. No result is kept.
    Gone,
    /// No message of this queue ever had the id: it is another queue's, or was made up.
    NeverWas,
}

impl Found {
    /// Whether no attempt is under way or to come, unless an operator revives the message.
    pub const fn is_over(&self) -> bool {
        !matches!(self, Self::Present { .. })
    }
}
