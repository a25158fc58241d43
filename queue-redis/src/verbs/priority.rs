//! The priority queue.

use queue_core::{PriorityQueue, Push, QueueKind};
use redis_link::ScriptCall;

use super::{Queue, kind::LeasingKind};
use crate::{
    frame,
    scripts::{self, LeasingScripts},
};

/// Delivers the most urgent message first.
#[derive(Debug)]
pub(crate) enum Priority {}

impl LeasingKind for Priority {
    const KIND: QueueKind = QueueKind::Priority;
    const HEAD: usize = frame::PRIORITY_HEAD;
    const SCRIPTS: &LeasingScripts = &scripts::PRIORITY;

    fn add_before(batch: &[Push], call: &mut ScriptCall) {
        let priorities = batch.iter().map(|push| biased(push.priority.unwrap_or(0)));
        let priorities: Vec<u8> = priorities.flat_map(u16::to_be_bytes).collect();
        call.push(&priorities[..]);
    }
}

impl PriorityQueue for Queue<Priority> {}

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
