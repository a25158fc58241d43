//! How long a handle's callers have waited without a poll.

use std::time::Duration;

use tokio::time::Instant;

/// The time since the last poll, if a caller has waited since. A wake-up may get lost, so a waiting caller polls once
/// per fall-back interval, even if each single wait is shorter.
#[derive(Debug, Default)]
pub(super) struct PollTimer(Option<Instant>);

impl PollTimer {
    /// A caller polls.
    pub(super) const fn polled(&mut self) {
        self.0 = None;
    }

    /// A wait begins. Returns how long it may take.
    pub(super) fn waits(&mut self, interval: Duration) -> Duration {
        let since = *self.0.get_or_insert_with(Instant::now);
        interval.saturating_sub(since.elapsed())
    }

    /// A wait has ended. If the interval is over, its caller polls.
    pub(super) fn waited(&mut self, interval: Duration) {
        if self.0.is_some_and(|since| since.elapsed() >= interval) {
            self.polled();
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
        let mut timer = PollTimer::default();
        assert_eq!(timer.waits(5 * SECOND), 5 * SECOND);
        advance(2 * SECOND).await;
        timer.waited(5 * SECOND);
        advance(SECOND).await;
        assert_eq!(timer.waits(5 * SECOND), 2 * SECOND);
        advance(2 * SECOND).await;
        timer.waited(5 * SECOND);
        assert_eq!(timer.waits(5 * SECOND), 5 * SECOND, "its caller looks");
        advance(4 * SECOND).await;
        timer.polled();
        assert_eq!(timer.waits(5 * SECOND), 5 * SECOND);
    }

    /// The timer makes the caller poll once; if the caller does not poll, the timer does not fire again and again.
    #[tokio::test(start_paused = true)]
    async fn a_caller_that_never_polls_does_not_spin() {
        let mut timer = PollTimer::default();
        assert_eq!(timer.waits(SECOND), SECOND);
        advance(9 * SECOND).await;
        assert_eq!(timer.waits(SECOND), Duration::ZERO);
        timer.waited(SECOND);
        assert_eq!(timer.waits(SECOND), SECOND);
    }
}
