use std::{num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Insert, Inserted, Message, MessageId, Page, Paged, Result, Rotated, RotatingQueue, limits,
};

use super::Handle;
use crate::state::Ring;

#[async_trait]
impl RotatingQueue for Handle<Ring> {
    async fn insert(&self, items: &[Insert]) -> Result<Vec<Inserted>> {
        self.checked(Insert::check_all(items, self.max_body))?;
        self.call(|ring, _| ring.insert(items))
    }

    async fn rotate(&self, max: NonZeroUsize) -> Result<Rotated> {
        self.checked(limits::check_max(max.get()))?;
        self.call(|ring, now| ring.rotate(now, max.get()))
    }

    async fn wait_for_turn(&self, timeout: Duration) -> Result<()> {
        self.arrival(timeout).await
    }

    async fn list(&self, page: Page) -> Result<Paged<Message>> {
        self.checked(page.check())?;
        self.without_waking(|ring| ring.list(page))
    }

    async fn remove(&self, ids: &[MessageId]) -> Result<u64> {
        self.checked(limits::check_batch(ids.len()))?;
        self.call(|ring, _| ring.remove(ids))
    }

    async fn len(&self) -> Result<u64> {
        self.without_waking(|ring| ring.len() as u64)
    }
}
