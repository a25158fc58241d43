//! Crashes on real servers while messages flow: processes, connections, servers and nodes end, and come back. Every
//! message is accounted for.

#![cfg(unix)]
// The test's own future awaits all tasks.
#![allow(clippy::future_not_send)]

mod clusters;
mod copies;
mod ground;
mod habits;
mod judge;
#[path = "../support/ledger.rs"]
#[allow(dead_code, reason = "each program uses a part")]
mod ledger;
mod one_server;
mod operator;
mod operators;
mod remains;
mod rounds;
mod sentinels;
mod servers;
mod slots;
mod traffic;
