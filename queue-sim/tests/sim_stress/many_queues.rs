//! Conditions that the simulator lacks: many queues, several runtimes on their own threads, large bodies, a
//! slow connection, pushes that are polled once and dropped. The test counts every message: it fails if one
//! is lost or comes twice.
//!
//! Variables make it larger and longer, for example `QUEUE_STRESS_QUEUES=1000 QUEUE_STRESS_SECONDS=5
//! QUEUE_STRESS_ROUNDS=20`.

use std::{env, pin::pin, sync::Arc, thread, time::Duration};

use queue_core::{
    AnyQueue, Backend, Counters, Guarantees, Leasing, LeasingExt, Push, QueueKind, QueueName,
    ReliableConfig,
};
use queue_redis::RedisBackend;
use real_redis::{Direction, Proxy, Server};
use tokio::{
    sync::Barrier,
    task::JoinSet,
    time::{self, Instant, interval},
};

use super::{PATIENCE, ledger::Ledger, runtime};

/// Longer than a round: a message comes once.
const LEASE: Duration = Duration::from_secs(3_600);
/// The connection's round trip.
const LINE: Duration = Duration::from_millis(10);
const LARGE: usize = 1_000_000;
/// One body in `LARGE_ONES` is large.
const LARGE_ONES: usize = 200;
/// A producer polls one in `GIVEN_UP` pushes once, and gives it up.
const GIVEN_UP: usize = 50;

/// A variable's number, or the default for a normal test run.
fn number(name: &str, usual: u64) -> u64 {
    match env::var(format!("QUEUE_STRESS_{name}")) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => usual,
    }
}

/// The state that the threads of a round share.
struct Round {
    url: String,
    /// The accounts of the queues.
    ledgers: Vec<Ledger>,
    /// Waits until both sides have reached this point.
    together: Barrier,
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
        let (kind, config) = (QueueKind::Reliable, ReliableConfig::default());
        let ledgers = (0..number("QUEUES", 200)).map(|number| {
            let name = QueueName::new(format!("q{number}")).expect("a good name");
            let guarantees = Guarantees::all("redis", kind);
            Ledger::new(name, config.clone().into(), guarantees, Counters::default())
        });
        let round = Round {
            url: proxy.url(),
            ledgers: ledgers.collect(),
            together: Barrier::new(2),
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
        let tolls = round.ledgers.iter().map(Ledger::judge);
        let accepted: usize = tolls.map(|toll| toll.accepted).sum();
        assert!(accepted > 10, "only {accepted}");
    }
}

impl Round {
    async fn side(&self, side: usize) {
        let builder = RedisBackend::builder(&self.url).expect("a good URL");
        // Only a wake-up ends a wait: a lost one shows as a lost message.
        let builder = builder.fall_back(LEASE);
        let backend = builder.connect().await.expect("the server takes us");
        let mut queues = Vec::new();
        let mut consumers = JoinSet::new();
        for (number, ledger) in (0..).zip(&self.ledgers) {
            let queue = backend.open(ledger.name(), ledger.config()).await;
            let queue = ledger.client(side, &queue.expect("a fresh queue"));
            if number % 2 == side {
                consumers.spawn(consume(queue.clone()));
            }
            queues.push(queue);
        }
        self.together.wait().await;
        self.produce(side, &queues).await;
        self.together.wait().await;
        tokio::select! {
            () = all_received(&queues) => {}
            ended = consumers.join_next() => panic!("a consumer ended: {ended:?}"),
        }
        self.together.wait().await;
    }

    /// Pushes at one side's rate, and returns when all pushes have ended.
    async fn produce(&self, side: usize, queues: &[AnyQueue]) {
        let mut ticks = interval(Duration::from_secs(2) / number("RATE", 500) as u32);
        let mut pushes = JoinSet::new();
        let until = Instant::now() + Duration::from_secs(number("SECONDS", 1));
        let mut number = side;
        while Instant::now() < until {
            ticks.tick().await;
            // A large step, so that each side also pushes to the other's queues.
            let queue = &queues[number * 7_919 % queues.len()];
            pushes.spawn(push(queue.clone(), number));
            number += 2;
        }
        while let Some(ended) = pushes.join_next().await {
            ended.expect("a push does not panic");
        }
    }
}

async fn push(queue: AnyQueue, number: usize) {
    let is_large = number % LARGE_ONES == 1;
    let mut body = vec![b'.'; if is_large { LARGE } else { 100 }];
    body[..8].copy_from_slice(&number.to_be_bytes());
    let batch = [Push::new(body)];
    let mut push = pin!(queue.put(&batch));
    if number % GIVEN_UP == 7 {
        // Polls the push once, keeps it for a while, and drops it: it may have come or not.
        let _ = time::timeout(Duration::ZERO, &mut push).await;
        time::sleep(Duration::from_millis(50)).await;
        return;
    }
    push.await.expect("nothing goes wrong");
}

async fn consume(queue: AnyQueue) {
    let queue = queue.leasing().expect("a queue that leases");
    loop {
        let received = queue.receive_one(LEASE, LEASE).await;
        if let Some(delivery) = received.expect("nothing goes wrong") {
            queue.ack(delivery.receipt).await.expect("it holds it");
        }
    }
}

/// Waits until each queue is empty.
async fn all_received(queues: &[AnyQueue]) {
    for queue in queues {
        let queue = queue.leasing().expect("a queue that leases");
        let end = Instant::now() + PATIENCE / 2;
        loop {
            let counters = queue.counters().await.expect("nothing goes wrong");
            if counters.depth.occupied() == 0 {
                break;
            }
            assert!(
                Instant::now() < end,
                "lost, or beside a sleeper: {counters:?}"
            );
            time::sleep(LINE).await;
        }
    }
}
