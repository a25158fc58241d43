//! The common steps of cases, and their common assertions.

use std::{
    future::Future,
    num::NonZeroUsize,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use queue_core::*;

/// A lease that outlives its case.
pub(crate) const LONG: Duration = Duration::from_secs(3600);
/// A delay that outlives its case, however slow its calls are.
pub(crate) const FAR: Duration = Duration::from_secs(1_000 * 3600);
/// A due time that no case lives to see.
pub(crate) const NEVER: Timestamp = Timestamp::from_millis(1 << 47);
/// A time of this century in microseconds, which a caller took for milliseconds.
pub(crate) const MICROS: u64 = 1_798_761_600_000_000;

pub(crate) const fn count(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).expect("not zero")
}

/// Pushes one message.
pub(crate) async fn pushed(queue: &dyn Leasing, message: impl Into<Push> + Send) -> Pushed {
    queue.push_one(message).await.expect("pushes")
}

/// Pushes one message, which must be accepted.
pub(crate) async fn put(queue: &dyn Leasing, message: impl Into<Push> + Send) -> MessageId {
    accepted_as(pushed(queue, message).await)
}

/// The id of a message that the queue has accepted.
pub(crate) fn accepted_as(pushed: Pushed) -> MessageId {
    match pushed.id() {
        Some(id) if !pushed.is_duplicate() => id,
        _ => panic!("{pushed:?}: is accepted"),
    }
}

pub(crate) const fn accepted(number: u64) -> Pushed {
    Pushed::Accepted(MessageId::new(number))
}

pub(crate) const fn duplicate(number: u64) -> Pushed {
    Pushed::Duplicate(MessageId::new(number))
}

pub(crate) const fn replacing(number: u64, replaced: u64) -> Pushed {
    Pushed::Replaced {
        id: MessageId::new(number),
        replaced: MessageId::new(replaced),
    }
}

/// A message under the distinct key of a case that needs only one.
pub(crate) fn keyed(message: impl Into<Push>) -> Push {
    message.into().with_distinct("key")
}

/// Leases up to `max` messages.
pub(crate) async fn take(queue: &dyn Leasing, max: usize) -> Vec<Delivery> {
    take_for(queue, max, LONG).await
}

/// Leases up to `max` messages for `lease_time`.
pub(crate) async fn take_for(
    queue: &dyn Leasing,
    max: usize,
    lease_time: Duration,
) -> Vec<Delivery> {
    let leased = queue.lease(count(max), lease_time).await.expect("leases");
    for delivery in &leased.deliveries {
        assert_eq!(delivery.time_left, lease_time, "L10: timed from the claim");
    }
    leased.deliveries
}

/// Leases the next message, which must be there.
pub(crate) async fn take_one(queue: &dyn Leasing) -> Delivery {
    take_one_for(queue, LONG).await
}

/// Leases the next message, which must be there, for `lease_time`.
pub(crate) async fn take_one_for(queue: &dyn Leasing, lease_time: Duration) -> Delivery {
    let delivery = take_for(queue, 1, lease_time).await.pop();
    delivery.expect("a message is ready")
}

/// Leases, and must get nothing. Returns the time until something changes without a call.
pub(crate) async fn take_nothing(queue: &dyn Leasing) -> Option<Duration> {
    let leased = queue.lease(count(1), LONG).await.expect("leases");
    assert_eq!(leased.deliveries, [], "nothing is ready");
    leased.next
}

/// Settles one lease.
pub(crate) async fn settle(queue: &dyn Leasing, settlement: Settlement) -> Settled {
    let settled = queue.settle(&[settlement]).await.expect("settles");
    assert_eq!(settled.len(), 1, "one answer for each entry");
    settled[0]
}

/// Settles one lease, which must be live.
pub(crate) async fn settle_live(queue: &dyn Leasing, settlement: Settlement) {
    let settled = settle(queue, settlement).await;
    assert_ne!(settled, Settled::LeaseLost, "the lease is live");
}

/// Acks one lease, which must be live.
pub(crate) async fn ack(queue: &dyn Leasing, delivery: &Delivery) {
    let settled = settle(queue, Settlement::ack(delivery.receipt)).await;
    assert_eq!(settled, Settled::Done, "the lease is live");
}

