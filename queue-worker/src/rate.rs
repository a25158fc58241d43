//! A limit on the messages that a worker starts in a period.

use std::time::Duration;

use queue_core::{Error, Result, limits};
use tokio::time::Instant;

/// The longest time in which a burst may be saved up. It must fit into an `Instant` together with the time
/// that a worker runs.
const DEAREST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The most messages that a worker starts in a period, and the most at once.
///
/// This is a limit of one worker: two workers start twice as many. If all consumers together must keep to a limit, as
/// for the quota of somebody's API, give it to the queue: `with_rate` and `with_at_once` of its configuration (Q1, Q2).
///
/// In any stretch of time `t`, the worker starts at most `burst + t × messages / per`. A message counts when
/// its handler starts, and the worker leases no message before it may start its handler.
///
/// ```
/// use std::time::Duration;
/// use queue_worker::Rate;
///
/// let calm = Rate::new(100, Duration::from_secs(1)).with_burst(1); // one each 10 ms
/// # let _ = calm;
/// ```
///
/// A worker refuses a rate as `Invalid` if it is more than one message per ns, or if saving up a burst,
/// message by message, takes more than 100 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    messages: u32,
    per: Duration,
    burst: u32,
}

impl Rate {
    /// `messages` in each `per`, and a tenth of a second's worth of them at once.
    pub fn new(messages: u32, per: Duration) -> Self {
        let tenth = f64::from(messages) * 0.1 / per.as_secs_f64().max(f64::MIN_POSITIVE);
        Self {
            messages,
            per,
            // A float that is too large is cast to the largest integer.
            burst: (tenth.ceil() as u32).clamp(1, messages.max(1)),
        }
    }

    /// Sets how many may start at once after a pause.
    #[must_use]
    pub const fn with_burst(mut self, burst: u32) -> Self {
        self.burst = burst;
        self
    }

    /// The time between two messages. `None` if the limiter cannot count the rate.
    fn period(self) -> Option<Duration> {
        let period = self.per.checked_div(self.messages)?;
        let all = period.checked_mul(self.burst)?;
        (!all.is_zero() && all <= DEAREST).then_some(period)
    }

    pub(crate) fn check(self) -> Result<()> {
        match self.period() {
            Some(_) => Ok(()),
            None => Err(Error::invalid(format!(
                "a rate of {} messages per {:?}, {} at once: each has to be more than nothing, one \
                 message per ns is the most, and all at once are worth 100 years at most",
                self.messages, self.per, self.burst
            ))),
        }
    }
}

/// A rate limit in use: a bucket that holds at most a burst of tokens and gets one more each period. Each
/// message takes one.
#[derive(Debug)]
pub(crate) struct Limiter {
    period: Duration,
    burst: u32,
    /// The time when the bucket is full again.
    full: Instant,
}

impl Limiter {
    /// `None` for a rate that [`check`](Rate::check) refuses.
    pub(crate) fn new(rate: Rate, start: Instant) -> Option<Self> {
        Some(Self {
            period: rate.period()?,
            burst: rate.burst,
            full: start,
        })
    }

    /// The number of messages that may start now, or the time when the next one may.
    pub(crate) fn available(&self) -> Result<usize, Instant> {
        let lacking = self.full.saturating_duration_since(Instant::now());
        let lacking = lacking.as_nanos().div_ceil(self.period.as_nanos());
        match u128::from(self.burst).saturating_sub(lacking) {
            // The next token comes when the bucket lacks one less than a burst.
            0 => Err(self.full - self.period * (self.burst - 1)),
            tokens => Ok(tokens as usize),
        }
    }

    /// Counts `started` starts.
    pub(crate) fn charge(&mut self, started: usize) {
        // No call hands out more messages than `MAX_BATCH`.
        let started = started.min(limits::MAX_BATCH) as u32;
        self.full = self.full.max(Instant::now()) + self.period * started;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn available_starts_are_charged_only_when_they_start() {
        let rate = Rate::new(10, Duration::from_secs(1)).with_burst(3);
        let mut limiter = Limiter::new(rate, Instant::now()).unwrap();
        for _ in 0..5 {
            assert_eq!(limiter.available(), Ok(3));
        }
        limiter.charge(3);
        let next = limiter.available().unwrap_err();
        let wait = next - Instant::now();
        assert!((99..=101).contains(&wait.as_millis()), "{wait:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(limiter.available(), Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_worth_more_than_100_years_is_refused() {
        let (day, year) = (DEAREST / 36_500, DEAREST / 100);
        for rate in [
            Rate::new(1, Duration::MAX),
            Rate::new(u32::MAX, Duration::MAX),
            Rate::new(1, DEAREST + Duration::from_nanos(1)),
            Rate::new(10, day).with_burst(u32::MAX),
            Rate::new(1, day).with_burst(1_000_000),
            Rate::new(1, year).with_burst(101),
        ] {
            let error = rate.check().unwrap_err();
            assert!(error.to_string().contains("100 years"), "{error}");
            assert!(Limiter::new(rate, Instant::now()).is_none(), "{rate:?}");
        }
        let dear = Rate::new(1, year).with_burst(100);
        let mut limiter = Limiter::new(dear, Instant::now()).unwrap();
        assert_eq!(limiter.available(), Ok(100));
        limiter.charge(100);
        let wait = limiter.available().unwrap_err() - Instant::now();
        assert!(wait > year - day && wait < year + day, "{wait:?}");
    }

    #[test]
    fn a_rate_of_nothing_is_refused() {
        let second = Duration::from_secs(1);
        for rate in [
            Rate::new(0, second),
            Rate::new(1, Duration::ZERO),
            Rate::new(1, second).with_burst(0),
            Rate::new(u32::MAX, Duration::from_nanos(5)),
        ] {
            assert!(rate.check().is_err(), "{rate:?}");
        }
        assert!(Rate::new(u32::MAX, second * 60).check().is_ok());
    }
}
