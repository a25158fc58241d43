//! Delays after failures.

use std::{fmt, sync::Arc, time::Duration};

use queue_core::{Error, Result, limits};

use super::Failure;

type Rule = Arc<dyn Fn(u32, &Failure) -> Duration + Send + Sync>;

/// Delays between the attempts of a message.
///
/// Jitter spreads messages that failed together, so that they do not come back together. It depends only on
/// the seed, the message and the attempt, so a simulation can repeat it.
///
/// ```
/// use std::time::Duration;
/// use queue_worker::{Backoff, Failure};
///
/// let second = Duration::from_secs(1);
/// let failure = Failure::new("no answer");
/// let plain = Backoff::exponential(second).with_jitter(0.0).with_longest(5 * second);
/// let delays = [1, 2, 3, 4].map(|attempt| plain.delay(attempt, &failure, 0).as_secs());
/// assert_eq!(delays, [1, 2, 4, 5]);
///
/// let spread = Backoff::exponential(second).delay(1, &failure, 7);
/// assert!(spread >= second / 2 && spread <= second);
/// ```
#[derive(Clone)]
pub struct Backoff {
    delays: Delays,
    longest: Duration,
    jitter: f64,
}

#[derive(Clone)]
enum Delays {
    Fixed(Duration),
    Exponential(Duration),
    Custom(Rule),
}

impl Backoff {
    const LONGEST: Duration = Duration::from_secs(60 * 60);

    /// Always `delay`, cut at [`limits::MAX_DELAY`].
    pub const fn fixed(delay: Duration) -> Self {
        Self {
            delays: Delays::Fixed(delay),
            longest: limits::MAX_DELAY,
            jitter: 0.0,
        }
    }

    /// `first` after the first attempt, twice as long after each further one, up to an hour, and half of it
    /// random.
    pub const fn exponential(first: Duration) -> Self {
        Self {
            delays: Delays::Exponential(first),
            longest: Self::LONGEST,
            jitter: 0.5,
        }
    }

    /// The delay that `rule` returns for an attempt (from 1) and its failure.
    ///
    /// It runs in the worker's own loop, so it must not block. If it panics, the worker takes the
    /// default delay and counts it in [`Counts::backoff_panics`](super::Counts::backoff_panics).
    pub fn custom(rule: impl Fn(u32, &Failure) -> Duration + Send + Sync + 'static) -> Self {
        Self {
            delays: Delays::Custom(Arc::new(rule)),
            longest: limits::MAX_DELAY,
            jitter: 0.0,
        }
    }

    /// Sets the longest delay. No delay is longer than [`limits::MAX_DELAY`].
    #[must_use]
    pub const fn with_longest(mut self, longest: Duration) -> Self {
        self.longest = longest;
        self
    }

    /// Sets the random share of a delay, 0 to 1: with 0.5, a delay is between half of it and all of
    /// it.
    ///
    /// A worker refuses any other share, and NaN, as `Invalid` when it starts.
    #[must_use]
    pub const fn with_jitter(mut self, share: f64) -> Self {
        self.jitter = share;
        self
    }

    /// Refuses a share of jitter that is not between 0 and 1.
    pub(crate) fn check(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.jitter) {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "a jitter of {}: it is the random share of a delay, from 0 (none of it) to 1 (all of \
             it)",
            self.jitter
        )))
    }

    /// The delay after this attempt (from 1). The same seed gives the same delay.
    pub fn delay(&self, attempt: u32, failure: &Failure, seed: u64) -> Duration {
        self.spread(self.whole(attempt, failure), seed)
    }

    fn whole(&self, attempt: u32, failure: &Failure) -> Duration {
        match &self.delays {
            Delays::Fixed(delay) => *delay,
            Delays::Exponential(first) => {
                let doublings = attempt.saturating_sub(1).min(31);
                first.saturating_mul(1 << doublings)
            }
            Delays::Custom(rule) => rule(attempt, failure),
        }
    }

    fn spread(&self, delay: Duration, seed: u64) -> Duration {
        let whole = delay.min(self.longest).min(limits::MAX_DELAY);
        let random = mix(seed) as f64 / u64::MAX as f64;
        // A program may call this without a worker, which checks the share. A share out of range, or not a
        // number, would panic below.
        let jitter = if self.jitter.is_finite() {
            self.jitter.clamp(0.0, 1.0)
        } else {
            0.0
        };
        whole.mul_f64(1.0 - jitter * random).min(whole)
    }
}

impl Default for Backoff {
    /// A second, doubling up to an hour, half of it random.
    fn default() -> Self {
        Self::exponential(Duration::from_secs(1))
    }
}

impl fmt::Debug for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Backoff");
        match &self.delays {
            Delays::Fixed(delay) => debug.field("fixed", delay),
            Delays::Exponential(first) => debug.field("first", first),
            Delays::Custom(_) => debug.field("custom", &..),
        };
        debug
            .field("longest", &self.longest)
            .field("jitter", &self.jitter)
            .finish()
    }
}

/// Mixes several numbers into one, the same on every machine: a step of SplitMix64 for each.
pub(super) fn seed(parts: [u64; 3]) -> u64 {
    parts.into_iter().fold(0, |seed, part| mix(seed ^ part))
}

fn mix(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn no_attempt_and_no_share_is_too_large() {
        for jitter in [0.0, 0.5, 1.0, -3.0, 9.0, f64::NAN, f64::INFINITY] {
            let backoff = Backoff::exponential(Duration::MAX).with_jitter(jitter);
            for attempt in [0, 1, 32, u32::MAX] {
                let delay = backoff.delay(attempt, &Failure::new("x"), 3);
                assert!(delay <= Backoff::LONGEST, "{attempt} {jitter}: {delay:?}");
            }
        }
    }

    #[test]
    fn delays_double_to_the_longest_and_stay_there() {
        let backoff = Backoff::exponential(SECOND).with_jitter(0.0);
        let longest = Backoff::LONGEST.as_secs();
        for attempt in (1..=200).chain([u32::MAX - 1, u32::MAX]) {
            let doubled = 1_u64.checked_shl(attempt - 1).unwrap_or(longest);
            let expected = Duration::from_secs(doubled.min(longest));
            let delay = backoff.delay(attempt, &Failure::new("x"), 0);
            assert_eq!(delay, expected, "attempt {attempt}");
        }
    }

    /// The first numbers of SplitMix64 from 0, as published.
    #[test]
    fn a_seed_is_the_same_on_every_machine() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn jitter_spreads_messages_and_repeats_for_each() {
        let backoff = Backoff::exponential(SECOND);
        let delays = |from: u64| -> Vec<Duration> {
            let seeds = (from..from + 100).map(|id| seed([7, id, 1]));
            seeds
                .map(|seed| backoff.delay(1, &Failure::new("x"), seed))
                .collect()
        };
        let first = delays(0);
        assert_eq!(first, delays(0));
        let mut distinct = first.clone();
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 90, "{} of 100 differ", distinct.len());
        assert!(first.iter().all(|d| (SECOND / 2..=SECOND).contains(d)));
    }
}
