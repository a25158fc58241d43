//! A leasing queue of any kind, with a push of plain messages.

use std::{ops::Deref, sync::Arc, time::Duration};

use queue_core::*;

/// The queue of a case that plays on all four leasing kinds.
#[derive(Debug, Clone)]
pub(crate) enum LeasingQueue {
    Reliable(Arc<dyn ReliableQueue>),
    Delay(Arc<dyn DelayQueue>),
    Priority(Arc<dyn PriorityQueue>),
    Bounded(Arc<dyn BoundedQueue>),
}

impl LeasingQueue {
    /// Pushes plain messages: due now, of priority 0, refused when there is no room.
    pub(crate) async fn try_put(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        let plain = messages.iter().cloned();
        match self {
            Self::Reliable(queue) => queue.push(messages).await,
            Self::Delay(queue) => {
                let now = plain.map(|push| Scheduled::new(push, Duration::ZERO));
                queue.schedule(&now.collect::<Vec<_>>()).await
            }
            Self::Priority(queue) => {
                let ordinary = plain.map(|push| Prioritized::new(push, 0));
                queue.enqueue(&ordinary.collect::<Vec<_>>()).await
            }
            Self::Bounded(queue) => {
                let offers: Vec<Offer> = plain.map(Offer::from).collect();
                let offered = queue.offer(&offers, Overflow::Reject).await?;
                Ok(offered.into_iter().map(pushed).collect())
            }
        }
    }

    /// Pushes one plain message.
    pub(crate) async fn put(&self, message: impl Into<Push> + Send) -> Pushed {
        let message = message.into();
        let pushed = self.try_put(&[message]).await.expect("is accepted");
        pushed[0]
    }

    /// Pushes this many numbered messages: in a fresh queue, body `m1` under id 1, and so on.
    pub(crate) async fn put_numbered(&self, count: u64) -> Vec<MessageId> {
        let first = self.counters().await.expect("counters").accepted + 1;
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
        match self {
            Self::Reliable(queue) => queue,
            Self::Delay(queue) => queue,
            Self::Priority(queue) => queue,
            Self::Bounded(queue) => queue,
        }
    }
}
