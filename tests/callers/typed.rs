//! Typed handles: the effect of calls on values on the queue of bytes beneath.

use std::{sync::Arc, time::Duration};

use queue_kit::MemoryBackend;
use queue_kit::*;
use tokio::time::Instant;

use crate::fault_injector::*;

async fn open() -> Queues {
    Queues::new(MemoryBackend::new())
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_decode_is_received_and_left_to_the_caller() {
    let jobs = reliable().await;
    jobs.push_one("no number").await.unwrap().id().unwrap();
    let numbers: Reliable<u64> = Reliable::new(Arc::clone(&jobs));
    let delivery = numbers.receive(SECOND, SECOND).await.unwrap().unwrap();
    assert_eq!(delivery.body().unwrap_err().kind(), ErrorKind::Codec);
    assert_eq!(&delivery.bytes()[..], b"no number");
    let counters = jobs.counters().await.unwrap();
    assert_eq!((counters.depth.leased, counters.acked), (1, 0));
    // The message is not settled, so it comes again.
    let again = numbers.receive(SECOND, 2 * SECOND).await.unwrap().unwrap();
    assert_eq!(again.attempt(), 2);
    again.bury("no number").await.unwrap();
    assert_eq!(jobs.depth().await.unwrap().dead, 1);
}

#[tokio::test(start_paused = true)]
async fn each_of_many_values_is_due_at_its_own_time() {
    let queues = open().await;
    let reminders: Delay<u64> = queues.delay("reminders").open().await.unwrap();
    let seconds = [3, 1, 4, 2];
    let values: Vec<(u64, Due)> = seconds
        .iter()
        .map(|due| (*due, Due::After(Duration::from_secs(*due))))
        .collect();
    let ids = reminders.push_all(&values).await.unwrap();
    let start = Instant::now();
    for due in 1..=4 {
        let delivery = reminders.receive(SECOND, 10 * SECOND).await.unwrap();
        let delivery = delivery.unwrap();
        assert_eq!(*delivery.body().unwrap(), due);
        let position = seconds.iter().position(|second| *second == due).unwrap();
        assert_eq!(delivery.id(), ids[position]);
        let late = start.elapsed().saturating_sub(Duration::from_secs(due));
        assert!(start.elapsed() >= Duration::from_secs(due), "{due}");
        assert!(late < 20 * MILLI, "{due} came {late:?} late");
        delivery.ack().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn each_way_to_settle_does_what_it_is_called() {
    let jobs = reliable().await;
    let numbers: Reliable<u64> = Reliable::new(Arc::clone(&jobs));
    numbers.push(&7).await.unwrap();
    let take = async || numbers.receive(SECOND, 10 * SECOND).await.unwrap().unwrap();
    let start = Instant::now();
    // Defer refunds the attempt.
    take().await.defer(2 * SECOND).await.unwrap();
    let delivery = take().await;
    assert_eq!(delivery.attempt(), 1);
    assert_eq!(start.elapsed(), 2 * SECOND);
    delivery.release().await.unwrap();
    let delivery = take().await;
    assert_eq!(delivery.attempt(), 1);
    assert_eq!(start.elapsed(), 2 * SECOND);
    // Retry charges it.
    let settled = delivery.retry(3 * SECOND).await.unwrap();
    assert_eq!(settled, Settled::Done);
    let delivery = take().await;
    assert_eq!(delivery.attempt(), 2);
    assert_eq!(start.elapsed(), 5 * SECOND);
    // The lease outlives its first deadline.
    delivery.extend(5 * SECOND).await.unwrap();
    tokio::time::sleep(4 * SECOND).await;
    delivery.ack().await.unwrap();
    let error = delivery.ack().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LeaseLost);
    let counters = jobs.counters().await.unwrap();
    let settled = [
        counters.deferred,
        counters.released,
        counters.retried,
        counters.acked,
        counters.expired,
    ];
    assert_eq!(settled, [1, 1, 1, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn dead_letters_have_values_where_their_bodies_decode() {
    let jobs = reliable().await;
    let numbers: Reliable<u64> = Reliable::new(Arc::clone(&jobs));
    let pushes = [
        Push::new("7").with_header("tenant", "acme"),
        Push::new("no number"),
        Push::new("9"),
    ];
    jobs.push(&pushes).await.unwrap();
    for reason in ["first", "second", "third"] {
        let delivery = numbers.receive(SECOND, SECOND).await.unwrap().unwrap();
        delivery.bury(reason).await.unwrap();
    }
    let raw = jobs.dead_letters(Page::first(10)).await.unwrap().entries;
    // A page shows its end, and the next page starts there.
    let first = numbers.dead_letters(Page::first(2)).await.unwrap();
    assert_eq!(first.entries.len(), 2);
    let rest = Page::after(first.next.unwrap(), 2);
    let rest = numbers.dead_letters(rest).await.unwrap();
    assert_eq!(rest.next, None);
    let letters: Vec<_> = first.entries.into_iter().chain(rest.entries).collect();
    let bodies: Vec<Option<u64>> = letters
        .iter()
        .map(|letter| letter.body.as_ref().ok().copied())
        .collect();
    assert_eq!(bodies, [Some(7), None, Some(9)]);
    let error = letters[1].body.as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Codec);
    for (letter, raw) in letters.into_iter().zip(raw) {
        assert_eq!((letter.id, letter.headers), (raw.id, raw.headers));
        assert_eq!((letter.reason, letter.attempts), (raw.reason, raw.attempts));
        assert_eq!(letter.died_at, raw.died_at);
    }
    // Every leasing kind has them, and so has the handle that they convert into.
    let any = Consumer::<u64>::from(numbers);
    let again = any.dead_letters(Page::first(10)).await.unwrap();
    assert_eq!(again.entries.len(), 3);
    let refused = any.dead_letters(Page::first(0)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_batch_keeps_its_order_and_each_value_its_id() {
    let jobs = reliable().await;
    let numbers: Reliable<u64> = Reliable::new(Arc::clone(&jobs));
    let values: Vec<u64> = (0..300).collect();
    let ids = numbers.push_all(&values).await.unwrap();
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.extend(numbers.receive_batch(100, SECOND, SECOND).await.unwrap());
    }
    let read: Vec<u64> = taken.iter().map(|d| *d.body().unwrap()).collect();
    assert_eq!(read, values);
    let named: Vec<MessageId> = taken.iter().map(TypedDelivery::id).collect();
    assert_eq!(named, ids);
}
