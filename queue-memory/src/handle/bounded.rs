use std::{num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use queue_core::{
    BoundedQueue, Message, MessageId, Offer, Offered, Overflow, Result, check_capacity, limits,
};

use super::LeasingHandle;
use crate::state::{Bounded, State};

#[async_trait]
impl BoundedQueue for LeasingHandle<Bounded> {
    async fn offer(&self, messages: &[Offer], overflow: Overflow) -> Result<Vec<Offered>> {
        self.checked(Offer::check_all(messages, self.max_body))?;
        self.call(|state, now| state.offer(now, messages, overflow))
    }

    async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
        self.room(timeout).await
    }

    async fn recent(&self, n: usize) -> Result<Vec<Message>> {
        self.checked(limits::check_page(n))?;
        self.call(|state, now| state.recent(now, n))
    }

    async fn capacity(&self) -> Result<NonZeroUsize> {
        let capacity = self.without_waking(|state| State::capacity(state))?;
        Ok(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN))
    }

    async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>> {
        let capacity = capacity.get();
        self.checked(check_capacity(capacity))?;
        let dropped = self.call(|state, now| state.resize(now, capacity))?;
        Ok(dropped.iter().map(|entry| entry.id).collect())
    }
}
