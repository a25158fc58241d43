//! Connections to Redis: what an open refuses, and what happens when a connection ends.

#![cfg(unix)]

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
mod rights;
mod sizes;
mod startup;
#[path = "../support/until.rs"]
mod until;

use std::error::Error as StdError;

use queue_redis::{Builder, RedisBackend};
use real_redis::Server;

type Test = Result<(), Box<dyn StdError>>;

fn to(server: &Server) -> Builder {
    RedisBackend::builder(&server.url()).expect("the harness gives good URLs")
}

/// The server's clients, without the one that asks.
fn clients(server: &Server) -> Vec<String> {
    let list: String = server.ask(&["CLIENT", "LIST"]).expect("it lists them");
    let others = list.lines().filter(|line| !line.contains(" cmd=client"));
    others.map(str::to_owned).collect()
}
