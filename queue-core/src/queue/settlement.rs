//! Settlements, which end leases, and their results.

use std::{num::NonZeroU32, time::Duration};

use bytes::Bytes;

use crate::{Delivery, Error, Receipt, Result, limits};

/// The way a lease ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Disposition {
    /// Done: the message is gone and is never delivered again (L3).
    Ack,
    /// Done, and its result is kept for a time (S1).
    AckWith(Box<KeptResult>),
    /// Failed: again after the delay. The attempt counts; on the last one the message goes to the
    /// dead letters instead (L6).
    Retry {
        /// Rounded up to a millisecond; zero puts the message behind all that are ready now.
        delay: Duration,
        /// Why the attempt failed, for the next holder of the message (L14). A reason longer than
        /// [`limits::MAX_REASON`] bytes is cut; an empty reason counts as `None`.
        reason: Option<String>,
    },
    /// Nobody's fault, a resource was busy: again after the delay. The attempt is refunded.
    Defer {
        /// Rounded up to a millisecond; zero puts the message behind all that are ready now.
        delay: Duration,
    },
    /// Given back unworked, as at shutdown: ready at once, before all others (L11). The attempt is
    /// refunded.
    Release,
    /// Hopeless: to the dead letters at once. A reason longer than
    /// [`limits::MAX_REASON`] bytes is cut.
    Bury {
        /// Why, for the operator who reads the dead letters.
        reason: String,
    },
}

impl Disposition {
    /// Whether the message is done.
    pub const fn is_ack(&self) -> bool {
        matches!(self, Self::Ack | Self::AckWith(_))
    }

    /// The part of a retry's reason that a backend keeps (L14): `None` if there is no reason.
    pub fn failure(&self) -> Option<&str> {
        let Self::Retry { reason, .. } = self else {
            return None;
        };
        let kept = limits::cut_reason(reason.as_deref()?);
        (!kept.is_empty()).then_some(kept)
    }
}

/// The result of a message, which its ack stores (S1).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KeptResult {
    /// Its bytes, up to [`limits::MAX_RESULT`].
    pub result: Bytes,
    /// How long it is there (S2), rounded up to a millisecond; 1 ms to [`limits::MAX_KEEP_RESULT`].
    pub time: Duration,
    /// How many results the queue may hold. Of more, those that end first are dropped with this ack, up to
    /// 128.
    pub at_most: NonZeroU32,
}

impl KeptResult {
    /// A result that is kept for `time`, in a queue with at most 100,000 results.
    pub fn new(result: impl Into<Bytes>, time: Duration) -> Self {
        Self {
            result: result.into(),
            time,
            at_most: limits::DEFAULT_RESULTS,
        }
    }

    /// Sets how many results the queue may hold.
    #[must_use]
    pub const fn with_at_most(mut self, results: NonZeroU32) -> Self {
        self.at_most = results;
        self
    }

    fn check(&self) -> Result<()> {
        limits::result_millis(self.time)?;
        limits::check_result(self.result.len())
    }
}

/// A receipt, and how its lease ends.
///
/// ```
/// use std::time::Duration;
/// use queue_core::{Disposition, MessageId, Receipt, Settlement, Token};
///
/// let receipt = Receipt::new(MessageId::new(7), Token::new(1));
/// let settlement = Settlement::retry(receipt, Duration::from_secs(5));
/// assert_eq!(settlement.receipt, receipt);
/// let delay = Duration::from_secs(5);
/// assert_eq!(settlement.disposition, Disposition::Retry { delay, reason: None });
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Settlement {
    /// The receipt of the lease to end.
    pub receipt: Receipt,
    /// How to end it.
    pub disposition: Disposition,
    /// The state to store with the message, up to [`limits::MAX_STATE`] bytes, in place of the last one (L21). An empty
    /// one takes the last one away. `None` leaves that as it is. In a box, because most settlements have none.
    pub state: Option<Box<Bytes>>,
}

impl Settlement {
    /// Ends the lease of `receipt` by `disposition`.
    pub const fn new(receipt: Receipt, disposition: Disposition) -> Self {
        Self {
            receipt,
            disposition,
            state: None,
        }
    }

    /// Stores a state with the message (L21), unless this settlement is an ack.
    #[must_use]
    pub fn with_state(mut self, state: impl Into<Bytes>) -> Self {
        self.state = Some(Box::new(state.into()));
        self
    }

    /// Done.
    pub const fn ack(receipt: Receipt) -> Self {
        Self::new(receipt, Disposition::Ack)
    }

    /// Done, with a result (S1).
    pub fn ack_with(receipt: Receipt, result: KeptResult) -> Self {
        Self::new(receipt, Disposition::AckWith(Box::new(result)))
    }

    /// Failed: again after the delay, the attempt counts.
    pub const fn retry(receipt: Receipt, delay: Duration) -> Self {
        let reason = None;
        Self::new(receipt, Disposition::Retry { delay, reason })
    }

    /// [`retry`](Self::retry), and why it failed (L14).
    pub fn retry_because(receipt: Receipt, delay: Duration, reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        Self::new(receipt, Disposition::Retry { delay, reason })
    }

