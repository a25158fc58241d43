//! The worth of a simulation: a message counts as done if, and only if, the queue has it as acked. It does
//! not matter which process got the answer.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{ReliableConfig, Rotating, RotatingConfig};
use queue_sim::sim::{BoxError, Broken, Drained, Effects, FaultSet, Run, Sim, sim};
use queue_worker::{Context, Failure};

use crate::jobs::{push_one, push_two};

/// More messages than a test pushes.
const ALL: NonZeroUsize = NonZeroUsize::new(100).unwrap();

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn proves_nothing(simulation: &Sim) -> Broken {
    let broken = simulation.try_run().expect_err("it proves nothing");
    assert_eq!(broken.finding.rule, "worth", "{broken}");
    *broken
}

/// One job, which one worker does under every fault.
fn one_message(name: &str, config: ReliableConfig) -> Sim {
    sim(name)
        .reliable::<u32>("jobs", config)
        .producer(push_one)
        .workers(1)
        .handler(|run: &Run| {
            let done = run.ledger("job");
            move |job: u32, _cx: Context| {
                let done = done.clone();
                async move {
                    done.apply_once(job).await;
                }
            }
        })
        .check(Effects::exactly_once())
        .check(Drained::within(secs(3600)))
}

#[test]
fn a_lost_reply_to_the_only_ack_makes_a_run_worth_no_less() {
    let tally = one_message("one message", ReliableConfig::default()).try_run();
    let tally = tally.expect("it holds");
    assert_eq!(tally.showing, tally.runs, "{tally:?}");
    assert!(tally.acked * 10 > tally.runs * 9, "{tally:?}");
}

#[test]
fn nor_does_a_message_whose_attempts_were_used_up_by_faults() {
    let once = ReliableConfig::default().with_max_attempts(1);
    let tally = one_message("one attempt", once).try_run();
    let tally = tally.expect("it holds");
    assert_eq!(tally.showing, tally.runs, "{tally:?}");
    assert!(tally.acked < tally.runs, "{tally:?}");
}

#[test]
fn a_handler_that_never_ends_does_nothing_even_where_its_messages_die() {
    let once = ReliableConfig::default().with_max_attempts(1);
    let broken = proves_nothing(
        &sim("hung")
            .reliable::<u32>("jobs", once)
            .producer(push_two)
            .handler(|_run| |_job: u32, _cx: Context| std::future::pending::<()>())
            .check(Effects::at_most_once())
            .patience(secs(600)),
    );
    let counts = broken.message.contains("in 0 of them was one acked");
    assert!(counts, "{broken}");
}

#[test]
fn dropped_dead_letters_are_not_done() {
    let config = ReliableConfig::default();
    let config = config.with_max_attempts(1).with_dead_letter_cap(0);
    proves_nothing(
        &sim("dropped")
            .reliable::<u32>("jobs", config)
            .producer(push_two)
            .handler(|_run| |_job: u32, _cx: Context| async { Err::<(), _>(Failure::new("never")) })
            .check(Drained::within(secs(3600))),
    );
}

#[test]
fn purged_messages_are_not_done() {
    proves_nothing(
        &sim("purged")
            .reliable::<u32>("jobs", ReliableConfig::default())
            .producer(|jobs| async move {
                jobs.queue().pause().await?;
                push_two(jobs.clone()).await?;
                jobs.queue().purge(ALL).await?;
                jobs.queue().resume().await?;
                Ok(())
            })
            .handler(|_run| |_job: u32, _cx: Context| async {})
            .check(Drained::within(secs(3600))),
    );
}

async fn poll(run: Run) -> Result<(), BoxError> {
    let ring: Rotating<u32> = run.queues().rotating("ring").open().await?;
    ring.visit(secs(1)).await?;
    Ok(())
}

#[test]
fn polls_of_an_empty_ring_prove_nothing() {
    proves_nothing(
        &sim("empty ring")
            .rotating::<u32>("ring", RotatingConfig::default())
            .and()
            .process("poller", poll)
            .faults(FaultSet::none()),
    );
    sim("ring")
        .rotating::<u32>("ring", RotatingConfig::default())
        .producer(|ring| async move {
            ring.push(&1).await?;
            Ok(())
        })
        .and()
        .process("poller", poll)
        .faults(FaultSet::none())
        .try_run()
        .expect("an item is in it");
}

#[test]
fn a_simulation_of_nothing_shows_nothing() {
    proves_nothing(&sim("empty").faults(FaultSet::none()));
    proves_nothing(
        &sim("idle process")
            .process("idle", |_run| async { Ok(()) })
            .faults(FaultSet::none()),
    );
    proves_nothing(
        &sim("no producer")
            .reliable::<u32>("jobs", ReliableConfig::default())
            .handler(|_run| |_job: u32, _cx: Context| async {})
            .faults(FaultSet::none()),
    );
}
