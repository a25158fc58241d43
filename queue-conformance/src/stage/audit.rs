//! An independent count beside each queue of a case (L5).

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use queue_core::{
    call::{Answer, Call, Layer, Service},
    *,
};

use super::guard::broken_alone;

/// Counts what the queues of a case answer: a layer in front of its backend.
#[derive(Debug, Clone, Default)]
pub(crate) struct Audit(Arc<Mutex<BTreeMap<QueueName, Entry>>>);

#[derive(Debug)]
struct Entry {
    expected: Arc<ExpectedCounts>,
    queue: Arc<dyn Service>,
}

impl Audit {
    /// Fails unless the counters of each queue agree with its answers; of a queue without counters,
    /// unless its depth does.
    pub(crate) async fn close(&self, guarantees: &Guarantees) {
        let entries = std::mem::take(&mut *self.lock());
        let look = match guarantees.calls.contains("counters") {
            true => Call::Counters,
            // The depth says nothing of what is nowhere, or was dropped untold.
            false if broken_alone(guarantees, "L5").is_some() => return,
            false if guarantees.calls.contains("depth") => Call::Depth,
            false => return,
        };
        for Entry { expected, queue } in entries.into_values() {
            match queue.call(look.clone()).await.expect("counters") {
                Answer::Counters(counters) => expected.check(&counters),
                Answer::Depth(depth) => expected.check_depth(depth),
                other => panic!("counters answer {other:?}"),
            }
        }
    }

    /// Forgets every queue.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueName, Entry>> {
        self.0.lock().expect("no entry panics")
    }
}

impl Layer for Audit {
    fn before(&self, name: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service> {
        let mut entries = self.lock();
        let expected = entries.get(name).map(|entry| Arc::clone(&entry.expected));
        let expected = expected.unwrap_or_default();
        let entry = Entry {
            expected: Arc::clone(&expected),
            queue: Arc::clone(&queue),
        };
        entries.insert(name.clone(), entry);
        Arc::new(Audited { queue, expected })
    }
}

/// The counts that a queue's answers add up to. The suite keeps them, not the backend.
#[derive(Debug, Default)]
pub(crate) struct ExpectedCounts {
    entries: Mutex<Counters>,
    unsure: AtomicBool,
}

impl ExpectedCounts {
    /// Fails unless the queue's counters add up, and agree with its answers.
    pub(crate) fn check(&self, counters: &Counters) {
        assert!(
            counters.balance(),
            "L5: the counts of {counters:?} do not add up"
        );
        if self.unsure.load(Ordering::SeqCst) {
            return;
        }
        let expected = self.lock();
        let pairs = [
            ("accepted", expected.accepted, counters.accepted),
            ("acked", expected.acked, counters.acked),
            ("retried", expected.retried, counters.retried),
            ("deferred", expected.deferred, counters.deferred),
            ("released", expected.released, counters.released),
            ("revived", expected.revived, counters.revived),
            ("evicted", expected.evicted, counters.evicted),
            ("replaced", expected.replaced, counters.replaced),
            ("cancelled", expected.cancelled, counters.cancelled),
            ("discarded", expected.discarded, counters.discarded),
            ("purged", expected.purged, counters.purged),
        ];
        for (name, answers, counted) in pairs {
            assert_eq!(
                counted, answers,
                "L5: {name}: the queue counts {counted}, its answers add up to {answers}"
            );
        }
        let (died, least) = (counters.died, expected.died);
        assert!(
            died >= least && died <= least + counters.expired,
            "L5: died: the queue counts {died}, its answers add up to {least}, and {} leases \
             expired",
            counters.expired
        );
    }

    /// Fails unless the queue has what its answers say is left.
    fn check_depth(&self, depth: Depth) {
        if self.unsure.load(Ordering::SeqCst) {
            return;
        }
        let counts = self.lock();
        let gone = [
            counts.acked,
            counts.evicted,
            counts.replaced,
            counts.cancelled,
            counts.discarded,
            counts.purged,
        ];
        let left = counts.accepted.checked_sub(gone.iter().sum());
        let there = depth.ready + depth.delayed + depth.leased + depth.dead;
        assert_eq!(
            Some(there),
            left,
            "L5: {depth:?} does not agree with the answers, which add up to {counts:?}"
        );
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Counters> {
        self.entries.lock().expect("no entry panics")
    }

    fn record(&self, call: &Call, answered: &Result<Answer>) {
        match answered {
            Ok(answer) => record(call, answer, &mut self.lock()),
            Err(error) if error.outcome() == Outcome::Unknown => self.mark_unsure(),
            Err(_) => {}
        }
    }

    fn mark_unsure(&self) {
        self.unsure.store(true, Ordering::SeqCst);
    }
}

/// If it is dropped before its call has answered, makes the counts unsure, since nobody knows the
/// call's effect (L8).
struct CallGuard<'a>(Option<&'a ExpectedCounts>);

impl CallGuard<'_> {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        if let Some(expected) = self.0 {
            expected.mark_unsure();
        }
    }
}

