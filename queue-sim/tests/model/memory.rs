//! Cases on the memory backend, each in a runtime of its own whose clock stands still.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_conformance::{Capabilities, Harness, Play};
use queue_core::Backend;
use queue_memory::MemoryBackend;

#[derive(Debug, Default)]
pub(crate) struct InProcess(MemoryBackend);

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
