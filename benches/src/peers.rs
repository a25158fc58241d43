//! The other side: tokio's channel, which a program would use in process if it needed no leases; and
//! the rounds that both sides play.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::{
    runtime::Runtime,
    sync::{Mutex, mpsc},
    task::JoinSet,
};

use crate::kinds::{Body, CAPACITY, LeasingQueue, portions, still};

/// A channel or a queue, which takes and gives messages in batches.
pub trait Peer: Clone + Send + Sync + 'static {
    /// Sends `size` messages, waiting for room.
    fn put(&self, size: usize, body: Body) -> impl Future<Output = ()> + Send;

    /// Receives up to `size` messages, waiting for one. Returns their number.
    fn take(&self, size: usize) -> impl Future<Output = usize> + Send;
}

/// A batch is pushed, and then leased and acked.
impl Peer for LeasingQueue {
    async fn put(&self, size: usize, body: Body) {
        self.put_with(size, body).await;
    }

    async fn take(&self, size: usize) -> usize {
        Self::take(self, size).await
    }
}

/// tokio's bounded channel; several consumers share its one receiver behind a lock.
#[derive(Debug, Clone)]
pub struct Mpsc {
    sender: mpsc::Sender<Bytes>,
    receiver: Arc<Mutex<mpsc::Receiver<Bytes>>>,
}

impl Default for Mpsc {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let receiver = Arc::new(Mutex::new(receiver));
        Self { sender, receiver }
    }
}

impl Peer for Mpsc {
    async fn put(&self, size: usize, body: Body) {
        for _ in 0..size {
            let _ = self.sender.send(body()).await;
        }
    }

    async fn take(&self, size: usize) -> usize {
        take_from(&mut *self.receiver.lock().await, size).await
    }
}

async fn take_from(receiver: &mut mpsc::Receiver<Bytes>, size: usize) -> usize {
    match size {
        1 => receiver
            .recv()
            .await
            .map_or(0, |body| usize::from(!body.is_empty())),
        _ => {
            receiver
                .recv_many(&mut Vec::with_capacity(size), size)
                .await
        }
    }
}

/// Rounds on one thread: each sends and receives a batch.
pub fn alone(
    runtime: &Runtime,
    peer: &impl Peer,
    batch: usize,
    body: Body,
    rounds: u64,
) -> Duration {
    runtime.block_on(async {
        let start = Instant::now();
        for _ in 0..rounds {
            peer.put(batch, body).await;
            peer.take(batch).await;
        }
        start.elapsed()
    })
}

/// [`alone`] with tokio's channel, whose receiver needs no lock here.
pub fn mpsc_alone(runtime: &Runtime, batch: usize, body: Body, rounds: u64) -> Duration {
    let (sender, mut receiver) = mpsc::channel(CAPACITY);
    runtime.block_on(async {
        let start = Instant::now();
        for _ in 0..rounds {
            for _ in 0..batch {
                let _ = sender.send(body()).await;
            }
            take_from(&mut receiver, batch).await;
        }
        start.elapsed()
    })
}

/// Rounds shared among several producers and consumers at once.
pub fn together(runtime: &Runtime, peer: &impl Peer, batch: usize, rounds: u64) -> Duration {
    runtime.block_on(async {
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for portion in portions(rounds) {
            let producer = peer.clone();
            tasks.spawn(async move {
                for _ in 0..portion {
                    producer.put(batch, still).await;
                }
            });
            let consumer = peer.clone();
            tasks.spawn(async move {
                let mut left = portion as usize * batch;
                while left > 0 {
                    left -= consumer.take(batch.min(left)).await;
                }
            });
        }
        tasks.join_all().await;
        start.elapsed()
    })
}
