//! Opening: creating a queue, and comparing later opens with it.

use std::fmt::Debug;

use queue_core::{QueueConfig, QueueKind, Result};

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

    /// Checks a later open's configuration against the stored one.
    fn agrees(&self, asked: &Self::Config) -> Result<()>;

    /// Checks the configuration of a handle that was opened before this queue was made: as an open's,
    /// but for what a call can change.
    fn serves(&self, asked: &Self::Config) -> Result<()> {
        self.agrees(asked)
    }
}
