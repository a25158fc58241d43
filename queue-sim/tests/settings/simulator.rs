//! The settings of a user's simulation.

use queue_core::{Error, Reliable, ReliableConfig, Result};
use queue_sim::sim::{Drained, FaultSet, Sim, sim};

use crate::row::{Refuse, Row, Serve, row, times};

fn simulated(workers: usize, set: impl FnOnce(Sim) -> Sim) -> Result<()> {
    let jobs = sim("extreme settings")
        .faults(FaultSet::none())
        .seeds(2)
        .reliable::<u64>("jobs", ReliableConfig::default())
        .producer(async |jobs: Reliable<u64>| {
            jobs.push(&1).await?;
            Ok(())
        })
        .workers(workers)
        .handler(|_| |_, _| async {});
    let ran = set(jobs.and()).try_run();
    ran.map(drop)
        .map_err(|broken| Error::invalid(broken.message))
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        row(
            "builder: seeds",
            (0, Refuse("more than 0 seeds")),
            (3, Serve),
            |seeds| simulated(2, |sim| sim.seeds(seeds)),
        ),
        times(
            "builder: lease",
            Refuse("a lease of 0 ms"),
            Refuse("a lease of"),
            |lease| simulated(2, |sim| sim.lease(lease)),
        ),
        times(
            "builder: patience",
            Refuse("a patience of 0 ms"),
            Refuse("a patience of"),
            |time| simulated(2, |sim| sim.patience(time)),
        ),
        row(
            "builder: workers",
            (0, Refuse("0 workers")),
            (usize::MAX, Refuse("at most 254")),
            |workers| simulated(workers, |sim| sim),
        ),
        times("drained: within", Serve, Serve, |time| {
            simulated(2, |sim| sim.check(Drained::within(time)))
        }),
    ]
}
