//! Cases of removing queues, of all kinds.

use std::sync::Arc;

use queue_core::*;

use super::backend::{open, otherwise};
use crate::{
    stage::{Stage, ms, name},
    steps::*,
};

/// More polls than any call needs.
const POLLS: usize = 1_000;

/// The queue of `kind`, named after the kind.
async fn opened(stage: &Stage<'_>, kind: QueueKind) -> AnyQueue {
    let config = QueueConfig::of(kind, 5);
    let opened = stage.backend().open(&name(kind.as_str()), &config).await;
    opened.expect("opens")
}

async fn remove(stage: &Stage<'_>, kind: QueueKind, removal: Removal) -> Result<bool> {
    stage.backend().remove(&name(kind.as_str()), removal).await
}

/// Removes the queue of this kind, which must be there, and have no leases.
async fn remove_idle(stage: &Stage<'_>, kind: QueueKind) {
    let removed = remove(stage, kind, Removal::UnlessLeased).await;
    assert!(removed.expect("is removed"), "{kind}: it was there");
}

async fn put_into(queue: &AnyQueue, body: &'static str) -> MessageId {
    let put = queue.put(&[Push::new(body)]).await.expect("puts");
    assert_eq!(put.len(), 1, "one answer for each entry");
    accepted_as(put[0])
}

/// The id of a queue's first message.
fn first_of(stage: &Stage<'_>, kind: QueueKind, first: MessageId) -> MessageId {
    if stage.backend().guarantees(kind).has(Feature::Ids) {
        assert_eq!(first, id(1), "{kind}");
    }
    first
}

async fn listed(stage: &Stage<'_>) -> Vec<String> {
    let listed = queues(stage.backend()).await.into_iter();
    listed.map(|info| info.name.to_string()).collect()
}

/// The queues of this stage that lease, each by its kind.
async fn leasing(stage: &Stage<'_>) -> Vec<(QueueKind, AnyQueue, Arc<dyn Leasing>)> {
    let mut queues = Vec::new();
    for kind in stage.kinds() {
        if QueueKind::LEASING.contains(&kind) {
            let queue = opened(stage, kind).await;
            let leasing = queue.leasing().expect("it leases");
            queues.push((kind, queue, leasing));
        }
    }
    queues
}

