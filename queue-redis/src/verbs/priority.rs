//! The priority queue.

use async_trait::async_trait;
use queue_core::{Prioritized, PriorityQueue, Push, Pushed, Result};
use redis_link::ScriptCall;

use super::{Queue, kind::LeasingKind, push};
use crate::{
    frame,
    reply::Reply,
    script::Script,
    scripts::{self, LeasingScripts},
};

/// Delivers the most urgent message first.
#[derive(Debug)]
pub(crate) enum Priority {}

impl LeasingKind for Priority {
    type Message = Prioritized;
    type Pushed = Pushed;

    const HEAD: usize = frame::PRIORITY_HEAD;
    const SCRIPTS: &LeasingScripts = &scripts::PRIORITY;
    const PUSH: &Script = &scripts::PRIORITY_PUSH;

    fn push(message: &Prioritized) -> &Push {
        &message.push
    }

    fn add_before(batch: &[Prioritized], _mode: usize, call: &mut ScriptCall) {
        let priorities = batch.iter().map(|message| biased(message.priority));
        let priorities: Vec<u8> = priorities.flat_map(u16::to_be_bytes).collect();
        call.push(&priorities[..]);
    }

    fn replies(reply: Reply, messages: usize) -> Result<Vec<Pushed>> {
        push::pushed(reply, messages)
    }
}

#[async_trait]
impl PriorityQueue for Queue<Priority> {
    async fn enqueue(&self, messages: &[Prioritized]) -> Result<Vec<Pushed>> {
        self.checked(Prioritized::check_all(messages, self.max_body))?;
        self.push_batchers[0].submit(messages).await
    }
}

/// A priority as a number that is never negative.
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
