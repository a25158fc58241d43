//! The queue of a schedule.

use std::{sync::Arc, time::Duration};

use queue_core::{
    Backend, Error, ErrorKind, Found, Leasing, LeasingExt, MessageId, Partitioned, Push, Pushed,
    QueueKind, QueueName, Result, Standing, TimeToLive, Timestamp, limits,
};

use super::record::ClaimedSlot;

/// A queue to which slots are pushed, as plain messages.
#[derive(Debug, Clone)]
pub(crate) struct Target(Arc<dyn Leasing>);

/// The window of a slot's dedup key. Slots are pushed up to a day ahead, so it lasts six days beyond the slot.
const WINDOW: Duration = limits::MAX_DEDUP_WINDOW;

/// The due time of a marker: the year 9000. No retry can delay a message for so long.
const NEVER: Timestamp = Timestamp::from_millis(221_845_392_000_000);

/// The message under a slot's key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Voided {
    /// Its message, which goes on.
    Pushed(MessageId),
    /// A marker, which stays until it is cancelled: others see by it that the message was not pushed.
    Marked(MessageId),
    /// Nothing that is ever ready.
    Nothing,
}

impl Target {
    /// Opens the queue as it is stored; none if it does not exist.
    ///
    /// # Errors
    ///
    /// `Invalid` if it is a ring, or bounded.
    pub(crate) async fn find(backend: &Arc<dyn Backend>, name: &QueueName) -> Result<Option<Self>> {
        let mut stored = backend.open_stored(name).await?;
        let partitions = stored
            .as_ref()
            .and_then(|stored| Partitioned::partitions_of(&stored.config));
        if let Some(partitions) = partitions {
            let whole = Partitioned::new(Arc::clone(backend), partitions)?;
            stored = whole.open_stored(name).await?;
        }
        let Some(stored) = stored else {
            return Ok(None);
        };
        let queue = stored.queue;
        match queue.leasing() {
            Some(leasing) if queue.kind() != QueueKind::Bounded => Ok(Some(Self(leasing))),
            _ => {
                let message = format!(
                    "a schedule on a {} queue: use a reliable, a delay, a priority or a grouped queue",
                    queue.kind()
                );
                Err(Error::invalid(message).with_queue(name))
            }
        }
    }

    /// Opens the queue as it is stored.
    ///
    /// # Errors
    ///
    /// `Configuration` if there is none, and the errors of [`find`](Self::find).
    pub(crate) async fn open(backend: &Arc<dyn Backend>, name: &str) -> Result<Self> {
        let name = QueueName::new(name)?;
        Self::find(backend, &name).await?.ok_or_else(|| {
            let message = "a schedule's queue does not exist: open it before the schedule";
            Error::new(ErrorKind::Configuration, message).with_queue(&name)
        })
    }

    /// Pushes a slot's message, due at its time, unless its key has been pushed.
    pub(crate) async fn push(&self, push: Push, key: String, at: Timestamp) -> Result<Pushed> {
        planted!(SlotIsDueAtOnce => at = Timestamp::from_millis(0));
        let keyed = push.clone().with_dedup(key, WINDOW);
        planted!(SlotWithoutAKey => keyed = push);
        self.0.push_one(keyed.with_due(at)).await
    }

    /// Whether this message is ready, delayed or leased.
    pub(crate) async fn has(&self, id: MessageId) -> Result<bool> {
        Ok(!self.0.find_one(id).await?.is_over())
    }

    /// Makes sure that nothing new becomes ready under this slot's key. A message whose time has come goes on.
    pub(crate) async fn void(
        &self,
        key: String,
        slot: ClaimedSlot,
        now: Timestamp,
    ) -> Result<Voided> {
        // This leaves the key's mark. If the process dies before the cancellation, whoever completes the change finds
        // the marker by its key; if nobody does, the marker ends with the mark.
        let marker = Push::new("null").with_time_to_live(TimeToLive::drop_after(WINDOW));
        let pushed = self.push(marker, key, NEVER).await?;
        let id = pushed.id().ok_or_else(Error::unanswered)?;
        let is_marker = !pushed.is_duplicate() || self.is_marker(id).await?;
        if slot.asked && is_marker {
            return Ok(Voided::Marked(id));
        }
        if !is_marker && slot.at <= now.as_millis() {
            return Ok(Voided::Pushed(id));
        }
        // If it is too late, another scheduler has cancelled the message.
        let _ = self.0.cancel_one(id).await?;
        Ok(Voided::Nothing)
    }

    async fn is_marker(&self, id: MessageId) -> Result<bool> {
        Ok(match self.0.find_one(id).await? {
            Found::Present {
                standing: Standing::Delayed { due_in, .. },
                ..
            } => due_in > limits::MAX_DELAY,
            _ => false,
        })
    }

    /// Cancels markers. Markers that stay after an error end with their keys' marks.
    pub(crate) async fn cancel(&self, markers: &[MessageId]) {
        for batch in markers.chunks(128) {
            let _stays = self.0.cancel(batch).await;
        }
    }
}
