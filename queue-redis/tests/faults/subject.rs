//! A queue of any leasing kind, for the tests of all of them.

use std::sync::Arc;

use queue_core::*;

/// So many attempts that no test of something else spends them.
const MANY_ATTEMPTS: u32 = 1_000_000;

#[derive(Debug, Clone)]
pub(crate) struct Subject {
    queue: AnyQueue,
    leasing: Arc<dyn Leasing>,
}

impl Subject {
    /// Opens the queue of this kind, named after the kind. A bounded queue has room for everything.
    pub(crate) async fn open(backend: &dyn Backend, kind: QueueKind) -> Result<Self> {
        let mut config = QueueConfig::of(kind, 1_000_000);
        if let Some(leasing) = config.leasing_mut() {
            leasing.max_attempts = MANY_ATTEMPTS;
        }
        let queue = backend
            .open(&QueueName::new(kind.as_str())?, &config)
            .await?;
        let leasing = queue.leasing().expect("a queue that leases");
        Ok(Self { queue, leasing })
    }

    pub(crate) const fn queue(&self) -> &AnyQueue {
        &self.queue
    }

    pub(crate) fn leasing(&self) -> &dyn Leasing {
        &*self.leasing
    }

    /// Puts messages in, due now and of equal priority.
    pub(crate) async fn put(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        let put = self.queue.put(messages).await?;
        Ok(put.into_iter().map(pushed).collect())
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
