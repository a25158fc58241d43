//! A ring and a stream: other programs and our queues on the same keys.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;

use crate::{
    foreign::Foreign,
    ground::{
        Ground, LONG, SOON, bodies, counts, end, lease_bodies, leasing, push, take,
        take_all_and_ack,
    },
};

#[tokio::test]
async fn others_and_ours_rotate_one_ring() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let AnyQueue::Rotating(ring) = ground.open(Rotation::default(), "hosts").await else {
        panic!("another kind");
    };
    let _: u64 = foreign.run(&["LPUSH", "hosts", "a"]);
    let inserted = ring.insert(&[Insert::new("b"), Insert::new("c")]).await;
    assert_eq!(inserted.expect("it inserts").len(), 2);
    ground.holds(&["list hosts: c | b | a"]);
    let listed = ring.list(Page::first(2)).await.expect("it lists");
    let listed: Vec<&Bytes> = listed.entries.iter().map(|item| &item.body).collect();
    assert_eq!(listed, ["a", "b"]);

    let visit = ring
        .rotate(2.try_into().expect("not zero"))
        .await
        .expect("it rotates");
    let visited: Vec<&Bytes> = visit.items.iter().map(|item| &item.body).collect();
    assert_eq!(visited, ["a", "b"]);
    ground.holds(&["list hosts: b | a | c"]);
    assert_eq!(foreign.run::<String>(&["RPOPLPUSH", "hosts", "hosts"]), "c");
    let visit = ring
        .rotate(9.try_into().expect("not zero"))
        .await
        .expect("it rotates");
    assert_eq!(visit.items.len(), 3, "each item once a call");

    assert_eq!(
        ring.remove(&[visit.items[0].id]).await.expect("it removes"),
        1
    );
    assert_eq!(foreign.run::<u64>(&["LREM", "hosts", "1", "b"]), 1);
    assert_eq!(
        (ring.len().await.expect("a length"), ground.dump()),
        (1, vec!["list hosts: c".to_owned()])
    );
}

#[tokio::test]
async fn a_ring_is_listed_page_by_page_in_the_order_of_visits() {
    let ground = Ground::start().await;
    let AnyQueue::Rotating(ring) = ground.open(Rotation::default(), "hosts").await else {
        panic!("another kind");
    };
    for body in ["a", "b", "c", "d", "e"] {
        ring.insert_one(body).await.expect("it inserts");
    }
    for limit in [1, 2] {
        let (mut page, mut listed) = (Page::first(limit), Vec::new());
        loop {
            let part = ring.list(page).await.expect("it lists");
            listed.extend(part.entries.into_iter().map(|item| item.body));
            match part.next {
                Some(next) => page = Page::after(next, limit),
                None => break,
            }
        }
        assert_eq!(listed, ["a", "b", "c", "d", "e"]);
    }
    let beyond = ring.list(Page::after(Cursor::new(u64::MAX), 2)).await;
    assert_eq!(beyond.expect("it lists").entries, []);
}

/// Entries of other programs may have more fields than the body.
#[tokio::test]
async fn a_stream_takes_and_removes_entries_that_others_add() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let _: String = foreign.run(&["XADD", "jobs", "*", "body", "before"]);
    let jobs = ground.open(Stream::consumer("w7").poll(SOON), "jobs").await;
    let _: String = foreign.run(&["XADD", "jobs", "*", "trace", "7", "body", "after"]);
    assert_eq!(counts(&jobs).await, [2, 0, 0, 0]);
    assert_eq!(take_all_and_ack(&jobs, 2).await, ["before", "after"]);
    assert_eq!(pending(&mut foreign), 0);
    ground.holds(&["stream jobs: "]);
    ground.open(Stream::consumer("w8"), "jobs").await;
}

fn pending(foreign: &mut Foreign) -> usize {
    let words = ["XPENDING", "jobs", "queue-kit", "-", "+", "999"];
    foreign.run::<Vec<(String, String, u64, u64)>>(&words).len()
}

#[tokio::test]
async fn others_read_entries_that_a_stream_adds() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let jobs = ground.open(Stream::consumer("w7"), "jobs").await;
    push(&jobs, &["a", "b"]).await;
    ground.holds(&["stream jobs: body=a | body=b"]);
    type Entries = Vec<(String, Vec<String>)>;
    let read = [
        "XREADGROUP",
        "GROUP",
        "queue-kit",
        "py",
        "COUNT",
        "1",
        "STREAMS",
        "jobs",
        ">",
    ];
    let streams: Vec<(String, Entries)> = foreign.run(&read);
    let (id, fields) = &streams[0].1[0];
    assert_eq!(fields, &["body", "a"]);
    assert_eq!(bodies(&take(&jobs, 9).await), ["b"]);
    assert_eq!(counts(&jobs).await, [0, 0, 2, 0]);
    assert_eq!(foreign.run::<u64>(&["XACK", "jobs", "queue-kit", id]), 1);
    assert_eq!(foreign.run::<u64>(&["XDEL", "jobs", id]), 1);
    assert_eq!(counts(&jobs).await, [0, 0, 1, 0]);
}

