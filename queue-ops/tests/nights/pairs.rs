//! Two nights at once: both are named, the worse first.

use std::time::Duration;

use futures_util::StreamExt;
use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{Diagnosis, Problem, Severity, diagnose, diagnose_each, list_queues};
use queue_redis::RedisBackend;
use real_redis::{Cluster, Server};
use tokio::time::sleep;

use crate::{
    in_memory::START,
    setups::{HOUR, MILLI, lease_as, leased_by, register_at},
};

/// The nights of one queue, in the order in which they are made; and how bad each is, unless the other one decides that.
const NIGHTS: [(Problem, Option<Severity>); 11] = [
    (Problem::DeadLetters, Some(Severity::Trouble)),
    (Problem::Failing, Some(Severity::Trouble)),
    (Problem::Undecodable, Some(Severity::Trouble)),
    (Problem::WrongUnit, Some(Severity::Standstill)),
    (Problem::LongLeases, None),
    (Problem::HolderGone, Some(Severity::Trouble)),
    (Problem::ConfigDiffers, Some(Severity::Trouble)),
    (Problem::KillsItsProcess, Some(Severity::Standstill)),
    (Problem::LimitReached, Some(Severity::Standstill)),
    (Problem::NoConsumer, Some(Severity::Standstill)),
    (Problem::Paused, Some(Severity::Standstill)),
];

/// One message that is leased for this time.
async fn held(queue: &dyn Leasing, process: u32, lease: Duration) -> Receipt {
    let pushed = queue.push_one(Push::new("1")).await.unwrap().id();
    // By the call's own answer: a short lease may be over before a peek.
    let leased = leased_by(queue, process, lease).await;
    assert_eq!(leased.len(), 1);
    assert_eq!(Some(leased[0].id()), pushed);
    leased[0].receipt
}

async fn make(queues: &Queues, name: &str, night: Problem) {
    let stored = queues.stored(name).await.unwrap().expect("it is open");
    let queue = stored.queue.leasing().unwrap();
    let retry = async |why: &str| {
        let receipt = held(&*queue, 1, HOUR).await;
        let delay = Duration::from_secs(600);
        let settled = queue.settle_one(Settlement::retry_because(receipt, delay, why));
        assert_eq!(settled.await.unwrap(), Settled::Done);
    };
    match night {
        Problem::DeadLetters => {
            let receipt = held(&*queue, 1, HOUR).await;
            let settled = queue.settle_one(Settlement::bury(receipt, "no such customer"));
            assert_eq!(settled.await.unwrap(), Settled::Dead);
        }
        Problem::Failing => retry("422: unknown article").await,
        Problem::Undecodable => retry("cannot decode: unknown variant `ShipTo`").await,
        Problem::WrongUnit => {
            let due = Due::After(Duration::from_secs(30 * 86_400 * 1_000));
            assert!(
                queue
                    .push_one(Push::new("1").with_due(due))
                    .await
                    .unwrap()
                    .id()
                    .is_some()
            );
        }
        Problem::LongLeases => drop(held(&*queue, 2, 20 * HOUR).await),
        Problem::HolderGone => {
            register_at(queues, name, 3, MILLI).await;
            held(&*queue, 3, HOUR).await;
        }
        Problem::ConfigDiffers => {
            let other = Queues::from(queues.backend().clone());
            let opened = other.reliable(name).max_attempts(8).open::<u64>().await;
            assert_eq!(opened.unwrap_err().kind(), ErrorKind::ConfigMismatch);
        }
        Problem::KillsItsProcess => {
            for process in 4..=6 {
                register_at(queues, name, process, MILLI).await;
                let lease = Duration::from_millis(10);
                match process {
                    4 => drop(held(&*queue, process, lease).await),
                    _ => assert_eq!(lease_as(&*queue, process, lease).await, 1),
                }
                sleep(2 * lease).await;
            }
        }
        Problem::LimitReached => {
            let config = ReliableConfig::default().with_rate(1, 20 * HOUR);
            assert!(queues.reconfigure(name, config).await.unwrap());
            let receipt = held(&*queue, 7, HOUR).await;
            let acked = queue.settle_one(Settlement::ack(receipt)).await;
            assert_eq!(acked.unwrap(), Settled::Done);
            assert!(queue.push_one(Push::new("1")).await.unwrap().id().is_some());
        }
        Problem::NoConsumer => {
            assert!(queue.push_one(Push::new("1")).await.unwrap().id().is_some());
        }
        Problem::Paused => queue.pause().await.unwrap(),
        other => panic!("no night {other:?}"),
    }
}

