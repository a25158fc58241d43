//! What a run is played on: a backend, and everything between it and the lanes that can go wrong.

mod faults;
mod faulty;
mod memory;
mod network;
mod trouble;

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{Backend, Result, Timestamp};

#[cfg(all(unix, feature = "redis"))]
pub(crate) use self::trouble::Trouble;
pub use self::{
    faults::{Fault, Faults},
    faulty::Faulty,
    memory::{MemoryEnvironment, MemoryWorld},
    network::Network,
};
use crate::{
    engine::Executor,
    history::Journal,
    plan::{Decisions, Lane},
};

/// What every part of a run shares.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// Runs its tasks.
    pub executor: Executor,
    /// Decides what is left to chance.
    pub decisions: Decisions,
    /// Writes down what happens.
    pub journal: Journal,
    /// Which faults strike, and how often.
    pub faults: Faults,
    /// For how long messages are leased: what is late is late by about as much.
    pub ttl: Duration,
}

/// The backend's clock at the beginning of every run.
pub const EPOCH: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A backend that a run is played on, empty when the run begins.
#[async_trait]
pub trait World: Debug + Send + Sync + 'static {
    /// A client of the backend for this lane, as a process of its own would have: its background
    /// tasks belong to the lane, and its faults are drawn at the lane's sites. A lane that crashed
    /// connects anew.
    ///
    /// # Errors
    ///
    /// Those of the backend, under whatever faults strike.
    async fn connect(&self, lane: Lane) -> Result<Arc<dyn Backend>>;

    /// Ends the faults: partitions heal, what is on its way arrives, nothing goes wrong any more.
    /// Returns when that is so.
    async fn heal(&self);

    /// By how much the backend's clock has been put back in this run: what is due or expires comes
    /// later by as much.
    fn behind(&self) -> Duration {
        Duration::ZERO
    }

    /// What the backend keeps that no message, letter or item of its queues explains, a line for
    /// each: nothing, if the world cannot tell. Looked at at the end of each run.
    async fn leftovers(&self) -> Vec<String> {
        Vec::new()
    }

    /// A connection of the lane's own to the server under the backend, if there is one, for
    /// commands that no queue sends. They are written down as
    /// [`Event::Command`](crate::history::Event::Command).
    #[cfg(all(unix, feature = "redis"))]
    async fn connection(
        &self,
        _lane: Lane,
    ) -> Option<redis::RedisResult<redis::aio::MultiplexedConnection>> {
        None
    }
}

/// Makes worlds: holds what is expensive and outlives a run, such as a server.
pub trait Environment: Debug + Send {
    /// What it is called: `memory`, `redis`. Plans that fail are kept by it, since what one environment
    /// asks to be decided another may not.
    fn name(&self) -> &str;

    /// A fresh world, for a run. Called inside the run's virtual time.
    fn world(&mut self, context: &RunContext) -> Arc<dyn World>;

    /// Whether its worlds tell what was executed.
    fn has_truth(&self) -> bool;

    /// Which faults strike here at all.
    fn faults(&self) -> &'static [Fault];
}
