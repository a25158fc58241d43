//! A machine on which every call takes a while.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_conformance::{Capabilities, Harness, InVirtualTime, Play};
use queue_core::{
    Backend, Claim, Layered, OnceCounts, OnceStore, QueueName, Result, Token,
    call::{Answer, Call, Layer, Service},
};
use queue_memory::MemoryBackend;
use tokio::time;

/// The memory backend on a machine whose pauses a case cannot foresee, as on threads and on a server, but
/// equal in every run. A case that relies on being quick always fails here, and would fail only sometimes
/// elsewhere.
#[derive(Debug)]
pub(crate) struct SlowMachine {
    harness: InVirtualTime,
    pause: Duration,
}

impl SlowMachine {
    /// A machine on which each call takes `pause`.
    pub(crate) fn new(pause: Duration) -> Self {
        let backend = || Layered::new(Slow(pause), Arc::new(MemoryBackend::new()));
        Self {
            harness: InVirtualTime::new(backend),
            pause,
        }
    }
}

#[async_trait]
impl Harness for SlowMachine {
    fn capabilities(&self) -> Capabilities {
        Capabilities::as_time_passes()
    }

    fn run(&self, case: Play<'_>) {
        self.harness.run(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        self.harness.connect().await
    }

    async fn advance(&self, by: Duration) {
        time::sleep(by + self.pause).await;
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(3_600)
    }
}

#[derive(Debug)]
struct Slow(Duration);

#[async_trait]
impl Layer for Slow {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        time::sleep(self.0).await;
        queue.call(call).await
    }

    fn before_once(&self, _name: &QueueName, store: Arc<dyn OnceStore>) -> Arc<dyn OnceStore> {
        Arc::new(Pausing(self.0, store))
    }
}

#[derive(Debug)]
struct Pausing(Duration, Arc<dyn OnceStore>);

#[async_trait]
impl OnceStore for Pausing {
    async fn claim(&self, key: &[u8], lease_time: Duration) -> Result<Claim> {
        time::sleep(self.0).await;
        self.1.claim(key, lease_time).await
    }

    async fn extend(&self, key: &[u8], token: Token, lease_time: Duration) -> Result<()> {
        time::sleep(self.0).await;
        self.1.extend(key, token, lease_time).await
    }

    async fn finish(&self, key: &[u8], token: Token, keep: Duration) -> Result<()> {
        time::sleep(self.0).await;
        self.1.finish(key, token, keep).await
    }

    async fn release(&self, key: &[u8], token: Token) -> Result<()> {
        time::sleep(self.0).await;
        self.1.release(key, token).await
    }

    async fn counts(&self) -> Result<OnceCounts> {
        time::sleep(self.0).await;
        self.1.counts().await
    }
}
