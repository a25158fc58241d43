//! The primary that sentinels name: which sentinel the client believes, and the cost of a failover.

#![cfg(unix)]

#[path = "../support/errors.rs"]
mod errors;
mod failover;
mod finding;
mod logins;
#[path = "../support/open.rs"]
mod open;
#[path = "../support/patient.rs"]
mod patient;
mod startup;

use std::error::Error as StdError;

use queue_testing::until;
use real_redis::{Server, ServerBuilder, ServerError};

type Test = Result<(), Box<dyn StdError>>;

/// A sentinel to build, which watches this primary as `orders`.
fn watching(primary: &Server, quorum: u32) -> Result<ServerBuilder, ServerError> {
    Server::builder()
        .with_tcp()
        .with_watch("orders", primary, quorum)
}

fn place(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port().expect("it has a port"))
}

fn url(sentinels: &[&Server]) -> String {
    let places: Vec<_> = sentinels.iter().map(|sentinel| place(sentinel)).collect();
    format!("redis+sentinel://{}/orders", places.join(","))
}
