//! The reliable queue.

use async_trait::async_trait;
use queue_core::{Push, Pushed, ReliableQueue, Result};

use super::{Queue, Reliable, push};
use crate::{call::Call, scripts};

#[async_trait]
impl ReliableQueue for Queue<Reliable> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.checked(Push::check_all(messages.iter(), self.max_body))?;
        let fill = |call: &mut Call| {
            call.push(messages.len());
            for message in messages {
                call.push(push::payload(message));
            }
            push::add_marks(call, messages.iter());
        };
        let dedup = push::any_dedup(messages.iter());
        let reply = self
            .handle
            .call_push(&scripts::RELIABLE_PUSH, dedup, fill)
            .await?;
        push::pushed(reply, messages.len())
    }
}
