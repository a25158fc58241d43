//! Faults of every sort, one after another in a random order, while messages of every kind of queue flow.
//! Every message is accounted for, and afterwards the server has its memory and its connections back, and
//! the client its tasks.
//!
//! `QUEUE_CHAOS_ROUNDS` is how many of each fault there are, ten by default; `QUEUE_CHAOS_SECONDS` goes on
//! with more until so much time is over. `QUEUE_CHAOS_SEED`, which each run prints, sets the order.

use std::{
    env,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use queue_core::*;
use queue_redis::{LEFTOVERS, RedisBackend};
use real_redis::{Aof, Direction, Proxy, Server};
use tokio::runtime::Handle;

use crate::{
    ground::{administer, within},
    subject::Subject,
    traffic::{Errors, Traffic},
};

/// Of each fault.
const ROUNDS: u64 = 10;
/// The client gives up a silent line after this: soon, so that a fault is over soon.
const SILENCE: Duration = Duration::from_millis(500);
/// How long a fault lasts that does not end by itself.
const SPELL: Duration = Duration::from_millis(50);
/// How many more messages of each kind are done before the next fault.
const FLOWS: usize = 5;
/// What a server may have more in use afterwards: its own buffers.
const MORE_MEMORY: u64 = 4 * 1024 * 1024;

#[derive(Debug, Clone, Copy)]
enum Fault {
    /// `kill -9`, and a start from the append-only file.
    Kill,
    /// SIGSTOP and SIGCONT.
    Freeze,
    /// All connections break.
    Cut,
    /// Requests wait on the line, then break.
    LoseRequests,
    /// The server runs what it was asked for, and nobody hears of it.
    LoseReplies,
    /// Nothing passes, and neither side is told.
    HalfOpen,
    /// `maxmemory` is reached, and raised again.
    Full,
}

const FAULTS: [Fault; 7] = [
    Fault::Kill,
    Fault::Freeze,
    Fault::Cut,
    Fault::LoseRequests,
    Fault::LoseReplies,
    Fault::HalfOpen,
    Fault::Full,
];

impl Fault {
    async fn strike(self, server: &Server, proxy: &Proxy) {
        match self {
            Self::Kill => {
                server.kill().expect("it ran");
                server.start_again().expect("it starts from its file");
            }
            Self::Freeze => {
                server.freeze().expect("it runs");
                tokio::time::sleep(SPELL).await;
                server.thaw().expect("it runs");
            }
            Self::Cut => proxy.cut(),
            Self::LoseRequests => lose(proxy, Direction::Requests).await,
            Self::LoseReplies => lose(proxy, Direction::Replies).await,
            Self::HalfOpen => proxy.strand(),
            Self::Full => {
                administer(server, "CONFIG SET maxmemory 1");
                tokio::time::sleep(SPELL).await;
                administer(server, "CONFIG SET maxmemory 0");
            }
        }
    }
}

async fn lose(proxy: &Proxy, direction: Direction) {
    proxy.hold(direction);
    tokio::time::sleep(SPELL).await;
    proxy.cut();
    proxy.release();
}

fn setting(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value:?}: a number")),
    )
}

/// The faults of this run: so many of each, in the order of this seed.
fn order(rounds: u64, mut seed: u64) -> Vec<Fault> {
    let mut faults: Vec<Fault> = FAULTS
        .into_iter()
        .flat_map(|fault| (0..rounds).map(move |_| fault))
        .collect();
    for last in (1..faults.len()).rev() {
        // A linear congruential generator: which order it is matters little, only that it comes again.
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        faults.swap(last, (seed >> 33) as usize % (last + 1));
    }
    faults
}

fn number(server: &Server, section: &str, field: &str) -> u64 {
    let info = administer(server, &format!("INFO {section}"));
    let info: String = redis::from_redis_value(info).expect("text");
    let value = info
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    value.expect("a figure").parse().expect("a number")
}

/// Waits until this is no more than before.
async fn back(what: &str, before: u64, now: impl Fn() -> u64 + Send + Sync) {
    within(what, async {
        while now() > before {
            tokio::time::sleep(SPELL).await;
        }
    })
    .await;
}

