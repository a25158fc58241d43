//! A verb that fails, and the time of its next try.

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
    /// Failures of all outages, so that no outage repeats the delays of another.
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

    /// Records a failure; returns the time before which not to try again.
    ///
    /// The pause is the error's own plus a growing one, at most `longest`. It is partly random, so that
    /// workers that got the same error do not come back together.
    pub(crate) fn failed(&mut self, now: Instant, error: &Error) -> Instant {
        self.failures = self.failures.saturating_add(1);
        self.total += 1;
        let seed = seed([self.seed, self.total, 0]);
        let grown = self
            .delays
            .delay(self.failures, &Failure::new(error.clone()), seed);
        let asked = error.retry_after().unwrap_or_default();
        let delay = asked.saturating_add(grown).min(self.longest);
        // A zero delay would make the loop spin.
        let until = now + delay.max(Duration::from_millis(1));
        self.since.get_or_insert(now);
        self.until = Some(until);
        until
    }

    /// Records a success; returns the time of the first failure, if the verb had failed.
    pub(crate) fn succeeded(&mut self) -> Option<Instant> {
        self.failures = 0;
        self.until = None;
        self.since.take()
    }

    /// Allows a try at once, because a similar call succeeded. The outage is not over before this verb
    /// succeeds.
    pub(crate) const fn try_now(&mut self) {
        self.until = None;
    }

    /// Whether the verb fails at present.
    pub(crate) const fn is_failing(&self) -> bool {
        self.since.is_some()
    }

    /// The time of the next try, if the last one failed.
    pub(crate) const fn until(&self) -> Option<Instant> {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use queue_core::ErrorKind;

    use super::*;

    /// The pauses of two outages, of two failures each.
    fn pauses(seed: u64) -> [Duration; 4] {
        let mut outage = Outage::new(Duration::from_secs(1), Duration::from_secs(60), seed);
        let error = Error::new(ErrorKind::Unavailable, "down");
        let now = Instant::now();
        let pause = |outage: &mut Outage| outage.failed(now, &error) - now;
        let [first, second] = [pause(&mut outage), pause(&mut outage)];
        assert_eq!(outage.succeeded(), Some(now));
        [first, second, pause(&mut outage), pause(&mut outage)]
    }

    #[tokio::test(start_paused = true)]
    async fn no_outage_repeats_the_pauses_of_another() {
        let [first, second, third, fourth] = pauses(7);
        assert_eq!(pauses(7), [first, second, third, fourth]);
        assert!(first != third && second != fourth);
        assert_ne!(first, pauses(8)[0], "another worker");
    }
}
