//! What work costs the server: microseconds of its time for each job, out of `INFO commandstats`.
//! They move far less than requests per second do.

use std::{cell::RefCell, time::Duration};

use super::stand::Stand;

/// The samples of one work.
#[derive(Debug, Default)]
pub struct Cost(RefCell<Vec<(u64, f64)>>);

impl Cost {
    /// Does the work, and takes down what these commands cost meanwhile. Those that a script runs
    /// count in the script.
    pub fn of(
        &self,
        stand: &Stand,
        commands: &[&str],
        jobs: u64,
        work: impl FnOnce() -> Duration,
    ) -> Duration {
        let spent = || {
            let micros = stand.micros();
            let of = |command: &&str| micros.get(*command).copied().unwrap_or(0.0);
            commands.iter().map(of).sum::<f64>()
        };
        let before = spent();
        let time = work();
        let cost = (spent() - before) / jobs as f64;
        self.0.borrow_mut().push((jobs, cost));
        time
    }

    /// Microseconds for each job, sample by sample; those of the warm-up, which are shorter, are
    /// left out.
    pub fn micros(&self) -> Vec<f64> {
        let samples = self.0.borrow();
        let Some((longest, _)) = samples.last() else {
            return Vec::new();
        };
        let full = samples.iter().filter(|(jobs, _)| jobs == longest);
        full.map(|(_, micros)| *micros).collect()
    }
}
