//! The reliable queue.

use async_trait::async_trait;
use queue_core::{Push, Pushed, ReliableQueue, Result};

use super::{
    LeasingKind, Queue,
    put::{self, Put},
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
    type Put = Push;
}

#[async_trait]
impl ReliableQueue for Queue<Reliable> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.checked(Push::check_all(messages.iter(), self.max_body))?;
        self.putters[0].send(messages).await
    }
}

impl Put for Push {
    type Answer = Pushed;

    const SCRIPT: &Script = &scripts::RELIABLE_PUSH;
    const PACKS: bool = true;

    fn push(&self) -> &Push {
        self
    }

    fn answers(reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
        put::pushed(reply, messages)
    }
}
