//! Connections to Redis: what an open refuses, and what happens when a connection ends.

#![cfg(unix)]

mod climbing;
mod commands;
mod credentials;
mod ending;
#[path = "../support/errors.rs"]
mod errors;
mod failover;
mod idle;
mod names;
#[path = "../support/open.rs"]
mod open;
mod opening;
#[path = "../support/patient.rs"]
mod patient;
mod rights;
mod sizes;
mod startup;

use std::{error::Error as StdError, time::Duration};

use queue_redis::{Builder, Connector, RedisBackend};
use queue_testing::until;
use real_redis::Server;

use self::{patient::patient, until::PATIENCE};

/// A timeout that a test waits for. A server that answers is faster, also on a busy machine.
const BRIEF: Duration = Duration::from_secs(5);

type Test = Result<(), Box<dyn StdError>>;

fn to(server: &Server) -> Builder {
    patient(&server.url())
}

/// A client whose connections this connector opens, with timeouts that suit a busy machine.
fn through(connector: impl Connector) -> Builder {
    RedisBackend::with_connector(connector)
        .connect_timeout(PATIENCE)
        .response_timeout(PATIENCE)
}

/// The server's clients, without the client that asks.
fn clients(server: &Server) -> Vec<String> {
    let list: String = server.ask(&["CLIENT", "LIST"]).expect("it lists them");
    let others = list.lines().filter(|line| !line.contains(" cmd=client"));
    others.map(str::to_owned).collect()
}
