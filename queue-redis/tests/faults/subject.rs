//! A queue of any leasing kind, for what is tested on all four.

use std::{sync::Arc, time::Duration};

use queue_core::*;

/// The kinds that lease.
pub(crate) const LEASING: [QueueKind; 4] = [
    QueueKind::Reliable,
    QueueKind::Delay,
    QueueKind::Priority,
    QueueKind::Bounded,
];

/// So many attempts that a test of something else never spends them.
const MANY_ATTEMPTS: u32 = 1_000_000;

#[derive(Debug, Clone)]
pub(crate) enum Subject {
    Reliable(Arc<dyn ReliableQueue>),
    Delay(Arc<dyn DelayQueue>),
    Priority(Arc<dyn PriorityQueue>),
    Bounded(Arc<dyn BoundedQueue>),
}

impl Subject {
    /// Opens the queue of this kind, named by it. A bounded one has room for everything.
    pub(crate) async fn open(backend: &dyn Backend, kind: QueueKind) -> Result<Self> {
        let name = QueueName::new(kind.as_str())?;
        Ok(match kind {
            QueueKind::Reliable => {
                let config = ReliableConfig::default().with_max_attempts(MANY_ATTEMPTS);
                Self::Reliable(backend.open_reliable(&name, &config).await?)
            }
            QueueKind::Delay => {
                let config = DelayConfig::default().with_max_attempts(MANY_ATTEMPTS);
                Self::Delay(backend.open_delay(&name, &config).await?)
            }
            QueueKind::Priority => {
                let config = PriorityConfig::default().with_max_attempts(MANY_ATTEMPTS);
                Self::Priority(backend.open_priority(&name, &config).await?)
            }
            QueueKind::Bounded => {
                let config = BoundedConfig::new(1_000_000).with_max_attempts(MANY_ATTEMPTS);
                Self::Bounded(backend.open_bounded(&name, &config).await?)
            }
            QueueKind::Rotating => unreachable!("a ring leases nothing"),
        })
    }

    pub(crate) fn leasing(&self) -> &dyn Leasing {
        match self {
            Self::Reliable(queue) => queue.as_ref(),
            Self::Delay(queue) => queue.as_ref(),
            Self::Priority(queue) => queue.as_ref(),
            Self::Bounded(queue) => queue.as_ref(),
        }
    }

    /// Puts messages in, due now and of equal priority.
    pub(crate) async fn put(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        match self {
            Self::Reliable(queue) => queue.push(messages).await,
            Self::Delay(queue) => {
                let due = messages.iter().cloned();
                let due: Vec<_> = due.map(|m| Scheduled::new(m, Duration::ZERO)).collect();
                queue.schedule(&due).await
            }
            Self::Priority(queue) => {
                let equal = messages.iter().cloned();
                let equal: Vec<_> = equal.map(|m| Prioritized::new(m, 0)).collect();
                queue.enqueue(&equal).await
            }
            Self::Bounded(queue) => {
                let offers: Vec<_> = messages.iter().cloned().map(Offer::new).collect();
                let offered = queue.offer(&offers, Overflow::Reject).await?;
                Ok(offered.into_iter().map(pushed).collect())
            }
        }
    }

    /// Puts one message in.
    pub(crate) async fn put_one(&self, message: impl Into<Push>) -> Result<Pushed> {
        let pushed = self.put(&[message.into()]).await?;
        assert_eq!(pushed.len(), 1, "one answer for one message");
        Ok(pushed[0])
    }
}

fn pushed(offered: Offered) -> Pushed {
    match offered {
        Offered::Accepted { id, evicted: None } => Pushed::Accepted(id),
        Offered::Duplicate(id) => Pushed::Duplicate(id),
        other => panic!("there is room for everything, and yet {other:?}"),
    }
}
