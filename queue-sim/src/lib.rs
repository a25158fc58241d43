//! Being built.

#[cfg(all(unix, feature = "redis"))]
pub mod redis;
