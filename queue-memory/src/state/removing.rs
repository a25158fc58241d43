//! Removing: what may keep a queue from it.

use queue_core::Timestamp;

/// A state that a removal can end.
pub(crate) trait Removable {
    /// How many messages are leased at this time. It reclaims none.
    fn leased(&mut self, now: Timestamp) -> u64;
}
