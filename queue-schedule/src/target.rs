//! The queue of a schedule.

use std::{sync::Arc, time::Duration};

use queue_core::{
    AnyQueue, Backend, Error, ErrorKind, Leasing, LeasingExt, MessageId, Offered, Push, Pushed,
    QueueName, Result, Timestamp, limits,
};

/// A queue to which slots are pushed, as plain messages.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    queue: AnyQueue,
    leasing: Arc<dyn Leasing>,
}

/// The window of a slot's dedup key. Slots are pushed up to a day ahead, so it lasts six days beyond the slot.
const WINDOW: Duration = limits::MAX_DEDUP_WINDOW;

impl Target {
    /// Opens the queue as it is stored; none if it does not exist.
    ///
    /// # Errors
    ///
    /// `Invalid` if it is a ring, or bounded.
    pub(crate) async fn find(backend: &dyn Backend, name: &QueueName) -> Result<Option<Self>> {
        let Some(stored) = backend.open_stored(name).await? else {
            return Ok(None);
        };
        let queue = stored.queue;
        match queue.leasing() {
            Some(leasing) if !matches!(queue, AnyQueue::Bounded(_)) => {
                Ok(Some(Self { queue, leasing }))
            }
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
    pub(crate) async fn open(backend: &dyn Backend, name: &str) -> Result<Self> {
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
        match self.queue.put(&[keyed.with_due(at)]).await?.pop() {
            Some(Offered::Accepted { id, .. }) => Ok(Pushed::Accepted(id)),
            Some(Offered::Duplicate(id)) => Ok(Pushed::Duplicate(id)),
            _ => Err(Error::unanswered()),
        }
    }

    /// Whether this message is ready, delayed or leased.
    pub(crate) async fn has(&self, id: MessageId) -> Result<bool> {
        Ok(!self.leasing.find_one(id).await?.is_over())
    }

    /// Makes sure that this key's message is not there, and never comes, unless a consumer has it.
    pub(crate) async fn void(&self, key: String, now: Timestamp) -> Result<()> {
        // This leaves the key's mark. If the process dies before the cancellation, whoever completes the change finds
        // the message by its key; until then it is not due.
        let far = now.plus_millis(u64::try_from(WINDOW.as_millis()).unwrap_or(u64::MAX));
        let id: MessageId = self.push(Push::new("null"), key, far).await?.id();
        self.leasing.cancel_one(id).await.map(drop)
    }
}
