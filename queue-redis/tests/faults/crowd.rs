//! A hundred thousand messages that are due at one moment.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;
use real_redis::Server;

use crate::ground::{Clock, connect_with, within};

const CROWD: u64 = 100_000;
const LEASE: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_crowd_is_handed_out_in_order_and_in_parts() {
    let server = Server::start().expect("a server");
    let clock = Clock::at(1_000_000);
    let backend = connect_with(&server, &clock).await;
    let name = QueueName::new("crowd").expect("a name");
    let config = DelayConfig::default();
    let queue = backend.open_delay(&name, &config);
    let queue = queue.await.expect("opens");

    let due = Due::At(Timestamp::from_millis(2_000_000));
    let mut last = 0;
    while last < CROWD {
        let batch = 128.min(CROWD - last);
        let batch: Vec<_> = (last..last + batch)
            .map(|number| Scheduled::new(number.to_be_bytes().to_vec(), due))
            .collect();
        last += batch.len() as u64;
        queue.schedule(&batch).await.expect("schedule");
    }
    clock.set(1_999_999);
    let depth = queue.depth().await.expect("depth");
    assert_eq!((depth.ready, depth.delayed), (0, CROWD));
    let early = queue.receive_one(LEASE, Duration::ZERO).await;
    assert_eq!(early.expect("lease"), None, "D1");
    let next = queue.next_due().await.expect("next due");
    assert_eq!(next, Some(Duration::from_millis(1)));

    clock.set(2_000_000);
    // L7: a due message counts as ready, promoted yet or not.
    let depth = queue.depth().await.expect("depth");
    assert_eq!((depth.ready, depth.delayed), (CROWD, 0));
    let max = NonZeroUsize::new(limits::MAX_BATCH).expect("it is 128");
    let mut settlements = Vec::new();
    let mut expected = 0;
    within("the crowd", async {
        loop {
            let (settled, leased) = queue
                .settle_and_lease(&settlements, max, LEASE, None)
                .await
                .expect("settle_and_lease");
            assert!(settled.iter().all(|settled| *settled == Settled::Done));
            if leased.is_empty() {
                break;
            }
            for delivery in &leased.deliveries {
                assert_eq!(delivery.body, expected_body(expected), "D2: (due, id)");
                expected += 1;
            }
            let receipts = leased.deliveries.iter().map(|delivery| delivery.receipt);
            settlements = receipts.map(Settlement::ack).collect();
        }
    })
    .await;
    assert_eq!(expected, CROWD);
    let counters = queue.counters().await.expect("counters");
    assert!(counters.balance());
    assert_eq!(counters.acked, CROWD);
}

fn expected_body(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Many messages whose leases expire at one moment also come back in steps, and all of them.
#[tokio::test]
async fn a_crowd_of_expired_leases_comes_back() {
    const LEASED: u64 = 10_000;
    let server = Server::start().expect("a server");
    let clock = Clock::at(1_000_000);
    let backend = connect_with(&server, &clock).await;
    let name = QueueName::new("crowd").expect("a name");
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name, &config);
    let queue = queue.await.expect("opens");
    let messages: Vec<_> = (0..LEASED)
        .map(|n| Push::new(n.to_be_bytes().to_vec()))
        .collect();
    queue.push_all(&messages).await.expect("push");
    let mut leased = 0;
    while leased < LEASED {
        let deliveries = queue.receive(128, LEASE, Duration::ZERO).await;
        leased += deliveries.expect("lease").len() as u64;
    }
    clock.set(1_000_000 + 3_600_000);
    let depth = queue.depth().await.expect("depth");
    assert_eq!((depth.ready, depth.leased), (LEASED, 0), "L7");
    let mut expected = 0;
    while expected < LEASED {
        let deliveries = queue.receive(128, LEASE, Duration::ZERO).await;
        let deliveries = deliveries.expect("lease");
        assert!(!deliveries.is_empty(), "{expected} of {LEASED}");
        for delivery in deliveries {
            assert_eq!(delivery.body, expected_body(expected), "L11: by id");
            assert_eq!(delivery.attempt, 2);
            expected += 1;
        }
    }
}
