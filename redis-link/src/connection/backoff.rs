use std::time::Duration;

/// Delays between attempts. They double, with jitter, so that the clients of a server that returns do not all connect
/// at once.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
    state: u64,
}

impl Backoff {
    /// The same seed gives the same delays.
    pub const fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        Self {
            first,
            longest,
            failures: 0,
            state: seed,
        }
    }

    /// The next delay: between half of the doubled delay and all of it.
    pub fn next_delay(&mut self) -> Duration {
        let doubled = self.first.saturating_mul(1 << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        let whole = doubled.min(self.longest);
        let share = self.random() as f64 / u64::MAX as f64;
        whole.div_f64(2.0).mul_f64(1.0 + share)
    }

    /// The next delay is the first one again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// SplitMix64: good enough for jitter, and the same on all platforms.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_secs(1);

    #[test]
    fn delays_double_up_to_the_longest_and_restart_after_a_reset() {
        let mut backoff = Backoff::new(FIRST, LONGEST, 7);
        for round in 0..40 {
            let whole = FIRST.saturating_mul(1 << round.min(16)).min(LONGEST);
            let delay = backoff.next_delay();
            assert!(delay >= whole / 2 && delay <= whole, "{round}: {delay:?}");
        }
        backoff.reset();
        assert!(backoff.next_delay() <= FIRST);
    }

    #[test]
    fn the_seed_decides_the_delays() {
        let delays = |seed| {
            let mut backoff = Backoff::new(FIRST, LONGEST, seed);
            std::array::from_fn::<_, 8, _>(|_| backoff.next_delay())
        };
        assert_eq!(delays(1), delays(1));
        assert_ne!(delays(1), delays(2));
    }

    #[test]
    fn numbers_equal_those_of_splitmix64() {
        let mut backoff = Backoff::new(FIRST, LONGEST, 1_234_567);
        for number in [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ] {
            assert_eq!(backoff.random(), number);
        }
    }
}
