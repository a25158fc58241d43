//! Delay queues: each message at its due time.

use std::time::Duration;

use async_trait::async_trait;

use super::{
    config::{leasing_setters, plain_checks},
    leasing::Leasing,
};
use crate::{LeasingConfig, Result};

/// A delay queue: never early (D1), in (due, id) order (D2). A message that comes back is due at its
/// deadline, at its release, or at the end of its retry delay. A message without a due time is due at once.
#[async_trait]
pub trait DelayQueue: Leasing {
    /// The time until the first undelivered message is due, from now: zero if one is due
    /// already, `None` if there is none.
    async fn next_due(&self) -> Result<Option<Duration>>;
}

/// A delay queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct DelayConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
}

impl DelayConfig {
    leasing_setters!();

    plain_checks!();
}
