//! The differences between the leasing kinds.

use std::fmt::Debug;

use queue_core::QueueConfig;

use super::backlog::Backlog;

/// A leasing kind of queue.
pub(crate) trait Kind: Debug + Send + Sync + 'static {
    /// The order of its undelivered messages.
    type Backlog: Backlog;

    /// The configuration that the first open fixes.
    type Config: Debug + Clone + Into<QueueConfig> + Send + Sync + 'static;
}
