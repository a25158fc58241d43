use async_trait::async_trait;
use queue_core::{Push, Pushed, ReliableQueue, Result};

use super::LeasingHandle;
use crate::state::Reliable;

#[async_trait]
impl ReliableQueue for LeasingHandle<Reliable> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.checked(Push::check_all(messages.iter(), self.max_body))?;
        self.call(|state, now| state.push(now, messages))
    }
}
