//! Random numbers that every run repeats.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A source of random numbers. Clones share it.
#[derive(Debug, Clone)]
pub struct Chance(Arc<AtomicU64>);

impl Chance {
    /// The numbers of this seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    /// From 0 to 1, and never 1.
    pub fn part(&self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A gap between independent arrivals, one arrival a unit on average.
    pub fn gap(&self) -> f64 {
        -(1.0 - self.part()).ln()
    }

    /// SplitMix64: each step adds the same odd number, and mixes.
    fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_gaps_have_their_means_and_repeat() {
        let (one, two) = (Chance::seeded(7), Chance::seeded(7));
        let parts: Vec<f64> = (0..10_000).map(|_| one.part()).collect();
        assert!(parts.iter().all(|part| (0.0..1.0).contains(part)));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean(&parts) - 0.5).abs() < 0.02);
        assert_eq!(parts[..10], [(); 10].map(|()| two.part()));
        let gaps: Vec<f64> = (0..10_000).map(|_| one.gap()).collect();
        assert!(gaps.iter().all(|gap| gap.is_finite() && *gap >= 0.0));
        assert!((mean(&gaps) - 1.0).abs() < 0.05);
    }
}
