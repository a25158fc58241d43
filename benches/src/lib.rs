//! What the benchmarks share: pairs of measurements, and the work that is measured.

pub mod kinds;
pub mod pairs;
pub mod peers;
#[cfg(feature = "redis")]
pub mod redis;
