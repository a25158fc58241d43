//! A user's own logic under the simulator: the checks that keep a simulation honest, and its messages. The
//! worked examples are those of `docs/simulate-your-logic.md`, which the test `pages` follows.

mod durable;
mod environment;
mod generated;
#[cfg(all(unix, feature = "redis"))]
mod gift_feed;
mod jobs;
mod kept;
mod messages;
mod outbox;
mod periodic;
mod pictures;
mod sanity;
mod settled;
mod several_queues;
mod versions;

use std::{env, process::Command};

/// One test of this program in a process of its own, without the variables that control simulations.
fn child(test: &str) -> Command {
    let mut child = Command::new(env::current_exe().expect("this program"));
    child.args(["--exact", test, "--nocapture"]);
    for variable in ["QUEUE_SIM_SEEDS", "QUEUE_SIM_REPLAY", "QUEUE_SIM_KEPT"] {
        child.env_remove(variable);
    }
    child
}
