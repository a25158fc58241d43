//! The settings of periodic jobs.

use std::time::Duration;

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_schedule::{Periodic, Scheduler, Schedules};
use tokio::time::sleep;

use crate::row::{Refuse, Row, Serve, in_time, row, times};

const MINUTE: Duration = Duration::from_secs(60);

/// Runs a scheduler for a minute, with a schedule at this interval.
fn ran(interval: Duration, poll: Duration) -> Result<()> {
    in_time(async {
        let queues = Queues::new(MemoryBackend::new());
        queues.reliable("jobs").open::<u64>().await?;
        let schedules = Schedules::open(&queues, "schedules").await?;
        let mut scheduler = Scheduler::new(&schedules).poll(poll);
        let periodic = Periodic::every("ticks", interval)?;
        scheduler
            .add_push(periodic, "jobs", |_| Ok(Push::new("1")))
            .await?;
        scheduler.run_until(sleep(MINUTE)).await
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let interval = Refuse("1 s to 100 years");
    vec![
        times("periodic: every", interval, interval, |interval| {
            ran(interval, MINUTE)
        }),
        times("scheduler: poll", Refuse("at least 1 ms"), Serve, |poll| {
            ran(MINUTE, poll)
        }),
        row(
            "scheduler: poll",
            (Duration::from_nanos(1), Refuse("at least 1 ms")),
            (Duration::from_millis(1), Serve),
            |poll| ran(MINUTE, poll),
        ),
    ]
}
