//! What a handler knows of its delivery beside the value.

use std::{fmt, sync::Arc, time::Duration};

use queue_core::{Error, ErrorKind, Headers, MessageId, Receipt, Result, Token, limits};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{lease::Lease, note::Note, stop::Stop};

/// A handler's view of its delivery. Clones are views of the same one.
#[derive(Clone)]
pub struct Context {
    lease: Arc<Lease>,
    queue: Arc<str>,
    cut_off: Option<Instant>,
    /// How the loop knows this delivery.
    key: (u64, usize),
    notes: mpsc::UnboundedSender<Note>,
}

impl Context {
    pub(crate) const fn new(
        lease: Arc<Lease>,
        queue: Arc<str>,
        cut_off: Option<Instant>,
        key: (u64, usize),
        notes: mpsc::UnboundedSender<Note>,
    ) -> Self {
        Self {
            lease,
            queue,
            cut_off,
            key,
            notes,
        }
    }

    /// What the worker calls the queue that the message came from.
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// The message's id.
    pub fn id(&self) -> MessageId {
        self.lease.receipt.id
    }

    /// Which attempt this is, from 1 (L6).
    pub fn attempt(&self) -> u32 {
        self.lease.attempt
    }

    /// The fencing token: strictly greater at each delivery of the message, for a sink that
    /// refuses what is older than what it has seen.
    pub fn token(&self) -> Token {
        self.lease.receipt.token
    }

    /// Id and token together, which prove the right to settle.
    pub fn receipt(&self) -> Receipt {
        self.lease.receipt
    }

    /// The headers that were pushed with the message.
    pub fn headers(&self) -> &Headers {
        &self.lease.headers
    }

    /// Until when the lease lives. Heartbeats move it.
    pub fn deadline(&self) -> Instant {
        self.lease.deadline()
    }

    /// How long the lease lives from now, if no heartbeat came.
    pub fn remaining(&self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }

    /// When the handler is cut off by its timeout, if it has one.
    pub const fn cut_off(&self) -> Option<Instant> {
        self.cut_off
    }

    /// Holds the lease for at least `ttl` from now.
    ///
    /// Heartbeats do so by themselves; this is for a stretch of work during which they cannot
    /// come, such as one that blocks the runtime. A `ttl` shorter than the worker's own lease is
    /// taken for that one. Dropping the future leaves it open whether the lease was extended.
    ///
    /// # Errors
    ///
    /// `Invalid` if `ttl` is zero or over 24 h; `LeaseLost` if the lease is not held any more:
    /// give up the work; and those of [`extend`](queue_core::Leasing::extend).
    pub async fn extend(&self, ttl: Duration) -> Result<()> {
        limits::lease_millis(ttl)?;
        let (reply, answer) = oneshot::channel();
        let (job, entry) = self.key;
        let ask = Note::Extend {
            job,
            entry,
            ttl,
            reply,
        };
        // Through the loop, so that it and the heartbeats take effect in a known order.
        if self.notes.send(ask).is_err() {
            return Err(gone());
        }
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Whether the handler is told to stop, and why.
    pub fn stop(&self) -> Option<Stop> {
        self.lease.told()
    }

    /// Waits until the handler is told to stop, which for most never happens: race the work
    /// against it. A handler that stops for it must not answer that it is done.
    ///
    /// A handler that goes on is cut off after the worker's `cleanup` time.
    pub async fn stopped(&self) -> Stop {
        let mut told = self.lease.listen();
        let stop = told.wait_for(Option::is_some).await.map(|stop| *stop);
        match stop {
            Ok(Some(stop)) => stop,
            // The sender lives in the lease, which this context holds.
            _ => std::future::pending().await,
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("queue", &self.queue)
            .field("receipt", &self.receipt())
            .field("attempt", &self.attempt())
            .field("deadline", &self.deadline())
            .field("stop", &self.stop())
            .finish_non_exhaustive()
    }
}

fn gone() -> Error {
    Error::new(
        ErrorKind::LeaseLost,
        "the delivery is not in the worker's hands any more: its handler ended, or the worker did",
    )
}
