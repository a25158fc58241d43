//! The worker and the scheduler on a real server: how many commands a message costs, and whose clock decides.

#![cfg(unix)]

#[path = "support/patient.rs"]
mod patient;

use std::{sync::Arc, time::Duration};

use queue_core::*;
use queue_schedule::{Periodic, Scheduler, Schedules};
use queue_worker::Worker;
use real_redis::Server;
use tokio::sync::Notify;

use self::patient::patient;

const PATIENCE: Duration = Duration::from_secs(60);
const MESSAGES: u64 = 300;

/// Commands that only a client sends. Waiting adds none: it uses another connection, and only when
/// there is nothing to do.
const SENT: [&str; 4] = ["evalsha", "eval", "script|load", "multi"];

fn commands(server: &Server) -> u64 {
    server.command_counts().expect("it counts").sum(SENT)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_slot_costs_one_command_a_message() {
    let server = Server::start().expect("a server starts");
    let backend = patient(&server.url()).connect().await.expect("connects");
    let queues = Queues::new(backend);
    let numbers = queues
        .reliable("numbers")
        .open::<u64>()
        .await
        .expect("opens");
    let all: Vec<u64> = (1..=MESSAGES).collect();
    numbers.push_all(&all).await.expect("pushes");
    let last = Arc::new(Notify::new());
    let shutdown = {
        let last = Arc::clone(&last);
        async move {
            let in_time = tokio::time::timeout(PATIENCE, last.notified()).await;
            assert!(in_time.is_ok(), "not all were handled");
        }
    };
    let before = commands(&server);
    let report = Worker::new(numbers.clone())
        .concurrency(1)
        .run_until(shutdown, move |number: u64, _| {
            let last = Arc::clone(&last);
            async move {
                if number == MESSAGES {
                    last.notify_one();
                }
            }
        })
        .await
        .expect("the settings are sound");
    let sent = commands(&server) - before;
    let counters = numbers.queue().counters().await.expect("counts");
    assert_eq!((counters.acked, report.counts.acked), (MESSAGES, MESSAGES));
    // The first lease, and scripts that the server does not have yet.
    assert!(sent <= MESSAGES + 8, "{sent} commands");
    assert!(report.counts.calls <= MESSAGES + 2, "{:?}", report.counts);
}

#[tokio::test]
async fn schedulers_of_two_programs_push_each_slot_once_by_the_servers_clock() {
    let server = Server::start().expect("a server starts");
    let run = async || {
        let backend = patient(&server.url()).connect().await.expect("connects");
        let queues = Queues::new(backend);
        let jobs = queues.reliable("jobs").open::<u64>().await.expect("opens");
        let schedules = Schedules::open(&queues, "schedules").await.expect("opens");
        let every = Periodic::every("ticks", Duration::from_secs(1)).expect("is sound");
        let mut scheduler = Scheduler::new(&schedules);
        let handle = jobs.clone();
        let push = move |slot: &queue_schedule::Slot| handle.encode(&slot.at().as_millis());
        scheduler
            .add_push(every, "jobs", push)
            .await
            .expect("is stored");
        let mut slots: Vec<u64> = Vec::new();
        let four = async {
            while slots.len() < 4 {
                let next = jobs.receive(PATIENCE, PATIENCE).await.expect("receives");
                let next = next.expect("a slot each second");
                slots.push(next.body().copied().expect("it decodes"));
                next.ack().await.expect("settles");
            }
        };
        scheduler.run_until(four).await.expect("runs");
        slots
    };
    let (one, other) = tokio::join!(run(), run());
    let mut all: Vec<u64> = one.into_iter().chain(other).collect();
    all.sort_unstable();
    let gaps: Vec<u64> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // A busy machine may skip slots; none comes twice, and each is a whole second.
    assert!(gaps.iter().all(|gap| *gap >= 1_000), "{all:?}");
    assert!(all.iter().all(|slot| slot % 1_000 == 0), "{all:?}");
}
