//! Ten minutes of healthy load raise nothing; ten minutes of shutdowns, crashes and deploys raise nothing that lasts.

use std::{collections::BTreeMap, time::Duration};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{Problem, Severity, diagnose, diagnose_each, list_queues};
use queue_redis::RedisBackend;
use queue_worker::{Context, Failure, Worker};
use real_redis::Server;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use crate::in_memory::START;

const SECOND: Duration = Duration::from_secs(1);
const LEASE: Duration = Duration::from_secs(10);
/// A finding that is there for longer lasts: a crash costs a lease, and its message's next try.
const LASTS: Duration = Duration::from_secs(45);

/// Findings that are more than notes, and since when each has been there at each look.
#[derive(Debug, Default)]
struct Seen(BTreeMap<Problem, Instant>);

impl Seen {
    /// Looks, as `qk why` without a queue does and as it does with one. Returns the findings.
    async fn look(&mut self, queues: &Queues) -> Vec<(Problem, String)> {
        let backend = &**queues.backend();
        let listed = list_queues(backend, usize::MAX).await.unwrap();
        let diagnoses = diagnose_each(backend, listed);
        let mut diagnoses: Vec<_> = futures_util::StreamExt::collect(diagnoses).await;
        diagnoses.push(diagnose(backend, "orders").await.unwrap());
        let findings = diagnoses.into_iter().flat_map(|one| one.findings);
        let bad = findings.filter(|finding| finding.severity != Severity::Note);
        let bad: Vec<_> = bad.map(|one| (one.problem, one.to_string())).collect();
        self.0
            .retain(|problem, _| bad.iter().any(|(found, _)| found == problem));
        for (problem, sentence) in &bad {
            let since = self.0.entry(*problem).or_insert_with(Instant::now);
            assert!(
                since.elapsed() < LASTS,
                "for {:?}: {sentence}",
                since.elapsed()
            );
        }
        bad
    }
}

/// Pushes bursts, of which some messages are due later, for this time.
fn produce(queues: &Queues, length: Duration) -> JoinHandle<()> {
    let queues = queues.clone();
    tokio::spawn(async move {
        let orders = queues.stored("orders").await.unwrap().unwrap().queue;
        let began = Instant::now();
        for number in 0_u64.. {
            let later = Duration::from_millis(400 * u64::from(number.is_multiple_of(5)));
            let push = |number: u64| Push::new(number.to_string()).with_due(later);
            let burst: Vec<Push> = (0..1 + number % 12).map(push).collect();
            orders.put(&burst).await.unwrap();
            sleep(Duration::from_millis(300)).await;
            if began.elapsed() > length {
                return;
            }
        }
    })
}

async fn handle(number: u64, cx: Context, fails: bool) -> Result<(), Failure> {
    sleep(Duration::from_millis(20 + number % 7 * 10)).await;
    // Now and then a call to another service fails, and its next try does not.
    match fails && cx.attempt() == 1 && cx.token().get().is_multiple_of(97) {
        true => Err(Failure::retry_after("503: try again", SECOND)),
        false => Ok(()),
    }
}

/// A process of the program, with the configuration of its release.
struct Process {
    stop: tokio::sync::oneshot::Sender<()>,
    task: JoinHandle<()>,
}

async fn start(queues: &Queues, attempts: u32, number: u32, fails: bool) -> Result<Process> {
    // Each process has its own handles.
    let queues = Queues::from(queues.backend().clone());
    let orders = queues
        .reliable("orders")
        .max_attempts(attempts)
        .open::<u64>()
        .await?;
    // Of the host that this test runs on, as processes of one deployment are.
    let holder = Holder::of_this_process();
    let host = holder
        .as_str()
        .rsplit_once("process")
        .map_or("", |(host, _)| host);
    let worker = Worker::new(orders).concurrency(4).lease(LEASE);
    let worker = worker
        .holder(format!("{host}process {number}"))
        .register(&queues, "shop 1");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let shutdown = async { stopped.await.unwrap_or_default() };
    let task = tokio::spawn(async move {
        worker
            .run_until(shutdown, move |number, cx| handle(number, cx, fails))
            .await
            .unwrap();
    });
    Ok(Process { stop, task })
}

