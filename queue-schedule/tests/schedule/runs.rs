//! Runs that operators ask for (C8).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    Layered,
    call::{Answer, Call, Layer, Service},
    *,
};
use queue_schedule::*;
use tokio::time::sleep;

use crate::environment::*;

#[tokio::test(start_paused = true)]
async fn c8_an_operator_asks_for_a_run_beside_the_slots() {
    let environment = Environment::new().await;
    let scheduler = environment.scheduler(minutely()).await;
    let schedules = environment.schedules.clone();
    let ask = async {
        sleep(10 * SECOND).await;
        assert!(schedules.run_now("minutely").await.unwrap());
        assert!(!schedules.run_now("another").await.unwrap());
        sleep(10 * SECOND).await;
        assert_eq!(environment.fired().await, [10]);
        schedules.disable("minutely").await.unwrap();
        sleep(10 * SECOND).await;
        schedules.run_now("minutely").await.unwrap();
        sleep(MINUTE).await;
        assert_eq!(environment.fired().await, [30]);
    };
    scheduler.run_until(ask).await.unwrap();
}

/// Each change comes at each moment of a run: it is stored, claimed, pushed.
#[tokio::test(start_paused = true)]
pub(crate) async fn c8_a_run_comes_once_whatever_changes_meanwhile() {
    let other = || Periodic::every("minutely", 2 * HOUR).unwrap();
    for verb in ["disable", "disable and enable", "change", "shutdown"] {
        for moment in 0..12 {
            let environment = Environment::new().await;
            // Each call takes a millisecond.
            let slow = Layered::new(Slow, Arc::clone(environment.queues.backend()));
            let slow = Schedules::open(&Queues::new(slow), "schedules")
                .await
                .unwrap();
            let hourly = Periodic::every("minutely", HOUR).unwrap();
            let mut scheduler = Scheduler::new(&slow).poll(Duration::from_millis(5));
            scheduler.add_job(hourly, "jobs", report).await.unwrap();
            let schedules = environment.schedules.clone();
            let steer = async {
                sleep(100 * MILLISECOND).await;
                assert!(schedules.run_now("minutely").await.unwrap());
                sleep(moment * MILLISECOND).await;
                match verb {
                    "disable" => assert!(schedules.disable("minutely").await.unwrap()),
                    "disable and enable" => {
                        assert!(schedules.disable("minutely").await.unwrap());
                        assert!(schedules.enable("minutely").await.unwrap());
                    }
                    "change" => {
                        let mut next = Scheduler::new(&schedules);
                        next.change_job(other(), "jobs", report).await.unwrap();
                        return next.run_until(sleep(SECOND)).await.unwrap();
                    }
                    // The scheduler ends in the middle of what it does.
                    _ => return,
                }
                sleep(SECOND).await;
            };
            scheduler.run_until(steer).await.unwrap();
            if verb == "shutdown" {
                let hourly = Periodic::every("minutely", HOUR).unwrap();
                environment.run(hourly, SECOND).await;
            }
            let fired = environment.fired().await;
            assert_eq!(fired.len(), 1, "{verb} after {moment} ms: {fired:?}");
            let depth = environment.jobs.queue().depth().await.unwrap();
            let ahead = u64::from(verb != "disable");
            assert_eq!(
                depth.delayed, ahead,
                "{verb} after {moment} ms: no marker is left"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn c8_two_runs_of_one_millisecond_are_two() {
    let environment = Environment::new().await;
    let run = async || {
        let hourly = Periodic::every("minutely", HOUR).unwrap();
        environment.run(hourly, SECOND / 2).await;
    };
    run().await;
    let schedules = &environment.schedules;
    let ask = async || assert!(schedules.run_now("minutely").await.unwrap());
    ask().await;
    ask().await;
    run().await;
    let fired = environment.fired().await;
    assert_eq!(fired.len(), 2, "{fired:?}");
    // A run that came is no run that comes.
    let begin = environment.now().await;
    ask().await;
    let scheduler = environment.scheduler(Periodic::every("minutely", HOUR).unwrap());
    let mut work = Box::pin(scheduler.await.run_until(std::future::pending()));
    tokio::select! {
        biased;
        _ = &mut work => {}
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(environment.fired().await.len(), 1);
    assert_eq!(environment.now().await, begin, "in the same millisecond");
    ask().await;
    drop(work);
    run().await;
    assert_eq!(environment.fired().await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn c8_a_removal_takes_the_runs_away() {
    let environment = Environment::new().await;
    let schedules = &environment.schedules;
    drop(environment.scheduler(minutely()).await);
    assert!(schedules.run_now("minutely").await.unwrap());
    assert!(schedules.remove("minutely").await.unwrap());
    assert!(!schedules.run_now("minutely").await.unwrap());
    environment.run(minutely(), 30 * SECOND).await;
    assert!(environment.fired().await.is_empty());
}

const MILLISECOND: Duration = Duration::from_millis(1);

#[derive(Debug)]
struct Slow;

#[async_trait]
impl Layer for Slow {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        sleep(MILLISECOND).await;
        queue.call(call).await
    }
}

/// A connection on which one call, counted from the first insertion, fails before or after it takes effect.
#[derive(Debug)]
struct Cut {
    calls: AtomicU64,
    at: u64,
    outcome: Outcome,
}

#[async_trait]
impl Layer for Cut {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let is_cut = self.calls.fetch_add(1, SeqCst) == self.at;
        let error = || Error::new(ErrorKind::Unavailable, "cut off").with_outcome(self.outcome);
        match (is_cut, self.outcome) {
            (false, _) => queue.call(call).await,
            (true, Outcome::NotApplied) => Err(error()),
            (true, Outcome::Unknown) => {
                queue.call(call).await?;
                Err(error())
            }
        }
    }
}

/// Whichever call is cut off: a sure answer is right, and an error says that a run may come if one does.
#[tokio::test(start_paused = true)]
pub(crate) async fn c8_an_error_says_whether_a_run_may_come() {
    for outcome in [Outcome::NotApplied, Outcome::Unknown] {
        for at in 0..6 {
            let environment = Environment::new().await;
            let hourly = || Periodic::every("minutely", HOUR).unwrap();
            environment.run(hourly(), SECOND).await;
            let cut = Cut {
                calls: AtomicU64::new(0),
                at,
                outcome,
            };
            let cut = Layered::new(cut, Arc::clone(environment.queues.backend()));
            let cut = Schedules::open(&Queues::new(cut), "schedules")
                .await
                .unwrap();
            let answer = cut.run_now("minutely").await;
            environment.run(hourly(), SECOND).await;
            let came = environment.fired().await.len();
            match answer {
                Ok(there) => assert!(there && came == 1, "{outcome:?} {at}: {came}"),
                Err(error) => {
                    let may_come = error.outcome() == Outcome::Unknown;
                    assert!(
                        may_come || came == 0,
                        "{outcome:?} {at}: {error}, {came} runs"
                    );
                }
            }
        }
    }
}

/// Others build on a write before its writer looks: it counts as written.
#[tokio::test(start_paused = true)]
pub(crate) async fn c8_a_write_on_which_others_have_built_is_written() {
    let environment = Environment::new().await;
    drop(environment.scheduler(minutely()).await);
    let slow = Layered::new(Slow, Arc::clone(environment.queues.backend()));
    let slow = Schedules::open(&Queues::new(slow), "schedules")
        .await
        .unwrap();
    let beside = async {
        // Behind the insertion, and before the look.
        sleep(2 * MILLISECOND + MILLISECOND / 2).await;
        environment.run(minutely(), MILLISECOND / 4).await;
        assert_eq!(environment.fired().await.len(), 1, "the run has come");
        let other = Periodic::every("minutely", HOUR).unwrap();
        let mut next = Scheduler::new(&environment.schedules);
        next.change_job(other, "jobs", report).await.unwrap();
        next
    };
    let (asked, next) = tokio::join!(slow.run_now("minutely"), beside);
    assert!(asked.unwrap());
    next.run_until(sleep(SECOND)).await.unwrap();
    assert!(environment.fired().await.is_empty(), "it came before");
}
