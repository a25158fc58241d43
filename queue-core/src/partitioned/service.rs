//! The partitions as one queue: each call, and its handler.

use std::sync::Arc;

use async_trait::async_trait;

use super::{confirming::ByParts, partitions::Partitions};
use crate::{
    Confirmer, Leased, Push, Result,
    call::{Answer, Answered, Call, Service},
    limits,
};

#[async_trait]
impl Service for Partitions {
    async fn call(&self, call: Call) -> Result<Answer> {
        let answered = self.answer(call).await;
        answered.map_err(|error| error.of_partition(&self.name))
    }

    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        let partitions = self.queues.iter().map(|queue| Service::confirmer(queue));
        Some(Arc::new(ByParts {
            confirmers: partitions.collect::<Option<_>>()?,
            confirmations: Arc::clone(&self.confirmations),
        }))
    }
}

impl Partitions {
    async fn answer(&self, call: Call) -> Result<Answer> {
        Ok(match call {
            Call::Push(batch) => {
                Push::check_all(&batch, self.kind, self.max_body)?;
                self.push(batch).await?.answer()
            }
            Call::Lease(max, lease_time) => self.lease(max, lease_time).await?.answer(),
            Call::SettleAndLease(settlements, max, lease_time, holder) => self
                .settle_and_lease(settlements, max, lease_time, holder)
                .await?
                .answer(),
            Call::Settle(settlements) => self.settle(settlements).await?.answer(),
            Call::Extend(extensions, lease_time) => {
                self.extend(extensions, lease_time).await?.answer()
            }
            Call::Cancel(ids) => self.cancel(ids).await?.answer(),
            Call::Revive(ids, revival) => self.revive(ids, revival).await?.answer(),
            Call::Discard(ids) => self.discard(ids).await?.answer(),
            Call::Reschedule(ids, due) => self.reschedule(ids, due).await?.answer(),
            Call::WaitForArrival(longest) => self.wait_for_arrival(longest).await?.answer(),
            Call::WaitToLease(lease_time, _, longest) => {
                limits::lease_millis(lease_time)?;
                self.wait_for_arrival(longest).await?;
                Leased::nothing(None).answer()
            }
            Call::WaitForRoom(longest) => self.wait_for_room(longest).await?.answer(),
            Call::Depth => self.depth().await?.answer(),
            Call::Counters => self.counters().await?.answer(),
            Call::DeadLetters(page) => self.dead_letters(page).await?.answer(),
            Call::Peek(place, page) => self.peek(place, page).await?.answer(),
            Call::Groups(page) => self.groups(page).await?.answer(),
            Call::ChangeGroup(key, change) => self.change_group(key, change).await?.answer(),
            Call::Find(ids) => self.find(ids).await?.answer(),
            Call::WaitForEnd(id, longest) => self.wait_for_end(id, longest).await?.answer(),
            Call::Purge(max) => self.purge(max).await?.answer(),
            Call::Pause => self
                .change_all::<()>(&Call::Pause)
                .await
                .map(drop)?
                .answer(),
            Call::Resume => self.resume().await?.answer(),
            Call::NextDue => self.next_due().await?.answer(),
            Call::Recent(n) => self.recent(n).await?.answer(),
            Call::Capacity => self.capacity().await?.answer(),
            Call::Resize(capacity) => self.resize(capacity).await?.answer(),
            call => return Err(self.no_such_call(&call)),
        })
    }
}
