//! A server without memory left.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::*;
use real_redis::Server;

use crate::{
    ground::{administer, connect, within},
    subject::Subject,
};

const LEASE: Duration = Duration::from_secs(600);
const ROOM: u64 = 8 * 1024 * 1024;
const BODY: usize = 16 * 1024;

/// Leaves the server a little room above its own memory.
fn limit(server: &Server) {
    let used = server.info("memory", "used_memory").expect("it answers");
    let used: u64 = used.expect("a figure").parse().expect("a number");
    administer(server, &format!("CONFIG SET maxmemory {}", used + ROOM));
}

/// Checks for an out-of-memory error: it is `NotApplied`, and transient.
fn assert_refused<T: std::fmt::Debug>(answer: Result<T>) {
    let error = answer.expect_err("there is no room");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    assert!(error.is_transient(), "{error:?}");
}

/// Pushes until there is no room. Returns the number of accepted messages.
async fn fill(queue: &Subject) -> u64 {
    for accepted in 0.. {
        assert!(
            accepted * (BODY as u64) < 4 * ROOM,
            "the limit holds nothing"
        );
        match queue.put_one(vec![b'x'; BODY]).await {
            Ok(_) => {}
            full => {
                assert_refused(full);
                return accepted;
            }
        }
    }
    unreachable!("the loop has no end of its own")
}

/// A server without room, a client of it, the queue that fills it, and how many messages that has.
async fn full(kind: QueueKind) -> (Server, Arc<dyn Backend>, Subject, u64) {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    let queue = Subject::open(&*backend, kind).await.expect("opens");
    limit(&server);
    let accepted = fill(&queue).await;
    (server, backend, queue, accepted)
}

#[tokio::test]
async fn a_full_server_is_drained() {
    for kind in QueueKind::LEASING {
        let (server, .., accepted) = full(kind).await;
        assert!(accepted > 100, "{accepted}");
        // Consumers that have all been restarted.
        let backend = connect(&server).await;
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let leasing = queue.leasing();
        let counters = leasing.counters().await.expect("counters");
        assert_eq!(
            counters.accepted, accepted,
            "a refused push changes nothing"
        );
        assert_eq!(counters.depth.ready, accepted);

        let mut acked = 0;
        let mut settlements = Vec::new();
        let max = NonZeroUsize::new(16).expect("it is 16");
        let drained = async {
            loop {
                let (settled, leased) = leasing
                    .settle_and_lease(&settlements, max, LEASE, None)
                    .await
                    .expect("a full server is drained");
                let done = settled.iter().filter(|settled| **settled == Settled::Done);
                acked += done.count() as u64;
                if leased.is_empty() {
                    return;
                }
                let receipts = leased.deliveries.iter().map(|delivery| delivery.receipt);
                settlements = receipts.map(Settlement::ack).collect();
            }
        };
        within("a drain", drained).await;
        assert_eq!(acked, accepted);
        assert!(leasing.counters().await.expect("counters").balance());
        let _ = queue.put_one("room again").await.expect("there is room");
    }
}

#[tokio::test]
async fn every_way_out_works_on_a_full_server() {
    for kind in QueueKind::LEASING {
        let (_server, _, queue, accepted) = full(kind).await;
        let leasing = queue.leasing();
        let five = NonZeroUsize::new(5).expect("it is 5");
        let leased = leasing.lease(five, LEASE).await.expect("lease").deliveries;
        let receipts: Vec<_> = leased.iter().map(|delivery| delivery.receipt).collect();
        let extended = leasing
            .extend(&Extension::all(&receipts), LEASE)
            .await
            .expect("extend");
        assert_eq!(extended, [Extended::Extended; 5]);
        let hour = Duration::from_secs(3600);
        let settled = leasing
            .settle(&[
                Settlement::ack(receipts[0]),
                Settlement::release(receipts[1]),
                Settlement::retry(receipts[2], hour),
                Settlement::defer(receipts[3], hour),
                Settlement::bury(receipts[4], "no good"),
            ])
            .await
            .expect("settle");
        let done = Settled::Done;
        assert_eq!(settled, [done, done, done, done, Settled::Dead]);
        let depth = leasing.depth().await.expect("depth");
        assert_eq!((depth.delayed, depth.leased, depth.dead), (2, 0, 1));
        assert_eq!(depth.occupied() + depth.dead, accepted - 1);
        let dead = leasing.dead_letters(Page::first(1)).await.expect("listed");
        let removed = leasing.discard(&[dead.entries[0].id]).await;
        assert_eq!(removed.expect("discard"), 1);
        assert_eq!(leasing.purge_all().await.expect("purge"), accepted - 2);
        assert!(leasing.counters().await.expect("counters").balance());
    }
}

