//! Settlements, which end leases, and their results.

use std::time::Duration;

use crate::{Delivery, Receipt, Result, limits};

/// The way a lease ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Disposition {
    /// Done: the message is gone and is never delivered again (L3).
    Ack,
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
    /// The part of a retry's reason that a backend keeps (L14): `None` if there is no reason.
    pub fn failure(&self) -> Option<&str> {
        let Self::Retry { reason, .. } = self else {
            return None;
        };
        let kept = limits::cut_reason(reason.as_deref()?);
        (!kept.is_empty()).then_some(kept)
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
pub struct Settlement {
    /// The receipt of the lease to end.
    pub receipt: Receipt,
    /// How to end it.
    pub disposition: Disposition,
}

impl Settlement {
    /// Ends the lease of `receipt` by `disposition`.
    pub const fn new(receipt: Receipt, disposition: Disposition) -> Self {
        Self {
            receipt,
            disposition,
        }
    }

    /// Done.
    pub const fn ack(receipt: Receipt) -> Self {
        Self::new(receipt, Disposition::Ack)
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

    /// Checks the delays of a batch, and that it has at most [`limits::MAX_BATCH`] entries. An empty batch
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
            if let Disposition::Retry { delay, .. } | Disposition::Defer { delay } =
                settlement.disposition
            {
                limits::delay_millis(delay)?;
            }
        }
        Ok(())
    }
}

/// The result of one settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Settled {
    /// The lease ended as asked.
    Done,
    /// The message is among the dead letters now: it was buried, or its attempts are spent.
    Dead,
    /// The receipt is not the message's live lease, and nothing changed (L4). Or the same settlement took
    /// effect before and its reply was lost.
    LeaseLost,
}

/// The result of one extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extended {
    /// The deadline is now + lease_time.
    Extended,
    /// The receipt is not the message's live lease, and nothing changed (L4).
    LeaseLost,
}

/// The answer to a lease call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
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
