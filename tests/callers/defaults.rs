//! The default bodies of the traits' methods.

use std::{num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use queue_kit::{
    call::{Call, Front},
    *,
};

use crate::fault_injector::*;

/// A backend without a `settle_and_lease` of its own.
#[derive(Debug)]
struct Plain(Front);

#[async_trait]
impl Leasing for Plain {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.0.push(messages).await
    }
    async fn reschedule(&self, ids: &[MessageId], due: Due) -> Result<Vec<Rescheduled>> {
        self.0.reschedule(ids, due).await
    }
    async fn lease(&self, max: NonZeroUsize, lease_time: Duration) -> Result<Leased> {
        self.0.lease(max, lease_time).await
    }
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        self.0.settle(settlements).await
    }
    async fn extend(
        &self,
        extensions: &[Extension],
        lease_time: Duration,
    ) -> Result<Vec<Extended>> {
        self.0.extend(extensions, lease_time).await
    }
    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        self.0.wait_for_arrival(timeout).await
    }
    async fn depth(&self) -> Result<Depth> {
        self.0.depth().await
    }
    async fn counters(&self) -> Result<Counters> {
        self.0.counters().await
    }
    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        self.0.dead_letters(page).await
    }
    async fn revive(&self, ids: &[MessageId], revival: Revival) -> Result<Vec<Revived>> {
        self.0.revive(ids, revival).await
    }
    async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
        self.0.discard(ids).await
    }
    async fn pause(&self) -> Result<()> {
        self.0.pause().await
    }
    async fn resume(&self) -> Result<()> {
        self.0.resume().await
    }
    async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
        self.0.purge(max).await
    }
    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        self.0.cancel(ids).await
    }
    async fn peek(&self, place: Place, page: Page) -> Result<Paged<Peeked>> {
        self.0.peek(place, page).await
    }
    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Found>> {
        self.0.find(ids).await
    }
}

const ONE: NonZeroUsize = NonZeroUsize::MIN;

#[tokio::test(start_paused = true)]
async fn a_settle_and_lease_whose_lease_failed_does_not_deny_that_it_settled() {
    let jobs = reliable().await;
    jobs.push_one("a").await.unwrap().id().unwrap();
    jobs.push_one("b").await.unwrap().id().unwrap();
    let held = jobs.receive_one(SECOND, SECOND).await.unwrap().unwrap();
    let full = before(&jobs, |_, call| match call {
        Call::Lease(..) => Behaviour::Refused(down()),
        _ => Behaviour::Made,
    });
    let plain = Plain(full.front());
    let done = [Settlement::ack(held.receipt)];
    let error = plain
        .settle_and_lease(&done, ONE, SECOND, None)
        .await
        .unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(jobs.counters().await.unwrap().acked, 1);
    // Nothing was settled: the lease's own outcome holds.
    let error = plain
        .settle_and_lease(&[], ONE, SECOND, None)
        .await
        .unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotApplied);
}

#[tokio::test(start_paused = true)]
async fn a_settle_and_lease_whose_settling_failed_leases_nothing() {
    let jobs = reliable().await;
    jobs.push_one("a").await.unwrap().id().unwrap();
    jobs.push_one("b").await.unwrap().id().unwrap();
    let held = jobs.receive_one(SECOND, SECOND).await.unwrap().unwrap();
    let broken = before(&jobs, |_, call| match call {
        Call::Settle(_) => Behaviour::Refused(down()),
        _ => Behaviour::Made,
    });
    let done = [Settlement::ack(held.receipt)];
    let error = Plain(broken.front())
        .settle_and_lease(&done, ONE, SECOND, None)
        .await;
    assert_eq!(error.unwrap_err().outcome(), Outcome::NotApplied);
    let depth = jobs.depth().await.unwrap();
    assert_eq!((depth.ready, depth.leased), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn by_default_a_wait_for_a_message_returns_a_hint() {
    let jobs = reliable().await;
    let plain = Plain(before(&jobs, |_, _| Behaviour::Made).front());
    let push = async {
        tokio::time::sleep(SECOND).await;
        jobs.push_one("a").await.unwrap().id().unwrap();
    };
    let start = tokio::time::Instant::now();
    let (waited, ()) = tokio::join!(plain.wait_to_lease(SECOND, None, 60 * SECOND), push);
    assert!(waited.unwrap().is_empty());
    assert_eq!(start.elapsed(), SECOND);
    assert_eq!(jobs.depth().await.unwrap().ready, 1);
    let error = plain.wait_to_lease(Duration::ZERO, None, SECOND).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn settle_and_lease_is_a_settlement_and_then_a_lease() {
    let jobs = reliable().await;
    jobs.push_one("a").await.unwrap().id().unwrap();
    let held = jobs.receive_one(SECOND, SECOND).await.unwrap().unwrap();
    let plain = Plain(before(&jobs, |_, _| Behaviour::Made).front());
    let back = [Settlement::release(held.receipt)];
    let holder = Holder::new("mailer").unwrap();
    let answer = plain
        .settle_and_lease(&back, ONE, SECOND, Some(holder))
        .await;
    let (settled, leased) = answer.unwrap();
    assert_eq!(settled, [Settled::Done]);
    assert_eq!(leased.deliveries.len(), 1, "what it gave back is there");
    let held = plain.peek(Place::Leased, Page::first(1)).await.unwrap();
    let standing = &held.entries[0].standing;
    let is_unnamed = matches!(standing, Standing::Leased { holder: None, .. });
    assert!(
        is_unnamed,
        "the default body tells nobody the name: {held:?}"
    );
    // The call finds a bad argument to one part before it does the other.
    let back = [Settlement::release(leased.deliveries[0].receipt)];
    let error = plain
        .settle_and_lease(&back, ONE, Duration::ZERO, None)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(jobs.depth().await.unwrap().leased, 1);
}
