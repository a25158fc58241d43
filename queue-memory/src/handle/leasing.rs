//! The methods that all leasing kinds' handles share.

use std::{num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Cancelled, Counters, DeadLetter, Depth, Due, Extended, Extension, Found, Holder, Leased,
    Leasing, MessageId, Page, Paged, Peeked, Place, Push, Pushed, Rescheduled, Result, Revival,
    Revived, Settled, Settlement, limits,
};

use super::Handle;
use crate::state::{Leases, LeasingState};

/// A handle to a queue of a leasing kind.
pub(super) type LeasingHandle<K> = Handle<LeasingState<K>>;

fn check_lease(max: NonZeroUsize, lease_time: Duration) -> Result<u64> {
    limits::check_max(max.get())?;
    limits::lease_millis(lease_time)
}

#[async_trait]
impl<K: Leases> Leasing for LeasingHandle<K> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.checked(Push::check_all(messages, K::KIND, self.max_body))?;
        self.call(|state, now| state.push(now, messages))
    }

    async fn reschedule(&self, ids: &[MessageId], due: Due) -> Result<Vec<Rescheduled>> {
        self.checked(limits::check_batch(ids.len()))?;
        self.checked(due.check())?;
        planted!(MoveWakesNobody => return crate::planted::instead(
            crate::planted::Bug::ArrivalWakesNobody,
            || self.call(|state, now| state.reschedule(now, ids, due)),
        ));
        self.call(|state, now| state.reschedule(now, ids, due))
    }

    async fn lease(&self, max: NonZeroUsize, lease_time: Duration) -> Result<Leased> {
        let lease_time = self.checked(check_lease(max, lease_time))?;
        self.call(|state, now| state.lease(now, max.get(), lease_time, None))
    }

    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        self.checked(limits::check_batch(settlements.len()))?;
        self.checked(Settlement::check_all(settlements))?;
        self.call(|state, now| state.settle(now, settlements))
    }

    async fn settle_and_lease(
        &self,
        settlements: &[Settlement],
        max: NonZeroUsize,
        lease_time: Duration,
        holder: Option<Holder>,
    ) -> Result<(Vec<Settled>, Leased)> {
        self.checked(Settlement::check_all(settlements))?;
        let lease_time = self.checked(check_lease(max, lease_time))?;
        self.call(|state, now| {
            state.settle_and_lease(now, settlements, max.get(), lease_time, holder)
        })
    }

    async fn extend(
        &self,
        extensions: &[Extension],
        lease_time: Duration,
    ) -> Result<Vec<Extended>> {
        self.checked(Extension::check_all(extensions))?;
        let lease_time = self.checked(limits::lease_millis(lease_time))?;
        self.call(|state, now| state.extend(now, extensions, lease_time))
    }

    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        self.arrival(timeout).await
    }

    async fn depth(&self) -> Result<Depth> {
        self.call(LeasingState::depth)
    }

    async fn counters(&self) -> Result<Counters> {
        self.call(LeasingState::counters)
    }

    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        self.checked(page.check())?;
        self.call(|state, now| state.dead_letters(now, page))
    }

    async fn revive(&self, ids: &[MessageId], revival: Revival) -> Result<Vec<Revived>> {
        self.checked(limits::check_batch(ids.len()))?;
        self.call(|state, now| state.revive(now, ids, revival))
    }

    async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
        self.checked(limits::check_batch(ids.len()))?;
        self.call(|state, now| state.discard(now, ids))
    }

    async fn pause(&self) -> Result<()> {
        self.without_waking(LeasingState::pause)
    }

    async fn resume(&self) -> Result<()> {
        self.call(|state, _| state.resume())
    }

    async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
        self.checked(limits::check_page(max.get()))?;
        let removed = self.call(|state, now| state.purge(now, max.get()))?;
        Ok(removed.len() as u64)
    }

    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        self.checked(limits::check_batch(ids.len()))?;
        self.call(|state, now| state.cancel(now, ids))
    }

    async fn peek(&self, place: Place, page: Page) -> Result<Paged<Peeked>> {
        self.checked(page.check())?;
        self.call(|state, now| state.peek(now, place, page))
    }

    async fn find(&self, ids: &[MessageId]) -> Result<Vec<Found>> {
        self.checked(limits::check_batch(ids.len()))?;
        self.call(|state, now| state.find(now, ids))
    }

    async fn wait_for_end(&self, id: MessageId, timeout: Duration) -> Result<()> {
        self.end(id, timeout).await
    }
}
