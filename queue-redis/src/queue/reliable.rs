//! The reliable queue.

use async_trait::async_trait;
use queue_core::{Push, Pushed, ReliableQueue, Result};

use super::{
    Handle, LeasingKind, Queue, push,
    put::{Put, Putter},
};
use crate::{
    call::Call,
    scripts::{self, LeasingScripts},
};

/// First in, first out.
#[derive(Debug)]
pub(crate) enum Reliable {}

impl LeasingKind for Reliable {
    const SCRIPTS: &LeasingScripts = &scripts::RELIABLE;
    type Putters = Putter<PushAtTail>;
}

#[async_trait]
impl ReliableQueue for Queue<Reliable> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.checked(Push::check_all(messages.iter(), self.max_body))?;
        self.putters.put(messages).await
    }
}

/// Pushes at the tail.
#[derive(Default)]
pub(crate) struct PushAtTail;

#[async_trait]
impl Put for PushAtTail {
    type Entry = Push;
    type Answer = Pushed;

    async fn put(&self, handle: &Handle, messages: &[Push]) -> Result<Vec<Pushed>> {
        let fill = |call: &mut Call| {
            call.push(messages.len());
            for message in messages {
                call.push(push::payload(message));
            }
            push::add_marks(call, messages.iter());
        };
        let dedup = push::any_dedup(messages.iter());
        let script = &scripts::RELIABLE_PUSH;
        let reply = handle.call_push(script, dedup, fill).await?;
        push::pushed(reply, messages.len())
    }

    fn size(message: &Push) -> usize {
        message.size()
    }
}
