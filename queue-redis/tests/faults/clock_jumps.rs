//! The server's clock jumps, forward and backward. The simulator sets it back, too (`ClockBack`).

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::*;
use real_redis::Server;

use crate::ground::{Clock, connect_with};

const START: u64 = 10_000_000;
const HOUR: Duration = Duration::from_secs(3600);
const HOUR_MILLIS: u64 = 3_600_000;
const MINUTE: Duration = Duration::from_secs(60);

async fn backend(server: &Server) -> (Clock, Arc<dyn Backend>) {
    let clock = Clock::at(START);
    let backend = connect_with(server, &clock).await;
    (clock, backend)
}

fn name(name: &str) -> QueueName {
    QueueName::new(name).expect("a name")
}

fn is_lost(acked: Result<()>) {
    assert_eq!(acked.expect_err("refused").kind(), ErrorKind::LeaseLost);
}

async fn take(queue: &dyn Leasing) -> Option<Delivery> {
    let leased = queue.lease(NonZeroUsize::MIN, MINUTE).await;
    leased.expect("leases").deliveries.pop()
}

#[tokio::test]
async fn forward_ends_leases_delays_and_windows_sooner_and_loses_nothing() {
    let server = Server::start().expect("a server");
    let (clock, backend) = backend(&server).await;
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name("jobs"), &config).await;
    let queue = queue.expect("opens");
    let push = || Push::new("leased").with_dedup("key", HOUR / 2);
    queue.push_one(push()).await.expect("pushes");
    queue.push_one("retried").await.expect("pushes");
    let held = take(&*queue).await.expect("the first");
    let failed = take(&*queue).await.expect("the second");
    let retry = Settlement::retry(failed.receipt, HOUR / 2);
    queue.settle_one(retry).await.expect("settles");

    clock.set(START + HOUR_MILLIS);
    let again = take(&*queue).await.expect("its lease is over");
    assert_eq!((again.id(), again.attempt), (held.id(), 2));
    assert!(again.receipt.token > held.receipt.token, "L4");
    is_lost(queue.ack(held.receipt).await);
    let due = take(&*queue).await.expect("its delay is over");
    assert_eq!(due.id(), failed.id());
    let pushed = queue.push_one(push()).await.expect("pushes");
    assert!(!pushed.is_duplicate(), "L9: the window is over");
}

#[tokio::test]
async fn backward_makes_everything_last_longer_and_loses_nothing() {
    let server = Server::start().expect("a server");
    let (clock, backend) = backend(&server).await;
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name("jobs"), &config).await;
    let queue = queue.expect("opens");
    queue.push_one("before").await.expect("pushes");
    let before = take(&*queue).await.expect("the first");

    clock.set(START - HOUR_MILLIS);
    queue.push_one("after").await.expect("pushes");
    let after = take(&*queue).await.expect("the second");
    assert!(after.receipt.token > before.receipt.token, "tokens grow");
    let counters = queue.counters().await.expect("counters");
    assert_eq!(counters.depth.leased, 2);
    // The new lease ends after a minute, the old one an hour later.
    clock.set(START - HOUR_MILLIS + 60_000);
    let again = take(&*queue).await.expect("the second again");
    assert_eq!(again.id(), after.id());
    queue.ack(before.receipt).await.expect("it lives still");
    clock.set(START);
    is_lost(queue.ack(again.receipt).await);
    let third = take(&*queue).await.expect("the second once more");
    assert_eq!(third.attempt, 3);
}

#[tokio::test]
async fn backward_puts_off_what_was_due() {
    let server = Server::start().expect("a server");
    let (clock, backend) = backend(&server).await;
    let config = DelayConfig::default();
    let queue = backend.open_delay(&name("reminders"), &config).await;
    let queue = queue.expect("opens");
    queue
        .schedule_one("now", Duration::ZERO)
        .await
        .expect("schedules");
    clock.set(START - HOUR_MILLIS);
    assert_eq!(take(&*queue).await, None, "D1, by the clock there is");
    let next = queue.next_due().await.expect("next due");
    assert_eq!(next, Some(HOUR));
    let depth = queue.depth().await.expect("depth");
    assert_eq!((depth.ready, depth.delayed), (0, 1));
    clock.set(START);
    assert!(take(&*queue).await.is_some());
}

#[tokio::test]
async fn backward_puts_off_visits_at_a_pace() {
    let server = Server::start().expect("a server");
    let (clock, backend) = backend(&server).await;
    let config = RotatingConfig::default().with_pace(MINUTE);
    let ring = backend.open_rotating(&name("sensors"), &config).await;
    let ring = ring.expect("opens");
    ring.insert(&[Insert::new("a")]).await.expect("inserts");
    let all = NonZeroUsize::MIN;
    assert_eq!(ring.rotate(all).await.expect("rotates").items.len(), 1);
    clock.set(START - HOUR_MILLIS);
    ring.insert(&[Insert::new("b")]).await.expect("inserts");
    let rotated = ring.rotate(all).await.expect("rotates");
    assert_eq!(&rotated.items[0].body[..], b"b", "a new item is due");
    // The new message is due again in a minute of the present clock, the old one later.
    clock.set(START - HOUR_MILLIS + 60_000);
    let rotated = ring.rotate(all).await.expect("rotates");
    assert_eq!(&rotated.items[0].body[..], b"b");
    clock.set(START + 60_000);
    let both = NonZeroUsize::new(2).expect("two");
    assert_eq!(ring.rotate(both).await.expect("rotates").items.len(), 2);
}
