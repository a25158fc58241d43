//! The wire between simulated lanes and a real server.

#![cfg(unix)]

mod bugs;
mod faults;
mod set;
mod truth;
mod waits;
mod whole;
