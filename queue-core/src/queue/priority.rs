//! Priority queues: the most urgent message first.

use std::time::Duration;

use super::{
    config::{Millis, check_optional, leasing_setters, same},
    leasing::Leasing,
};
use crate::{Error, LeasingConfig, Result};

const MAX_AGEING: Duration = Duration::from_secs(24 * 60 * 60);

/// A priority queue: the most urgent ready message first (P1), in arrival order within a priority (P2). A
/// message that comes back keeps its priority (P3). After a release or an expired lease it goes before the
/// others of its priority (L11). A message without a priority is ordinary, 0.
///
/// With ageing (P4) the order is by (arrival in ms − priority × ageing, id) alone. A released, deferred or
/// expired message returns to its old place. A retried message arrives again.
pub trait PriorityQueue: Leasing {}

/// A priority queue's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct PriorityConfig {
    /// Attempts, dead letters and body size.
    pub leasing: LeasingConfig,
    /// The waiting time that weighs as much as one step of priority (P4); `None` is strict
    /// priority.
    pub ageing: Option<Duration>,
}

impl PriorityConfig {
    leasing_setters!();

    /// The error of a change of the ageing while messages are ready.
    pub fn ageing_of_ready(ready: u64) -> Error {
        Error::invalid(format!(
            "another ageing while {ready} messages are ready would change their order: change it when \
             nothing is ready"
        ))
    }

    /// Makes one step of priority worth this much waiting, 1 ms to 24 h, so that strict priority
    /// cannot starve less urgent messages (P4).
    #[must_use]
    pub fn with_ageing(mut self, per_step: Duration) -> Self {
        self.ageing = Some(per_step);
        self
    }

    /// Checks the limits, as every open does first.
    ///
    /// # Errors
    ///
    /// `Invalid`, naming the value.
    pub fn check(&self) -> Result<()> {
        self.leasing.check()?;
        check_optional("ageing", self.ageing, MAX_AGEING)
    }

    /// Checks this against the stored configuration.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch`, naming both values.
    pub fn check_stored(&self, stored: &Self) -> Result<()> {
        self.leasing.check_stored(&stored.leasing)?;
        same("ageing", Millis(stored.ageing), Millis(self.ageing))
    }
}
