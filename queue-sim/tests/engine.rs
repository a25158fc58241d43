//! The executor, and the history of calls on it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use queue_core::{
    Layered,
    call::{Answer, Call},
    *,
};
use queue_memory::MemoryBackend;
use queue_sim::{
    engine::{End, Executor, in_virtual_time, yield_now},
    history::{CallEnd, History, Journal, Recorder},
    plan::{Decisions, Plan, Process},
    world::EPOCH,
};
use tokio::{sync::Notify, time};

const HORIZON: Duration = Duration::from_secs(3600);

/// Three processes that push, lease and ack in the order of these decisions.
fn play(decisions: &Decisions) -> History {
    in_virtual_time(async {
        let executor = Executor::new(decisions.clone(), 40);
        let journal = Journal::new(EPOCH, false);
        let memory = MemoryBackend::starting_at(EPOCH);
        for process in 1..=3 {
            let recorder = Recorder::new(Process(process), journal.clone());
            let backend = Layered::new(recorder, Arc::new(memory.clone()));
            executor.spawn(
                Process(process),
                Box::pin(async move {
                    let name = QueueName::new("jobs").unwrap();
                    let config = ReliableConfig::default();
                    let queue = backend.open_reliable(&name, &config).await.unwrap();
                    for step in 0..4 {
                        let _pushed = queue.push_one(format!("{process}.{step}")).await.unwrap();
                        yield_now().await;
                        let lease_time = Duration::from_millis(20);
                        if let Some(got) = queue.receive_one(lease_time, lease_time).await.unwrap()
                        {
                            time::sleep(Duration::from_millis(19 + step)).await;
                            let _ = queue.ack(got.receipt).await;
                        }
                    }
                }),
            );
        }
        assert_eq!(executor.run(HORIZON).await, End::Finished);
        journal.take()
    })
}

#[test]
fn the_same_decisions_give_the_same_history_and_others_another() {
    let mut distinct = std::collections::BTreeSet::new();
    for seed in 0..100 {
        let decisions = Decisions::seeded(seed);
        let history = play(&decisions);
        assert_eq!(history, play(&Decisions::seeded(seed)), "seed {seed}");
        assert_eq!(history, play(&Decisions::planned(decisions.taken())));
        distinct.insert(format!("{history:?}"));
    }
    assert!(distinct.len() > 95, "{} of 100", distinct.len());
}

#[test]
fn calls_are_recorded_with_what_came_back() {
    let history = play(&Decisions::planned(Plan::default()));
    let first = &history.records[0];
    assert!(matches!(&first.call, Call::Push(messages) if messages.len() == 1));
    assert_eq!(
        first.answer(),
        Some(&Answer::Pushed(vec![Pushed::Accepted(MessageId::new(1))]))
    );
    assert_eq!(first.began.at, EPOCH);
}

#[test]
fn an_endless_wait_is_found_to_hang() {
    let end = in_virtual_time(async {
        let executor = Executor::new(Decisions::planned(Plan::default()), 0);
        let never = Notify::new();
        executor.spawn(Process(2), Box::pin(async move { never.notified().await }));
        executor.spawn(Process(1), Box::pin(time::sleep(Duration::from_secs(60))));
        executor.run(HORIZON).await
    });
    assert_eq!(end, End::Hung(vec![Process(2)]));
}

#[test]
fn tasks_that_only_wake_each_other_are_found_to_spin() {
    let end = in_virtual_time(async {
        let executor = Executor::new(Decisions::planned(Plan::default()), 0);
        executor.spawn(
            Process(1),
            Box::pin(async {
                loop {
                    yield_now().await;
                }
            }),
        );
        executor.run(HORIZON).await
    });
    assert_eq!(end, End::Spinning(vec![Process(1)]));
}

#[test]
fn nor_does_it_help_them_to_let_the_runtime_have_a_turn() {
    let end = in_virtual_time(async {
        let executor = Executor::new(Decisions::planned(Plan::default()), 0);
        let hour = Duration::from_secs(3600);
        executor.spawn(Process(2), Box::pin(time::sleep(hour)));
        executor.spawn(
            Process(1),
            Box::pin(async {
                time::sleep(Duration::from_secs(1)).await;
                loop {
                    tokio::task::yield_now().await;
                }
            }),
        );
        executor.run(HORIZON).await
    });
    assert_eq!(end, End::Spinning(vec![Process(1)]));
}

#[test]
fn a_panic_ends_the_run_with_its_message() {
    let end = in_virtual_time(async {
        let executor = Executor::new(Decisions::planned(Plan::default()), 0);
        executor.spawn(Process(1), Box::pin(async { panic!("as planned") }));
        executor.run(HORIZON).await
    });
    assert_eq!(end, End::Panicked(Process(1), "as planned".to_owned()));
}

#[test]
fn a_crash_drops_everything_of_its_process_and_nothing_else() {
    let beats = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&beats);
    in_virtual_time(async move {
        let executor = Executor::new(Decisions::planned(Plan::default()), 0);
        let spawner = executor.spawner(Process(1));
        let beating = spawner.spawn(Box::pin(async move {
            loop {
                counted.fetch_add(1, Ordering::SeqCst);
                time::sleep(Duration::from_secs(1)).await;
            }
        }));
        executor.spawn(Process(1), Box::pin(std::future::pending()));
        let handle = executor.clone();
        executor.spawn(
            Process(2),
            Box::pin(async move {
                time::sleep(Duration::from_millis(3_500)).await;
                handle.crash(Process(1));
                time::sleep(Duration::from_secs(10)).await;
            }),
        );
        assert_eq!(executor.run(HORIZON).await, End::Finished);
        drop(beating);
    });
    assert_eq!(beats.load(Ordering::SeqCst), 4);
}

#[test]
fn a_dropped_call_is_recorded_as_dropped() {
    let history = in_virtual_time(async {
        let journal = Journal::new(EPOCH, false);
        let recorder = Recorder::new(Process(1), journal.clone());
        let backend = Layered::new(recorder, Arc::new(MemoryBackend::starting_at(EPOCH)));
        let name = QueueName::new("jobs").unwrap();
        let config = ReliableConfig::default();
        let queue = backend.open_reliable(&name, &config).await.unwrap();
        let wait = queue.wait_for_arrival(Duration::from_secs(60));
        assert!(time::timeout(Duration::from_secs(1), wait).await.is_err());
        journal.take()
    });
    let ended = history.records[0].ended.as_ref().unwrap();
    assert_eq!(ended.outcome, CallEnd::Dropped);
    assert_eq!(ended.at.at, EPOCH.plus_millis(1_000));
}

#[test]
fn a_stalled_process_continues_where_it_was() {
    let steps = in_virtual_time(async {
        let executor = Executor::new(Decisions::planned(Plan::default()), 0);
        let steps = Arc::new(std::sync::Mutex::new(Vec::new()));
        for process in 1..=2 {
            let steps = Arc::clone(&steps);
            let task = async move {
                for _ in 0..3 {
                    time::sleep(Duration::from_secs(1)).await;
                    steps.lock().unwrap().push(process);
                }
            };
            executor.spawn(Process(process), Box::pin(task));
        }
        let start = time::Instant::now();
        executor.stall(Process(1), Duration::from_millis(2_500));
        assert_eq!(executor.run(HORIZON).await, End::Finished);
        let order: Vec<u8> = steps.lock().unwrap().clone();
        (order, start.elapsed())
    });
    // Process 1 starts only when the executor lets it go, 2.5 s late.
    assert_eq!(
        steps,
        (vec![2, 2, 2, 1, 1, 1], Duration::from_millis(5_500))
    );
}
