//! Confirmed calls on real replicas and disks: their guarantee, and that other calls do not pay for it.

#![cfg(unix)]

mod clusters;
mod cuts;
mod disks;
mod failover;
mod kinds;
#[path = "../support/open.rs"]
mod open;
mod partitions;
mod refusals;
mod servers;
mod together;
mod waits;

use std::{error::Error as StdError, sync::Arc, time::Duration};

use queue_core::{Backend, Confirmation, Confirmed, LeasingExt, Pushed, ReliableQueue};
use queue_redis::RedisBackend;
use queue_testing::until;
use real_redis::{Server, ServerError};
use tokio::task::JoinHandle;

use self::{open::open, until::until};

type Test = Result<(), Box<dyn StdError>>;
type Reliable = Arc<dyn ReliableQueue>;

/// Longer than any wait of a test: the largest value allowed.
const LONG: Duration = Duration::from_secs(60);
/// Short, because a frozen replica never answers and the test waits for the whole time.
const SOON: Duration = Duration::from_millis(50);

/// One replica, with a long time to wait for it.
fn by_a_replica() -> Confirmation {
    Confirmation::replicas(1).within(LONG)
}

/// A primary and its replica.
struct Pair {
    primary: Server,
    replica: Server,
}

impl Pair {
    fn start() -> Result<Self, ServerError> {
        let primary = Server::builder().with_tcp().start()?;
        let replica = Server::builder().with_primary(&primary)?.start()?;
        Ok(Self { primary, replica })
    }

    async fn connect(&self) -> queue_core::Result<RedisBackend> {
        RedisBackend::connect(&self.primary.url()).await
    }

    /// The clients that wait for copies.
    fn waiting(&self) -> u64 {
        let blocked = self.primary.info("clients", "blocked_clients");
        let blocked = blocked.expect("it answers").expect("a figure");
        blocked.parse().expect("a number")
    }

    async fn until_one_waits(&self) {
        until("the server waits for the replica", || self.waiting() == 1).await;
    }
}

/// A pair, a backend on its primary, and a queue whose calls can wait for the replica.
async fn safe_pair() -> Result<(Pair, RedisBackend, Reliable), Box<dyn StdError>> {
    let pair = Pair::start()?;
    let backend = pair.connect().await?;
    let safe = confirming(&backend, by_a_replica()).await?;
    Ok((pair, backend, safe))
}

/// Pushes in a task of its own, and waits for the confirmation.
fn pushing(
    safe: &Reliable,
    body: &'static str,
) -> JoinHandle<queue_core::Result<Confirmed<Pushed>>> {
    let safe = Reliable::clone(safe);
    tokio::spawn(async move { safe.confirmed(|safe| safe.push_one(body)).await })
}

/// The same queue through handles that confirm.
async fn confirming(
    backend: &RedisBackend,
    confirmation: Confirmation,
) -> queue_core::Result<Reliable> {
    open(&*backend.confirmed(confirmation).await?, "q").await
}
