//! The suite on a real Redis: every case in virtual time, under the names that other backends'
//! cases have; and in `server_time` again, by the server's own clock, those that can be told from
//! outside.

#![cfg(unix)]

use queue_sim::redis::{ServerTimeHarness, VirtualTimeHarness};

queue_sim::conformance!(VirtualTimeHarness::fresh());

mod server_time {
    use super::ServerTimeHarness;

    queue_sim::conformance!(ServerTimeHarness::fresh());
}
