//! The stage on which a scenario is measured, and its two usual figures: jobs a second, and their cost for the server.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use tokio::runtime::Runtime;

use super::effort::Effort;
use crate::redis::{fixture::Fixture, placement::Placement};

/// The server and the client of one placement, and how much to measure there.
pub struct Stage {
    /// The server and the client.
    pub fixture: Fixture,
    /// How much to measure.
    pub effort: Effort,
}

impl Stage {
    /// Starts a server, and pins it and this process.
    ///
    /// # Panics
    ///
    /// If a server cannot be started, or processes cannot be pinned.
    pub fn start(placement: Placement, effort: Effort) -> Self {
        Self {
            fixture: Fixture::new(placement),
            effort,
        }
    }

    /// Does the given number of jobs, and measures them.
    pub fn spend(&self, jobs: usize, work: impl Future<Output = ()>) -> Spent {
        self.spend_on(&self.fixture.runtime, jobs, work)
    }

    /// Does jobs on this runtime, and measures them.
    pub fn spend_on(
        &self,
        runtime: &Runtime,
        jobs: usize,
        work: impl Future<Output = ()>,
    ) -> Spent {
        let before = self.fixture.processor_time();
        let start = Instant::now();
        runtime.block_on(work);
        let time = start.elapsed();
        let server = self.fixture.processor_time().saturating_sub(before);
        Spent { jobs, time, server }
    }

    /// Measures under a name of its own, whose keys it deletes afterwards.
    pub fn named<T>(&self, work: impl FnOnce(&str) -> T) -> T {
        let name = self.fixture.fresh();
        let measured = work(&name);
        self.fixture.clear(&name);
        measured
    }
}

/// The time of jobs.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    jobs: usize,
    time: Duration,
    server: Duration,
}

impl Spent {
    /// Jobs a second.
    pub fn rate(self) -> f64 {
        self.jobs as f64 / self.time.as_secs_f64()
    }

    /// The server's microseconds for each job. It is processor time, so it includes reading and writing, which figures
    /// about commands leave out.
    pub fn server_micros(self) -> f64 {
        self.server.as_secs_f64() * 1e6 / self.jobs as f64
    }

    /// [`Figure::JOBS`](super::scenario::Figure::JOBS) and
    /// [`Figure::SERVER`](super::scenario::Figure::SERVER).
    pub fn both(self) -> Vec<f64> {
        vec![self.rate(), self.server_micros()]
    }
}
