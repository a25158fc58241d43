//! Creating a queue, and comparing what a later open asks for.

use std::fmt::Debug;

use queue_core::{QueueKind, Result};

use super::outlook::Prospects;

/// A state that a queue can be opened with.
pub(crate) trait Openable: Prospects + Debug + Send + 'static {
    /// What is fixed at the first open.
    type Config;

    /// The name of its kind.
    const KIND: QueueKind;

    /// Checks the limits.
    fn check(config: &Self::Config) -> Result<()>;

    /// An empty queue.
    fn create(config: &Self::Config) -> Self;

    /// Checks what a later open asks for against what is stored.
    fn agrees(&self, asked: &Self::Config) -> Result<()>;
}
