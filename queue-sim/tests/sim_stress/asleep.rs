//! No client may sleep while there is work. A lost wake-up shows only in a client that sleeps
//! longer than it should, so each client may sleep for an hour, and the test watches it.
//!
//! Producers put one message at a time and wait for its ack, so that the queue is empty again and again and
//! all clients sleep often. A consumer that leaves a message behind returns only when another has taken the
//! message: if it returned at once, it would hide another's lost wake-up. The test measures a client's
//! lateness not by the clock alone, but by other work. Meanwhile the same server answers twenty other
//! calls, and each thread of the runtime runs the same number of other tasks. It needs each thread, because
//! a machine can stop one thread for a tenth of a second during a client's poll while another thread
//! answers all calls.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst},
        mpsc,
    },
    thread::sleep,
    time::{Duration, Instant},
};

use bytes::Bytes;
use queue_core::{
    AnyQueue, BoundedConfig, BoundedQueueExt, Leasing, LeasingExt, Message, OnceStore, Push,
    QueueConfig, QueueName, RotatingQueueExt,
};
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    task::JoinSet,
};

use super::{Clients, nap::Sleeper};

/// The capacity of a bounded queue: less than the number of producers, so that they wait for room.
const CAPACITY: usize = 1;
const PATIENCE: Duration = Duration::from_secs(3_600);
const LEASE: Duration = Duration::from_secs(3_600);
/// The time for which each kind plays.
const TIME: Duration = Duration::from_millis(1_500);
/// The number of checks in a row that must find a client asleep while there is work.
const CHECKS: u32 = 20;
const BETWEEN_CHECKS: Duration = Duration::from_millis(5);

/// The amount of something that clients wait for.
#[derive(Debug, Default)]
struct Supply {
    level: AtomicI64,
    /// The number of times that there was nothing.
    gaps: AtomicU64,
}

impl Supply {
    fn add(&self, more: i64) {
        self.level.fetch_add(more, SeqCst);
    }

    fn take(&self) {
        if self.level.fetch_sub(1, SeqCst) <= 1 {
            self.gaps.fetch_add(1, SeqCst);
        }
    }

    /// The number of the current stretch without a gap; `None` in a gap.
    fn stretch(&self) -> Option<u64> {
        let gaps = self.gaps.load(SeqCst);
        (self.level.load(SeqCst) > 0).then_some(gaps)
    }
}

/// A queue and its clients.
struct Environment {
    ready: Supply,
    room: Supply,
    acked: Vec<Notify>,
    consumers: Vec<Arc<Sleeper>>,
    producers: Vec<Arc<Sleeper>>,
    /// The number of messages taken.
    taken: watch::Sender<u64>,
    over: AtomicBool,
}

impl Environment {
    /// Takes one ready message. Returns when it was the last, or when another client took one.
    async fn take(&self) {
        self.ready.take();
        let mut taken = 0;
        self.taken.send_modify(|count| {
            *count += 1;
            taken = *count;
        });
        let mut others = self.taken.subscribe();
        if self.ready.stretch().is_some() {
            let another = others.wait_for(|count| *count > taken).await;
            another.expect("the environment outlives its consumers");
        }
    }
}

/// Plays one kind with equal numbers of producers and consumers, and panics if a client sleeps that should
/// not. Two of each find a lost wake-up soonest: of more clients, one is more likely to take the message
/// and hide the loss.
pub(crate) fn nobody(
    runtime: &Handle,
    clients: &Arc<impl Clients>,
    config: &QueueConfig,
    pairs: usize,
) {
    let config = match config {
        QueueConfig::Bounded(_) => QueueConfig::Bounded(BoundedConfig::new(CAPACITY)),
        other => other.clone(),
    };
    let environment = Arc::new(Environment {
        ready: Supply::default(),
        room: Supply::default(),
        acked: (0..pairs).map(|_| Notify::new()).collect(),
        consumers: (0..pairs).map(|_| Arc::default()).collect(),
        producers: (0..pairs).map(|_| Arc::default()).collect(),
        taken: watch::Sender::new(0),
        over: AtomicBool::new(false),
    });
    environment.room.add(CAPACITY as i64);
    let name: QueueName = format!("asleep-{}-{pairs}", config.kind())
        .parse()
        .expect("a name");
    let (backends, other) = runtime.block_on(async {
        // Clients that share a connection, and clients that do not.
        let backends = [clients.connect().await, clients.connect().await];
        let other = backends[0].open_once(&name).await.expect("a store");
        (backends, other)
    });
    let mut consuming = JoinSet::new();
    let mut producing = JoinSet::new();
    for at in 0..pairs {
        let opened = backends[at % 2].open(&name, &config);
        let queue = runtime.block_on(opened).expect("a fresh queue");
        let consumer = consume(Arc::clone(&environment), at, queue.clone());
        consuming.spawn_on(consumer, runtime);
        producing.spawn_on(produce(Arc::clone(&environment), at, queue), runtime);
    }
    let start = Instant::now();
    while !producing.is_empty() {
        if start.elapsed() > TIME {
            environment.over.store(true, SeqCst);
        }
        for (supply, sleepers, what) in [
            (
                &environment.ready,
                &environment.consumers,
                "a message is ready",
            ),
            (&environment.room, &environment.producers, "there is room"),
        ] {
            if let Some(for_long) = overslept(runtime, &other, supply, sleepers) {
                panic!(
                    "{}: somebody has slept for {for_long:?} while {what} all the time, the \
                     backend answered {CHECKS} other calls, and each thread ran {CHECKS} other tasks",
                    config.kind()
                );
            }
        }
        while let Some(ended) = producing.try_join_next() {
            ended.expect("a producer comes to its end");
        }
        while let Some(ended) = consuming.try_join_next() {
            ended.expect("a consumer goes on");
        }
        sleep(Duration::from_millis(1));
    }
}

