//! A queue with a message in every state, and with every property that a message may have.

use std::{collections::BTreeMap, num::NonZeroUsize, time::Duration};

use queue_core::*;

/// Longer than any test moves its clock.
const EVER: Duration = Duration::from_secs(20 * 3600);
pub(crate) const LEASE: Duration = Duration::from_secs(60);
pub(crate) const CAPACITY: usize = 1_000;

pub(crate) struct Filled {
    pub(crate) name: QueueName,
    pub(crate) queue: AnyQueue,
    /// The messages that are there, by id, and their bodies.
    pub(crate) bodies: BTreeMap<u64, Bytes>,
    /// The ids of messages with a large body.
    pub(crate) large: Vec<u64>,
}

impl Filled {
    pub(crate) fn leasing(&self) -> std::sync::Arc<dyn Leasing> {
        self.queue.leasing().expect("a queue that leases")
    }

    /// Opens a queue, and fills it.
    pub(crate) async fn new(
        backend: &dyn Backend,
        kind: QueueKind,
        name: QueueName,
    ) -> Result<Self> {
        let mut config = QueueConfig::of(kind, CAPACITY);
        if let Some(leasing) = config.leasing_mut() {
            leasing.max_attempts = 5;
        }
        let queue = backend.open(&name, &config).await?;
        let mut filled = Self {
            name,
            queue,
            bodies: BTreeMap::new(),
            large: Vec::new(),
        };
        filled.fill(kind).await?;
        Ok(filled)
    }

    async fn put(&mut self, push: Push) -> Result<u64> {
        let body = push.body.clone();
        let put = self.queue.put(std::slice::from_ref(&push)).await?;
        let id = id_of(put[0]).get();
        if body.len() > 1_000 {
            self.large.push(id);
        }
        self.bodies.insert(id, body);
        Ok(id)
    }

    async fn fill(&mut self, kind: QueueKind) -> Result<()> {
        for number in 0..9 {
            self.put(Push::new(format!("worked on {number}"))).await?;
        }
        let leasing = self.leasing();
        let nine = NonZeroUsize::new(9).expect("not zero");
        let holder = Holder::new("somebody at work").ok();
        let (_, leased) = leasing.settle_and_lease(&[], nine, LEASE, holder).await?;
        let receipt = |at: usize| leased.deliveries[at].receipt;
        let settlements = [
            Settlement::ack(receipt(0)),
            Settlement::release(receipt(1)),
            Settlement::retry_because(receipt(2), LEASE, "no paper"),
            Settlement::new(receipt(3), Disposition::Defer { delay: LEASE }),
            Settlement::bury(receipt(4), "no good"),
            Settlement::bury(receipt(5), "no good either"),
        ];
        leasing.settle(&settlements).await?;
        self.bodies.remove(&receipt(0).id.get());
        // Six messages wait, and one in their middle is cancelled; the others have the further properties.
        let mut cancelled = 0;
        for number in 0..6 {
            let push = Push::new(format!("waits {number}"));
            let id = self.put(push.with_header("trace", "of it")).await?;
            cancelled = if number == 2 { id } else { cancelled };
        }
        leasing.cancel(&[MessageId::new(cancelled)]).await?;
        self.bodies.remove(&cancelled);
        // A batch, one of which is cancelled.
        let batch: Vec<_> = (0..6)
            .map(|number| Push::new(format!("batch {number}")))
            .collect();
        if let AnyQueue::Reliable(reliable) = &self.queue {
            let put = reliable.push(&batch).await?;
            for (push, put) in batch.iter().zip(&put) {
                self.bodies.insert(id_of(*put).get(), push.body.clone());
            }
            leasing.cancel(&[id_of(put[3])]).await?;
            self.bodies.remove(&id_of(put[3]).get());
        }
        self.put(Push::new("deduplicated").with_dedup("key", EVER))
            .await?;
        self.put(Push::new("unique").with_unique("only", EVER))
            .await?;
        for limit in [TimeToLive::bury_after(EVER), TimeToLive::drop_after(EVER)] {
            self.put(Push::new(format!("{limit:?}")).with_time_to_live(limit))
                .await?;
        }
        for byte in [b'x', b'y'] {
            self.put(Push::new(vec![byte; 20_000])).await?;
        }
        if kind != QueueKind::Delay {
            for number in 0..2 {
                self.put(Push::new(format!("due {number}")).with_due(LEASE))
                    .await?;
            }
        }
        for key in ["a", "b"] {
            self.put(Push::new(format!("distinct {key}")).with_distinct(key))
                .await?;
        }
        Ok(())
    }
}

fn id_of(offered: Pushed) -> MessageId {
    match offered {
        Pushed::Accepted(id) => id,
        other => panic!("there is room, and all are new: {other:?}"),
    }
}
