//! Slow connections: while bytes move, the connection is not silent, however long a call takes.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use bytes::Bytes;
use queue_core::{Backend, LeasingExt, Outcome, ReliableConfig};
use real_redis::{Direction, Proxy, Server};
use tokio::time::{Instant, sleep, timeout};

use super::{BRIEF, Test, open::open, patient::patient, until::PATIENCE};

/// 8 Mbit/s.
const SLOW: u32 = 1_000_000;
const LEASE: Duration = Duration::from_secs(3);

fn max(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("not zero")
}

#[tokio::test]
async fn large_messages_get_through_a_slow_line() -> Test {
    let server = Server::start()?;
    let proxy = Proxy::before(&server)?;
    let builder = patient(&proxy.url()).response_timeout(BRIEF);
    let backend = builder.connect().await?;
    // On a slow machine this may take any number of tries.
    let config = ReliableConfig::default().with_max_attempts(1_000);
    let queue = backend.open_reliable(&"slow".parse()?, &config).await?;
    proxy.throttle(Direction::Requests, SLOW);
    proxy.throttle(Direction::Replies, SLOW);
    let body = Bytes::from(vec![b'x'; 1_000_000]);

    // Eight messages take eight seconds, longer than the server may be silent.
    let before = Instant::now();
    let bodies: Vec<_> = vec![body; 9].into_iter().map(Into::into).collect();
    queue.push_all(&bodies).await?;
    assert!(before.elapsed() > BRIEF);

    let before = Instant::now();
    // A small call behind a large reply waits for it, and does not fail.
    let (leased, depth) = tokio::join!(queue.lease(max(16), LEASE), queue.depth());
    assert!(before.elapsed() > BRIEF);
    assert_eq!(leased?.deliveries.len(), 8, "as many as a lease hands out");
    depth?;

    // The batch arrived after its lease time. Smaller batches arrive within it.
    let mut acked = 0;
    let before = Instant::now();
    while acked < 9 {
        for delivery in queue.receive(1, LEASE, PATIENCE).await? {
            acked += usize::from(queue.ack(delivery.receipt).await.is_ok());
        }
        assert!(before.elapsed() < 2 * PATIENCE, "{acked} got through");
    }
    Ok(())
}

#[tokio::test]
async fn a_line_that_stops_in_the_middle_of_a_reply_is_silent() -> Test {
    let server = Server::start()?;
    let proxy = Proxy::before(&server)?;
    let builder = patient(&proxy.url()).response_timeout(BRIEF);
    let queue = open(&builder.connect().await?, "a").await?;
    let _ = queue.push_one(vec![b'x'; 1_000_000]).await?;
    proxy.throttle(Direction::Replies, SLOW);
    let before = proxy.seen(Direction::Replies);
    let lease = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.lease(max(1), LEASE).await }
    });
    proxy.beyond(Direction::Replies, before).await;
    proxy.hold(Direction::Replies);
    let error = timeout(PATIENCE, lease).await??;
    let error = error.expect_err("the rest never comes");
    assert_eq!(error.outcome(), Outcome::Unknown);
    Ok(())
}

#[tokio::test]
async fn written_bytes_are_no_sign_of_life() -> Test {
    let server = Server::start()?;
    let proxy = Proxy::before(&server)?;
    let builder = patient(&proxy.url()).response_timeout(BRIEF);
    let backend = builder.connect().await?;
    proxy.strand();
    // Other calls go on writing into the buffers of this machine.
    let others = tokio::spawn({
        let backend = backend.clone();
        async move {
            let mut pings = tokio::task::JoinSet::new();
            loop {
                let backend = backend.clone();
                pings.spawn(async move { backend.ping().await });
                sleep(BRIEF / 20).await;
            }
        }
    });
    let ping = timeout(PATIENCE, backend.ping()).await?;
    let error = ping.expect_err("nothing comes back");
    assert_eq!(error.outcome(), Outcome::Unknown);
    others.abort();
    Ok(())
}

#[tokio::test]
async fn a_call_unsent_in_time_on_a_slow_connection_names_the_waiting_calls() -> Test {
    let server = Server::start()?;
    let proxy = Proxy::before(&server)?;
    let builder = patient(&proxy.url()).response_timeout(BRIEF);
    let queue = open(&builder.connect().await?, "a").await?;
    let _ = queue.push_one(vec![b'x'; 1_000_000]).await?;
    // All other answers queue behind one that takes more than three times the response timeout.
    proxy.throttle(Direction::Replies, 1_000_000 / (4 * BRIEF.as_secs() as u32));
    let before = proxy.seen(Direction::Replies);
    let lease = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.lease(max(1), Duration::from_secs(600)).await }
    });
    proxy.beyond(Direction::Replies, before).await;
    // The first push is sent at once. The second waits for the first, until its timeout or until it is
    // sent. If the second is sent, the third waits for it.
    let third = async {
        sleep(BRIEF / 2).await;
        queue.push_one("hello").await
    };
    let (first, second, third) =
        tokio::join!(queue.push_one("hello"), queue.push_one("hello"), third);
    let _ = first?;
    let errors: Vec<_> = [second, third]
        .into_iter()
        .filter_map(Result::err)
        .collect();
    assert!(!errors.is_empty(), "all were sent in time");
    for error in errors {
        assert_eq!(error.outcome(), Outcome::NotApplied);
        assert!(error.is_transient());
        assert!(error.to_string().contains("more calls waiting"), "{error}");
    }
    assert_eq!(lease.await??.deliveries.len(), 1);
    Ok(())
}