/// The time that a client has slept while there was always work, if that was too long.
fn overslept(
    runtime: &Handle,
    other: &Arc<dyn OnceStore>,
    supply: &Supply,
    sleepers: &[Arc<Sleeper>],
) -> Option<Duration> {
    let stretch = supply.stretch()?;
    let start = Instant::now();
    let mut asleep: Vec<_> = sleepers
        .iter()
        .filter_map(|sleeper| Some((sleeper, sleeper.nap()?)))
        .collect();
    for _ in 0..CHECKS {
        let other = Arc::clone(other);
        let answer = runtime.spawn(async move { other.counts().await });
        let answer = runtime.block_on(answer).expect("it does not panic");
        answer.expect("nothing goes wrong");
        each_thread_ran_a_task(runtime);
        sleep(BETWEEN_CHECKS);
        asleep.retain(|(sleeper, nap)| sleeper.nap() == Some(*nap));
        if asleep.is_empty() || supply.stretch() != Some(stretch) {
            return None;
        }
    }
    Some(start.elapsed())
}

/// Returns when each thread of the runtime has taken a task.
fn each_thread_ran_a_task(runtime: &Handle) {
    let threads = runtime.metrics().num_workers();
    let all = Arc::new(Barrier::new(threads + 1));
    let (began, begun) = mpsc::channel();
    // A task holds its thread until each thread has one. The next task begins after the one before
    // it: a thread that finds two takes both, and another that is always busy takes none from it.
    for _ in 0..threads {
        let (all, began) = (Arc::clone(&all), began.clone());
        runtime.spawn(async move {
            began.send(()).expect("the test waits for it");
            all.wait();
        });
        begun.recv().expect("the task says that it began");
    }
    all.wait();
}

async fn produce(environment: Arc<Environment>, own: usize, queue: AnyQueue) {
    let body = Bytes::from(vec![own as u8]);
    while !environment.over.load(SeqCst) {
        let put = put(&queue, body.clone());
        environment.producers[own].watch(put).await;
        if matches!(queue, AnyQueue::Bounded(_)) {
            environment.room.take();
        }
        environment.ready.add(1);
        environment.acked[own].notified().await;
    }
}

async fn put(queue: &AnyQueue, body: Bytes) {
    let done = match queue {
        AnyQueue::Bounded(queue) => queue.push_or_wait(body, PATIENCE).await.map(drop),
        other => other.put(&[Push::new(body)]).await.map(drop),
    };
    done.expect("nothing goes wrong");
}

async fn consume(environment: Arc<Environment>, own: usize, queue: AnyQueue) {
    let sleeper = Arc::clone(&environment.consumers[own]);
    loop {
        let body = match &queue {
            AnyQueue::Bounded(queue) => {
                let body = receive(&environment, &sleeper, queue).await;
                environment.room.add(1);
                body
            }
            AnyQueue::Rotating(ring) => {
                let visited = sleeper.watch(ring.visit(1, PATIENCE)).await;
                let visited = visited.expect("nothing goes wrong");
                let Some(Message { id, body, .. }) = visited.into_iter().next() else {
                    continue;
                };
                // Other consumers have seen the item, too.
                if ring.remove(&[id]).await.expect("nothing goes wrong") == 0 {
                    continue;
                }
                environment.take().await;
                body
            }
            other => {
                let queue = other.leasing().expect("a queue that leases");
                receive(&environment, &sleeper, &*queue).await
            }
        };
        environment.acked[usize::from(body[0])].notify_one();
    }
}

async fn receive<Q: Leasing + ?Sized>(
    environment: &Environment,
    sleeper: &Arc<Sleeper>,
    queue: &Q,
) -> Bytes {
    loop {
        let received = sleeper.watch(queue.receive_one(LEASE, PATIENCE)).await;
        if let Some(delivery) = received.expect("nothing goes wrong") {
            environment.take().await;
            queue.ack(delivery.receipt).await.expect("it holds it");
            return delivery.body;
        }
    }
}
