//! A hundred queues that are well, each under a load of its own, in real time: no diagnosis finds anything but notes.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::diagnose;
use queue_redis::RedisBackend;
use queue_worker::{Context, Failure, Worker};
use real_redis::Server;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

const RUNS: u64 = 100;
/// Runs at the same time.
const AT_ONCE: u64 = 20;
/// A queue is looked at for this long, this often.
const LENGTH: Duration = Duration::from_secs(2);
const EVERY: Duration = Duration::from_millis(150);

/// The load of a queue, drawn from a seed. The worker is faster than the producer.
#[derive(Debug, Clone, Copy)]
struct Load {
    kind: QueueKind,
    /// Messages of a push, and the time between two.
    burst: u64,
    pause: Duration,
    slots: usize,
    handler: Duration,
    /// The worker defers one delivery of this number.
    defers: u64,
    /// One message of this number is due later.
    delays: u64,
}

impl Load {
    fn draw(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |end: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % end
        };
        let kinds = [
            QueueKind::Reliable,
            QueueKind::Delay,
            QueueKind::Priority,
            QueueKind::Bounded,
        ];
        let handler = [0, 1, 5, 20][below(4) as usize];
        let slots = 2 + below(7);
        let burst = 1 + below(12);
        // At most half of what the worker can do.
        let least = 2 * burst * (handler + 2) / slots;
        Self {
            kind: kinds[seed as usize % kinds.len()],
            burst,
            pause: Duration::from_millis(least + [5, 20, 80, 400][below(4) as usize]),
            slots: slots as usize,
            handler: Duration::from_millis(handler),
            defers: 3 + below(40),
            delays: 3 + below(40),
        }
    }
}

async fn push(queue: &AnyQueue, load: Load, number: u64) {
    let later = Duration::from_millis(300 * u64::from(number.is_multiple_of(load.delays)));
    let push = Push::new(number.to_string()).with_due(later);
    let push = match queue.kind() {
        QueueKind::Priority => push.with_priority((number % 5) as i16),
        _ => push,
    };
    queue.put(&[push]).await.unwrap();
}

/// Plays a load, and looks at it.
async fn play(backend: Arc<dyn Backend>, seed: u64) {
    let load = Load::draw(seed);
    let name = QueueName::new(format!("load-{seed}")).unwrap();
    let config = QueueConfig::of(load.kind, 100_000);
    let queue = backend.open(&name, &config).await.unwrap();
    let queues = Queues::from(Arc::clone(&backend));
    let consumer = Consumer::<u64>::of(queue.leasing().unwrap(), Json).named(name.as_str());
    let worker = Worker::new(consumer)
        .concurrency(load.slots)
        .register(&queues, "load 1");
    let handler = move |number: u64, cx: Context| async move {
        sleep(load.handler).await;
        // Each delivery has a token of its own.
        match (number + cx.token().get()).is_multiple_of(load.defers) {
            true => Err(Failure::defer("busy", Duration::from_millis(50))),
            false => Ok(()),
        }
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async { stopped.await.unwrap_or_default() };
    let worker = tokio::spawn(worker.run_until(shutdown, handler));
    let producer = tokio::spawn(async move {
        for number in 0.. {
            push(&queue, load, number).await;
            if number % load.burst == 0 {
                sleep(load.pause).await;
            }
        }
    });
    let began = Instant::now();
    while began.elapsed() < LENGTH {
        let diagnosis = diagnose(&*backend, name.as_str()).await.unwrap();
        assert!(diagnosis.is_healthy(), "{load:?}: {:?}", diagnosis.findings);
        sleep(EVERY).await;
    }
    producer.abort();
    stop.send(()).unwrap();
    let report = worker.await.unwrap().unwrap();
    assert!(report.counts.acked > 0, "{load:?}");
}

async fn play_all(backend: Arc<dyn Backend>) {
    for first in (0..RUNS).step_by(AT_ONCE as usize) {
        let mut runs = JoinSet::new();
        for seed in first..first + AT_ONCE {
            runs.spawn(play(Arc::clone(&backend), seed));
        }
        while let Some(run) = runs.join_next().await {
            run.unwrap();
        }
    }
    let hundred = NonZeroUsize::new(200).unwrap();
    // And the list of workers, which is a queue, too.
    assert_eq!(
        backend.queues(None, hundred).await.unwrap().len() as u64,
        RUNS + 1
    );
    assert!(queue_core::workers(&*backend).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_loads_in_memory_have_no_findings() {
    play_all(Arc::new(MemoryBackend::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_loads_on_a_server_have_no_findings() {
    let server = Server::start().unwrap();
    let backend = RedisBackend::connect(&server.url()).await.unwrap();
    play_all(Arc::new(backend)).await;
}