/// A load that two processes keep up with.
async fn healthy(queues: &Queues, length: Duration, every: Duration) {
    queues.reliable("orders").open::<u64>().await.unwrap();
    let processes = [
        start(queues, 5, 1, false).await.unwrap(),
        start(queues, 5, 2, false).await.unwrap(),
    ];
    let producer = produce(queues, length);
    let mut seen = Seen::default();
    let mut looks = 0;
    while !producer.is_finished() {
        sleep(every).await;
        looks += 1;
        let found = seen.look(queues).await;
        assert_eq!(found, []);
    }
    assert!(looks > 10, "{looks}");
    producer.await.unwrap();
    for process in processes {
        process.stop.send(()).unwrap();
        process.task.await.unwrap();
    }
}

/// Processes end and start, some are killed, and a release asks for another configuration: first in vain, by a process
/// that opens the queue as before, and then as it should.
async fn deploys(queues: &Queues, length: Duration, every: Duration) {
    queues.reliable("orders").open::<u64>().await.unwrap();
    let (mut attempts, mut number) = (5, 1);
    let mut process = start(queues, attempts, number, true).await.unwrap();
    let producer = produce(queues, length);
    let mut seen = Seen::default();
    let mut next = Instant::now() + length / 20;
    while !producer.is_finished() {
        sleep(every).await;
        seen.look(queues).await;
        if Instant::now() < next {
            continue;
        }
        next += length / 20;
        number += 1;
        match number % 4 {
            // A crash.
            0 => process.task.abort(),
            _ => {
                process.stop.send(()).unwrap();
                process.task.await.unwrap();
            }
        }
        if number % 5 == 0 {
            attempts = 12 - attempts;
            let refused = start(queues, attempts, number, true)
                .await
                .err()
                .expect("it is refused");
            assert_eq!(refused.kind(), ErrorKind::ConfigMismatch);
            let found = seen.look(queues).await;
            assert!(
                found
                    .iter()
                    .any(|(problem, _)| *problem == Problem::ConfigDiffers)
            );
            let config = ReliableConfig::default().with_max_attempts(attempts);
            assert!(queues.reconfigure("orders", config).await.unwrap());
        }
        process = start(queues, attempts, number, true).await.unwrap();
    }
    producer.await.unwrap();
    // Messages that were leased at a crash come back, and then no message is left.
    let ends = async {
        while !seen.look(queues).await.is_empty() {
            sleep(every).await;
        }
    };
    timeout(LASTS, ends).await.expect("nothing lasts");
    process.stop.send(()).unwrap();
    process.task.await.unwrap();
}

const TEN_MINUTES: Duration = Duration::from_secs(600);

async fn on_server() -> (Server, Queues) {
    let server = Server::start().unwrap();
    let backend = RedisBackend::connect(&server.url()).await.unwrap();
    (server, Queues::new(backend))
}

#[tokio::test(start_paused = true)]
async fn ten_healthy_minutes_raise_nothing_in_memory() {
    healthy(
        &Queues::new(MemoryBackend::starting_at(START)),
        TEN_MINUTES,
        SECOND,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_of_deploys_raise_nothing_that_lasts_in_memory() {
    deploys(
        &Queues::new(MemoryBackend::starting_at(START)),
        TEN_MINUTES,
        SECOND,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_healthy_load_raises_nothing_on_a_server() {
    let (_server, queues) = on_server().await;
    healthy(&queues, 15 * SECOND, SECOND / 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deploys_raise_nothing_that_lasts_on_a_server() {
    let (_server, queues) = on_server().await;
    deploys(&queues, 20 * SECOND, SECOND / 3).await;
}

/// By hand: `cargo test -p queue-ops --all-features --test nights -- --ignored ten_minutes_on_a_server`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes ten minutes"]
async fn ten_minutes_on_a_server() {
    let ((_one, healthy_queues), (_other, deployed)) = (on_server().await, on_server().await);
    tokio::join!(
        healthy(&healthy_queues, TEN_MINUTES, SECOND),
        deploys(&deployed, TEN_MINUTES, SECOND),
    );
}
