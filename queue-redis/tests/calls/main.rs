//! Calls on Redis: when the backend sends them, what they wait for, and when they give up.

#![cfg(unix)]

mod deadlines;
#[path = "../support/errors.rs"]
mod errors;
mod half_open;
mod half_polled;
#[path = "../support/open.rs"]
mod open;
#[path = "../support/patient.rs"]
mod patient;
#[path = "../support/registered.rs"]
mod registered;
mod runtimes;
mod slow_line;
mod together;

use std::{error::Error as StdError, sync::Arc, time::Duration};

use queue_core::ReliableQueue;
use queue_testing::until;
use real_redis::Server;

use self::{open::open, patient::patient};

type Test = Result<(), Box<dyn StdError>>;
type Queue = Arc<dyn ReliableQueue>;

/// A timeout that a test waits for. A server that does answer is faster, also on a busy machine.
const BRIEF: Duration = Duration::from_secs(5);

/// A server, and a queue on it.
async fn fresh() -> Result<(Server, Queue), Box<dyn StdError>> {
    let server = Server::start()?;
    let queue = open(&patient(&server.url()).connect().await?, "a").await?;
    Ok((server, queue))
}
