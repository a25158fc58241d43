use std::{fmt, sync::Arc};

use async_trait::async_trait;
use queue_core::{Backend, Layered, Result};
use queue_memory::MemoryBackend;

use super::{EPOCH, Environment, Fault, FaultInjector, Network, RunContext, World};
use crate::plan::Process;

type Factory = Arc<dyn Fn() -> Arc<dyn Backend> + Send + Sync>;

/// Worlds around a backend in this program: queue-memory's, or any other that takes its time from
/// tokio's clock.
#[derive(Clone)]
pub struct MemoryEnvironment {
    name: &'static str,
    factory: Factory,
    has_truth: bool,
}

impl MemoryEnvironment {
    /// An environment of queue-memory.
    pub fn new() -> Self {
        Self {
            name: "memory",
            ..Self::over(|| Arc::new(MemoryBackend::starting_at(EPOCH)))
        }
    }

    /// An environment of the backends that this factory makes, one for each run. A new backend's clock must show
    /// [`EPOCH`], and each call must take effect in the poll that ends it. If a backend's calls take effect earlier,
    /// call [`without_truth`](Self::without_truth).
    pub fn over(factory: impl Fn() -> Arc<dyn Backend> + Send + Sync + 'static) -> Self {
        Self {
            name: "own",
            factory: Arc::new(factory),
            has_truth: true,
        }
    }

    /// Calls may take effect before they end, so the history does not say when the backend executed
    /// them.
    #[must_use]
    pub const fn without_truth(mut self) -> Self {
        self.has_truth = false;
        self
    }
}

impl Default for MemoryEnvironment {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEnvironment")
            .field("name", &self.name)
            .field("has_truth", &self.has_truth)
            .finish_non_exhaustive()
    }
}

impl Environment for MemoryEnvironment {
    /// `memory`, or `own` if the caller gave the factory.
    fn name(&self) -> &str {
        self.name
    }

    fn world(&mut self, context: &RunContext) -> Arc<dyn World> {
        Arc::new(MemoryWorld {
            backend: (self.factory)(),
            network: Network::new(context.clone()),
        })
    }

    fn has_truth(&self) -> bool {
        self.has_truth
    }

    fn faults(&self) -> &'static [Fault] {
        &[
            Fault::RequestLost,
            Fault::ReplyLost,
            Fault::Delayed,
            Fault::Late,
            Fault::Repeated,
            Fault::Refused,
            Fault::Spurious,
            Fault::Cut,
            Fault::Partition,
            Fault::Cancelled,
            Fault::Crashed,
            Fault::Stalled,
        ]
    }
}

/// A backend in this program behind a faulty network.
#[derive(Debug)]
pub struct MemoryWorld {
    backend: Arc<dyn Backend>,
    network: Network,
}

#[async_trait]
impl World for MemoryWorld {
    async fn connect(&self, process: Process) -> Result<Arc<dyn Backend>> {
        let injector = FaultInjector::new(process, self.network.clone());
        Ok(Arc::new(Layered::new(injector, Arc::clone(&self.backend))))
    }

    async fn heal(&self) {
        self.network.heal().await;
    }
}
