//! The cost of a job, counted on both sides: the server's time, the commands, and the round trips.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use real_redis::CommandCounts;

use super::{counting::Counted, fixture::Fixture};
use crate::pairs::spread;

/// The cost of a job: medians of samples.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// The server's microseconds.
    pub micros: f64,
    /// The commands that clients sent. A script is one.
    pub commands: f64,
    /// How often a client waited for the server.
    pub trips: f64,
    /// The number of samples.
    pub samples: usize,
}

/// The samples of one work.
#[derive(Debug, Default)]
pub struct Tally(RefCell<Vec<Sample>>);

#[derive(Debug)]
struct Sample {
    jobs: u64,
    micros: f64,
    commands: f64,
    trips: f64,
}

impl Tally {
    /// Does the work, and records what this backend's requests cost meanwhile. The server's time is the time of the
    /// commands that the backend sent. Commands of a script count in the script.
    pub fn of(
        &self,
        fixture: &Fixture,
        counted: &Counted,
        jobs: u64,
        work: impl FnOnce() -> Duration,
    ) -> Duration {
        let before = fixture.commands();
        // Only commands that it sends from now on count.
        counted.take();
        let time = work();
        let sent = counted.take();
        let spent = fixture.commands().since(&before);
        let commands: u64 = sent.commands.values().sum();
        self.0.borrow_mut().push(Sample {
            jobs,
            micros: micros_of(&spent, &sent.commands) / jobs as f64,
            commands: commands as f64 / jobs as f64,
            trips: sent.trips as f64 / jobs as f64,
        });
        time
    }

    /// The cost of a job, without the shorter samples of the warm-up; `None` without samples.
    pub fn job(&self) -> Option<Job> {
        let samples = self.0.borrow();
        let longest = samples.last()?.jobs;
        let full: Vec<&Sample> = samples
            .iter()
            .filter(|sample| sample.jobs == longest)
            .collect();
        let median = |value: fn(&Sample) -> f64| {
            let values: Vec<f64> = full.iter().map(|sample| value(sample)).collect();
            spread(&values).median
        };
        Some(Job {
            micros: median(|sample| sample.micros),
            commands: median(|sample| sample.commands),
            trips: median(|sample| sample.trips),
            samples: full.len(),
        })
    }
}

/// The microseconds of the commands that clients sent, given the number of calls of each command.
///
/// If scripts called the same command, the microseconds are shared out by calls, because the server does not separate
/// the two.
fn micros_of(spent: &CommandCounts, sent: &BTreeMap<String, u64>) -> f64 {
    let costs = sent.iter().map(|(name, sent)| {
        let calls = spent.of(name).max(*sent).max(1);
        spent.micros(name) as f64 * *sent as f64 / calls as f64
    });
    costs.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_s_own_calls_are_not_counted_twice() {
        let spent =
            CommandCounts::parse("cmdstat_eval:calls=3,usec=30\ncmdstat_zadd:calls=8,usec=16");
        let sent = |calls: &[(&str, u64)]| {
            let calls = calls
                .iter()
                .map(|(name, calls)| ((*name).to_owned(), *calls));
            micros_of(&spent, &calls.collect())
        };
        assert_eq!(sent(&[("eval", 3)]), 30.0);
        // Two of the eight were a client's.
        assert_eq!(sent(&[("eval", 3), ("zadd", 2)]), 34.0);
        assert_eq!(sent(&[("get", 3)]), 0.0);
    }
}
