//! Events of a relay, for its program.

use queue_core::Error;

use crate::OutboxCounts;

/// Something that a relay did or met, for [`Relay::on_event`](crate::Relay::on_event).
#[derive(Debug)]
#[non_exhaustive]
pub enum RelayEvent<'a> {
    /// Messages got to this queue, and their rows are gone.
    Relayed {
        /// The queue.
        queue: &'a str,
        /// How many of the rows.
        rows: usize,
    },
    /// A row is kept apart, with the reason in its column `refused`. The queue will never take the row, or the row is
    /// older than the dedup window.
    Refused {
        /// The queue.
        queue: &'a str,
        /// The row.
        id: i64,
        /// The reason, as in the column.
        reason: &'a str,
    },
    /// A call failed, and is repeated after a pause. Rows of this queue wait meanwhile; rows of all queues, if it is
    /// `None`.
    Failed {
        /// The queue.
        queue: Option<&'a str>,
        /// The error.
        error: &'a Error,
    },
    /// The rows of a queue in the outbox, every ten seconds. All relays count the same rows.
    Counted(&'a OutboxCounts),
    /// Whether wake-ups arrive. If not, the relay polls, each second at least.
    Listening(bool),
}

impl RelayEvent<'_> {
    pub(super) fn publish(&self) {
        #[cfg(feature = "metrics")]
        self.count();
        #[cfg(feature = "tracing")]
        self.trace();
    }

    #[cfg(feature = "metrics")]
    fn count(&self) {
        use ::metrics::{counter, gauge};

        match self {
            Self::Relayed { queue, rows } => {
                counter!("queue_kit_outbox_relayed_total", "queue" => (*queue).to_owned())
                    .increment(*rows as u64);
            }
            Self::Refused { queue, .. } => {
                counter!("queue_kit_outbox_refused_total", "queue" => (*queue).to_owned())
                    .increment(1);
            }
            Self::Failed { queue, .. } => {
                let queue = queue.unwrap_or_default().to_owned();
                counter!("queue_kit_outbox_errors_total", "queue" => queue).increment(1);
            }
            Self::Counted(counts) => {
                let rows = |state: &'static str| gauge!("queue_kit_outbox_rows", "queue" => counts.queue.clone(), "state" => state);
                rows("waiting").set(counts.waiting as f64);
                rows("refused").set(counts.refused as f64);
                let oldest = counts.oldest.unwrap_or_default().as_secs_f64();
                gauge!("queue_kit_outbox_oldest_seconds", "queue" => counts.queue.clone())
                    .set(oldest);
            }
            Self::Listening(listens) => {
                gauge!("queue_kit_outbox_listening").set(f64::from(u8::from(*listens)));
            }
        }
    }

    #[cfg(feature = "tracing")]
    fn trace(&self) {
        match self {
            Self::Relayed { queue, rows } => {
                tracing::debug!(target: "queue_kit", queue, rows, "relayed rows of the outbox");
            }
            Self::Refused { queue, id, reason } => {
                tracing::warn!(target: "queue_kit", queue, id, reason, "a row of the outbox is refused");
            }
            Self::Failed { queue, error } => {
                let error = queue_core::with_sources(error);
                tracing::warn!(target: "queue_kit", queue, error, "the relay of the outbox failed");
            }
            Self::Counted(counts) => {
                let (queue, waiting, refused) = (&counts.queue, counts.waiting, counts.refused);
                tracing::debug!(target: "queue_kit", queue, waiting, refused, "rows of the outbox");
            }
            Self::Listening(listens) => {
                tracing::info!(target: "queue_kit", listens, "wake-ups of the outbox");
            }
        }
    }
}
