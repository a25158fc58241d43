//! Calls on Redis: when they are sent, what they wait for, and when they give up.

#![cfg(unix)]

#[path = "../on_a_server/command.rs"]
mod command;
mod half_polled;
mod together;
#[path = "../on_a_server/until.rs"]
mod until;

use std::{error::Error as StdError, sync::Arc};

use queue_core::{Backend, QueueName, ReliableConfig, ReliableQueue};
use queue_redis::RedisBackend;

type Test = Result<(), Box<dyn StdError>>;
type Queue = Arc<dyn ReliableQueue>;

async fn queue(backend: &RedisBackend) -> Result<Queue, queue_core::Error> {
    let config = ReliableConfig::default();
    backend.open_reliable(&QueueName::new("a")?, &config).await
}
