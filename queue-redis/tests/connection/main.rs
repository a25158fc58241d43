//! Connections to Redis: what an open refuses, and what happens when a connection ends.

#![cfg(unix)]

mod ending;
mod failover;
mod opening;
mod rights;
#[path = "../support/until.rs"]
mod until;

use std::{error::Error as StdError, sync::Arc};

use queue_core::{Backend, QueueName, ReliableConfig, ReliableQueue};
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

/// Opens a queue on this backend.
async fn open(backend: &RedisBackend) -> queue_core::Result<Arc<dyn ReliableQueue>> {
    let name = QueueName::new("q")?;
    let config = ReliableConfig::default();
    backend.open_reliable(&name, &config).await
}
