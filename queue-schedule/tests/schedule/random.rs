//! Random numbers by a seed.

use std::sync::{Arc, Mutex};

/// Random numbers (xorshift). Clones share their state.
#[derive(Debug, Clone)]
pub(crate) struct Random(Arc<Mutex<u64>>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        )))
    }

    pub(crate) fn below(&self, end: u64) -> u64 {
        let mut state = self.0.lock().unwrap();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 16) % end
    }
}

/// A number of seeds from the environment, or this one.
pub(crate) fn seeds(usual: u64) -> u64 {
    let seeds = std::env::var("QUEUE_SCHEDULE_SEEDS").ok();
    seeds.and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}
