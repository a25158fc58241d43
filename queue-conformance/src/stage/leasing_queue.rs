//! A leasing queue of any kind, and its pushes.

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::*;
use tokio::task::JoinHandle;

use super::{Stage, ms};
use crate::steps::{LONG, accepted_as};

/// The queue of a case that holds for all leasing kinds.
#[derive(Debug, Clone)]
pub(crate) struct LeasingQueue {
    queue: AnyQueue,
    leasing: Arc<dyn Leasing>,
    /// The numbered messages of the case, if the queue has no counters.
    numbered: Option<Arc<AtomicU64>>,
    /// Whether a full queue cannot refuse a message.
    drops: bool,
}

impl LeasingQueue {
    pub(super) fn new(queue: AnyQueue, guarantees: &Guarantees, numbered: Arc<AtomicU64>) -> Self {
        let leasing = queue.leasing().expect("a queue that leases");
        Self {
            queue,
            leasing,
            numbered: (!guarantees.calls.contains("counters")).then_some(numbered),
            drops: guarantees.kind == QueueKind::Bounded && !guarantees.has(Feature::Reject),
        }
    }

    pub(crate) fn kind(&self) -> QueueKind {
        self.queue.kind()
    }

    /// Pushes messages, for which there is room.
    pub(crate) async fn try_put(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        if !self.drops {
            return self.leasing.push(messages).await;
        }
        // There is room, so that nothing is dropped.
        let messages = messages.iter().cloned();
        let messages = messages.map(|push| push.with_overflow(Overflow::DropOldest));
        self.leasing.push(&messages.collect::<Vec<_>>()).await
    }

    /// Pushes one message.
    pub(crate) async fn pushed(&self, message: impl Into<Push> + Send) -> Pushed {
        let message = message.into();
        self.try_put(&[message]).await.expect("pushes")[0]
    }

    /// Pushes one message, which must be accepted.
    pub(crate) async fn put(&self, message: impl Into<Push> + Send) -> MessageId {
        accepted_as(self.pushed(message).await)
    }

    /// Pushes one message that is due at the given time.
    pub(crate) async fn put_due(
        &self,
        message: impl Into<Push> + Send,
        due: impl Into<Due> + Send,
    ) -> MessageId {
        self.put(message.into().with_due(due)).await
    }

    /// Pushes the given number of numbered messages: in a fresh queue, body `m1` under id 1, and so on.
    pub(crate) async fn put_numbered(&self, count: u64) -> Vec<MessageId> {
        let first = 1 + match &self.numbered {
            Some(numbered) => numbered.fetch_add(count, Ordering::SeqCst),
            None => self.counters().await.expect("counters").accepted,
        };
        let bodies = (first..first + count).map(|number| Push::new(format!("m{number}")));
        let messages: Vec<Push> = bodies.collect();
        let mut ids = Vec::new();
        for chunk in messages.chunks(limits::MAX_BATCH) {
            let pushed = self.try_put(chunk).await.expect("is accepted");
            ids.extend(pushed.into_iter().map(accepted_as));
        }
        ids
    }
}

impl Stage<'_> {
    /// Pushes the given number of messages, which are ready at once. On kinds with an order of their own, that order
    /// differs from the order of ids.
    pub(crate) async fn put_mixed(&self, queue: &LeasingQueue, count: usize) {
        for first in (0..count).step_by(limits::MAX_BATCH) {
            let numbers = first..count.min(first + limits::MAX_BATCH);
            let is_first = |number: usize| number % 3 == 2;
            let mixed = |number| match (queue.kind(), Push::new("mixed")) {
                (QueueKind::Delay, push) => push.with_due(ms(u64::from(!is_first(number)))),
                (QueueKind::Priority, push) => push.with_priority(i16::from(is_first(number))),
                (_, push) => push,
            };
            let batch: Vec<Push> = numbers.map(mixed).collect();
            queue.try_put(&batch).await.expect("is accepted");
        }
        self.advance(1).await;
    }

    /// A consumer that waits for a message, for much longer than the case lasts.
    pub(crate) async fn receiver(&self, queue: &LeasingQueue) -> JoinHandle<Delivery> {
        let queue = queue.clone();
        let receive = async move { queue.receive_one(LONG, LONG).await };
        let received = async move { receive.await.expect("receives").expect("a message") };
        self.start(received).await
    }

    /// A caller that waits for a hint of messages, for at most the given time.
    pub(crate) async fn waiter(&self, queue: &LeasingQueue, timeout: Duration) -> JoinHandle<()> {
        let queue = queue.clone();
        let wait = async move { queue.wait_for_arrival(timeout).await.expect("waits") };
        self.start(wait).await
    }
}

impl Deref for LeasingQueue {
    type Target = dyn Leasing;

    fn deref(&self) -> &Self::Target {
        &*self.leasing
    }
}
