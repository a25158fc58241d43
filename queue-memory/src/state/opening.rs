//! Opening: creating a queue, and comparing later opens with it.

use std::fmt::Debug;

use queue_core::{QueueConfig, QueueKind, Result, Timestamp};

use super::{availability::Waitable, kind::Kind, leasing::LeasingState};
use crate::coded::Coded;

/// A state that a queue can be opened with.
pub(crate) trait Openable: Coded + Waitable + Debug + Send + 'static {
    /// The configuration that the first open fixes.
    type Config: Clone + Into<QueueConfig> + Send + Sync + 'static;

    /// The name of its kind.
    const KIND: QueueKind;

    /// An empty queue. The configuration was checked.
    fn create(config: &Self::Config) -> Self;

    /// The stored configuration.
    fn config(&self) -> &Self::Config;

    /// Whether a resize has changed the stored capacity.
    fn is_resized(&self) -> bool {
        false
    }

    /// Stores another configuration, which was checked.
    fn reconfigure(&mut self, now: Timestamp, config: &Self::Config) -> Result<()>;

    /// Whether any call changes the queue at this time, also a call that only reads.
    #[cfg(feature = "journal")]
    fn stirs(&self, _now: Timestamp) -> bool {
        false
    }

    /// How many messages it holds, dead letters, marks and results included. A measure of its size.
    #[cfg(feature = "journal")]
    fn entries(&self) -> usize;

    /// How many messages are leased at this time. It reclaims none. A ring leases nothing.
    fn leased(&mut self, _now: Timestamp) -> u64 {
        0
    }

    /// Checks a later open's configuration against the stored one.
    fn agrees(&self, asked: &Self::Config) -> Result<()> {
        let [asked, stored] = [asked, self.config()].map(|config| config.clone().into());
        asked.check_stored(&stored, self.is_resized())
    }
}

/// A leasing kind of queue that can be opened.
pub(crate) trait Leases: Kind + Sized {
    /// The name of the kind.
    const KIND: QueueKind;

    /// An empty queue.
    fn create(config: &Self::Config) -> LeasingState<Self>;

    /// Stores another configuration, which was checked.
    fn reconfigure(
        state: &mut LeasingState<Self>,
        now: Timestamp,
        config: &Self::Config,
    ) -> Result<()>;
}

impl<K: Leases> Openable for LeasingState<K> {
    type Config = K::Config;
    const KIND: QueueKind = K::KIND;

    fn create(config: &K::Config) -> Self {
        K::create(config)
    }

    fn config(&self) -> &K::Config {
        &self.config
    }

    fn is_resized(&self) -> bool {
        self.resized
    }

    fn reconfigure(&mut self, now: Timestamp, config: &K::Config) -> Result<()> {
        K::reconfigure(self, now, config)
    }

    #[cfg(feature = "journal")]
    fn stirs(&self, now: Timestamp) -> bool {
        let stirs = super::backlog::Backlog::next_stir(&self.backlog);
        now >= self.quiet_until || stirs.is_some_and(|time| time <= now)
    }

    #[cfg(feature = "journal")]
    fn entries(&self) -> usize {
        self.entries.len() + self.dead.len() + self.marks.len() + self.results.len()
    }

    fn leased(&mut self, now: Timestamp) -> u64 {
        self.latest = self.latest.max(now);
        (self.leases.len() - self.leases.count_until(self.latest)) as u64
    }
}
