//! One verb that fails, and when to try it again.

use std::time::Duration;

use queue_core::Error;
use tokio::time::Instant;

use super::{Backoff, Failure, backoff::seed};

/// Failures of one verb in a row.
#[derive(Debug)]
pub(crate) struct Outage {
    delays: Backoff,
    longest: Duration,
    seed: u64,
    failures: u32,
    since: Option<Instant>,
    until: Option<Instant>,
    /// Failures of all outages, so that none repeats the delays of another.
    total: u64,
}

impl Outage {
    pub(crate) const fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        Self {
            delays: Backoff::exponential(first).with_longest(longest),
            longest,
            seed,
            failures: 0,
            since: None,
            until: None,
            total: 0,
        }
    }

    /// It failed again: not before this time anew.
    ///
    /// That is the pause which the error asks for and a growing one, partly random, so that many
    /// who were told the same do not come back together; but not longer than the longest.
    pub(crate) fn failed(&mut self, now: Instant, error: &Error) -> Instant {
        self.failures = self.failures.saturating_add(1);
        self.total += 1;
        let seed = seed([self.seed, self.total, 0]);
        let grown = self.delays.delay(self.failures, &Failure::new(error), seed);
        let asked = error.retry_after().unwrap_or_default();
        let delay = asked.saturating_add(grown).min(self.longest);
        // A delay of nothing would be a loop without a pause.
        let until = now + delay.max(Duration::from_millis(1));
        self.since.get_or_insert(now);
        self.until = Some(until);
        until
    }

    /// It succeeded; since when it had failed, if it had.
    pub(crate) fn succeeded(&mut self) -> Option<Instant> {
        self.failures = 0;
        self.until = None;
        self.since.take()
    }

    /// Something near it succeeded: it may be tried at once, and is not over before it succeeds.
    pub(crate) const fn try_now(&mut self) {
        self.until = None;
    }

    /// Whether it fails.
    pub(crate) const fn is_failing(&self) -> bool {
        self.since.is_some()
    }

    /// When to try again, if it failed.
    pub(crate) const fn until(&self) -> Option<Instant> {
        self.until
    }
}
