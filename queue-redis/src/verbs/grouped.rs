//! The grouped queue.

use async_trait::async_trait;
use queue_core::{GroupedQueue, Keyed, Push, Pushed, Result};
use redis_link::ScriptCall;

use super::{Queue, kind::LeasingKind, push};
use crate::{
    frame,
    reply::Reply,
    script::Script,
    scripts::{self, LeasingScripts},
};

/// Delivers each group in order, and all groups in turn.
#[derive(Debug)]
pub(crate) enum Grouped {}

impl LeasingKind for Grouped {
    type Message = Keyed;
    type Pushed = Pushed;

    const HEAD: usize = frame::GROUPED_HEAD;
    const SCRIPTS: &LeasingScripts = &scripts::GROUPED;
    const PUSH: &Script = &scripts::GROUPED_PUSH;

    fn push(message: &Keyed) -> &Push {
        &message.push
    }

    fn add_before(batch: &[Keyed], _mode: usize, call: &mut ScriptCall) {
        let mut names = Vec::new();
        for Keyed { key, .. } in batch {
            // The length was checked before.
            names.push(u8::try_from(key.len().saturating_sub(1)).unwrap_or(u8::MAX));
            names.extend_from_slice(key);
        }
        call.push(&names[..]);
    }

    fn replies(reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
        push::pushed(reply, messages)
    }
}

#[async_trait]
impl GroupedQueue for Queue<Grouped> {
    async fn push_keyed(&self, messages: &[Keyed]) -> Result<Vec<Pushed>> {
        self.checked(Keyed::check_all(messages, self.max_body))?;
        self.push_batchers[0].submit(messages).await
    }
}
