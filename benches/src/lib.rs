//! Benchmarks of queue-kit, for its developers and for users who compare. Here is what they share:
//! pairs of measurements, and the work to measure.

pub mod kinds;
pub mod pairs;
pub mod peers;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "redis")]
pub mod report;
