//! Proof for queue-kit.
//!
//! [`conformance`] is one suite of cases, each named by its rule of `CONTRACT.md`, that any
//! backend can be put through: implement [`Harness`], and [`conformance!`] makes a `#[test]` of
//! each case.

pub mod conformance;
mod harness;
pub mod model;
#[cfg(all(unix, feature = "redis"))]
pub mod redis;

pub use self::harness::{Capabilities, Capability, Harness, Play};
