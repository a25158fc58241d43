//! The Redis backend compared with raw commands through the redis crate, with other structures, and
//! with published strategies.
//!
//! Each [`Placement`](placement::Placement) starts a server on a Unix socket. The client runs on
//! one current-thread runtime, or on several threads. Every measurement has keys of its own, which
//! it fills before and deletes after, outside the measured time.

pub mod contenders;
pub mod cost;
pub mod counting;
pub mod crowd;
pub mod due;
pub mod fixture;
pub mod footprint;
pub mod jobs;
pub mod ours;
pub mod placement;
pub mod plain;
pub mod raw;
pub mod report;
pub mod slow_log;
pub mod stand;
pub mod strategies;
pub mod table;
pub mod tally;
pub mod wake;
