//! The Redis backend beside raw commands through the redis crate, and beside other structures.
//!
//! A server is started for each [`Placement`](placement::Placement), on a Unix socket. The client
//! lives on one current-thread runtime. Every measurement has keys of its own: they are filled
//! before and deleted after, outside the time that counts.

pub mod cost;
pub mod due;
pub mod footprint;
pub mod ours;
pub mod placement;
pub mod raw;
pub mod report;
pub mod stand;
pub mod strategies;
pub mod wake;
