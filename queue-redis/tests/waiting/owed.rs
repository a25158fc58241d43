//! Whoever is handed a message does not look: others learn of what is ready besides, and of the next change.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use queue_core::{Leasing, Push, ReliableQueueExt};
use real_redis::Server;
use tokio::{
    runtime,
    sync::oneshot,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    LEASE, Queue, Test, backend,
    open::open,
    received, receiving,
    until::{PATIENCE, until},
    waiting,
};

/// Sooner than everybody looks.
const LATER: Duration = Duration::from_secs(1800);

/// The server orders those who wait by milliseconds.
const A_TICK: Duration = Duration::from_millis(2);

/// A process that stopped while it waited for a message of queue `a`, to be killed when this is dropped. Until
/// then the server takes it for one that listens.
struct Stopped(#[expect(dead_code)] mpsc::Sender<()>);

impl Stopped {
    async fn waiting(server: &Arc<Server>) -> Self {
        let (stops, has_stopped) = oneshot::channel();
        let (kill, killed) = mpsc::channel();
        let before = waiting(server, "a");
        let server = Arc::clone(server);
        thread::spawn(move || {
            let process = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            let waits = process.block_on(async {
                let here = backend(&server).await.expect("the server takes it");
                let consumer = open(&here, "a").await.expect("opens");
                let mut set = JoinSet::new();
                receiving(&mut set, &consumer);
                until("it waits", || waiting(&server, "a") == before + 1).await;
                (set, here)
            });
            // Nothing of it runs from here on.
            let _ = stops.send(());
            let _ = killed.recv();
            drop((process, waits));
        });
        has_stopped.await.expect("it waits");
        Self(kill)
    }
}

/// One that waits for a message, and has not looked before. Whoever waits already has waited longer, by the
/// server's clock.
async fn waits_for_a_message(queue: &Queue) -> JoinSet<bool> {
    sleep(A_TICK).await;
    let queue = Arc::clone(queue);
    let mut set = JoinSet::new();
    set.spawn(async move {
        let waited = queue.wait_to_lease(LEASE, None, 2 * PATIENCE).await;
        !waited.expect("it is served").is_empty()
    });
    set
}

/// Whether who waited was handed a message; `false` if it was told to look.
async fn has_one(set: &mut JoinSet<bool>) -> bool {
    let told = timeout(PATIENCE, set.join_next()).await;
    let told = told.expect("it was told").expect("it waited");
    told.expect("without a panic")
}

/// The next due time, which the process that stops knows alone, is told to another with the hand-over (D5).
#[tokio::test]
async fn a_process_that_dies_with_a_message_has_another_watch_the_due_time() -> Test {
    let server = Arc::new(Server::start()?);
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (other, producer) = (open(&here, "a").await?, open(&there, "a").await?);
    producer
        .push_one(Push::new("later").with_due(LATER))
        .await?;
    let stopped = Stopped::waiting(&server).await;
    let mut waits = waits_for_a_message(&other).await;
    until("both wait", || waiting(&server, "a") == 2).await;
    producer.push_one("now").await?;
    assert_eq!(producer.depth().await?.leased, 1, "it was handed over");
    assert!(!has_one(&mut waits).await, "it looks");
    drop(stopped);
    Ok(())
}

/// What becomes ready besides goes to another, though the first never looks.
#[tokio::test]
async fn a_process_that_dies_with_a_message_takes_no_other_along() -> Test {
    let server = Arc::new(Server::start()?);
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (other, producer) = (open(&here, "a").await?, open(&there, "a").await?);
    let stopped = Stopped::waiting(&server).await;
    sleep(A_TICK).await;
    let mut set = JoinSet::new();
    receiving(&mut set, &other);
    until("both wait", || waiting(&server, "a") == 2).await;
    producer.push_one("its").await?;
    assert_eq!(producer.depth().await?.leased, 1, "it was handed over");
    producer.push_one("another's").await?;
    assert_eq!(received(&mut set).await, 1);
    drop(stopped);
    Ok(())
}

/// The server tells nobody of the end of a lease: it is the process that knows of it.
#[tokio::test]
async fn a_handed_over_message_leaves_the_end_of_a_lease_to_another_waiter() -> Test {
    let server = Server::start()?;
    let backends = [
        backend(&server).await?,
        backend(&server).await?,
        backend(&server).await?,
    ];
    let (first, other) = (
        open(&backends[0], "a").await?,
        open(&backends[1], "a").await?,
    );
    let producer = open(&backends[2], "a").await?;
    producer.push_one("held").await?;
    assert_eq!(
        producer.lease(1.try_into()?, LATER).await?.deliveries.len(),
        1
    );
    // It looks, and knows of the end of that lease.
    let mut set = JoinSet::new();
    receiving(&mut set, &first);
    until("it waits", || waiting(&server, "a") == 1).await;
    let mut waits = waits_for_a_message(&other).await;
    until("both wait", || waiting(&server, "a") == 2).await;
    producer.push_one("now").await?;
    assert_eq!(received(&mut set).await, 1);
    assert!(!has_one(&mut waits).await, "it looks");
    Ok(())
}
