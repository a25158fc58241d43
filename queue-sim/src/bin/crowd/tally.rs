use std::{collections::HashSet, fmt, time::Duration};

/// A message that takes this long shows a lost hint: by then its consumer looks by itself.
pub(crate) const SLEPT: Duration = Duration::from_secs(4);

/// The fates of a round's messages.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pushed: HashSet<u64>,
    /// Pushes that a producer gave up before their answer.
    pub(crate) given_up: u64,
    received: HashSet<u64>,
    twice: u64,
    pub(crate) failed: u64,
    took: Vec<Duration>,
}

impl Tally {
    pub(crate) fn push(&mut self, number: u64) {
        self.pushed.insert(number);
    }

    pub(crate) fn receive(&mut self, number: u64, took: Duration) {
        if !self.received.insert(number) {
            self.twice += 1;
        }
        self.took.push(took);
    }

    /// Whether all pushed messages have come. Given-up pushes may have been accepted or not.
    pub(crate) fn is_complete(&self) -> bool {
        self.pushed.is_subset(&self.received)
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.is_complete() && self.twice == 0 && self.failed == 0 && self.slept() == 0
    }

    fn slept(&self) -> usize {
        self.took.iter().filter(|took| **took >= SLEPT).count()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut took = self.took.clone();
        took.sort_unstable();
        let at = |share: f64| {
            let nth = (took.len() as f64 * share) as usize;
            let took = took.get(nth.min(took.len().saturating_sub(1)));
            took.copied().unwrap_or_default().as_secs_f64() * 1e3
        };
        write!(
            f,
            "pushed={} given_up={} received={} twice={} failed={} slept={} \
             p50={:.1}ms p99={:.1}ms max={:.1}ms",
            self.pushed.len(),
            self.given_up,
            self.received.len(),
            self.twice,
            self.failed,
            self.slept(),
            at(0.5),
            at(0.99),
            at(1.0)
        )
    }
}
