//! Our side: each kind of queue, through the public traits.

use std::{
    hint::black_box,
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use queue_core::{
    AnyQueue, Backend, BoundedQueue, Cancelled, DelayQueue, Insert, Leasing, LeasingExt, Push,
    Pushed, QueueConfig, QueueKind, QueueName, RotatingConfig, RotatingQueue, Settlement,
};
use tokio::{runtime::Runtime, task::JoinSet};

/// A message's body. It costs neither side an allocation, so that only the queues are measured.
pub const BODY: Bytes = Bytes::from_static(&[b'x'; 100]);

/// Makes a message's body.
pub type Body = fn() -> Bytes;

/// [`BODY`] each time.
pub fn still() -> Bytes {
    BODY
}

/// A new body for each message, as in a program. The queue keeps a leased body until the ack, so
/// the queue and the consumer share it, which costs `Bytes` one more allocation.
pub fn fresh() -> Bytes {
    Bytes::copy_from_slice(&[b'x'; 100])
}

/// The capacity of a bounded queue, and of the bounded channel it is compared with.
pub const CAPACITY: usize = 1024;

/// The most that one call takes.
pub const MOST: usize = 128;

/// The groups of a grouped queue's messages.
const GROUPS: [&str; 16] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f",
];

/// Producers, and as many consumers.
pub const TASKS: u64 = 4;

const LEASE: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(60);

/// A queue of one of the leasing kinds: delay with messages due at once, priority with sixteen
/// priorities, grouped with sixteen groups.
#[derive(Debug, Clone)]
pub struct LeasingQueue {
    queue: AnyQueue,
    leasing: Arc<dyn Leasing>,
}

/// The name of a backend's only queue.
const NAME: &str = "bench";

fn count(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN)
}

/// Opens one queue of each leasing kind, the bounded one with this capacity, each on a new backend
/// from `backend`.
///
/// # Panics
///
/// If a queue cannot be opened.
pub async fn queues<B: Backend>(
    backend: impl Fn() -> B,
    capacity: usize,
) -> Vec<(&'static str, LeasingQueue)> {
    let mut queues = Vec::new();
    for kind in QueueKind::LEASING {
        let queue = LeasingQueue::open(&backend(), NAME, kind, capacity).await;
        queues.push((kind.as_str(), queue));
    }
    queues
}

/// Makes a batch and hands it to a call: one message without an allocation for the batch.
macro_rules! batch {
    ($size:expr, $make:expr, |$batch:ident| $call:expr) => {
        if $size == 1 {
            let $batch = &[$make(0)];
            $call
        } else {
            let $batch = &(0..$size).map($make).collect::<Vec<_>>();
            $call
        }
    };
}

async fn push<Q: Leasing + ?Sized>(queue: &Q, batch: &[Push]) {
    let _pushed = queue.push(batch).await.expect("pushed");
}

async fn push_where_room(queue: &dyn BoundedQueue, batch: &[Push]) {
    let mut left = batch;
    while !left.is_empty() {
        let pushed = queue.push(left).await.expect("pushed");
        let full = |pushed: &Pushed| *pushed == Pushed::Full;
        let accepted = pushed.iter().position(full).unwrap_or(left.len());
        left = &left[accepted..];
        if !left.is_empty() {
            queue.wait_for_room(PATIENCE).await.expect("waited");
        }
    }
}

impl LeasingQueue {
    /// Opens a queue of this kind; a bounded one has this capacity.
    ///
    /// # Panics
    ///
    /// If it cannot be opened, or leases nothing.
    pub async fn open(
        backend: &impl Backend,
        name: &str,
        kind: QueueKind,
        capacity: usize,
    ) -> Self {
        let name = QueueName::new(name).expect("the name is allowed");
        let queue = backend.open(&name, &QueueConfig::of(kind, capacity)).await;
        let queue = queue.expect("the queue opens");
        let leasing = queue.leasing().expect("the queue leases");
        Self { queue, leasing }
    }

    /// The queue.
    pub const fn queue(&self) -> &AnyQueue {
        &self.queue
    }

    /// The queue as one that leases.
    pub fn leasing(&self) -> &dyn Leasing {
        &*self.leasing
    }

    /// Pushes `size` messages, waiting for room where it has to.
    ///
    /// # Panics
    ///
    /// If the queue refuses.
    pub async fn put(&self, size: usize) {
        self.put_with(size, still).await;
    }

    /// [`put`](Self::put) with these bodies.
    ///
    /// # Panics
    ///
    /// If the queue refuses.
    pub async fn put_with(&self, size: usize, body: Body) {
        // Each kind makes its messages apart, as a program does that knows its kind: a message that goes through a
        // `match` is moved once more.
        match &self.queue {
            AnyQueue::Delay(queue) => {
                let now = |_| Push::new(body()).with_due(Duration::ZERO);
                batch!(size, now, |batch| push(&**queue, batch).await);
            }
            AnyQueue::Priority(queue) => {
                let urgent = |n| Push::new(body()).with_priority((n % 16) as i16);
                batch!(size, urgent, |batch| push(&**queue, batch).await);
            }
            AnyQueue::Grouped(queue) => {
                let of_sixteen = |n: usize| Push::new(body()).with_group(GROUPS[n % 16].as_bytes());
                batch!(size, of_sixteen, |batch| push(&**queue, batch).await);
            }
            AnyQueue::Bounded(queue) => {
                let plain = |_| Push::new(body());
                batch!(size, plain, |batch| push_where_room(&**queue, batch).await);
            }
            _ => {
                let plain = |_| Push::new(body());
                batch!(size, plain, |batch| push(self.leasing(), batch).await);
            }
        }
    }

