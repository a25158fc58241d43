use async_trait::async_trait;
use queue_core::{Prioritized, PriorityQueue, Pushed, Result};

use super::LeasingHandle;
use crate::state::Priority;

#[async_trait]
impl PriorityQueue for LeasingHandle<Priority> {
    async fn enqueue(&self, messages: &[Prioritized]) -> Result<Vec<Pushed>> {
        self.checked(Prioritized::check_all(messages, self.max_body))?;
        self.call(|state, now| state.enqueue(now, messages))
    }
}