/// An idle entry is claimed after the claimer's lease time, also behind more than ten busy entries. A claim
/// takes at most the number asked for, and then no new entry.
#[tokio::test]
async fn an_idle_entry_is_claimed_from_behind_many_that_are_not() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let jobs = ground.open(Stream::consumer("w7"), "jobs").await;
    push(&jobs, &["first"]).await;
    for _ in 0..28 {
        push(&jobs, &["busy"]).await;
    }
    push(&jobs, &["second", "third"]).await;
    let held = take(&jobs, 31).await;
    assert_eq!(held.len(), 31);
    let words = ["XPENDING", "jobs", "queue-kit", "-", "+", "99"];
    let pending: Vec<(String, String, u64, u64)> = foreign.run(&words);
    push(&jobs, &["new"]).await;
    let idle = (2 * LONG.as_millis()).to_string();
    let claim = [
        "XCLAIM",
        "jobs",
        "queue-kit",
        "w7",
        "0",
        &pending[0].0,
        &pending[29].0,
        &pending[30].0,
        "IDLE",
        &idle,
        "JUSTID",
    ];
    let _: Vec<String> = foreign.run(&claim);
    let other = ground.open(Stream::consumer("w8"), "jobs").await;
    let claimed = take(&other, 2).await;
    assert_eq!(bodies(&claimed), ["first", "second"]);
    // The old holder's next heartbeat fails, and does not affect the new holder.
    for (holder, receipt, answer) in [
        (&jobs, held[0].receipt, Extended::LeaseLost),
        (&jobs, held[28].receipt, Extended::Extended),
        (&other, claimed[0].receipt, Extended::Extended),
    ] {
        let extended = leasing(holder).extend(&[receipt.into()], LONG).await;
        assert_eq!(extended.expect("an answer"), [answer]);
    }
    assert_eq!(claimed[0].attempt, 2);
    for (holder, delivery, answer) in [
        (&other, &claimed[0], Settled::Done),
        (&jobs, &held[0], Settled::LeaseLost),
    ] {
        let ended = end(holder, Settlement::ack(delivery.receipt)).await;
        assert_eq!(ended, answer, "the claimer has settled it");
    }
    assert_eq!(lease_bodies(&other, 9).await, ["third", "new"]);
}

/// A server that was emptied, or that restarted without its data, has no group.
#[tokio::test]
async fn a_stream_that_is_gone_comes_back_with_its_group() {
    let ground = Ground::start().await;
    let jobs = ground.open(Stream::consumer("w7").poll(SOON), "jobs").await;
    ground.foreign().run::<String>(&["FLUSHALL"]);
    push(&jobs, &["m"]).await;
    assert_eq!(take_all_and_ack(&jobs, 1).await, ["m"]);
}

/// A user without the right to create the group, or to claim for it, gets an error.
#[tokio::test]
async fn a_stream_says_what_its_user_may_not_do() {
    let ground = Ground::start().await;
    ground.open(Stream::consumer("w7"), "jobs").await;
    for command in ["-xgroup", "-xautoclaim"] {
        let redis = ground.connect_without(&[command]).await;
        let recipe = RecipeBackend::new(&redis, Stream::consumer("w7"));
        let opened = recipe
            .open_reliable(&crate::ground::name("jobs"), &ReliableConfig::default())
            .await;
        let error = match opened {
            Ok(jobs) => jobs.receive(1, LONG, Duration::ZERO).await.map(drop),
            Err(error) => Err(error),
        };
        let error = error.expect_err(command);
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    }
}

/// A stream whose one entry has two attempts.
async fn with_two_attempts(ground: &Ground) -> AnyQueue {
    let config = ReliableConfig::default().with_max_attempts(2);
    let backend = RecipeBackend::new(&ground.redis, Stream::consumer("w7").poll(SOON));
    let queue = backend
        .open(&crate::ground::name("jobs"), &config.into())
        .await;
    let queue = queue.expect("it opens");
    push(&queue, &["poison"]).await;
    queue
}

/// A retry is a new entry with the attempts of the old one.
#[tokio::test]
async fn a_retry_on_a_stream_counts_its_attempts() {
    let ground = Ground::start().await;
    let queue = with_two_attempts(&ground).await;
    for (attempt, ends) in [(1, Settled::Done), (2, Settled::Dead)] {
        let taken = take(&queue, 1).await.remove(0);
        assert_eq!(taken.attempt, attempt);
        let retry = Settlement::retry(taken.receipt, Duration::ZERO);
        assert_eq!(end(&queue, retry).await, ends);
    }
}

/// An entry whose attempts are spent is a dead letter.
#[tokio::test]
async fn an_entry_that_nobody_ends_dies_after_its_attempts() {
    let ground = Ground::start().await;
    let queue = with_two_attempts(&ground).await;
    let leasing = queue.leasing().expect("it leases");
    let short = Duration::from_millis(1);
    for attempt in 1..=2 {
        let taken = leasing.receive(1, short, crate::until::PATIENCE).await;
        assert_eq!(taken.expect("it takes")[0].attempt, attempt);
    }
    let dead = || ground.foreign().run::<u64>(&["EXISTS", "{jobs}:dead"]) == 1;
    // Each poll may find the entry idle.
    for _ in 0..1_000 {
        assert!(
            leasing
                .lease(1.try_into().expect("not zero"), short)
                .await
                .expect("polls")
                .is_empty()
        );
        if dead() {
            break;
        }
        tokio::time::sleep(short).await;
    }
    assert_eq!(counts(&queue).await, [0, 0, 0, 1]);
    let letters = leasing
        .dead_letters(Page::first(9))
        .await
        .expect("it lists");
    assert_eq!(letters.entries[0].body, "poison");
    let gone = end(
        &queue,
        Settlement::ack(Receipt::new(letters.entries[0].id, Token::new(1))),
    );
    assert_eq!(gone.await, Settled::LeaseLost);
}
