//! The reliable queue.

use async_trait::async_trait;
use queue_core::{Push, Pushed, ReliableQueue, Result};

use super::{
    LeasingKind, Queue,
    push_batcher::{self, PushEntry},
};
use crate::{
    reply::Reply,
    script::Script,
    scripts::{self, LeasingScripts},
};

/// Delivers in order: first in, first out.
#[derive(Debug)]
pub(crate) enum Reliable {}

impl LeasingKind for Reliable {
    const SCRIPTS: &LeasingScripts = &scripts::RELIABLE;
    type Entry = Push;
}

#[async_trait]
impl ReliableQueue for Queue<Reliable> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.checked(Push::check_all(messages.iter(), self.max_body))?;
        self.push_batchers[0].submit(messages).await
    }
}

impl PushEntry for Push {
    type Reply = Pushed;

    const SCRIPT: &Script = &scripts::RELIABLE_PUSH;
    const PACKS: bool = true;

    fn push(&self) -> &Push {
        self
    }

    fn replies(reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
        push_batcher::pushed(reply, messages)
    }
}
