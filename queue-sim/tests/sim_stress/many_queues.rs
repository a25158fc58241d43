//! Conditions that the simulator lacks: many queues, several runtimes on their own threads, large bodies, a
//! slow connection, pushes that are polled once and dropped. The test counts every message: it fails if one
//! is lost or comes twice.
//!
//! Variables make it larger and longer, for example `QUEUE_STRESS_QUEUES=1000 QUEUE_STRESS_SECONDS=5
//! QUEUE_STRESS_ROUNDS=20`.

use std::{
    collections::BTreeSet,
    env,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use queue_core::{Backend, LeasingExt, Push, QueueName, ReliableConfig, ReliableQueue};
use queue_redis::RedisBackend;
use real_redis::{Direction, Proxy, Server};
use tokio::{
    sync::{Barrier, watch},
    task::JoinSet,
    time::{self, Instant, interval},
};

use super::{PATIENCE, runtime};

type Queue = Arc<dyn ReliableQueue>;

/// Longer than a round: a message comes once.
const LEASE: Duration = Duration::from_secs(3_600);
/// The connection's round trip.
const LINE: Duration = Duration::from_millis(10);
const LARGE: usize = 1_000_000;
/// One body in `LARGE_ONES` is large.
const LARGE_ONES: u64 = 200;
/// A producer polls one in `GIVEN_UP` pushes once, and gives it up.
const GIVEN_UP: u64 = 50;

/// A variable's number, or the default for a normal test run.
fn number(name: &str, usual: u64) -> u64 {
    match env::var(format!("QUEUE_STRESS_{name}")) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => usual,
    }
}

#[derive(Debug, Default)]
struct Tally {
    pushed: BTreeSet<u64>,
    received: BTreeSet<u64>,
    twice: Vec<u64>,
}

/// The state that the threads of a round share.
struct Round {
    url: String,
    tally: Mutex<Tally>,
    /// Waits until both sides have reached this point.
    together: Barrier,
    /// Records that a message came.
    came: watch::Sender<()>,
}

/// Half of the consumers are on one runtime, half on another, and producers on both.
#[test]
fn no_message_is_lost_or_comes_twice_on_many_queues() {
    for _ in 0..number("ROUNDS", 1) {
        let server = Server::start().expect("a server");
        let line = runtime(1);
        let proxy = line.block_on(async { Proxy::before(&server) });
        let proxy = proxy.expect("a proxy");
        for direction in [Direction::Requests, Direction::Replies] {
            proxy.lengthen(direction, LINE / 2);
        }
        let round = Round {
            url: proxy.url(),
            tally: Mutex::default(),
            together: Barrier::new(2),
            came: watch::Sender::new(()),
        };
        let round = Arc::new(round);
        let patience = PATIENCE + Duration::from_secs(number("SECONDS", 1));
        thread::scope(|scope| {
            for side in 0..2 {
                let round = Arc::clone(&round);
                scope.spawn(move || {
                    let side = async { time::timeout(patience, round.side(side)).await };
                    let ended = runtime(1).block_on(side);
                    ended.expect("a side comes to its end");
                });
            }
        });
        let tally = round.tally.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(tally.pushed.len() > 10, "only {tally:?}");
        assert!(tally.twice.is_empty(), "twice: {:?}", tally.twice);
    }
}

impl Round {
    async fn side(self: Arc<Self>, side: u64) {
        let builder = RedisBackend::builder(&self.url).expect("a good URL");
        // Only a wake-up ends a wait: a lost one shows as a lost message.
        let builder = builder.fall_back(LEASE);
        let backend = builder.connect().await.expect("the server takes us");
        let config = ReliableConfig::default();
        let mut queues = Vec::new();
        let mut consumers = JoinSet::new();
        for number in 0..number("QUEUES", 200) {
            let name = QueueName::new(format!("q{number}")).expect("a good name");
            let queue = backend.open_reliable(&name, &config).await;
            let queue = queue.expect("a fresh queue");
            if number % 2 == side {
                consumers.spawn(Arc::clone(&self).consume(Arc::clone(&queue)));
            }
            queues.push(queue);
        }
        self.together.wait().await;
        self.produce(side, &queues).await;
        self.together.wait().await;
        tokio::select! {
            () = self.all_received() => {}
            ended = consumers.join_next() => panic!("a consumer ended: {ended:?}"),
        }
        self.together.wait().await;
    }

    /// Pushes at one side's rate, and returns when all pushes have ended.
    async fn produce(self: &Arc<Self>, side: u64, queues: &[Queue]) {
        let mut ticks = interval(Duration::from_secs(2) / number("RATE", 500) as u32);
        let mut pushes = JoinSet::new();
        let until = Instant::now() + Duration::from_secs(number("SECONDS", 1));
        let mut number = side;
        while Instant::now() < until {
            ticks.tick().await;
            // A large step, so that each side also pushes to the other's queues.
            let queue = &queues[(number * 7_919) as usize % queues.len()];
            pushes.spawn(Arc::clone(self).push(Arc::clone(queue), number));
            number += 2;
        }
        while let Some(ended) = pushes.join_next().await {
            ended.expect("a push does not panic");
        }
    }

    async fn push(self: Arc<Self>, queue: Queue, number: u64) {
        let is_large = number % LARGE_ONES == 1;
        let mut body = vec![b'.'; if is_large { LARGE } else { 100 }];
        body[..8].copy_from_slice(&number.to_be_bytes());
        let batch = [Push::new(body)];
        let mut push = pin!(queue.push(&batch));
        if number % GIVEN_UP == 7 {
            // Polls the push once, keeps it for a while, and drops it: it may have come or not.
            let _ = time::timeout(Duration::ZERO, &mut push).await;
            time::sleep(Duration::from_millis(50)).await;
            return;
        }
        push.await.expect("nothing goes wrong");
        self.tally(|tally| tally.pushed.insert(number));
    }

    async fn consume(self: Arc<Self>, queue: Queue) {
        loop {
            let received = queue.receive_one(LEASE, LEASE).await;
            let Some(delivery) = received.expect("nothing goes wrong") else {
                continue;
            };
            let number = delivery.body[..8].try_into().map(u64::from_be_bytes);
            let number = number.expect("eight bytes");
            self.tally(|tally| {
                if !tally.received.insert(number) {
                    tally.twice.push(number);
                }
            });
            self.came.send_replace(());
            queue.ack(delivery.receipt).await.expect("it holds it");
        }
    }

    async fn all_received(&self) {
        let mut came = self.came.subscribe();
        let end = Instant::now() + PATIENCE / 2;
        loop {
            let lacking = self.tally(|tally| &tally.pushed - &tally.received);
            if lacking.is_empty() {
                return;
            }
            let another = time::timeout_at(end, came.changed()).await;
            assert!(another.is_ok(), "lost, or beside a sleeper: {lacking:?}");
        }
    }

    fn tally<T>(&self, work: impl FnOnce(&mut Tally) -> T) -> T {
        work(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
