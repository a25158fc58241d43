//! Messages with more than a value: the queue follows each of their settings.

use std::time::Duration;

use queue_kit::*;
use tokio::time::{Instant, sleep};

use crate::fault_injector::*;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn queues() -> Queues {
    Queues::new(MemoryBackend::new())
}

/// Receives and acks the next message.
async fn next(queue: impl Into<Consumer<u64>> + Send) -> (u64, Headers) {
    let queue = queue.into();
    let delivery = queue.receive(SECOND, MINUTE).await.unwrap().unwrap();
    delivery.ack().await.unwrap();
    (*delivery.body().unwrap(), delivery.headers().clone())
}

fn of_acme() -> Headers {
    Headers::new().with("tenant", "acme")
}

#[tokio::test(start_paused = true)]
async fn headers_go_with_the_value_on_every_kind() {
    let queues = queues();
    let reliable = queues.reliable("reliable").open::<u64>().await.unwrap();
    let message = reliable.message(&1).header("tenant", "acme");
    message.send().await.unwrap();
    assert_eq!(next(reliable).await, (1, of_acme()));

    let delay = queues.delay("delay").open::<u64>().await.unwrap();
    let message = delay.message(&2).header("tenant", "acme").delay(SECOND);
    message.send().await.unwrap();
    assert_eq!(next(delay).await, (2, of_acme()));

    let priority = queues.priority("priority").open::<u64>().await.unwrap();
    let message = priority.message(&3).priority(7).header("tenant", "acme");
    message.send().await.unwrap();
    assert_eq!(next(priority).await, (3, of_acme()));

    let bounded = queues.bounded("bounded", 2).open::<u64>().await.unwrap();
    for value in [4, 5] {
        let message = bounded.message(&value).header("tenant", "acme");
        let offered = match value {
            4 => message.overflow(Overflow::Reject).send().await,
            _ => message.wait(SECOND).send().await,
        };
        assert!(matches!(offered.unwrap(), Pushed::Accepted(_)));
    }
    for value in [4, 5] {
        assert_eq!(next(bounded.clone()).await, (value, of_acme()));
    }

    let ring = queues.rotating("ring").open::<u64>().await.unwrap();
    let item = ring.message(&6).header("tenant", "acme");
    item.send().await.unwrap();
    let visit = ring.visit(SECOND).await.unwrap().unwrap();
    assert_eq!((visit.body.unwrap(), visit.headers), (6, of_acme()));
}

