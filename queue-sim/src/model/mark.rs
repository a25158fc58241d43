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
}