/// A queue that records its answers in the expected counts.
#[derive(Debug)]
struct Audited {
    queue: Arc<dyn Service>,
    expected: Arc<ExpectedCounts>,
}

#[async_trait]
impl Service for Audited {
    async fn call(&self, call: Call) -> Result<Answer> {
        // What only looks or waits may be given up: no count depends on it.
        let guard = (!call.is_wait()).then(|| CallGuard(Some(&self.expected)));
        let answered = self.queue.call(call.clone()).await;
        if let Some(guard) = guard {
            guard.answered();
        }
        self.expected.record(&call, &answered);
        answered
    }
}

/// Adds what a call was answered, which has one answer for each entry of the call.
fn record(call: &Call, answer: &Answer, counts: &mut Counters) {
    let each = |entries: usize, answers: usize| {
        assert_eq!(answers, entries, "one answer for each entry");
    };
    match (call, answer) {
        (call, Answer::Pushed(pushed)) => {
            each(call.puts().unwrap_or_default(), pushed.len());
            counts.accepted += accepted(pushed);
        }
        (Call::Offer(messages, _), Answer::Offered(offered)) => {
            each(messages.len(), offered.len());
            for offered in offered {
                match offered {
                    Offered::Accepted { evicted, .. } => {
                        counts.accepted += 1;
                        counts.evicted += u64::from(evicted.is_some());
                    }
                    Offered::Replaced { .. } => {
                        counts.accepted += 1;
                        counts.replaced += 1;
                    }
                    Offered::Duplicate(_) | Offered::Full => {}
                }
            }
        }
        (Call::Resize(_), Answer::Ids(dropped)) => counts.evicted += dropped.len() as u64,
        (Call::Cancel(ids), Answer::Cancelled(cancelled)) => {
            each(ids.len(), cancelled.len());
            let gone = cancelled.iter().filter(|one| **one == Cancelled::Cancelled);
            counts.cancelled += gone.count() as u64;
        }
        (Call::Peek(place, page), Answer::Peeked(paged)) => check_page(*place, page.limit, paged),
        (Call::Lease(max, _), Answer::Leased(leased)) => {
            assert!(
                leased.deliveries.len() <= max.get(),
                "no more than asked for"
            );
            assert!(
                leased.is_empty() || leased.next.is_none(),
                "`next` is answered only when nothing is handed out: {leased:?}"
            );
        }
        (Call::Settle(batch), Answer::Settled(settled))
        | (Call::Turn(batch, ..), Answer::Turned(settled, _)) => {
            each(batch.len(), settled.len());
            for (settlement, settled) in batch.iter().zip(settled) {
                record_settled(&settlement.disposition, *settled, counts);
            }
        }
        (Call::Revive(ids), Answer::Revived(revived)) => {
            each(ids.len(), revived.len());
            let back = revived.iter().filter(|one| **one == Revived::Revived);
            counts.revived += back.count() as u64;
        }
        (Call::Discard(_), Answer::Count(count)) => counts.discarded += count,
        (Call::Purge(_), Answer::Count(count)) => counts.purged += count,
        _ => {}
    }
}

/// Fails unless the page keeps to its limits, and shows messages of this place alone.
fn check_page(place: Place, limit: usize, paged: &Paged<Peeked>) {
    let Paged { entries, next } = paged;
    assert!(entries.len() <= limit, "no more than asked for");
    assert!(
        next.is_none() || !entries.is_empty(),
        "L16: a page that is not the last has entries"
    );
    let bytes: usize = entries.iter().map(Peeked::size).sum();
    assert!(
        bytes <= limits::MAX_BATCH_BYTES || entries.len() == 1,
        "L16: a page of {bytes} bytes"
    );
    for peeked in entries {
        let shown = match peeked.standing {
            Standing::Ready => Place::Ready,
            Standing::Delayed { .. } => Place::Delayed,
            Standing::Leased { receipt, .. } => {
                assert_eq!(receipt.id, peeked.message.id, "L16: another's receipt");
                Place::Leased
            }
        };
        assert_eq!(shown, place, "L16: {:?}", peeked.message.id);
    }
}

fn accepted(pushed: &[Pushed]) -> u64 {
    let accepted = pushed.iter().filter(|pushed| !pushed.is_duplicate());
    accepted.count() as u64
}

fn record_settled(disposition: &Disposition, settled: Settled, counts: &mut Counters) {
    match (settled, disposition) {
        (Settled::LeaseLost, _) => {}
        (Settled::Dead, _) => counts.died += 1,
        (Settled::Done, Disposition::Ack) => counts.acked += 1,
        (Settled::Done, Disposition::Retry { .. }) => counts.retried += 1,
        (Settled::Done, Disposition::Defer { .. }) => counts.deferred += 1,
        (Settled::Done, Disposition::Release) => counts.released += 1,
        (Settled::Done, Disposition::Bury { .. }) => panic!("L6: a burial answers Dead"),
    }
}
