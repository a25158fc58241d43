//! Dedup marks (L9).

use bytes::Bytes;
use queue_core::MessageId;

use super::LeasingModel;

/// A dedup mark: the first push under a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FirstPush {
    pub(super) key: Bytes,
    pub(super) id: MessageId,
    /// The mark is live while now is before this.
    pub(super) until: u64,
    /// Whether the mark ends with its message.
    pub(super) until_done: bool,
}

impl LeasingModel {
    /// This message is acked, dead or gone: its mark ends, if it is one that ends with it.
    pub(super) fn end_mark(&mut self, id: MessageId) {
        for mark in &mut self.marks {
            if mark.until_done && mark.id == id {
                mark.until = 0;
            }
        }
    }
}