fn is_in_use<T: std::fmt::Debug>(answer: Result<T>, named: &[&str]) {
    let error = answer.expect_err("is refused");
    assert_eq!(error.kind(), ErrorKind::InUse, "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
    assert!(error.is_transient(), "leases end: {error}");
    let text = error.to_string();
    for name in named.iter().chain(&["EvenIfLeased"]) {
        assert!(text.contains(name), "{text:?} does not name {name:?}");
    }
}

pub(crate) async fn operators_a_removed_queue_is_gone(stage: &Stage<'_>) {
    for kind in stage.kinds() {
        let absent = remove(stage, kind, Removal::UnlessLeased).await;
        assert!(!absent.expect("an answer"), "{kind}: not made yet");
        let queue = opened(stage, kind).await;
        for body in ["dead", "delayed", "ready", "ready"] {
            put_into(&queue, body).await;
        }
        if let Some(leasing) = queue.leasing() {
            bury_next(&*leasing, "no good").await;
            let delayed = take_one(&*leasing).await;
            settle_live(&*leasing, Settlement::retry(delayed.receipt, LONG)).await;
            leasing.pause().await.expect("pauses");
        }
    }
    assert_eq!(listed(stage).await.len(), stage.kinds().len());
    let other = stage.connect().await;
    for kind in stage.kinds() {
        remove_idle(stage, kind).await;
        let again = remove(stage, kind, Removal::EvenIfLeased).await;
        assert!(!again.expect("an answer"), "{kind}: removed before");
        let stored = other.open_stored(&name(kind.as_str())).await;
        assert!(stored.expect("an answer").is_none(), "{kind}");
    }
    assert_eq!(listed(stage).await, [""; 0]);
}

pub(crate) async fn operators_leased_messages_keep_a_queue(stage: &Stage<'_>) {
    for (kind, queue, leasing) in leasing(stage).await {
        for body in ["a", "b", "c"] {
            put_into(&queue, body).await;
        }
        let held = take(&*leasing, 2).await;
        let refused = remove(stage, kind, Removal::UnlessLeased).await;
        is_in_use(refused, &[kind.as_str(), "2 messages are"]);
        assert_eq!(depth(&*leasing).await, [1, 0, 2, 0], "nothing changed");
        ack(&*leasing, &held[0]).await;
        let refused = remove(stage, kind, Removal::UnlessLeased).await;
        is_in_use(refused, &["1 message is"]);
        ack(&*leasing, &held[1]).await;
        remove_idle(stage, kind).await;
    }
}

pub(crate) async fn operators_an_expired_lease_keeps_no_queue(stage: &Stage<'_>) {
    for (kind, queue, leasing) in leasing(stage).await {
        put_into(&queue, "a").await;
        take_for(&*leasing, 1, ms(50)).await;
        stage.advance(49).await;
        let refused = remove(stage, kind, Removal::UnlessLeased).await;
        is_in_use(refused, &["1 message is"]);
        stage.advance(1).await;
        remove_idle(stage, kind).await;
    }
}

pub(crate) async fn operators_a_batch_that_expired_half_done_keeps_no_queue(stage: &Stage<'_>) {
    for (kind, queue, leasing) in leasing(stage).await {
        // A bounded queue's capacity is five.
        for body in ["a", "b", "c", "d", "e"] {
            put_into(&queue, body).await;
        }
        let batch = take_for(&*leasing, 4, ms(50)).await;
        let held = take_one(&*leasing).await;
        let (done, left) = batch.split_at(batch.len() / 2);
        ack_all(&*leasing, done).await;
        let refused = remove(stage, kind, Removal::UnlessLeased).await;
        is_in_use(refused, &[&format!("{} messages are", left.len() + 1)]);
        stage.advance(50).await;
        let refused = remove(stage, kind, Removal::UnlessLeased).await;
        is_in_use(refused, &["1 message is"]);
        ack(&*leasing, &held).await;
        remove_idle(stage, kind).await;
    }
}

pub(crate) async fn operators_a_removal_may_take_leases_along(stage: &Stage<'_>) {
    for (kind, queue, leasing) in leasing(stage).await {
        put_into(&queue, "a").await;
        let held = take_one(&*leasing).await;
        let removed = remove(stage, kind, Removal::EvenIfLeased).await;
        assert!(removed.expect("is removed"), "{kind}");
        let settled = settle(&*leasing, Settlement::ack(held.receipt)).await;
        assert_eq!(settled, Settled::LeaseLost, "{kind}");
        assert_eq!(depth(&*leasing).await, [0, 0, 0, 0], "{kind}");
    }
}

pub(crate) async fn operators_a_removed_queues_name_is_free(stage: &Stage<'_>) {
    let backend = stage.backend();
    let free = name("free");
    for kind in stage.kinds() {
        let config = otherwise(kind);
        for other in stage.kinds() {
            open(stage, other, "free").await.expect("the name is free");
            let removed = backend.remove(&free, Removal::UnlessLeased).await;
            assert!(removed.expect("is removed"), "{other}");
            backend.open(&free, &config).await.expect("opens");
            let stored = backend.open_stored(&free).await.expect("an answer");
            assert_eq!(stored.expect("it is there").config, config);
            let removed = backend.remove(&free, Removal::UnlessLeased).await;
            assert!(removed.expect("is removed"), "{kind}");
        }
    }
}

pub(crate) async fn operators_a_history_begins_anew_after_a_removal(stage: &Stage<'_>) {
    let push = || Push::new("once").with_dedup("key", LONG);
    for (kind, queue, leasing) in leasing(stage).await {
        queue.put(&[push()]).await.expect("puts");
        for body in ["b", "c"] {
            put_into(&queue, body).await;
        }
        let old = take(&*leasing, 2).await;
        settle_live(&*leasing, Settlement::bury(old[1].receipt, "no good")).await;
        leasing.pause().await.expect("pauses");
        let removed = remove(stage, kind, Removal::EvenIfLeased).await;
        assert!(removed.expect("is removed"), "{kind}");

        // Tokens are as high as the time.
        stage.advance(1).await;
        let queue = opened(stage, kind).await;
        let leasing = queue.leasing().expect("it leases");
        assert_eq!(counted(&*leasing).await, Counters::default(), "{kind}");
        let first = queue.put(&[push()]).await.expect("puts");
        // The mark is gone.
        let first = first_of(stage, kind, accepted_as(first[0]));
        let new = take_one(&*leasing).await;
        assert_eq!((new.id(), new.attempt), (first, 1), "{kind}");
        for old in &old {
            let settled = settle(&*leasing, Settlement::ack(old.receipt)).await;
            assert_eq!(settled, Settled::LeaseLost, "{kind}");
        }
        ack(&*leasing, &new).await;
        let counters = counted(&*leasing).await;
        assert_eq!((counters.accepted, counters.acked), (1, 1), "{kind}");
        assert!(counters.balance(), "{kind}: {counters:?}");
    }
    if stage.kinds().contains(&QueueKind::Rotating) {
        let AnyQueue::Rotating(ring) = opened(stage, QueueKind::Rotating).await else {
            panic!("a rotating queue was asked for");
        };
        let item = || Insert::new("item").with_key("key");
        ring.insert(&[Insert::new("other"), item()])
            .await
            .expect("inserts");
        remove_idle(stage, QueueKind::Rotating).await;
        let inserted = ring.insert(&[item()]).await.expect("inserts");
        assert_eq!(inserted, [Inserted::Added(id(1))], "the key is free");
        assert_eq!(ring.len().await.expect("len"), 1);
    }
}

pub(crate) async fn operators_an_open_handle_makes_a_removed_queue_anew(stage: &Stage<'_>) {
    let other = stage.connect().await;
    for kind in stage.kinds() {
        let queue = opened(stage, kind).await;
        let (own, config) = (name(kind.as_str()), QueueConfig::of(kind, 5));
        let read = async || queue.counters().await.expect("reads").depth.ready;
        for _ in 0..3 {
            put_into(&queue, "a").await;
            assert_eq!(read().await, 1, "{kind}");
            let removed = other.remove(&own, Removal::UnlessLeased).await;
            assert!(removed.expect("is removed"), "{kind}");
            assert_eq!(listed(stage).await, [""; 0], "{kind}: listing makes none");
            assert_eq!(read().await, 0, "{kind}");
            assert_eq!(listed(stage).await, [kind.as_str()], "it is there again");
            first_of(stage, kind, put_into(&queue, "a").await);
            let same = other.open(&own, &config).await.expect("opens");
            let counters = same.counters().await;
            assert_eq!(counters.expect("reads").depth.ready, 1, "{kind}: one queue");
            remove_idle(stage, kind).await;
        }
    }
}

pub(crate) async fn operators_an_open_handle_goes_on_with_the_next_queue_of_its_kind(
    stage: &Stage<'_>,
) {
    for kind in stage.kinds() {
        let own = name(kind.as_str());
        let queue = opened(stage, kind).await;
        remove_idle(stage, kind).await;
        for other in stage.kinds() {
            if other == kind {
                continue;
            }
            let config = QueueConfig::of(other, 5);
            let another = stage.backend().open(&own, &config).await;
            let another = another.expect("the name is free");
            let refused = queue.put(&[Push::new("lost")]).await;
            refused_as(ErrorKind::ConfigMismatch, refused, &[other.as_str()]);
            let refused = queue.counters().await;
            refused_as(ErrorKind::ConfigMismatch, refused, &[other.as_str()]);
            let counters = another.counters().await.expect("reads");
            assert_eq!(counters, Counters::default(), "{kind}: untouched");
            remove_idle(stage, kind).await;
        }
        let config = otherwise(kind);
        let next = stage.backend().open(&own, &config).await;
        let next = next.expect("the name is free");
        first_of(stage, kind, put_into(&queue, "a").await);
        let counters = next.counters().await.expect("reads");
        assert_eq!(counters.depth.ready, 1, "{kind}: one queue");
        let stored = stage.backend().open_stored(&own).await.expect("an answer");
        let stored = stored.expect("it is there").config;
        assert_eq!(stored, config, "{kind}: as its maker wants it");
        remove_idle(stage, kind).await;
    }
}

pub(crate) async fn operators_a_removal_wakes_who_waits(stage: &Stage<'_>) {
    for kind in stage.kinds() {
        let waiting = match opened(stage, kind).await {
            AnyQueue::Rotating(ring) => {
                let visit = async move { ring.visit(1, LONG).await.expect("visits").len() };
                stage.start(visit).await
            }
            queue => {
                let leasing = queue.leasing().expect("it leases");
                let receive = async move {
                    let received = leasing.receive(1, LONG, LONG).await;
                    received.expect("receives").len()
                };
                stage.start(receive).await
            }
        };
        remove_idle(stage, kind).await;
        put_into(&opened(stage, kind).await, "a").await;
        let got = stage.prompt("what the next queue has", waiting).await;
        assert_eq!(got, 1, "{kind}");
    }
}

pub(crate) async fn operators_a_removal_makes_room_for_who_waits(stage: &Stage<'_>) {
    if !stage.kinds().contains(&QueueKind::Bounded) {
        return;
    }
    let full = name("full");
    let config = BoundedConfig::new(1);
    let queue = stage.backend().open_bounded(&full, &config).await;
    let queue = queue.expect("opens");
    assert_eq!(pushed(&*queue, "first").await, accepted(1));
    let waiter = Arc::clone(&queue);
    let offer = async move { waiter.push_or_wait("second", LONG).await };
    let waiting = stage.start(offer).await;
    let removed = stage.backend().remove(&full, Removal::UnlessLeased).await;
    assert!(removed.expect("is removed"));
    let offered = stage.prompt("an offer to the next queue", waiting).await;
    assert_eq!(offered.expect("pushes"), accepted(1));
    assert_eq!(queue.capacity().await.expect("reads"), count(1));
}

pub(crate) async fn operators_a_removal_leaves_other_queues(stage: &Stage<'_>) {
    let kind = stage.kinds()[0];
    for queue in ["job", "job-1", "job:1", "jo", "Job"] {
        open(stage, kind, queue).await.expect("opens");
    }
    let removed = stage
        .backend()
        .remove(&name("job"), Removal::UnlessLeased)
        .await;
    assert!(removed.expect("is removed"));
    assert_eq!(listed(stage).await, ["Job", "jo", "job-1", "job:1"]);
}

pub(crate) async fn operators_a_removal_leaves_once_keys(stage: &Stage<'_>) {
    for kind in stage.kinds() {
        opened(stage, kind).await;
        let store = stage.backend().open_once(&name(kind.as_str())).await;
        let store = store.expect("opens");
        let claimed = store.claim(b"key", LONG).await.expect("claims");
        assert!(matches!(claimed, Claim::Claimed(_)), "{claimed:?}");
        remove_idle(stage, kind).await;
        let again = store.claim(b"key", LONG).await.expect("claims");
        assert!(matches!(again, Claim::Busy { .. }), "{kind}: {again:?}");
    }
}

pub(crate) async fn operators_a_queue_made_by_a_dropped_call_is_listed(stage: &Stage<'_>) {
    let backend = stage.backend();
    for kind in stage.kinds() {
        let (own, config) = (name(kind.as_str()), QueueConfig::of(kind, 5));
        let is_listed_if_there = async |dropped: &str, polls| {
            let listed = listed(stage).await;
            // Of a queue of several partitions, some may be there, which is an error.
            let is_there = !matches!(backend.open_stored(&own).await, Ok(None));
            assert_eq!(
                listed.len(),
                usize::from(is_there),
                "{kind}: {dropped} after {polls} polls"
            );
            let removed = remove(stage, kind, Removal::UnlessLeased).await;
            removed.expect("is removed");
            assert_eq!(self::listed(stage).await, [""; 0], "{kind}");
        };
        for polls in 0..POLLS {
            let opened = cut(backend.open(&own, &config), polls).await;
            is_listed_if_there("an open", polls).await;
            if opened.is_some() {
                break;
            }
        }
        let queue = opened(stage, kind).await;
        is_listed_if_there("no call", 0).await;
        for polls in 0..POLLS {
            let put = cut(queue.put(&[Push::new("x")]), polls).await;
            is_listed_if_there("a push", polls).await;
            if put.is_some() {
                break;
            }
        }
    }
}

pub(crate) async fn operators_a_queue_made_by_a_dropped_call_is_removed_with_its_leases(
    stage: &Stage<'_>,
) {
    for (kind, queue, leasing) in leasing(stage).await {
        for polls in 0..POLLS {
            remove_idle(stage, kind).await;
            // In a queue of several partitions, a key leads to the same partition again.
            let batch = [Push::new("x").with_dedup("key", LONG)];
            let done = cut(queue.put(&batch), polls).await.is_some();
            queue.put(&batch).await.expect("puts");
            let held = take_one(&*leasing).await;
            let listed = listed(stage).await;
            assert!(
                listed.contains(&kind.to_string()),
                "after {polls} polls: {listed:?}"
            );
            let removed = remove(stage, kind, Removal::EvenIfLeased).await;
            assert!(removed.expect("is removed"), "{kind}");
            let settled = settle(&*leasing, Settlement::ack(held.receipt)).await;
            assert_eq!(settled, Settled::LeaseLost, "{kind}: after {polls} polls");
            if done {
                break;
            }
        }
    }
}

pub(crate) async fn operators_a_reconfiguration_that_meets_a_removal_is_no_error(
    stage: &Stage<'_>,
) {
    let other = stage.connect().await;
    for kind in stage.kinds() {
        let (own, new) = (name(kind.as_str()), otherwise(kind));
        for polls in 0..POLLS {
            opened(stage, kind).await;
            let mut changing = std::pin::pin!(other.reconfigure(&own, &new));
            let done = cut(changing.as_mut(), polls).await;
            remove_idle(stage, kind).await;
            let is_done = done.is_some();
            let changed = match done {
                Some(changed) => changed,
                None => changing.await,
            };
            let changed =
                changed.unwrap_or_else(|error| panic!("{kind}: after {polls} polls: {error}"));
            assert!(changed || !is_done, "{kind}: it was there all the time");
            assert_eq!(listed(stage).await, [""; 0], "{kind}: it makes none");
            if is_done {
                break;
            }
        }
    }
}