    /// Leases up to `size` messages, waiting for one, and acks them. Returns their number.
    ///
    /// # Panics
    ///
    /// If the queue refuses.
    pub async fn take(&self, size: usize) -> usize {
        let queue = self.leasing();
        let leased = queue.lease(count(size), LEASE).await.expect("leased");
        let mut deliveries = leased.deliveries;
        if deliveries.is_empty() {
            let received = queue.receive(size, LEASE, PATIENCE).await;
            deliveries = received.expect("received");
        }
        let ack = |n: usize| Settlement::ack(deliveries[n].receipt);
        batch!(deliveries.len(), ack, |batch| {
            queue.settle(batch).await.expect("settled");
        });
        deliveries.len()
    }

    /// Fills the queue with a backlog: on a delay queue due in hours, on a priority queue behind
    /// all others.
    ///
    /// # Panics
    ///
    /// If the queue refuses.
    pub async fn fill(&self, backlog: usize) {
        let mut left = backlog;
        while left > 0 {
            let size = left.min(MOST);
            let start = backlog - left;
            match &self.queue {
                AnyQueue::Delay(queue) => {
                    let later = |n: usize| {
                        // Any time in the next day, except its first hour.
                        let millis = (start + n).wrapping_mul(2_654_435_761) % (23 * 3_600_000);
                        Push::from(BODY).with_due(Duration::from_millis(3_600_000 + millis as u64))
                    };
                    let batch: Vec<_> = (0..size).map(later).collect();
                    queue.push(&batch).await.expect("scheduled");
                }
                _ => self.put(size).await,
            }
            left -= size;
        }
    }
}

/// The number of rounds of each task.
pub fn portions(rounds: u64) -> impl Iterator<Item = u64> {
    (0..TASKS).map(move |task| rounds / TASKS + u64::from(task < rounds % TASKS))
}

/// Schedules a message for a time within the backlog, and cancels it: a timeout that does not
/// happen.
///
/// # Panics
///
/// If the queue refuses.
pub fn timeouts(runtime: &Runtime, queue: &dyn DelayQueue, rounds: u64) -> Duration {
    runtime.block_on(async {
        let start = Instant::now();
        for n in 0..rounds {
            let millis = n.wrapping_mul(2_654_435_761) % (24 * 3_600_000);
            let due = Duration::from_millis(millis + 3_600_000);
            let pushed = queue.push(&[Push::from(BODY).with_due(due)]).await;
            let id = pushed.expect("scheduled")[0].id().expect("it has room");
            let cancelled = queue.cancel_one(id).await.expect("cancelled");
            assert_eq!(cancelled, Cancelled::Cancelled);
        }
        start.elapsed()
    })
}

/// Opens a ring of this name, with the given number of items.
///
/// # Panics
///
/// If it cannot be opened.
pub async fn ring(backend: &impl Backend, name: &str, items: usize) -> Arc<dyn RotatingQueue> {
    let name = QueueName::new(name).expect("the name is allowed");
    let config = RotatingConfig::default();
    let opened = backend.open_rotating(&name, &config).await;
    let ring = opened.expect("the ring opens");
    for start in (0..items).step_by(MOST) {
        insert(&*ring, MOST.min(items - start)).await;
    }
    ring
}

/// Puts items into a ring, in one call.
///
/// # Panics
///
/// If the ring refuses.
pub async fn insert(ring: &dyn RotatingQueue, items: usize) {
    let batch: Vec<_> = (0..items).map(|_| Insert::new(BODY)).collect();
    ring.insert(&batch).await.expect("inserted");
}

/// Rounds on one thread: each visits `size` items.
///
/// # Panics
///
/// If the ring refuses.
pub fn settle_and_lease_alone(
    runtime: &Runtime,
    ring: &dyn RotatingQueue,
    batch: usize,
    rounds: u64,
) -> Duration {
    runtime.block_on(async {
        let start = Instant::now();
        for _ in 0..rounds {
            let _ = black_box(ring.rotate(count(batch)).await.expect("rotated"));
        }
        start.elapsed()
    })
}

/// Rounds of several clients of one ring at once.
///
/// # Panics
///
/// If the ring refuses.
pub fn settle_and_lease_together(
    runtime: &Runtime,
    ring: &Arc<dyn RotatingQueue>,
    batch: usize,
    rounds: u64,
) -> Duration {
    runtime.block_on(async {
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for portion in portions(rounds) {
            let ring = Arc::clone(ring);
            tasks.spawn(async move {
                for _ in 0..portion {
                    let _ = black_box(ring.rotate(count(batch)).await.expect("rotated"));
                }
            });
        }
        tasks.join_all().await;
        start.elapsed()
    })
}
