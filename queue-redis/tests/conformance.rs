//! The suite on a real Redis: every case in virtual time, under the names of other backends' cases. In
//! `out_of_line`, they run again with every body stored out of line, as large bodies are. In `in_partitions`, the
//! cases of leasing kinds run again on queues of several partitions. In `server_time`, the cases that need
//! no exact clock run again by the server's own clock. In `by_locale`, the cases of grouped queues run again on a server
//! of another locale.

#![cfg(unix)]

#[path = "conformance/locale.rs"]
mod by_locale;
#[path = "conformance/server_time.rs"]
mod by_server_time;
#[path = "support/harness.rs"]
mod harness;
#[path = "support/virtual_time.rs"]
mod virtual_time;

use self::{by_server_time::ServerTimeHarness, harness::VirtualTimeHarness};

queue_conformance::suite!(VirtualTimeHarness::fresh());

/// Queues with out-of-line bodies keep the whole contract.
mod out_of_line {
    use super::VirtualTimeHarness;

    queue_conformance::suite!(VirtualTimeHarness::fresh().with_all_bodies_out_of_line());
}

/// Queues of several partitions keep what they promise.
mod in_partitions {
    use super::VirtualTimeHarness;

    queue_conformance::suite!(VirtualTimeHarness::fresh().in_partitions(3));
}

mod server_time {
    use super::ServerTimeHarness;

    queue_conformance::suite!(ServerTimeHarness::fresh());
}
