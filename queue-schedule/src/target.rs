//! The queue of a schedule.

use std::{sync::Arc, time::Duration};

use queue_core::{
    AnyQueue, Backend, DelayQueueExt, Error, ErrorKind, Leasing, LeasingExt, MessageId,
    PriorityQueueExt, Push, Pushed, QueueName, ReliableQueueExt, Result, Timestamp, limits,
};

/// A queue to which slots are pushed.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    queue: AnyQueue,
    leasing: Arc<dyn Leasing>,
}

/// The window of a slot's dedup key. Slots are pushed up to a day ahead, so it lasts six days beyond the slot.
const WINDOW: Duration = limits::MAX_DEDUP_WINDOW;

/// Makes each key another one.
#[cfg(feature = "planted")]
static KEYS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

impl Target {
    /// Opens the queue as it is stored.
    ///
    /// # Errors
    ///
    /// `Configuration` if there is none, and `Invalid` if it is a ring, or bounded.
    pub(crate) async fn open(backend: &dyn Backend, name: &str) -> Result<Self> {
        let name = QueueName::new(name)?;
        let Some(stored) = backend.open_stored(&name).await? else {
            let message = "a schedule's queue does not exist: open it before the schedule";
            return Err(Error::new(ErrorKind::Configuration, message).with_queue(&name));
        };
        let queue = stored.queue;
        let leasing = match &queue {
            AnyQueue::Reliable(_) | AnyQueue::Delay(_) | AnyQueue::Priority(_) => queue.leasing(),
            AnyQueue::Bounded(_) | AnyQueue::Rotating(_) => None,
        };
        let Some(leasing) = leasing else {
            let kind = queue.kind();
            let message = format!(
                "a schedule on a {kind} queue: use a reliable, a delay or a priority queue"
            );
            return Err(Error::invalid(message).with_queue(&name));
        };
        Ok(Self { queue, leasing })
    }

    /// Pushes a slot's message, due at its time, unless its key has been pushed.
    pub(crate) async fn push(&self, push: Push, key: String, at: Timestamp) -> Result<Pushed> {
        planted!(SlotIsDueAtOnce => at = Timestamp::from_millis(0));
        planted!(SlotWithoutAKey => key = format!("{key} {}", KEYS.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
        let push = push.with_dedup(key, WINDOW);
        match &self.queue {
            AnyQueue::Delay(queue) => queue.schedule_one(push, at).await,
            AnyQueue::Priority(queue) => queue.enqueue_one(push.with_due(at), 0).await,
            AnyQueue::Reliable(queue) => queue.push_one(push.with_due(at)).await,
            AnyQueue::Bounded(_) | AnyQueue::Rotating(_) => {
                unreachable!("they are refused at the open")
            }
        }
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
