//! Faults in a random order, while messages flow.

use std::{
    env,
    fmt::Debug,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use queue_core::{AnyQueue, Backend, Leasing, LeasingExt, Push, QueueKind};
use queue_redis::RedisBackend;

use crate::{
    ground::{at_last, within},
    ledger::Toll,
    traffic::{Errors, Subject, Traffic},
};

/// The number of messages of each kind that are done between two faults.
const FLOWS: usize = 5;
/// The response timeout: a client gives a connection up after this silence.
const SILENCE: Duration = Duration::from_millis(500);
/// A moment in which nothing happens by itself.
const MOMENT: Duration = Duration::from_millis(50);

/// How many rounds there are, and their order.
#[derive(Debug)]
pub(super) struct Rounds {
    of_each: u64,
    long: Duration,
    seed: u64,
}

fn setting(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value:?}: a number")),
    )
}

impl Rounds {
    /// The rounds that the environment asks for, or `rounds` of each fault.
    pub(super) fn of_each(rounds: u64) -> Self {
        let rounds = Self {
            of_each: setting("QUEUE_FAULT_ROUNDS").unwrap_or(rounds),
            long: Duration::from_secs(setting("QUEUE_FAULT_SECONDS").unwrap_or(0)),
            seed: setting("QUEUE_FAULT_SEED").unwrap_or(0),
        };
        println!(
            "QUEUE_FAULT_SEED={} QUEUE_FAULT_ROUNDS={}",
            rounds.seed, rounds.of_each
        );
        rounds
    }

    /// `of_each` rounds of each fault, in the order of this seed.
    fn order<F: Copy>(&self, faults: &[F], seed: u64) -> Vec<F> {
        let all = faults
            .iter()
            .flat_map(|fault| (0..self.of_each).map(move |_| *fault));
        shuffled(all.collect(), &mut Chance(seed))
    }

    /// A seed for each round, for tests in which each round has its own traffic.
    pub(super) fn seeds(&self) -> impl Iterator<Item = u64> {
        let (seed, rounds, long) = (self.seed, self.of_each, self.long);
        let start = Instant::now();
        (seed..).take_while(move |next| next - seed < rounds || start.elapsed() < long)
    }

    /// Lets messages flow while these faults strike, each with the number of earlier faults. Then drains
    /// the queues, and returns what became of each queue's messages.
    pub(super) async fn play<F: Copy + Debug>(
        &self,
        flows: &[Arc<Traffic>],
        faults: &[F],
        mut strike: impl AsyncFnMut(F, usize),
    ) -> Vec<Toll> {
        let strikes = async {
            let start = Instant::now();
            let mut struck = 0;
            for seed in self.seed.. {
                for fault in self.order(faults, seed) {
                    all_flow(flows, &format!("flow before round {struck}, {fault:?}")).await;
                    let begun = Instant::now();
                    strike(fault, struck).await;
                    println!("{struck}. {fault:?}: {:?}", begun.elapsed());
                    struck += 1;
                }
                if start.elapsed() >= self.long {
                    break;
                }
            }
            all_flow(flows, "flow after the last fault").await;
            println!("{struck} faults in {:?}", start.elapsed());
        };
        flow_during(flows, strikes).await
    }
}

/// Lets messages flow until these faults are over. Then drains the queues, and returns what became of each
/// queue's messages.
pub(super) async fn flow_during(
    flows: &[Arc<Traffic>],
    strikes: impl Future<Output = ()>,
) -> Vec<Toll> {
    let over = tokio::sync::watch::Sender::new(false);
    let traffics = join_all(flows.iter().map(|traffic| {
        let mut over = over.subscribe();
        traffic.during(async move {
            let _ = over.wait_for(|over| *over).await;
        })
    }));
    let strikes = async {
        strikes.await;
        over.send_replace(true);
    };
    tokio::join!(traffics, strikes).0
}

/// A linear congruential generator, because the numbers must only be repeatable.
#[derive(Debug)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

pub(super) fn shuffled<T>(mut all: Vec<T>, chance: &mut Chance) -> Vec<T> {
    for last in (1..all.len()).rev() {
        all.swap(last, chance.below(last + 1));
    }
    all
}

/// Waits until some more messages of each queue are done.
pub(super) async fn all_flow(flows: &[Arc<Traffic>], what: &str) {
    let all_flow = join_all(flows.iter().map(|traffic| traffic.flows(FLOWS)));
    within(what, all_flow).await;
}

/// A client that soon gives up a silent connection, so that a fault is over soon.
pub(super) async fn connect(url: &str) -> RedisBackend {
    at_last(|| async {
        let builder = RedisBackend::builder(url)?;
        let builder = builder.response_timeout(SILENCE).fall_back(SILENCE);
        builder.connect_timeout(20 * SILENCE).connect().await
    })
    .await
}

/// Traffic on a queue of each leasing kind, named after it. The queues are empty, and the clients warmed up.
pub(super) async fn flows(
    plain: &dyn Backend,
    confirming: Option<&dyn Backend>,
) -> Vec<Arc<Traffic>> {
    let open = |kind: QueueKind| async move {
        let name = kind.as_str();
        let queue = at_last(|| Subject::open(plain, confirming, name, kind)).await;
        warm_up(&queue).await;
        Traffic::on(&queue, Errors::Transient).await
    };
    join_all(QueueKind::LEASING.map(open)).await
}

/// Creates everything that a client's first messages create and that stays: a connection for hints, tasks
/// that send and wait for several callers. Leaves the queue empty.
pub(super) async fn warm_up(queue: &Subject) {
    let handles = [Some(&queue.plain), queue.confirming.as_ref()];
    for handle in handles.into_iter().flatten() {
        warm_up_handle(handle).await;
    }
}

async fn warm_up_handle(queue: &AnyQueue) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let leasing = queue.leasing().expect("a queue that leases");
    let take_one = async || {
        // A call that a busy machine did not answer in time is repeated.
        if let Ok(Some(delivery)) = leasing.receive_one(20 * MOMENT, MOMENT).await {
            let _ = leasing.ack(delivery.receipt).await;
        }
    };
    let at_once = join_all((0..16).map(|_| async {
        let key = format!("warm-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let push = Push::new("to begin with").with_dedup(key, 1_000 * MOMENT);
        at_last(|| async {
            let put = async { queue.put(std::slice::from_ref(&push)).await.map(drop) };
            match leasing.confirmer() {
                Some(_) => leasing.confirmed(|_| put).await.map(|it| it.answer),
                None => put.await,
            }
        })
        .await;
        take_one().await;
    }));
    at_once.await;
    let empty = async {
        while !matches!(leasing.depth().await, Ok(depth) if depth.occupied() == 0) {
            take_one().await;
        }
    };
    within("the queue is empty", empty).await;
    let _ = leasing.wait_for_arrival(MOMENT).await;
}
