//! Reliable queues: first in, first out, and nothing lost.

use super::{
    config::{leasing_setters, plain_checks},
    leasing::Leasing,
};
use crate::{LeasingConfig, Result};

/// A reliable queue: it first delivers messages in push order (F1), a batch in its own order (F2). A message that comes
/// back by a release or an expired lease goes before all others, by id (L11).
pub trait ReliableQueue: Leasing {}

/// A reliable queue's configuration.
///
/// ```
/// use queue_core::ReliableConfig;
///
/// let config = ReliableConfig::default().with_max_attempts(3).with_dead_letter_cap(100);
/// assert_eq!(config.leasing.max_attempts, 3);
/// assert!(config.check().is_ok());
/// assert!(config.with_max_attempts(0).check().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct ReliableConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
}

impl ReliableConfig {
    leasing_setters!();

    plain_checks!();
}