/// Acks leases, which must be live.
pub(crate) async fn ack_all(queue: &dyn Leasing, deliveries: &[Delivery]) {
    for delivery in deliveries {
        ack(queue, delivery).await;
    }
}

/// The settlements that end each of these leases in the given way, for one call.
pub(crate) fn settlements(
    deliveries: &[Delivery],
    end: impl Fn(Receipt) -> Settlement,
) -> Vec<Settlement> {
    deliveries.iter().map(|one| end(one.receipt)).collect()
}

/// Extends one lease, which must be live.
pub(crate) async fn extend(queue: &dyn Leasing, receipt: Receipt, lease_time: Duration) {
    queue
        .extend_one(receipt, lease_time)
        .await
        .expect("extends");
}

/// Leases and acks, one at a time, until nothing is ready: the ids in delivery order.
pub(crate) async fn drain(queue: &dyn Leasing) -> Vec<u64> {
    let mut drained = Vec::new();
    while let Some(delivery) = take(queue, 1).await.pop() {
        ack(queue, &delivery).await;
        drained.push(delivery.id().get());
    }
    drained
}

/// Buries the next message for `reason`.
pub(crate) async fn bury_next(queue: &dyn Leasing, reason: &str) -> MessageId {
    let delivery = take_one(queue).await;
    let settled = settle(queue, Settlement::bury(delivery.receipt, reason)).await;
    assert_eq!(settled, Settled::Dead, "a burial answers Dead");
    delivery.id()
}

/// All dead letters, oldest first.
pub(crate) async fn dead(queue: &dyn Leasing) -> Vec<DeadLetter> {
    let page = queue.dead_letters(Page::first(limits::MAX_PAGE)).await;
    let page = page.expect("lists");
    assert_eq!(page.next, None, "the whole list fits one page");
    page.entries
}

/// The only dead letter.
pub(crate) async fn one_dead(queue: &dyn Leasing) -> DeadLetter {
    let mut letters = dead(queue).await;
    assert_eq!(letters.len(), 1, "one dead letter: {letters:?}");
    letters.remove(0)
}

/// All messages of a place.
pub(crate) async fn peek(queue: &dyn Leasing, place: Place) -> Vec<Peeked> {
    let page = queue.peek(place, Page::first(limits::MAX_PAGE)).await;
    let page = page.expect("peeks");
    assert_eq!(page.next, None, "the whole place fits one page");
    page.entries
}

/// The ids of all messages of a place.
pub(crate) async fn shown(queue: &dyn Leasing, place: Place) -> Vec<u64> {
    let peeked = peek(queue, place).await;
    peeked.iter().map(|one| one.message.id.get()).collect()
}

/// All leases as a peek shows them: each with its remaining time, and its holder.
pub(crate) async fn leases(queue: &dyn Leasing) -> Vec<(Receipt, Duration, Option<Holder>)> {
    let leased = peek(queue, Place::Leased).await.into_iter();
    let leases = leased.map(|one| match one.standing {
        Standing::Leased {
            receipt,
            time_left,
            holder,
            ..
        } => {
            assert_eq!(receipt.id, one.message.id, "its own lease");
            (receipt, time_left, holder)
        }
        other => panic!("{other:?} is not leased"),
    });
    leases.collect()
}

/// The holders of all leases, by id.
pub(crate) async fn holders(queue: &dyn Leasing) -> Vec<(Receipt, Option<Holder>)> {
    let leases = leases(queue).await.into_iter();
    let mut leases: Vec<_> = leases
        .map(|(receipt, _, holder)| (receipt, holder))
        .collect();
    leases.sort_by_key(|(receipt, _)| receipt.id);
    leases
}

/// The pages of a listing, of at most `limit` entries each.
pub(crate) async fn pages<T, L>(limit: usize, list: impl Fn(Page) -> L) -> Vec<Vec<T>>
where
    L: Future<Output = Result<Paged<T>>>,
{
    let (mut pages, mut page) = (Vec::new(), Page::first(limit));
    loop {
        let Paged { entries, next, .. } = list(page).await.expect("lists");
        assert!(entries.len() <= limit);
        let is_empty = entries.is_empty();
        pages.push(entries);
        let Some(next) = next else { return pages };
        assert!(!is_empty, "a page that is not the last has entries");
        page = Page::after(next, limit);
    }
}

