//! Benchmarks of queue-kit, for its developers and for users who compare. Here is what they share:
//! pairs of measurements, and the work to measure.

#![allow(
    missing_debug_implementations,
    reason = "nobody prints a fixture, or work that is a closure; the package is not published"
)]

pub mod kinds;
pub mod pairs;
pub mod peers;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "redis")]
pub mod report;
#[cfg(feature = "redis")]
pub mod work_off;
