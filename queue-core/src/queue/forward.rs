//! `Arc<Q>` and `Box<Q>` are queues if `Q` is.
//!
//! Every method is forwarded by hand, those with a default body too: forgetting one would quietly
//! replace a backend's own by the slower default, so clippy is told to refuse it.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::*;
use crate::{
    Counters, DeadLetter, Depth, Due, Extended, Leased, Message, MessageId, Page, Paged, Push,
    Pushed, Receipt, Result, Revived, Settled, Settlement,
};

macro_rules! forward {
    ($pointer:ident) => {
        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<Q: Leasing + ?Sized> Leasing for $pointer<Q> {
            async fn lease(&self, max: NonZeroUsize, ttl: Duration) -> Result<Leased> {
                (**self).lease(max, ttl).await
            }
            async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
                (**self).settle(settlements).await
            }
            async fn turn(
                &self,
                settlements: &[Settlement],
                max: NonZeroUsize,
                ttl: Duration,
            ) -> Result<(Vec<Settled>, Leased)> {
                (**self).turn(settlements, max, ttl).await
            }
            async fn extend(&self, receipts: &[Receipt], ttl: Duration) -> Result<Vec<Extended>> {
                (**self).extend(receipts, ttl).await
            }
            async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
                (**self).wait_for_arrival(timeout).await
            }
            async fn depth(&self) -> Result<Depth> {
                (**self).depth().await
            }
            async fn counters(&self) -> Result<Counters> {
                (**self).counters().await
            }
            async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
                (**self).dead_letters(page).await
            }
            async fn revive(&self, ids: &[MessageId]) -> Result<Vec<Revived>> {
                (**self).revive(ids).await
            }
            async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
                (**self).discard(ids).await
            }
            async fn pause(&self) -> Result<()> {
                (**self).pause().await
            }
            async fn resume(&self) -> Result<()> {
                (**self).resume().await
            }
            async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
                (**self).purge(max).await
            }
        }

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<Q: ReliableQueue + ?Sized> ReliableQueue for $pointer<Q> {
            async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
                (**self).push(messages).await
            }
        }

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<Q: DelayQueue + ?Sized> DelayQueue for $pointer<Q> {
            async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
                (**self).schedule(messages).await
            }
            async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
                (**self).cancel(ids).await
            }
            async fn reschedule(&self, id: MessageId, due: Due) -> Result<Rescheduled> {
                (**self).reschedule(id, due).await
            }
            async fn next_due(&self) -> Result<Option<Duration>> {
                (**self).next_due().await
            }
        }

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<Q: PriorityQueue + ?Sized> PriorityQueue for $pointer<Q> {
            async fn enqueue(&self, messages: &[Prioritized]) -> Result<Vec<Pushed>> {
                (**self).enqueue(messages).await
            }
        }

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<Q: BoundedQueue + ?Sized> BoundedQueue for $pointer<Q> {
            async fn offer(&self, messages: &[Offer], overflow: Overflow) -> Result<Vec<Offered>> {
                (**self).offer(messages, overflow).await
            }
            async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
                (**self).wait_for_room(timeout).await
            }
            async fn recent(&self, n: usize) -> Result<Vec<Message>> {
                (**self).recent(n).await
            }
            async fn capacity(&self) -> Result<NonZeroUsize> {
                (**self).capacity().await
            }
            async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>> {
                (**self).resize(capacity).await
            }
        }

        #[async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<Q: RotatingQueue + ?Sized> RotatingQueue for $pointer<Q> {
            async fn insert(&self, items: &[Insert]) -> Result<Vec<Inserted>> {
                (**self).insert(items).await
            }
            async fn rotate(&self, max: NonZeroUsize) -> Result<Rotated> {
                (**self).rotate(max).await
            }
            async fn wait_for_turn(&self, timeout: Duration) -> Result<()> {
                (**self).wait_for_turn(timeout).await
            }
            async fn list(&self, page: Page) -> Result<Paged<Message>> {
                (**self).list(page).await
            }
            async fn remove(&self, ids: &[MessageId]) -> Result<u64> {
                (**self).remove(ids).await
            }
            async fn len(&self) -> Result<u64> {
                (**self).len().await
            }
        }
    };
}

forward!(Arc);
forward!(Box);
