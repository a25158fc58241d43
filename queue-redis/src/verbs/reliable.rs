//! The reliable queue.

use async_trait::async_trait;
use queue_core::{Push, Pushed, ReliableQueue, Result};

use super::{Queue, kind::LeasingKind, push};
use crate::{
    reply::Reply,
    script::Script,
    scripts::{self, LeasingScripts},
};

/// Delivers in order: first in, first out.
#[derive(Debug)]
pub(crate) enum Reliable {}

impl LeasingKind for Reliable {
    type Message = Push;
    type Pushed = Pushed;

    const SCRIPTS: &LeasingScripts = &scripts::RELIABLE;
    const PUSH: &Script = &scripts::RELIABLE_PUSH;
    const PACKS: bool = true;

    fn push(message: &Push) -> &Push {
        message
    }

    fn replies(reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
        push::pushed(reply, messages)
    }
}

#[async_trait]
impl ReliableQueue for Queue<Reliable> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.checked(Push::check_all(messages.iter(), self.max_body))?;
        self.push_batchers[0].submit(messages).await
    }
}
