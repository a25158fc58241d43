//! How long a handle's callers have waited without a look.

use std::time::Duration;

use tokio::time::Instant;

/// The time since the last look, as far as somebody has waited since. A hint may get lost, so who waits looks
/// once in a fall-back interval, also where no single wait takes that long.
#[derive(Debug, Default)]
pub(super) struct PollTimer(Option<Instant>);

impl PollTimer {
    /// Somebody looks.
    pub(super) const fn looked(&mut self) {
        self.0 = None;
    }

    /// A wait begins. Answers how long it may take.
    pub(super) fn waits(&mut self, interval: Duration) -> Duration {
        let since = *self.0.get_or_insert_with(Instant::now);
        interval.saturating_sub(since.elapsed())
    }

    /// A wait has ended. If the interval is over, its caller looks.
    pub(super) fn waited(&mut self, interval: Duration) {
        if self.0.is_some_and(|since| since.elapsed() >= interval) {
            self.looked();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn short_waits_add_up_to_an_interval_until_a_caller_polls() {
        let mut unlooked = PollTimer::default();
        assert_eq!(unlooked.waits(5 * SECOND), 5 * SECOND);
        advance(2 * SECOND).await;
        unlooked.waited(5 * SECOND);
        advance(SECOND).await;
        assert_eq!(unlooked.waits(5 * SECOND), 2 * SECOND);
        advance(2 * SECOND).await;
        unlooked.waited(5 * SECOND);
        assert_eq!(unlooked.waits(5 * SECOND), 5 * SECOND, "its caller looks");
        advance(4 * SECOND).await;
        unlooked.looked();
        assert_eq!(unlooked.waits(5 * SECOND), 5 * SECOND);
    }

    /// It is told to look once, and not again and again, if it does not.
    #[tokio::test(start_paused = true)]
    async fn a_caller_that_never_polls_does_not_spin() {
        let mut unlooked = PollTimer::default();
        assert_eq!(unlooked.waits(SECOND), SECOND);
        advance(9 * SECOND).await;
        assert_eq!(unlooked.waits(SECOND), Duration::ZERO);
        unlooked.waited(SECOND);
        assert_eq!(unlooked.waits(SECOND), SECOND);
    }
}
