//! A caller that is handed a message does not poll: others are notified of further ready messages, and of
//! the next change.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use queue_core::{Leasing, LeasingExt, Push};
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

/// Shorter than the fall-back interval.
const LATER: Duration = Duration::from_secs(1800);

/// The server orders waiters by milliseconds.
const A_TICK: Duration = Duration::from_millis(2);

/// A process that stopped while it waited for a message of queue `a`. It ends when this is dropped; until
/// then the server treats it as listening.
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

/// A caller that waits for a message without a poll before. Earlier waiters have waited longer by the
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

/// Whether the waiter was handed a message; `false` if it was notified instead.
async fn has_one(set: &mut JoinSet<bool>) -> bool {
    let joined = timeout(PATIENCE, set.join_next()).await;
    let joined = joined.expect("it was notified").expect("it waited");
    joined.expect("without a panic")
}

/// Only the process that stops knows the next due time; another is notified of it with the hand-over (D5).
#[tokio::test]
async fn a_process_that_dies_with_a_message_has_another_watch_the_due_time() -> Test {
    let server = Arc::new(Server::start()?);
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (other, producer) = (open(&here, "a").await?, open(&there, "a").await?);
    let _ = producer
        .push_one(Push::new("later").with_due(LATER))
        .await?;
    let stopped = Stopped::waiting(&server).await;
    let mut waits = waits_for_a_message(&other).await;
    until("both wait", || waiting(&server, "a") == 2).await;
    let _ = producer.push_one("now").await?;
    assert_eq!(producer.depth().await?.leased, 1, "it was handed over");
    assert!(!has_one(&mut waits).await, "it is notified instead");
    drop(stopped);
    Ok(())
}

/// Another waiter is notified of further ready messages, although the first never polls.
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
    let _ = producer.push_one("its").await?;
    assert_eq!(producer.depth().await?.leased, 1, "it was handed over");
    let _ = producer.push_one("another's").await?;
    assert_eq!(received(&mut set).await, 1);
    drop(stopped);
    Ok(())
}

/// The server notifies nobody of the end of a lease; only the process knows that time.
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
    let _ = producer.push_one("held").await?;
    assert_eq!(
        producer.lease(1.try_into()?, LATER).await?.deliveries.len(),
        1
    );
    // This consumer polls, and then knows the end of that lease.
    let mut set = JoinSet::new();
    receiving(&mut set, &first);
    until("it waits", || waiting(&server, "a") == 1).await;
    let mut waits = waits_for_a_message(&other).await;
    until("both wait", || waiting(&server, "a") == 2).await;
    let _ = producer.push_one("now").await?;
    assert_eq!(received(&mut set).await, 1);
    assert!(!has_one(&mut waits).await, "it is notified instead");
    Ok(())
}