/// Nights that are one night together: what one of them says is not true beside the other.
fn exclude(one: Problem, other: Problem) -> bool {
    use Problem::*;
    let either = |problem| [one, other].contains(&problem);
    match (one, other) {
        // Nobody may take a message of a paused queue, nor beyond its limit.
        (NoConsumer, Paused) | (LimitReached, NoConsumer | Paused) => true,
        // Its first message is ready again, and the next call takes that.
        (KillsItsProcess, LimitReached) => true,
        // While somebody has a message, nobody is missing; a minute later the long lease says that nobody waits.
        (LongLeases, NoConsumer) => true,
        // The stored configuration becomes another one.
        (ConfigDiffers, LimitReached) => true,
        _ => either(LimitReached) && (either(LongLeases) || either(HolderGone)),
    }
}

/// Makes each pair in a queue of its own, and looks at each.
async fn play(queues: &Queues) {
    let mut pairs = Vec::new();
    for (at, (one, _)) in NIGHTS.iter().enumerate() {
        for (other, _) in &NIGHTS[at + 1..] {
            if exclude(*one, *other) {
                continue;
            }
            let name = format!("{one:?}-{other:?}");
            queues.reliable(&name).open::<u64>().await.unwrap();
            make(queues, &name, *one).await;
            make(queues, &name, *other).await;
            pairs.push((name, [*one, *other]));
        }
    }
    assert!(pairs.len() > 40, "{}", pairs.len());
    sleep(Duration::from_millis(1_500)).await;
    for (name, pair) in &pairs {
        let diagnosis = diagnose(&**queues.backend(), name).await.unwrap();
        let found = diagnosis.findings.iter();
        let found: Vec<_> = found.map(|one| (one.severity, one.problem)).collect();
        let place = |problem| found.iter().position(|(_, found)| *found == problem);
        let places = pair.map(place);
        let are_there = places.iter().all(Option::is_some) && places.contains(&Some(0));
        assert!(are_there && found.is_sorted(), "{name}: {found:?}");
        let worst = NIGHTS.iter().filter(|(night, _)| pair.contains(night));
        let worst: Option<Vec<_>> = worst.map(|(_, severity)| *severity).collect();
        if let Some(worst) = worst {
            assert_eq!(Some(&found[0].0), worst.iter().min(), "{name}");
        }
    }
    // Of many queues, the worst come first in each batch.
    let listed = list_queues(&**queues.backend(), usize::MAX).await.unwrap();
    let diagnoses = diagnose_each(&**queues.backend(), listed);
    let severity = |one: Diagnosis| {
        let first = one.findings.first();
        first.map_or(Severity::Note, |first| first.severity)
    };
    let severities: Vec<Severity> = diagnoses.map(severity).collect().await;
    let batches = severities.chunks(64);
    assert!(
        batches.into_iter().all(|batch| batch.is_sorted()),
        "{severities:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn two_nights_at_once_are_both_named_in_memory() {
    play(&Queues::new(MemoryBackend::starting_at(START))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nights_at_once_are_both_named_on_a_server() {
    let server = Server::start().unwrap();
    play(&Queues::new(
        RedisBackend::connect(&server.url()).await.unwrap(),
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nights_at_once_are_both_named_on_a_cluster() {
    let cluster = Cluster::start(3, 0, Server::builder()).unwrap();
    play(&Queues::new(
        RedisBackend::connect(&cluster.url()).await.unwrap(),
    ))
    .await;
}
