//! Environments: each gives a run its backend, and everything between the backend and the processes that can fail.

mod fault;
#[cfg(all(unix, feature = "file"))]
mod file;
mod memory;
mod network;

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{Backend, QueueKind, Result, Timestamp};

#[cfg(all(unix, feature = "redis"))]
pub(crate) use self::fault::NetworkFaults;
#[cfg(all(unix, feature = "file"))]
pub use self::file::FileEnvironment;
pub use self::{
    fault::{Fault, FaultInjector, FaultMix},
    memory::{MemoryEnvironment, MemoryWorld},
    network::Network,
};
use crate::{
    engine::Executor,
    history::Journal,
    plan::{Decisions, Process},
};

/// The parts of a run that its processes and its world share.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// Runs the tasks.
    pub executor: Executor,
    /// Takes the decisions.
    pub decisions: Decisions,
    /// Writes the history.
    pub journal: Journal,
    /// The faults that strike, and how often.
    pub faults: FaultMix,
    /// The usual lease time. A late message is late by about as much.
    pub lease_time: Duration,
}

/// The backend's clock at the beginning of every run.
pub const EPOCH: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A run's backend. It is empty when the run begins.
#[async_trait]
pub trait World: Debug + Send + Sync + 'static {
    /// Connects this process to the backend with a client of its own, as a program of its own would. The
    /// client's background tasks belong to the process, and its faults are drawn at the process's choice points.
    /// A process that crashed connects again.
    ///
    /// # Errors
    ///
    /// Errors of the backend, under the faults that strike.
    async fn connect(&self, process: Process) -> Result<Arc<dyn Backend>>;

    /// Ends the faults: partitions heal, requests and replies on their way arrive, and no fault
    /// strikes any more. Returns when all of this has happened.
    async fn heal(&self);

    /// The time by which a fault has put the backend's clock back in this run. Messages fall due
    /// and leases expire later by as much.
    fn behind(&self) -> Duration {
        Duration::ZERO
    }

    /// The backend's data that no message, dead letter or item of its queues explains, a line for each; none if the
    /// world cannot read it. Every run reads this at its end.
    async fn leaks(&self) -> Vec<String> {
        Vec::new()
    }

    /// A connection of the process's own to the server under the backend, if there is one, for
    /// commands that no queue sends. The history has each of them as
    /// [`Event::Command`](crate::history::Event::Command).
    #[cfg(all(unix, feature = "redis"))]
    async fn connection(
        &self,
        _process: Process,
    ) -> Option<redis::RedisResult<redis::aio::MultiplexedConnection>> {
        None
    }
}

/// A leftover, after the rule that it breaks. Most belong to messages that are gone; the others keep calls from
/// reclaiming in time.
pub(crate) fn by_rule(left: &str) -> String {
    let rule = match left.contains(" is searched too late for ") {
        true => "L7, a call would look too late",
        false => "L5, what is gone leaves nothing behind",
    };
    format!("{rule}: {left}")
}

/// Makes worlds, and keeps expensive resources that outlive a run, such as a server.
pub trait Environment: Debug + Send {
    /// The environment's name: `memory`, `redis`. Failing plans are kept under it, since one
    /// environment may ask for decisions that another does not.
    fn name(&self) -> &str;

    /// Makes a fresh world for a run. The caller must be in the run's virtual time.
    fn world(&mut self, context: &RunContext) -> Arc<dyn World>;

    /// Whether its worlds note the backend's executions in the journal.
    fn has_truth(&self) -> bool;

    /// The faults that can strike here.
    fn faults(&self) -> &'static [Fault];

    /// The goals that histories of this kind of queue must reach now and then in this environment, beside the
    /// [goals](crate::check::goals) of all environments.
    fn goals(&self, _kind: QueueKind) -> &'static [&'static str] {
        &[]
    }
}
