//! The server's cost of work: microseconds of its time for each job, from `INFO commandstats`. They
//! vary far less than requests per second do.

use std::{cell::RefCell, time::Duration};

use super::fixture::Fixture;

/// The samples of one work.
#[derive(Debug, Default)]
pub struct Cost(RefCell<Vec<(u64, f64)>>);

impl Cost {
    /// Does the work, and records the cost of these commands meanwhile. Commands of a script count
    /// in the script.
    pub fn of(
        &self,
        fixture: &Fixture,
        commands: &[&str],
        jobs: u64,
        work: impl FnOnce() -> Duration,
    ) -> Duration {
        let before = fixture.commands();
        let time = work();
        let spent = fixture.commands().since(&before);
        let micros: u64 = commands.iter().map(|name| spent.micros(name)).sum();
        let cost = micros as f64 / jobs as f64;
        self.0.borrow_mut().push((jobs, cost));
        time
    }

    /// Microseconds for each job, sample by sample, without the shorter samples of the warm-up.
    pub fn micros(&self) -> Vec<f64> {
        let samples = self.0.borrow();
        let Some((longest, _)) = samples.last() else {
            return Vec::new();
        };
        let full = samples.iter().filter(|(jobs, _)| jobs == longest);
        full.map(|(_, micros)| *micros).collect()
    }
}
