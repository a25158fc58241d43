//! The checks, on histories written by hand: each rule holds in a good one, and is found to be
//! broken in one that is hardly bad.

mod bounded;
mod delay;
mod leases;
mod messages;
mod order;
mod rotating;
mod runs;
mod story;
mod waiting;
