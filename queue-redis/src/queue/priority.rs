//! The priority queue.

use async_trait::async_trait;
use queue_core::{Prioritized, PriorityQueue, Pushed, Result};

use super::{
    Handle, LeasingKind, Queue, push,
    put::{Put, Putter},
};
use crate::{
    call::Call,
    frame,
    scripts::{self, LeasingScripts},
};

/// The most urgent first.
#[derive(Debug)]
pub(crate) enum Priority {}

impl LeasingKind for Priority {
    const HEAD: usize = frame::PRIORITY_HEAD;
    const SCRIPTS: &LeasingScripts = &scripts::PRIORITY;
    type Putters = Putter<Enqueue>;
}

#[async_trait]
impl PriorityQueue for Queue<Priority> {
    async fn enqueue(&self, messages: &[Prioritized]) -> Result<Vec<Pushed>> {
        self.checked(Prioritized::check_all(messages, self.max_body))?;
        self.putters.put(messages).await
    }
}

/// Puts messages in by priority.
#[derive(Default)]
pub(crate) struct Enqueue;

#[async_trait]
impl Put for Enqueue {
    type Entry = Prioritized;
    type Answer = Pushed;

    async fn put(&self, handle: &Handle, messages: &[Prioritized]) -> Result<Vec<Pushed>> {
        let priorities: Vec<u8> = messages
            .iter()
            .flat_map(|message| biased(message.priority).to_be_bytes())
            .collect();
        let pushes = || messages.iter().map(|message| &message.push);
        let fill = |call: &mut Call| {
            call.push(messages.len());
            call.push(&priorities[..]);
            for message in pushes() {
                call.push(push::payload(message));
            }
            push::add_marks(call, pushes());
        };
        let dedup = push::any_dedup(pushes());
        let script = &scripts::PRIORITY_ENQUEUE;
        let reply = handle.call_push(script, dedup, fill).await?;
        push::pushed(reply, messages.len())
    }

    fn size(message: &Prioritized) -> usize {
        message.push.size()
    }
}

/// A priority as a number that is never below zero.
const fn biased(priority: i16) -> u16 {
    priority.cast_unsigned() ^ 0x8000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_keep_their_order() {
        assert_eq!(
            [i16::MIN, -1, 0, i16::MAX].map(biased),
            [0, 32_767, 32_768, 65_535]
        );
    }
}
