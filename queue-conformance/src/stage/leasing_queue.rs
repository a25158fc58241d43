//! A leasing queue of any kind, and the push of a plain message.

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
use crate::steps::LONG;

/// The queue of a case that holds for all leasing kinds.
#[derive(Debug, Clone)]
pub(crate) struct LeasingQueue {
    queue: AnyQueue,
    leasing: Arc<dyn Leasing>,
    /// The numbered messages of the case, if the queue has no counters.
    numbered: Option<Arc<AtomicU64>>,
    rejects: bool,
}

impl LeasingQueue {
    pub(super) fn new(queue: AnyQueue, guarantees: &Guarantees, numbered: Arc<AtomicU64>) -> Self {
        let leasing = queue.leasing().expect("a queue that leases");
        Self {
            queue,
            leasing,
            numbered: (!guarantees.calls.contains("counters")).then_some(numbered),
            rejects: guarantees.has(Feature::Reject),
        }
    }

    pub(crate) fn kind(&self) -> QueueKind {
        self.queue.kind()
    }

    /// Pushes plain messages, for which there is room.
    pub(crate) async fn try_put(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        let put = match &self.queue {
            // There is room, so that nothing is dropped.
            AnyQueue::Bounded(queue) if !self.rejects => {
                let offers: Vec<Offer> = messages.iter().cloned().map(Offer::new).collect();
                queue.offer(&offers, Overflow::DropOldest).await?
            }
            queue => queue.put(messages).await?,
        };
        Ok(put.into_iter().map(pushed).collect())
    }

    /// Pushes one plain message.
    pub(crate) async fn put(&self, message: impl Into<Push> + Send) -> Pushed {
        let message = message.into();
        let pushed = self.try_put(&[message]).await.expect("is accepted");
        pushed[0]
    }

    /// Pushes one plain message that is due at the given time, in the way of the kind.
    pub(crate) async fn put_due(
        &self,
        message: impl Into<Push> + Send,
        due: impl Into<Due> + Send,
    ) -> MessageId {
        let (message, due) = ([message.into()], due.into());
        self.put_all_due(&message, due).await[0]
    }

    /// Pushes plain messages that are all due at the given time, in the way of the kind.
    pub(crate) async fn put_all_due(&self, messages: &[Push], due: Due) -> Vec<MessageId> {
        let delayed = messages.iter().cloned().map(|push| push.with_due(due));
        let delayed: Vec<Push> = delayed.collect();
        let put = self.try_put(&delayed).await.expect("is accepted");
        put.into_iter().map(Pushed::id).collect()
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
            ids.extend(pushed.into_iter().map(Pushed::id));
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
            match &queue.queue {
                AnyQueue::Delay(delay) => {
                    let due = |number| ms(u64::from(!is_first(number)));
                    let batch = numbers.map(|number| Scheduled::new("mixed", due(number)));
                    let batch: Vec<Scheduled> = batch.collect();
                    delay.schedule(&batch).await.expect("is accepted");
                }
                AnyQueue::Priority(priority) => {
                    let batch = numbers
                        .map(|number| Prioritized::new("mixed", i16::from(is_first(number))));
                    let batch: Vec<Prioritized> = batch.collect();
                    priority.enqueue(&batch).await.expect("is accepted");
                }
                _ => {
                    let batch: Vec<Push> = numbers.map(|_| Push::new("mixed")).collect();
                    queue.try_put(&batch).await.expect("is accepted");
                }
            }
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

fn pushed(offered: Offered) -> Pushed {
    match offered {
        Offered::Accepted { id, evicted: None } => Pushed::Accepted(id),
        Offered::Duplicate(id) => Pushed::Duplicate(id),
        other => panic!("a bounded queue with ample room answered {other:?}"),
    }
}

impl Deref for LeasingQueue {
    type Target = dyn Leasing;

    fn deref(&self) -> &Self::Target {
        &*self.leasing
    }
}
