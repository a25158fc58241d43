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

/// What the answers of a queue's calls add up to: kept by the suite, not by the backend.
#[derive(Debug, Default)]
pub(crate) struct Books {
    entries: Mutex<Counters>,
    unsure: AtomicBool,
}

impl Books {
    /// Fails unless the queue counts what its answers added up to, and loses nothing.
    pub(crate) fn check(&self, counters: &Counters) {
        assert!(
            counters.balance(),
            "L5: the books of {counters:?} do not balance"
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

    fn enter<A>(&self, answers: Result<A>, entry: impl FnOnce(&A, &mut Counters)) -> Result<A> {
        match &answers {
            Ok(answer) => entry(answer, &mut self.lock()),
            Err(error) if error.outcome() == Outcome::Unknown => self.lose_sight(),
            Err(_) => {}
        }
        answers
    }

    fn lose_sight(&self) {
        self.unsure.store(true, Ordering::SeqCst);
    }
}

/// Notes that a call was dropped before it answered: what it did is unknown from then on (L8).
struct UnderWay<'a>(Option<&'a Books>);

impl UnderWay<'_> {
    fn arrived(mut self) {
        self.0 = None;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(books) = self.0 {
            books.lose_sight();
        }
    }
}

/// A queue whose answers are entered in the books.
#[derive(Debug)]
pub(crate) struct Audited<Q> {
    queue: Q,
    books: Arc<Books>,
}

impl<Q> Audited<Q> {
    pub(crate) const fn new(queue: Q, books: Arc<Books>) -> Self {
        Self { queue, books }
    }
}

/// Awaits the call and enters its answer, or that it never came.
macro_rules! entered {
    ($self:ident, $call:expr, $entry:expr) => {{
        let under_way = UnderWay(Some(&$self.books));
        let answer = $call.await;
        under_way.arrived();
        $self.books.enter(answer, $entry)
    }};
}

fn enter_settled(settlements: &[Settlement], settled: &[Settled], books: &mut Counters) {
    assert_eq!(
        settled.len(),
        settlements.len(),
        "one answer for each entry"
    );
    for (settlement, settled) in settlements.iter().zip(settled) {
        match (settled, &settlement.disposition) {
            (Settled::LeaseLost, _) => {}
            (Settled::Dead, _) => books.died += 1,
            (Settled::Done, Disposition::Ack) => books.acked += 1,
            (Settled::Done, Disposition::Retry { .. }) => books.retried += 1,
            (Settled::Done, Disposition::Defer { .. }) => books.deferred += 1,
            (Settled::Done, Disposition::Release) => books.released += 1,
            (Settled::Done, Disposition::Bury { .. }) => panic!("L6: a burial answers Dead"),
        }
    }
}

fn enter_pushed(sent: usize, pushed: &[Pushed], books: &mut Counters) {
    assert_eq!(pushed.len(), sent, "one answer for each entry");
    let accepted = pushed.iter().filter(|pushed| !pushed.is_duplicate());
    books.accepted += accepted.count() as u64;
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
        entered!(self, self.queue.settle(settlements), |settled, books| {
            enter_settled(settlements, settled, books);
        })
    }
    async fn turn(
        &self,
        settlements: &[Settlement],
        max: NonZeroUsize,
        ttl: Duration,
    ) -> Result<(Vec<Settled>, Leased)> {
        entered!(
            self,
            self.queue.turn(settlements, max, ttl),
            |(settled, _), books| {
                enter_settled(settlements, settled, books);
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
        entered!(self, self.queue.revive(ids), |revived, books| {
            assert_eq!(revived.len(), ids.len(), "one answer for each entry");
            let back = revived.iter().filter(|one| **one == Revived::Revived);
            books.revived += back.count() as u64;
        })
    }
    async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
        entered!(self, self.queue.discard(ids), |count, books| books
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
        entered!(self, self.queue.purge(max), |count, books| books.purged +=
            count)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<Q: ReliableQueue> ReliableQueue for Audited<Q> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        entered!(self, self.queue.push(messages), |pushed, books| {
            enter_pushed(messages.len(), pushed, books);
        })
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<Q: DelayQueue> DelayQueue for Audited<Q> {
    async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
        entered!(self, self.queue.schedule(messages), |pushed, books| {
            enter_pushed(messages.len(), pushed, books);
        })
    }
    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        entered!(self, self.queue.cancel(ids), |cancelled, books| {
            assert_eq!(cancelled.len(), ids.len(), "one answer for each entry");
            let gone = cancelled.iter().filter(|one| **one == Cancelled::Cancelled);
            books.cancelled += gone.count() as u64;
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
        entered!(self, self.queue.enqueue(messages), |pushed, books| {
            enter_pushed(messages.len(), pushed, books);
        })
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<Q: BoundedQueue> BoundedQueue for Audited<Q> {
    async fn offer(&self, messages: &[Offer], overflow: Overflow) -> Result<Vec<Offered>> {
        entered!(
            self,
            self.queue.offer(messages, overflow),
            |offered, books| {
                assert_eq!(offered.len(), messages.len(), "one answer for each entry");
                for offered in offered {
                    match offered {
                        Offered::Accepted { evicted, .. } => {
                            books.accepted += 1;
                            books.evicted += u64::from(evicted.is_some());
                        }
                        Offered::Replaced { .. } => {
                            books.accepted += 1;
                            books.replaced += 1;
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
        entered!(self, self.queue.resize(capacity), |dropped, books| {
            books.evicted += dropped.len() as u64;
        })
    }
}
