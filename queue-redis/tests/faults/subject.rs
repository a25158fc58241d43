//! A queue of any leasing kind, for the tests of all of them.

use std::sync::Arc;

use queue_core::*;

/// More attempts than any unrelated test uses.
const MANY_ATTEMPTS: u32 = 1_000_000;

/// The capacity of a bounded queue.
pub(crate) const CAPACITY: usize = 1_000_000;

/// How the queue of this kind is opened.
pub(crate) fn config(kind: QueueKind) -> QueueConfig {
    let mut config = QueueConfig::of(kind, CAPACITY);
    if let Some(leasing) = config.leasing_mut() {
        leasing.max_attempts = MANY_ATTEMPTS;
    }
    config
}

#[derive(Debug, Clone)]
pub(crate) struct Subject {
    queue: AnyQueue,
    leasing: Arc<dyn Leasing>,
}

impl Subject {
    /// Opens the queue of this kind, named after the kind. A bounded queue has room for everything.
    pub(crate) async fn open(backend: &dyn Backend, kind: QueueKind) -> Result<Self> {
        Self::open_at(backend, &QueueName::new(kind.as_str())?, kind).await
    }

    /// Opens such a queue of another name.
    pub(crate) async fn open_at(
        backend: &dyn Backend,
        name: &QueueName,
        kind: QueueKind,
    ) -> Result<Self> {
        let queue = backend.open(name, &config(kind)).await?;
        let leasing = queue.leasing().expect("a queue that leases");
        Ok(Self { queue, leasing })
    }

    /// Opens the bounded queue as a client that asks for this capacity.
    pub(crate) async fn open_or_resize(backend: &dyn Backend, capacity: usize) -> Result<()> {
        let kind = QueueKind::Bounded;
        let QueueConfig::Bounded(mut config) = config(kind) else {
            panic!("the configuration of another kind");
        };
        config.capacity = capacity;
        let name = QueueName::new(kind.as_str())?;
        backend.open_or_resize(&name, &config).await.map(drop)
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
        for pushed in &put {
            let is_new = matches!(pushed, Pushed::Accepted(_) | Pushed::Duplicate(_));
            assert!(is_new, "there is room for everything, and yet {pushed:?}");
        }
        Ok(put)
    }

    /// Puts one message in.
    pub(crate) async fn put_one(&self, message: impl Into<Push>) -> Result<Pushed> {
        let pushed = self.put(&[message.into()]).await?;
        assert_eq!(pushed.len(), 1, "one answer for one message");
        Ok(pushed[0])
    }
}
