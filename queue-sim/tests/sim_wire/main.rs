//! The wire between simulated processes and a real server.

#![cfg(unix)]

mod bugs;
mod server_faults;
mod set;
mod truth;
mod waits;
mod whole;
