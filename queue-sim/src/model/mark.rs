//! Dedup marks (L9).

use bytes::Bytes;
use queue_core::MessageId;

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

impl FirstPush {
    /// This message is acked, dead or gone: the mark ends, if it is to end with it.
    pub(super) fn done(&mut self, id: MessageId) {
        if self.until_done && self.id == id {
            self.until = 0;
        }
    }
}