fn tasks() -> u64 {
    Handle::current().metrics().num_alive_tasks() as u64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_every_message_is_accounted_for() {
    let rounds = setting("QUEUE_CHAOS_ROUNDS").unwrap_or(ROUNDS);
    let long = Duration::from_secs(setting("QUEUE_CHAOS_SECONDS").unwrap_or(0));
    let seed = setting("QUEUE_CHAOS_SEED").unwrap_or(0);
    println!("QUEUE_CHAOS_SEED={seed} QUEUE_CHAOS_ROUNDS={rounds}");

    let server = Server::builder().with_aof(Aof::Always);
    let server = server.start().expect("a server");
    let proxy = Proxy::before(&server).expect("a proxy");
    let builder = RedisBackend::builder(&proxy.url()).expect("a good URL");
    let builder = builder.response_timeout(SILENCE).fall_back(SILENCE);
    let backend = builder
        .connect_timeout(Duration::from_secs(20))
        .connect()
        .await;
    let backend = backend.expect("the server takes us");
    let mut kinds = Vec::new();
    for kind in QueueKind::LEASING {
        kinds.push(Subject::open(&backend, kind).await.expect("opens"));
    }
    join_all(kinds.iter().map(warm_up)).await;
    let idle = (tasks(), number(&server, "clients", "connected_clients"));
    let used = number(&server, "memory", "used_memory");

    play(&kinds, &server, &proxy, (rounds, seed, long)).await;

    // What is half-open still is nobody's.
    proxy.cut();
    println!("{} tasks were {}", tasks(), idle.0);
    back("connections", idle.1, || {
        number(&server, "clients", "connected_clients")
    })
    .await;
    back("tasks", idle.0, tasks).await;
    back("memory", used + MORE_MEMORY, || {
        number(&server, "memory", "used_memory")
    })
    .await;
    let mut look = redis::cmd("EVAL");
    look.arg(LEFTOVERS).arg(0).arg("qk");
    let mut connection = server.connect().expect("the server runs");
    let left: Vec<String> = look.query(&mut connection).expect("it looks");
    assert_eq!(left, [""; 0]);
}

/// Makes what the first messages make and what stays: a connection for hints, tasks that send together.
async fn warm_up(queue: &Subject) {
    let at_once = join_all((0..16).map(|_| async {
        queue.put_one("to begin with").await.expect("there is room");
        let received = queue.leasing().receive_one(SPELL * 1_000, SPELL * 1_000);
        let delivery = received.await.expect("nothing fails yet");
        let receipt = delivery.expect("there are as many").receipt;
        queue.leasing().ack(receipt).await.expect("it is ours");
    }));
    at_once.await;
    let waited = queue.leasing().wait_for_arrival(SPELL).await;
    waited.expect("nothing fails yet");
}

/// Lets messages of each kind flow while faults strike, so many of each in the order of this seed, and others
/// until this time is over. Then drains the queues.
async fn play(
    kinds: &[Subject],
    server: &Server,
    proxy: &Proxy,
    (rounds, seed, long): (u64, u64, Duration),
) {
    let flows: Vec<Arc<Traffic>> = kinds
        .iter()
        .map(|queue| Traffic::on(queue.clone(), Errors::Transient))
        .collect();
    let all_flow = async |what: &str| {
        let all_flow = join_all(flows.iter().map(|traffic| traffic.flows(FLOWS)));
        within(what, all_flow).await;
    };
    let over = tokio::sync::watch::Sender::new(false);
    let traffics = join_all(flows.iter().map(|traffic| {
        let mut over = over.subscribe();
        traffic.during(async move {
            let _ = over.wait_for(|over| *over).await;
        })
    }));
    let strikes = async {
        let start = Instant::now();
        let mut struck = 0;
        for seed in seed.. {
            for fault in order(rounds, seed) {
                all_flow(&format!("flow before round {struck}, {fault:?}")).await;
                fault.strike(server, proxy).await;
                struck += 1;
            }
            if start.elapsed() >= long {
                break;
            }
        }
        all_flow("flow after the last fault").await;
        over.send_replace(true);
        println!("{struck} faults in {:?}", start.elapsed());
    };
    tokio::join!(traffics, strikes);
}
