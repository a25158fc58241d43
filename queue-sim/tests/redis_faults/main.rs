//! What a Redis queue keeps when things go wrong: beyond the suite, on real servers of its own.

#![cfg(unix)]

mod bodies;
mod cancellation;
mod clocks;
mod connections;
mod contention;
mod crash;
mod crowd;
mod ground;
mod ledger;
mod memory;
mod scripts;
mod subject;
mod traffic;
