use std::sync::Arc;

use async_trait::async_trait;
use queue_core::{Backend, Layered, Result};
use queue_sim::{
    plan::Process,
    world::{Environment, Fault, RunContext, World},
};

use crate::flaw::Flaw;

/// An environment, or a world, that puts a flaw in front of its clients.
#[derive(Debug)]
pub(crate) struct InFront<G>(pub(crate) G, pub(crate) Flaw);

impl<G: Environment> Environment for InFront<G> {
    fn name(&self) -> &str {
        "in front"
    }

    fn world(&mut self, context: &RunContext) -> Arc<dyn World> {
        Arc::new(InFront(self.0.world(context), self.1))
    }

    fn has_truth(&self) -> bool {
        self.0.has_truth()
    }

    fn faults(&self) -> &'static [Fault] {
        self.0.faults()
    }
}

#[async_trait]
impl World for InFront<Arc<dyn World>> {
    async fn connect(&self, process: Process) -> Result<Arc<dyn Backend>> {
        let backend = self.0.connect(process).await?;
        Ok(Arc::new(Layered::new(self.1, backend)))
    }

    async fn heal(&self) {
        self.0.heal().await;
    }
}