/// All queues of a backend.
pub(crate) async fn queues(backend: &Arc<dyn Backend>) -> Vec<QueueInfo> {
    let listed = backend.queues(None, count(limits::MAX_PAGE)).await;
    listed.expect("lists")
}

/// Cancels the messages of these numbers, in one call.
pub(crate) async fn cancel(queue: &dyn Leasing, numbers: &[u64]) -> Vec<Cancelled> {
    let ids: Vec<MessageId> = numbers.iter().copied().map(id).collect();
    queue.cancel(&ids).await.expect("cancels")
}

/// Gives the messages of these numbers another due time, in one call.
pub(crate) async fn reschedule(
    queue: &dyn Leasing,
    numbers: &[u64],
    due: impl Into<Due> + Send,
) -> Vec<Rescheduled> {
    let ids: Vec<MessageId> = numbers.iter().copied().map(id).collect();
    let moved = queue.reschedule(&ids, due.into()).await;
    moved.expect("reschedules")
}

/// A message that the queue drops the given number of milliseconds after its push.
pub(crate) fn dropped_after(millis: u64) -> Push {
    let limit = Duration::from_millis(millis);
    Push::new("x").with_time_to_live(TimeToLive::drop_after(limit))
}

/// A message that the queue buries the given number of milliseconds after its push.
pub(crate) fn buried_after(millis: u64) -> Push {
    let limit = Duration::from_millis(millis);
    Push::new("x").with_time_to_live(TimeToLive::bury_after(limit))
}

/// The dead letters, oldest first, all of which the queue has buried at their ends.
pub(crate) async fn buried_at_their_ends(queue: &dyn Leasing) -> Vec<u64> {
    let letters = dead(queue).await;
    for letter in &letters {
        assert_eq!(letter.reason, DeathReason::Outdated, "{letter:?}");
    }
    letters.iter().map(|letter| letter.id.get()).collect()
}

/// How many messages the queue has dropped at their ends, and how many have died.
pub(crate) async fn ended(queue: &dyn Leasing) -> (u64, u64) {
    let counters = queue.counters().await.expect("counters");
    assert!(counters.balance(), "{counters:?}");
    (counters.outdated, counters.died)
}

/// The counters without the age of the oldest message, which grows without calls.
pub(crate) async fn counted(queue: &dyn Leasing) -> Counters {
    let mut counters = queue.counters().await.expect("counters");
    counters.oldest_ready = None;
    counters
}

/// Ready, delayed, leased, dead.
pub(crate) async fn depth(queue: &dyn Leasing) -> [u64; 4] {
    let depth = queue.depth().await.expect("depth");
    [depth.ready, depth.delayed, depth.leased, depth.dead]
}

pub(crate) fn ids(deliveries: &[Delivery]) -> Vec<u64> {
    deliveries
        .iter()
        .map(|delivery| delivery.id().get())
        .collect()
}

pub(crate) fn numbers(ids: &[MessageId]) -> Vec<u64> {
    ids.iter().map(|id| id.get()).collect()
}

pub(crate) fn id(number: u64) -> MessageId {
    MessageId::new(number)
}

/// Fails unless the call was refused as `Invalid`, changed nothing, and the error names the value.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(answer: Result<T>, names: &str) {
    refused_as(ErrorKind::Invalid, answer, &[names]);
}

/// Fails unless the call failed with an error of `kind`, changed nothing, and the error names the values.
#[track_caller]
pub(crate) fn refused_as<T: std::fmt::Debug>(kind: ErrorKind, answer: Result<T>, names: &[&str]) {
    let error = answer.expect_err("is refused");
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
    assert!(
        !error.is_transient(),
        "the same call cannot succeed later: {error}"
    );
    let text = error.to_string();
    for name in names {
        assert!(text.contains(name), "{text:?} does not name {name:?}");
    }
}

/// Polls the future the given number of times, and drops it if it is not ready by then (L8).
pub(crate) async fn cut<F: Future + Send>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match Pin::as_mut(&mut future).poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
