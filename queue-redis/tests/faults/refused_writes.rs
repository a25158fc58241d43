//! A server that takes no writes for now. It still answers calls that only read.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;
use real_redis::Server;

use crate::{
    ground::{Clock, administer, connect_with, until},
    patient::patient,
    subject::{CAPACITY, Subject},
    verbs::{Called, reads, reads_of_a_ring, writes, writes_of_a_ring},
};

const LEASE: Duration = Duration::from_secs(60);
/// The time of the pushes, and a time at which all their leases and delays are over.
const EARLY: u64 = 1_700_000_000_000;
const LATE: u64 = EARLY + 3_600_000;

fn assert_answered(called: Vec<Called>) {
    for (verb, answer) in called {
        answer.unwrap_or_else(|error| panic!("{verb}: {error}"));
    }
}

fn assert_refused(called: Vec<Called>, code: &str) {
    for (verb, answer) in called {
        let Err(error) = answer else {
            panic!("{verb} wrote");
        };
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{verb}: {error:?}");
        assert_eq!(error.outcome(), Outcome::NotApplied, "{verb}: {error:?}");
        assert!(error.is_transient(), "{verb}: {error:?}");
        assert!(error.to_string().contains(code), "{verb}: {error}");
    }
}

/// Fills queues with messages in every place, refuses writes, and makes every call on them. Writes
/// fail with `code`; without one, this server refuses none to scripts.
async fn reads_are_answered(server: &Server, refuse: impl AsyncFn(), code: Option<&str>) {
    let clock = Clock::at(EARLY);
    let backend = connect_with(server, &clock).await;
    let mut queues = Vec::new();
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let leasing = queue.leasing();
        // One call leases six messages, of which one is done.
        for body in ["several"; 6] {
            let _ = queue.put_one(body).await.expect("put");
        }
        let six = NonZeroUsize::new(6).expect("it is 6");
        let leased = leasing.lease(six, LEASE).await.expect("lease").deliveries;
        assert_eq!(leased.len(), 6);
        let ack = [Settlement::ack(leased[0].receipt)];
        assert_eq!(leasing.settle(&ack).await.expect("settle"), [Settled::Done]);
        for body in ["dead", "delayed", "leased", "ready", "ready"] {
            let _ = queue.put_one(body).await.expect("put");
        }
        let three = NonZeroUsize::new(3).expect("it is 3");
        let leased = leasing.lease(three, LEASE).await.expect("lease").deliveries;
        let settled = leasing
            .settle(&[
                Settlement::bury(leased[0].receipt, "no good"),
                Settlement::retry(leased[1].receipt, LEASE),
            ])
            .await;
        assert_eq!(settled.expect("settle"), [Settled::Dead, Settled::Done]);
        queues.push((kind, queue));
    }
    let name = QueueName::new("ring").expect("a name");
    let config = RotatingConfig::default();
    let ring = backend.open_rotating(&name, &config).await.expect("opens");
    ring.insert_one("item").await.expect("insert");
    refuse().await;

    let expected = |ready, delayed, leased| (ready, delayed, leased, 1);
    for (kind, queue) in &queues {
        for (now, counts) in [(EARLY, expected(2, 1, 6)), (LATE, expected(9, 0, 0))] {
            clock.set(now);
            assert_answered(reads(queue).await);
            let counters = queue.leasing().counters().await.expect("counters");
            let depth = counters.depth;
            let counted = (depth.ready, depth.delayed, depth.leased, depth.dead);
            assert_eq!(
                counted, counts,
                "{kind}: due and expired messages count as ready"
            );
            assert!(counters.balance(), "{kind}: {counters:?}");
            let dead = queue.leasing().dead_letters(Page::first(10)).await;
            assert_eq!(&dead.expect("a page").entries[0].body[..], b"dead");
        }
        if let Some(code) = code {
            assert_refused(writes(queue).await, code);
        }
    }
    assert_answered(reads_of_a_ring(&*ring).await);
    if let Some(code) = code {
        assert_refused(writes_of_a_ring(&*ring).await, code);
    }
    let all = NonZeroUsize::new(10).expect("it is 10");
    assert_eq!(backend.queues(None, all).await.expect("a list").len(), 6);

    // A later client opens the existing queues, listed or not.
    let later = connect_with(server, &clock).await;
    for (kind, _) in &queues {
        let queue = Subject::open(&*later, *kind).await;
        let queue = queue.unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(queue.leasing().depth().await.expect("depth").ready, 9);
    }
    let same = Subject::open_or_resize(&*later, CAPACITY).await;
    same.expect("it has this capacity");
    if let Some(code) = code {
        let other = Subject::open_or_resize(&*later, CAPACITY + 1).await;
        assert_refused(vec![("open_or_resize", other)], code);
    }
}

/// Whether `min-replicas-to-write` holds for scripts, too: since Redis 7.0.
fn holds_scripts_to_replicas(server: &Server) -> bool {
    let version = server.info("server", "redis_version").expect("it answers");
    !version.expect("a version").starts_with("6.")
}

#[tokio::test]
async fn reads_are_answered_without_enough_replicas() {
    let server = Server::start().expect("a server");
    let refuse = async || {
        administer(&server, "CONFIG SET min-replicas-to-write 1");
    };
    let code = holds_scripts_to_replicas(&server).then_some("NOREPLICAS");
    reads_are_answered(&server, refuse, code).await;
}

#[tokio::test]
async fn reads_are_answered_when_the_disk_fails() {
    let server = Server::builder()
        .with_line("save 3600 1")
        .with_line("dbfilename taken");
    let server = server.start().expect("a server");
    let refuse = async || {
        // A snapshot cannot replace a folder that is not empty.
        let taken = server.folder().join("taken/by-something");
        std::fs::create_dir_all(taken).expect("a folder");
        administer(&server, "BGSAVE");
        until("a snapshot has failed", || {
            let status = server.info("persistence", "rdb_last_bgsave_status");
            status.expect("it answers").as_deref() == Some("err")
        })
        .await;
    };
    reads_are_answered(&server, refuse, Some("MISCONF")).await;
}

#[tokio::test]
async fn a_queue_that_is_not_listed_opens_where_nothing_can_be_written() {
    let server = Server::start().expect("a server");
    let backend = patient(&server.url()).connect().await.expect("connects");
    let queue = Subject::open(&backend, QueueKind::Reliable).await;
    queue.expect("opens");
    administer(&server, "DEL qk:queues");
    administer(&server, "CONFIG SET min-replicas-to-write 1");
    let queue = Subject::open(&backend, QueueKind::Reliable).await;
    queue.expect("it is there already");
    let error = Subject::open(&backend, QueueKind::Delay).await;
    let error = error.expect_err("it would have to be made");
    assert!(error.is_transient(), "{error:?}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    administer(&server, "CONFIG SET min-replicas-to-write 0");
    Subject::open(&backend, QueueKind::Reliable)
        .await
        .expect("opens");
    let listed = administer(&server, "ZCARD qk:queues");
    assert_eq!(listed, redis::Value::Int(1), "the next open lists it");
}
