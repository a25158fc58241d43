//! The job that every strategy does: a message is pushed, leased and acked. In a bounded queue, which published
//! strategies only read, a job is a push that drops the oldest; in a ring, a visit.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use queue_core::{AnyQueue, Overflow, Push, QueueKind};
use queue_redis::RedisBackend;
use redis::{AsyncCommands, aio::MultiplexedConnection};
use tokio::time::sleep;

use super::{
    contenders::{Contender, Keys},
    ours::{count, lease, settle},
};

/// The priorities that the published lists have.
const LEVELS: [i16; 3] = [10, 0, -10];
/// How long a dedup key lives.
const WINDOW: Duration = Duration::from_secs(60);
/// The time between two checks whether a distributor has moved the due messages.
const POLL: Duration = Duration::from_millis(1);
/// The messages of one call outside of the measured time.
const BATCH: usize = 100;

/// Numbers the messages of a run, because some strategies take messages with equal bodies for one message.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A strategy's queue, and how messages are put into it. Clones share the queue.
#[derive(Debug, Clone)]
pub struct Jobs {
    queue: AnyQueue,
    keys: Keys,
    /// The list in which messages have to be before they can be taken, and the connection that reads its length.
    moved: Option<(String, MultiplexedConnection)>,
}

impl Jobs {
    /// Opens the strategy's queue; a bounded one has this capacity. The plain connection is for reads that do not
    /// count.
    ///
    /// # Panics
    ///
    /// If it cannot be opened.
    pub async fn open(
        contender: &Contender,
        backend: &RedisBackend,
        plain: &MultiplexedConnection,
        name: &str,
        capacity: usize,
    ) -> Self {
        let moved = contender.moved_to(name);
        Self {
            queue: contender.open(backend, name, capacity).await,
            keys: contender.keys,
            moved: moved.map(|list| (list, plain.clone())),
        }
    }

    /// Puts in messages that are ready at once, in one call. A full queue drops the oldest.
    ///
    /// # Panics
    ///
    /// If the queue refuses.
    pub async fn put(&self, messages: usize) {
        let message = |n: usize| match self.queue.kind() {
            QueueKind::Delay => Push::new(body(next())).with_due(Duration::ZERO),
            QueueKind::Priority => Push::new(body(next())).with_priority(LEVELS[n % LEVELS.len()]),
            QueueKind::Bounded => self.keyed(next()).with_overflow(Overflow::DropOldest),
            _ => Push::new(body(next())),
        };
        let batch: Vec<_> = (0..messages).map(message).collect();
        self.queue.put(&batch).await.expect("put");
    }

    /// [`put`](Self::put)s any number of messages in.
    pub async fn fill(&self, messages: usize) {
        for start in (0..messages).step_by(BATCH) {
            self.put(BATCH.min(messages - start)).await;
        }
    }

    /// Waits until the given number of messages can be taken, if a distributor has to move them first.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn arrived(&self, messages: usize) {
        let Some((list, plain)) = &self.moved else {
            return;
        };
        let mut plain = plain.clone();
        loop {
            let length: usize = plain.llen(list).await.expect("the server answers");
            if length >= messages {
                return;
            }
            sleep(POLL).await;
        }
    }

    /// Does jobs, a batch at a time, and returns the time that they took.
    ///
    /// # Panics
    ///
    /// If the queue refuses, or a message is not there.
    pub async fn rounds(&self, batch: usize, rounds: u64) -> Duration {
        let start = Instant::now();
        for _ in 0..rounds {
            match &self.queue {
                AnyQueue::Bounded(_) => self.put(batch).await,
                AnyQueue::Rotating(ring) => {
                    let rotated = ring.rotate(count(batch)).await.expect("rotated");
                    assert_eq!(rotated.items.len(), batch);
                }
                queue => {
                    self.put(batch).await;
                    self.arrived(batch).await;
                    let queue = queue.leasing().expect("the queue leases");
                    let leased = lease(&*queue, batch).await;
                    settle(&*queue, &leased).await;
                }
            }
        }
        start.elapsed()
    }

    /// The messages that are in the queue.
    ///
    /// # Panics
    ///
    /// If the queue does not answer, or is a ring.
    pub async fn length(&self) -> u64 {
        let queue = self.queue.leasing().expect("no ring");
        let depth = queue.depth().await.expect("the depth");
        depth.occupied()
    }

    fn keyed(&self, number: u64) -> Push {
        let key = number.to_string();
        let push = Push::new(body(number));
        match self.keys {
            Keys::Without => push,
            Keys::Dedup => push.with_dedup(key, WINDOW),
            Keys::Distinct => push.with_distinct(key),
        }
    }
}

fn next() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A body of 100 bytes: JSON, for strategies that read the priority in it.
fn body(number: u64) -> Bytes {
    format!("{{\"priority\":1,\"order\":\"{number:075}\"}}").into()
}

#[cfg(test)]
mod tests {
    use super::body;

    #[test]
    fn bodies_have_100_bytes_and_differ() {
        assert_eq!(body(0).len(), 100);
        assert_eq!(body(u64::MAX).len(), 100);
        assert_ne!(body(1), body(2));
    }
}
