//! The Redis backend compared with raw commands through the redis crate, and with other structures.
//!
//! Each [`Placement`](placement::Placement) starts a server on a Unix socket. The client runs on
//! one current-thread runtime. Every measurement has keys of its own, which it fills before and
//! deletes after, outside the measured time.

pub mod cost;
pub mod due;
pub mod fixture;
pub mod footprint;
pub mod ours;
pub mod placement;
pub mod raw;
pub mod report;
pub mod strategies;
pub mod wake;