#[tokio::test]
async fn an_operator_peeks_and_cancels_on_a_full_server() {
    for kind in QueueKind::LEASING {
        let (_server, _, queue, accepted) = full(kind).await;
        let leasing = queue.leasing();
        let two = NonZeroUsize::new(2).expect("it is 2");
        let mailer = Some(Holder::new("mailer").expect("a good name"));
        let answer = leasing
            .settle_and_lease(&[], two, LEASE, mailer.clone())
            .await;
        let (_, leased) = answer.expect("a name is kept");
        let retry = Settlement::retry(leased.deliveries[0].receipt, LEASE);
        leasing.settle(&[retry]).await.expect("settle");

        let mut shown = Vec::new();
        for place in Place::ALL {
            let peeked = leasing.peek(place, Page::first(100)).await;
            shown.push(peeked.expect("peek").entries);
        }
        let counts: Vec<usize> = shown.iter().map(Vec::len).collect();
        assert_eq!(counts, [100, 1, 1], "{kind}");
        let Standing::Leased {
            receipt, holder, ..
        } = &shown[2][0].standing
        else {
            panic!("{:?} is not leased", shown[2][0]);
        };
        assert_eq!(*holder, mailer);

        let ids = shown.iter().flatten().map(|peeked| peeked.message.id);
        let ids: Vec<MessageId> = ids.collect();
        let cancelled = leasing.cancel(&ids).await.expect("cancel");
        let (undelivered, held) = cancelled.split_at(101);
        assert_eq!(undelivered, [Cancelled::Cancelled; 101], "{kind}");
        assert_eq!(held, [Cancelled::TooLate]);
        let stop = Settlement::bury(*receipt, "stopped");
        let stopped = leasing.settle(&[stop]).await.expect("settle");
        assert_eq!(stopped, [Settled::Dead]);
        let counters = leasing.counters().await.expect("counters");
        assert!(counters.balance());
        assert_eq!(counters.depth.ready, accepted - 102);
        let _ = queue.put_one("room again").await.expect("there is room");
    }
}

#[tokio::test]
async fn a_queue_is_removed_from_a_full_server() {
    for kind in QueueKind::LEASING {
        let (server, backend, ..) = full(kind).await;
        let name = QueueName::new(kind.as_str()).expect("a name");
        let removed = backend.remove(&name, Removal::UnlessLeased).await;
        assert!(removed.expect("it makes room"), "{kind}");
        assert_eq!(
            administer(&server, "DBSIZE"),
            redis::Value::Int(0),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn a_batch_is_refused_whole() {
    for kind in QueueKind::LEASING {
        let (_server, _, queue, accepted) = full(kind).await;
        let batch = vec![Push::new(vec![b'y'; BODY]); 100];
        assert_refused(queue.put(&batch).await);
        let depth = queue.leasing().depth().await.expect("depth");
        assert_eq!(depth.ready, accepted);
    }
}

#[tokio::test]
async fn a_full_ring_rotates() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    for (name, pace) in [("plain", None), ("paced", Some(Duration::from_secs(3600)))] {
        let name = QueueName::new(name).expect("a name");
        let mut config = RotatingConfig::default();
        config.pace = pace;
        let ring = backend.open_rotating(&name, &config).await.expect("opens");
        limit(&server);
        let item = || Insert::new(vec![b'x'; BODY]);
        let mut inserted = 0;
        let full = loop {
            match ring.insert_one(item()).await {
                Ok(_) => inserted += 1,
                full => break full,
            }
        };
        assert_refused(full);
        assert_eq!(ring.len().await.expect("len"), inserted);
        let mut visited = Vec::new();
        while (visited.len() as u64) < inserted {
            let left = inserted as usize - visited.len();
            let items = ring.visit(left.min(128), Duration::ZERO).await;
            let items = items.expect("a full ring turns");
            assert!(!items.is_empty(), "{} of {inserted}", visited.len());
            visited.extend(items.into_iter().map(|item| item.id));
        }
        let mut different = visited.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len() as u64, inserted);
        let half = &visited[..64];
        assert_eq!(ring.remove(half).await.expect("remove"), 64);
        ring.insert_one(item()).await.expect("there is room again");
        administer(&server, "FLUSHALL");
        administer(&server, "CONFIG SET maxmemory 0");
    }
}
