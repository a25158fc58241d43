//! Cases on the memory backend, each in a runtime of its own whose clock stands still.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::Backend;
use queue_memory::MemoryBackend;
use queue_sim::{
    Capabilities, Harness, Play,
    model::{Divergence, Drive},
};

#[derive(Debug, Default)]
struct InProcess(MemoryBackend);

#[async_trait]
impl Harness for InProcess {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all()
    }

    fn run(&self, case: Play<'_>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(self.0.clone())
    }

    async fn advance(&self, by: Duration) {
        tokio::time::advance(by).await;
    }
}

/// Runs these operations on a fresh queue and on its model.
pub(crate) fn run<D: Drive>(config: &D::Config, ops: &[D::Op]) -> Result<D, Divergence> {
    let harness = Arc::new(InProcess::default());
    let mut outcome = None;
    harness.run(Box::pin(async {
        let opened = D::open(Arc::clone(&harness) as Arc<dyn Harness>, config).await;
        let mut driver = opened.expect("a fresh queue");
        outcome = Some(driver.run(ops).await.map(|()| driver));
    }));
    outcome.expect("the case has run to its end")
}
