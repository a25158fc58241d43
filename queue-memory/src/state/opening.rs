//! Opening: creating a queue, and comparing later opens with it.

use std::fmt::Debug;

use queue_core::{QueueConfig, QueueKind, Result, Timestamp};

use super::{availability::Waitable, removing::Removable};

/// A state that a queue can be opened with.
pub(crate) trait Openable: Waitable + Removable + Debug + Send + 'static {
    /// The configuration that the first open fixes.
    type Config: Clone + Into<QueueConfig> + Send + Sync + 'static;

    /// The name of its kind.
    const KIND: QueueKind;

    /// Checks the limits.
    fn check(config: &Self::Config) -> Result<()>;

    /// An empty queue.
    fn create(config: &Self::Config) -> Self;

    /// The stored configuration.
    fn config(&self) -> &Self::Config;

    /// Stores another configuration, which was checked.
    fn reconfigure(&mut self, now: Timestamp, config: &Self::Config) -> Result<()>;

    /// Checks a later open's configuration against the stored one.
    fn agrees(&self, asked: &Self::Config) -> Result<()>;
}
