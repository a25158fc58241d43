//! A backend whose clock begins at a known time, a queue of jobs on it, and what came out of the queue.

use std::time::Duration;

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_schedule::*;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// 2026-11-27 00:00 UTC.
pub(crate) const START: u64 = 1_795_737_600_000;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) at: u64,
}

impl Job for Report {
    const NAME: &'static str = "report";
}

pub(crate) fn report(slot: &Slot) -> Report {
    Report {
        at: slot.at().as_millis(),
    }
}

pub(crate) struct Environment {
    pub(crate) queues: Queues,
    pub(crate) jobs: Reliable<Jobs>,
    pub(crate) schedules: Schedules,
    pub(crate) poll: Duration,
}

impl Environment {
    pub(crate) async fn new() -> Self {
        let backend = MemoryBackend::starting_at(Timestamp::from_millis(START));
        Self::on(Queues::new(backend)).await
    }

    pub(crate) async fn on(queues: Queues) -> Self {
        let jobs = queues.reliable("jobs").open::<Jobs>().await.unwrap();
        let schedules = Schedules::open(&queues, "schedules").await.unwrap();
        Self {
            queues,
            jobs,
            schedules,
            poll: 5 * SECOND,
        }
    }

    pub(crate) async fn now(&self) -> u64 {
        self.queues.backend().now().await.unwrap().as_millis()
    }

    /// A scheduler with this schedule alone.
    pub(crate) async fn scheduler(&self, periodic: Periodic) -> Scheduler {
        // Its polls for changes are what a test of a year spends its time with.
        let mut scheduler = Scheduler::new(&self.schedules).poll(self.poll);
        scheduler.add_job(periodic, "jobs", report).await.unwrap();
        scheduler
    }

    /// Runs a scheduler with this schedule for this time.
    pub(crate) async fn run(&self, periodic: Periodic, time: Duration) {
        let scheduler = self.scheduler(periodic).await;
        scheduler.run_until(sleep(time)).await.unwrap();
    }

    /// The slots of all messages that are ready, in seconds since the start, and acks them. No slot is early (C2).
    pub(crate) async fn fired(&self) -> Vec<i64> {
        let mut slots = Vec::new();
        loop {
            let queue = self.jobs.queue();
            let Some(delivery) = queue.receive_one(MINUTE, Duration::ZERO).await.unwrap() else {
                return slots;
            };
            let report: Report = Json.decode(&delivery.body).unwrap();
            assert!(report.at <= self.now().await, "early: {report:?}");
            assert_eq!(delivery.headers.get("slot"), Some(&*report.at.to_string()));
            slots.push((report.at as i64 - START as i64) / 1_000);
            queue.ack(delivery.receipt).await.unwrap();
        }
    }
}

pub(crate) fn minutely() -> Periodic {
    Periodic::every("minutely", MINUTE).unwrap()
}
