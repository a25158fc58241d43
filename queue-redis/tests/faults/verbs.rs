//! Every verb of a queue, called once, with its result.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;

use crate::subject::Subject;

const LEASE: Duration = Duration::from_secs(60);

/// A verb and its result.
pub(crate) type Called = (&'static str, Result<()>);

fn receipt() -> Receipt {
    Receipt::new(MessageId::new(1), Token::new(1))
}

/// The verbs of a leasing queue that only read.
pub(crate) async fn reads(queue: &Subject) -> Vec<Called> {
    let leasing = queue.leasing();
    let mut called = vec![
        ("depth", leasing.depth().await.map(drop)),
        ("counters", leasing.counters().await.map(drop)),
        (
            "dead_letters",
            leasing.dead_letters(Page::first(10)).await.map(drop),
        ),
    ];
    for place in [Place::Ready, Place::Delayed, Place::Leased] {
        let peeked = leasing.peek(place, Page::first(10)).await;
        called.push(("peek", peeked.map(drop)));
    }
    match queue.queue() {
        AnyQueue::Delay(queue) => called.push(("next_due", queue.next_due().await.map(drop))),
        AnyQueue::Bounded(queue) => {
            called.push(("recent", queue.recent(10).await.map(drop)));
            called.push(("capacity", queue.capacity().await.map(drop)));
        }
        _ => {}
    }
    called
}

/// The verbs of a leasing queue that change something, or may.
pub(crate) async fn writes(queue: &Subject) -> Vec<Called> {
    let (leasing, one) = (queue.leasing(), NonZeroUsize::MIN);
    let ack = [Settlement::ack(receipt())];
    let ids = [MessageId::new(1)];
    let mut called = vec![
        ("put", queue.put_one("body").await.map(drop)),
        ("lease", leasing.lease(one, LEASE).await.map(drop)),
        ("settle", leasing.settle(&ack).await.map(drop)),
        (
            "settle_and_lease",
            leasing
                .settle_and_lease(&ack, one, LEASE, None)
                .await
                .map(drop),
        ),
        (
            "extend",
            leasing.extend(&[receipt().into()], LEASE).await.map(drop),
        ),
        (
            "revive",
            leasing.revive(&ids, Revival::WithState).await.map(drop),
        ),
        ("discard", leasing.discard(&ids).await.map(drop)),
        ("pause", leasing.pause().await),
        ("resume", leasing.resume().await),
        ("purge", leasing.purge(one).await.map(drop)),
        ("cancel", leasing.cancel(&ids).await.map(drop)),
        (
            "reschedule",
            leasing.reschedule(&ids, Due::After(LEASE)).await.map(drop),
        ),
    ];
    if let AnyQueue::Bounded(queue) = queue.queue() {
        called.push(("resize", queue.resize(one).await.map(drop)));
    }
    called
}

/// The verbs of a rotating queue that only read.
pub(crate) async fn reads_of_a_ring(ring: &dyn RotatingQueue) -> Vec<Called> {
    vec![
        ("len", ring.len().await.map(drop)),
        ("list", ring.list(Page::first(10)).await.map(drop)),
    ]
}

/// The verbs of a rotating queue that change something.
pub(crate) async fn writes_of_a_ring(ring: &dyn RotatingQueue) -> Vec<Called> {
    let ids = [MessageId::new(1)];
    vec![
        (
            "insert",
            ring.insert(&[Insert::new("body")]).await.map(drop),
        ),
        ("rotate", ring.rotate(NonZeroUsize::MIN).await.map(drop)),
        ("remove", ring.remove(&ids).await.map(drop)),
    ]
}
