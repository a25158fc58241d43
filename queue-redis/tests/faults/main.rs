//! What a Redis queue keeps when things go wrong: beyond the suite, on real servers of its own.

#![cfg(unix)]

mod anew;
mod bodies;
mod cancellation;
mod clocks;
mod connections;
mod contention;
mod crash;
mod crowd;
mod foreign;
mod ground;
mod ledger;
mod memory;
mod refused_writes;
mod scripts;
mod subject;
mod traffic;
mod verbs;
