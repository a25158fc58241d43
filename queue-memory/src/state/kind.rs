//! The differences between the leasing kinds.

use std::fmt::Debug;

use bytes::Bytes;
use queue_core::QueueConfig;

use super::{backlog::Backlog, entry::StoredMessage};

/// A leasing kind of queue.
pub(crate) trait Kind: Debug + Send + Sync + 'static {
    /// The order of its undelivered messages.
    type Backlog: Backlog;

    /// The configuration that the first open fixes.
    type Config: Debug + Clone + Into<QueueConfig> + Send + Sync + 'static;

    /// A message's priority; none where messages have no priorities.
    fn priority(_message: &StoredMessage) -> Option<i16> {
        None
    }

    /// The key of a message's group; none where messages have no groups.
    fn group(_message: &StoredMessage) -> Option<Bytes> {
        None
    }
}
