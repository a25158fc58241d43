//! The differences between the leasing kinds.

use std::fmt::Debug;

use bytes::Bytes;
use queue_core::{Push, QueueConfig};

use super::{backlog::Backlog, entry::StoredMessage};
use crate::coded::Coded;

/// A leasing kind of queue.
pub(crate) trait Kind: Debug + Send + Sync + 'static {
    /// The order of its undelivered messages.
    type Backlog: Backlog;

    /// The configuration that the first open fixes.
    type Config: Coded + Debug + Clone + Into<QueueConfig> + Send + Sync + 'static;

    /// Whether the order is by due time, so that a due message is ready in its place.
    const BY_DUE: bool = false;

    /// Sets what a push says for this kind alone.
    fn set(_message: &mut StoredMessage, _push: &Push) {}

    /// A message's priority; none where messages have no priorities.
    fn priority(_message: &StoredMessage) -> Option<i16> {
        None
    }

    /// The key of a message's group; none where messages have no groups.
    fn group(_message: &StoredMessage) -> Option<Bytes> {
        None
    }
}
