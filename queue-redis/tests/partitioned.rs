//! The suite on queues of several parts, on one real Redis in virtual time.

#![cfg(unix)]

#[path = "support/harness.rs"]
#[expect(dead_code, reason = "other tests keep bodies apart")]
mod harness;
#[path = "support/virtual_time.rs"]
mod virtual_time;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_conformance::{Capabilities, Harness, Play};
use queue_core::{Backend, Partitioned, QueueKind};

use self::harness::VirtualTimeHarness;

/// The harness of the backend, with queues of three parts.
#[derive(Debug)]
struct InParts(VirtualTimeHarness);

#[async_trait]
impl Harness for InParts {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities().only(QueueKind::LEASING)
    }

    fn run(&self, case: Play<'_>) {
        self.0.run(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        let partitioned = Partitioned::new(self.0.connect().await, 3);
        let partitioned = partitioned.expect("a number that is allowed");
        Arc::new(partitioned.beginning_at(0))
    }

    async fn advance(&self, by: Duration) {
        self.0.advance(by).await;
    }

    async fn leftovers(&self) -> Vec<String> {
        self.0.leftovers().await
    }

    fn patience(&self) -> Duration {
        self.0.patience()
    }
}

queue_conformance::suite!(InParts(VirtualTimeHarness::fresh()));