#[tokio::test(start_paused = true)]
async fn all_headers_at_once_replace_earlier_ones() {
    let mails = queues().reliable("mails").open::<u64>().await.unwrap();
    let message = mails.message(&1).header("kind", "welcome");
    let message = message.headers(of_acme()).header("lang", "de");
    message.send().await.unwrap();
    let (_, headers) = next(mails).await;
    assert_eq!(headers, of_acme().with("lang", "de"));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_is_a_duplicate_on_every_kind_that_leases() {
    let queues = queues();
    let reliable = queues.reliable("reliable").open::<u64>().await.unwrap();
    let send = async || reliable.message(&1).dedup("key", DAY).send().await.unwrap();
    let first = send().await;
    assert!(!first.is_duplicate());
    assert_eq!(send().await, Sent::Duplicate(first.id()));
    sleep(DAY + MILLI).await;
    assert!(!send().await.is_duplicate(), "the window is over");
    assert_eq!(reliable.queue().depth().await.unwrap().ready, 2);

    let delay = queues.delay("delay").open::<u64>().await.unwrap();
    let send = async || {
        let message = delay.message(&1).dedup("key", DAY).delay(SECOND);
        message.send().await.unwrap()
    };
    let first = send().await;
    assert_eq!(send().await, Sent::Duplicate(first.id()));

    let priority = queues.priority("priority").open::<u64>().await.unwrap();
    let send = async || {
        let message = priority.message(&1).dedup("key", DAY).priority(7);
        message.send().await.unwrap()
    };
    let first = send().await;
    assert_eq!(send().await, Sent::Duplicate(first.id()));

    let bounded = queues.bounded("bounded", 1).open::<u64>().await.unwrap();
    let send = async || {
        let message = bounded.message(&1).dedup("key", DAY);
        message.overflow(Overflow::Reject).send().await.unwrap()
    };
    let Pushed::Accepted(id) = send().await else {
        panic!("there was room");
    };
    assert_eq!(send().await, Pushed::Duplicate(id), "and it is not full");
}

#[tokio::test(start_paused = true)]
async fn each_is_due_when_its_last_word_says() {
    let reminders = queues().delay("reminders").open::<u64>().await.unwrap();
    let third = reminders.message(&3).delay(SECOND).due(3 * SECOND);
    third.send().await.unwrap();
    let second = reminders.message(&2).due(Due::After(2 * SECOND));
    second.send().await.unwrap();
    let first = reminders.message(&1).due(DAY).delay(SECOND);
    first.send().await.unwrap();
    let start = Instant::now();
    for value in 1..=3 {
        assert_eq!(next(reminders.clone()).await.0, value);
        let due = Duration::from_secs(value);
        let took = start.elapsed();
        assert!(took >= due && took < due + 20 * MILLI, "{value}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_lives_as_long_as_its_last_word_says() {
    let codes = queues().reliable("codes").open::<u64>().await.unwrap();
    let dropped = codes.message(&1).bury_after(DAY).drop_after(SECOND);
    dropped.send().await.unwrap();
    let buried = codes.message(&2).drop_after(DAY).bury_after(SECOND);
    buried.send().await.unwrap();
    codes.message(&3).drop_after(DAY).send().await.unwrap();
    sleep(SECOND + MILLI).await;
    let dead = codes.dead_letters(Page::first(9)).await.unwrap().entries;
    let buried = dead.into_iter().map(|letter| letter.body.unwrap());
    assert_eq!(buried.collect::<Vec<u64>>(), [2]);
    assert_eq!(codes.queue().counters().await.unwrap().outdated, 1);
    assert_eq!(next(codes).await.0, 3);
}

#[tokio::test(start_paused = true)]
async fn the_most_urgent_goes_first_and_silence_is_ordinary() {
    let tickets = queues().priority("tickets").open::<u64>().await.unwrap();
    tickets.message(&3).send().await.unwrap();
    tickets.message(&5).priority(-1).send().await.unwrap();
    tickets.message(&1).priority(7).send().await.unwrap();
    tickets.push(&4, 0).await.unwrap();
    tickets.message(&2).priority(1).send().await.unwrap();
    for value in 1..=5 {
        assert_eq!(next(tickets.clone()).await.0, value);
    }
}

#[tokio::test(start_paused = true)]
async fn a_distinct_message_replaces_and_a_full_queue_follows_its_policy() {
    let gifts = queues().bounded("gifts", 2).open::<u64>().await.unwrap();
    let rose = gifts.message(&1).distinct("rose");
    let rose = rose.overflow(Overflow::Reject).send().await.unwrap();
    let Pushed::Accepted(first) = rose else {
        panic!("there was room: {rose:?}");
    };
    let kite = gifts.push(&2, Overflow::Reject).await.unwrap();
    assert!(matches!(kite, Pushed::Accepted(_)));

    // Also when the queue is full, and in either order of the key and the policy.
    let rose = gifts.message(&3).overflow(Overflow::Reject);
    let rose = rose.distinct("rose").send().await.unwrap();
    let Pushed::Replaced { replaced, .. } = rose else {
        panic!("it was undelivered: {rose:?}");
    };
    assert_eq!(replaced, first);
    let rose = gifts.message(&4).distinct("rose").wait(MINUTE);
    let rose = rose.send().await.unwrap();
    assert!(matches!(rose, Pushed::Replaced { .. }));

    let hat = gifts.message(&5).overflow(Overflow::Reject);
    assert_eq!(hat.send().await.unwrap(), Pushed::Full);
    let hat = gifts.message(&5).overflow(Overflow::DropOldest);
    let hat = hat.send().await.unwrap();
    assert!(matches!(hat, Pushed::Evicted { .. }), "{hat:?}");
    for value in [4, 5] {
        assert_eq!(next(gifts.clone()).await.0, value);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_waits_for_room_as_long_as_it_may() {
    let gifts = queues().bounded("gifts", 1).open::<u64>().await.unwrap();
    gifts
        .push(&1, Overflow::Reject)
        .await
        .unwrap()
        .id()
        .unwrap();
    let start = Instant::now();
    let late = gifts.message(&2).wait(SECOND).send().await.unwrap();
    assert_eq!(late, Pushed::Full);
    assert!(start.elapsed() >= SECOND);

    let start = Instant::now();
    let taken = async {
        sleep(SECOND).await;
        next(gifts.clone()).await
    };
    let (sent, taken) = tokio::join!(gifts.message(&2).wait(MINUTE).send(), taken);
    assert!(matches!(sent.unwrap(), Pushed::Accepted(_)));
    assert_eq!(taken.0, 1);
    assert!(start.elapsed() < 2 * SECOND, "{:?}", start.elapsed());
    assert_eq!(next(gifts).await.0, 2);
}

#[tokio::test(start_paused = true)]
async fn a_value_without_an_encoding_fails_when_it_is_sent_and_changes_nothing() {
    let samples = queues().reliable("samples").open::<f64>().await.unwrap();
    let message = samples.message(&f64::NAN).header("tenant", "acme");
    let error = message.dedup("key", DAY).send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Codec);
    assert_eq!(samples.queue().depth().await.unwrap().ready, 0);
    // The refused message left no mark either.
    let message = samples.message(&20.5).dedup("key", DAY);
    assert!(!message.send().await.unwrap().is_duplicate());
}

#[tokio::test(start_paused = true)]
async fn a_bad_argument_is_refused_as_the_queue_refuses_it() {
    let reminders = queues().delay("reminders").open::<u64>().await.unwrap();
    let no_window = reminders.message(&1).delay(SECOND);
    let error = no_window.dedup("key", Duration::ZERO).send().await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
    let too_far = reminders.message(&1).delay(Duration::MAX);
    let error = too_far.send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_message_dropped_before_sending_changes_nothing() {
    let mails = queues().reliable("mails").open::<u64>().await.unwrap();
    drop(mails.message(&1).dedup("key", DAY));
    drop(mails.message(&1).dedup("key", DAY).send());
    assert_eq!(mails.queue().counters().await.unwrap().accepted, 0);
    let message = mails.message(&1).dedup("key", DAY);
    assert!(!message.send().await.unwrap().is_duplicate());
}
