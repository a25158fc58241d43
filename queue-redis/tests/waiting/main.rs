//! Waiting on Redis: which clients a hint wakes, which hints clients pass on, and the cost of an
//! idle consumer.

#![cfg(unix)]

mod costs;
mod ends;
mod handing_over;
mod hints;
mod losses;
#[path = "../support/open.rs"]
mod open;
mod owed;
#[path = "../support/patient.rs"]
mod patient;
#[path = "../support/registered.rs"]
mod registered;
mod registrations;

use std::{error::Error as StdError, sync::Arc, time::Duration};

use queue_core::{LeasingExt, ReliableQueue};
use queue_redis::RedisBackend;
use queue_testing::until;
use real_redis::Server;
use tokio::{task::JoinSet, time::timeout};

use self::{
    open::open,
    patient::patient,
    registered::waiting,
    until::{PATIENCE, until},
};

type Test = Result<(), Box<dyn StdError>>;
type Queue = Arc<dyn ReliableQueue>;

const LEASE: Duration = Duration::from_secs(60);

/// A backend whose consumers never poll on their timer, so that only an arrival wakes them.
async fn backend(server: &Server) -> Result<RedisBackend, queue_core::Error> {
    patient(&server.url())
        .fall_back(Duration::from_secs(3600))
        .connect()
        .await
}

/// The number of connections that listen to a channel.
fn listening(server: &Server) -> usize {
    let list = server.ask::<String>(&["CLIENT", "LIST", "TYPE", "PUBSUB"]);
    list.expect("it lists them").lines().count()
}

/// Starts to wait for a message.
fn receiving<Q: LeasingExt + ?Sized>(set: &mut JoinSet<usize>, queue: &Arc<Q>) {
    let queue = Arc::clone(queue);
    set.spawn(async move {
        let received = queue
            .receive(1, LEASE, PATIENCE)
            .await
            .expect("it is served");
        received.len()
    });
}

/// A caller that waits for a message of queue `a`, as the only registered one.
async fn one_waiting(server: &Server, queue: &Queue) -> JoinSet<usize> {
    let mut set = JoinSet::new();
    receiving(&mut set, queue);
    until("it waits", || waiting(server, "a") == 1).await;
    set
}

/// A server, and queue `a` of it by two clients.
async fn two_clients() -> Result<(Server, Queue, Queue), Box<dyn StdError>> {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (here, there) = (open(&here, "a").await?, open(&there, "a").await?);
    Ok((server, here, there))
}

async fn received(set: &mut JoinSet<usize>) -> usize {
    let received = timeout(PATIENCE, set.join_next())
        .await
        .expect("it was woken");
    received.expect("somebody waited").expect("without a panic")
}
