//! An independent count beside each queue of a case (L5).

use std::{
    num::NonZeroUsize,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_core::*;

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

    fn lock(&self) -> std::sync::MutexGuard<'_, Counters> {
        self.entries.lock().expect("no entry panics")
    }

    fn record<A>(&self, answers: Result<A>, entry: impl FnOnce(&A, &mut Counters)) -> Result<A> {
        match &answers {
            Ok(answer) => entry(answer, &mut self.lock()),
            Err(error) if error.outcome() == Outcome::Unknown => self.mark_unsure(),
            Err(_) => {}
        }
        answers
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
pub(crate) struct Audited<Q> {
    queue: Q,
    expected: Arc<ExpectedCounts>,
}

impl<Q> Audited<Q> {
    pub(crate) const fn new(queue: Q, expected: Arc<ExpectedCounts>) -> Self {
        Self { queue, expected }
    }
}

/// Awaits the call and records its answer, or that none came.
macro_rules! recorded {
    ($self:ident, $call:expr, $entry:expr) => {{
        let guard = CallGuard(Some(&$self.expected));
        let answer = $call.await;
        guard.answered();
        $self.expected.record(answer, $entry)
    }};
}

fn record_settled(settlements: &[Settlement], settled: &[Settled], expected: &mut Counters) {
    assert_eq!(
        settled.len(),
        settlements.len(),
        "one answer for each entry"
    );
    for (settlement, settled) in settlements.iter().zip(settled) {
        match (settled, &settlement.disposition) {
            (Settled::LeaseLost, _) => {}
            (Settled::Dead, _) => expected.died += 1,
            (Settled::Done, Disposition::Ack) => expected.acked += 1,
            (Settled::Done, Disposition::Retry { .. }) => expected.retried += 1,
            (Settled::Done, Disposition::Defer { .. }) => expected.deferred += 1,
            (Settled::Done, Disposition::Release) => expected.released += 1,
            (Settled::Done, Disposition::Bury { .. }) => panic!("L6: a burial answers Dead"),
        }
    }
}

fn record_pushed(sent: usize, pushed: &[Pushed], expected: &mut Counters) {
    assert_eq!(pushed.len(), sent, "one answer for each entry");
    let accepted = pushed.iter().filter(|pushed| !pushed.is_duplicate());
    expected.accepted += accepted.count() as u64;
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<Q: Leasing> Leasing for Audited<Q> {
    async fn lease(&self, max: NonZeroUsize, ttl: Duration) -> Result<Leased> {
        let leased = self.queue.lease(max, ttl).await?;
        assert!(
            leased.deliveries.len() <= max.get(),
            "no more than asked for"
        );
        assert!(
            leased.is_empty() || leased.next.is_none(),
            "`next` is answered only when nothing is handed out: {leased:?}"
        );
        Ok(leased)
    }
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        recorded!(self, self.queue.settle(settlements), |settled, expected| {
            record_settled(settlements, settled, expected);
        })
    }
    async fn turn(
        &self,
        settlements: &[Settlement],
        max: NonZeroUsize,
        ttl: Duration,
    ) -> Result<(Vec<Settled>, Leased)> {
        recorded!(
            self,
            self.queue.turn(settlements, max, ttl),
            |(settled, _), expected| {
                record_settled(settlements, settled, expected);
            }
        )
    }
    async fn extend(&self, receipts: &[Receipt], ttl: Duration) -> Result<Vec<Extended>> {
        self.queue.extend(receipts, ttl).await
    }
    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        self.queue.wait_for_arrival(timeout).await
    }
    async fn depth(&self) -> Result<Depth> {
        self.queue.depth().await
    }
    async fn counters(&self) -> Result<Counters> {
        self.queue.counters().await
    }
    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        self.queue.dead_letters(page).await
    }
    async fn revive(&self, ids: &[MessageId]) -> Result<Vec<Revived>> {
        recorded!(self, self.queue.revive(ids), |revived, expected| {
            assert_eq!(revived.len(), ids.len(), "one answer for each entry");
            let back = revived.iter().filter(|one| **one == Revived::Revived);
            expected.revived += back.count() as u64;
        })
    }
    async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
        recorded!(self, self.queue.discard(ids), |count, expected| expected
            .discarded +=
            count)
    }
    async fn pause(&self) -> Result<()> {
        self.queue.pause().await
    }
    async fn resume(&self) -> Result<()> {
        self.queue.resume().await
    }
    async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
        recorded!(self, self.queue.purge(max), |count, expected| expected
            .purged +=
            count)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<Q: ReliableQueue> ReliableQueue for Audited<Q> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        recorded!(self, self.queue.push(messages), |pushed, expected| {
            record_pushed(messages.len(), pushed, expected);
        })
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<Q: DelayQueue> DelayQueue for Audited<Q> {
    async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
        recorded!(self, self.queue.schedule(messages), |pushed, expected| {
            record_pushed(messages.len(), pushed, expected);
        })
    }
    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        recorded!(self, self.queue.cancel(ids), |cancelled, expected| {
            assert_eq!(cancelled.len(), ids.len(), "one answer for each entry");
            let gone = cancelled.iter().filter(|one| **one == Cancelled::Cancelled);
            expected.cancelled += gone.count() as u64;
        })
    }
    async fn reschedule(&self, id: MessageId, due: Due) -> Result<Rescheduled> {
        self.queue.reschedule(id, due).await
    }
    async fn next_due(&self) -> Result<Option<Duration>> {
        self.queue.next_due().await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<Q: PriorityQueue> PriorityQueue for Audited<Q> {
    async fn enqueue(&self, messages: &[Prioritized]) -> Result<Vec<Pushed>> {
        recorded!(self, self.queue.enqueue(messages), |pushed, expected| {
            record_pushed(messages.len(), pushed, expected);
        })
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<Q: BoundedQueue> BoundedQueue for Audited<Q> {
    async fn offer(&self, messages: &[Offer], overflow: Overflow) -> Result<Vec<Offered>> {
        recorded!(
            self,
            self.queue.offer(messages, overflow),
            |offered, expected| {
                assert_eq!(offered.len(), messages.len(), "one answer for each entry");
                for offered in offered {
                    match offered {
                        Offered::Accepted { evicted, .. } => {
                            expected.accepted += 1;
                            expected.evicted += u64::from(evicted.is_some());
                        }
                        Offered::Replaced { .. } => {
                            expected.accepted += 1;
                            expected.replaced += 1;
                        }
                        Offered::Duplicate(_) | Offered::Full => {}
                    }
                }
            }
        )
    }
    async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
        self.queue.wait_for_room(timeout).await
    }
    async fn recent(&self, n: usize) -> Result<Vec<Message>> {
        self.queue.recent(n).await
    }
    async fn capacity(&self) -> Result<NonZeroUsize> {
        self.queue.capacity().await
    }
    async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>> {
        recorded!(self, self.queue.resize(capacity), |dropped, expected| {
            expected.evicted += dropped.len() as u64;
        })
    }
}