    /// Busy: again after the delay, the attempt is refunded.
    pub const fn defer(receipt: Receipt, delay: Duration) -> Self {
        Self::new(receipt, Disposition::Defer { delay })
    }

    /// Given back: again at once, the attempt is refunded.
    pub const fn release(receipt: Receipt) -> Self {
        Self::new(receipt, Disposition::Release)
    }

    /// Hopeless: to the dead letters.
    pub fn bury(receipt: Receipt, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::new(receipt, Disposition::Bury { reason })
    }

    /// Checks the delays, results and states of a batch, and that it has at most [`limits::MAX_BATCH`] entries. An empty batch
    /// passes, because [`settle_and_lease`](crate::Leasing::settle_and_lease) allows it.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken.
    #[inline]
    pub fn check_all(batch: &[Self]) -> Result<()> {
        if !batch.is_empty() {
            limits::check_batch(batch.len())?;
        }
        for settlement in batch {
            match &settlement.disposition {
                Disposition::Retry { delay, .. } | Disposition::Defer { delay } => {
                    limits::delay_millis(*delay)?;
                }
                Disposition::AckWith(kept) => kept.check()?,
                Disposition::Ack | Disposition::Release | Disposition::Bury { .. } => {}
            }
            if let Some(state) = &settlement.state {
                settlement.check_state(state)?;
            }
        }
        Ok(())
    }
}

impl Settlement {
    fn check_state(&self, state: &Bytes) -> Result<()> {
        if self.disposition.is_ack() {
            return Err(Error::invalid(
                "an ack with a state: the message is gone with its ack, so leave the state out, or keep a result",
            ));
        }
        limits::check_state(state.len())
    }
}

/// The result of one settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "the lease may have been lost, or the message may be dead"]
pub enum Settled {
    /// The lease ended as asked.
    Done,
    /// The message is among the dead letters now: it was buried, or its attempts are spent.
    Dead,
    /// The receipt is not the message's live lease, and nothing changed (L4). Or the same settlement took
    /// effect before and its reply was lost.
    LeaseLost,
}

/// A receipt whose lease is extended, perhaps with the holder's progress and a state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Extension {
    /// The receipt of the lease.
    pub receipt: Receipt,
    /// The holder's progress, 1 to [`limits::MAX_PROGRESS`] bytes, in place of the last one (L19). `None`
    /// leaves that as it is.
    pub progress: Option<Bytes>,
    /// The state to store with the message, up to [`limits::MAX_STATE`] bytes, in place of the last one (L21). An empty
    /// one takes the last one away. `None` leaves that as it is.
    pub state: Option<Bytes>,
}

impl Extension {
    /// An extension of this lease alone.
    pub const fn new(receipt: Receipt) -> Self {
        Self {
            receipt,
            progress: None,
            state: None,
        }
    }

    /// Reports the holder's progress (L19).
    #[must_use]
    pub fn with_progress(mut self, progress: impl Into<Bytes>) -> Self {
        self.progress = Some(progress.into());
        self
    }

    /// Stores a state with the message (L21).
    #[must_use]
    pub fn with_state(mut self, state: impl Into<Bytes>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// Extensions of these leases, without progress and states.
    pub fn all(receipts: &[Receipt]) -> Vec<Self> {
        receipts.iter().copied().map(Self::from).collect()
    }

    /// Checks that the batch has 1 to [`limits::MAX_BATCH`] entries, and the size of each progress and state.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken.
    pub fn check_all(batch: &[Self]) -> Result<()> {
        limits::check_batch(batch.len())?;
        let reported = batch.iter().filter_map(|each| each.progress.as_ref());
        reported
            .map(Bytes::len)
            .try_for_each(limits::check_progress)?;
        let states = batch.iter().filter_map(|each| each.state.as_ref());
        states.map(Bytes::len).try_for_each(limits::check_state)
    }
}

impl From<Receipt> for Extension {
    fn from(receipt: Receipt) -> Self {
        Self::new(receipt)
    }
}

/// The result of one extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "the lease may have been lost"]
pub enum Extended {
    /// The deadline is now + lease_time.
    Extended,
    /// The receipt is not the message's live lease, and nothing changed (L4).
    LeaseLost,
}

/// The answer to a lease call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[must_use = "leased messages come back only when their leases expire"]
#[non_exhaustive]
pub struct Leased {
    /// The messages, in delivery order.
    pub deliveries: Vec<Delivery>,
    /// Only if there are no messages: the time until something changes without a call (a due time, a
    /// deadline, the end of a retry delay), rounded up, zero if overdue. `None` if only a call can change
    /// anything.
    pub next: Option<Duration>,
}

impl Leased {
    /// These messages.
    pub const fn of(deliveries: Vec<Delivery>) -> Self {
        Self {
            deliveries,
            next: None,
        }
    }

    /// No messages, and the time until something changes without a call.
    pub const fn nothing(next: Option<Duration>) -> Self {
        Self {
            deliveries: Vec::new(),
            next,
        }
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
    }
}
