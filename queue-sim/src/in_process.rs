//! Harnesses for a backend that lives in this process, so that its author writes none.

use std::{any::type_name, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{Backend, QueueKind};
use tokio::{
    runtime::{Builder, Runtime},
    time,
};

use crate::{Capabilities, Capability, Harness, Play};

/// A backend in this process, on one thread, in tokio's paused time: every case of its kinds is
/// played, and a minute's lease takes no time.
///
/// The backend's clock has to be tokio's ([`tokio::time::Instant`]); one that reads the system's
/// stands still while the suite moves on, and fails. It is made anew for each case, inside the
/// case's runtime, so that it may read the clock at once. Every client is the same object; a
/// backend with connections of its own wants a [`Harness`] of its own.
///
/// ```
/// use queue_core::QueueKind;
/// use queue_memory::MemoryBackend;
/// use queue_sim::{InVirtualTime, conformance};
///
/// let harness = InVirtualTime::new(MemoryBackend::new).only([QueueKind::Delay]);
/// conformance::run(&harness, "delay::d1_a_message_is_never_early");
/// ```
pub struct InVirtualTime(InProcess);

impl InVirtualTime {
    /// A stage for this backend, of which it says that it has everything.
    ///
    /// # Panics
    ///
    /// If tokio cannot make a runtime.
    pub fn new<B: Backend>(make: impl FnOnce() -> B) -> Self {
        let mut runtime = Builder::new_current_thread();
        Self(InProcess::new(
            runtime.enable_all().start_paused(true),
            Capabilities::all(),
            make,
        ))
    }

    /// The backend has this much and no more, such as `[QueueKind::Delay]`; cases that need the
    /// rest are skipped, and say so.
    #[must_use]
    pub fn only(mut self, parts: impl IntoIterator<Item: Into<Capability>>) -> Self {
        self.0.keep(parts);
        self
    }
}

#[async_trait]
impl Harness for InVirtualTime {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities.clone()
    }

    fn run(&self, case: Play<'_>) {
        self.0.runtime.block_on(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.0.backend)
    }

    async fn advance(&self, by: Duration) {
        time::advance(by).await;
    }
}

impl fmt::Debug for InVirtualTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in virtual time", self.0.name)
    }
}

/// A backend in this process, on four threads, in time as it passes: what virtual time cannot
/// show, which is calls that truly run at once.
///
/// Cases that need [`Capability::ExactClock`] are skipped, and say so; put the backend through
/// [`InVirtualTime`] too.
///
/// ```
/// use queue_memory::MemoryBackend;
/// use queue_sim::{OnThreads, conformance};
///
/// let harness = OnThreads::new(MemoryBackend::new);
/// conformance::run(&harness, "reliable::l1_concurrent_consumers_share_no_message");
/// ```
pub struct OnThreads(InProcess);

const THREADS: usize = 4;

impl OnThreads {
    /// A stage for this backend, of which it says that it has everything.
    ///
    /// # Panics
    ///
    /// If tokio cannot make a runtime.
    pub fn new<B: Backend>(make: impl FnOnce() -> B) -> Self {
        let as_it_passes = Capabilities::all()
            .without(Capability::ExactClock)
            .without(Capability::VirtualTime);
        let mut runtime = Builder::new_multi_thread();
        Self(InProcess::new(
            runtime.enable_all().worker_threads(THREADS),
            as_it_passes,
            make,
        ))
    }

    /// The backend has this much and no more, such as `[QueueKind::Delay]`; cases that need the
    /// rest are skipped, and say so.
    #[must_use]
    pub fn only(mut self, parts: impl IntoIterator<Item: Into<Capability>>) -> Self {
        self.0.keep(parts);
        self
    }
}

#[async_trait]
impl Harness for OnThreads {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities.clone()
    }

    fn run(&self, case: Play<'_>) {
        self.0.runtime.block_on(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.0.backend)
    }

    async fn advance(&self, by: Duration) {
        time::sleep(by).await;
    }
}

impl fmt::Debug for OnThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {THREADS} threads", self.0.name)
    }
}

/// What both have.
struct InProcess {
    runtime: Runtime,
    backend: Arc<dyn Backend>,
    name: &'static str,
    capabilities: Capabilities,
}

impl InProcess {
    fn new<B: Backend>(
        runtime: &mut Builder,
        capabilities: Capabilities,
        make: impl FnOnce() -> B,
    ) -> Self {
        let runtime = runtime.build().expect("tokio makes a runtime");
        let backend = {
            let _entered = runtime.enter();
            Arc::new(make())
        };
        let path = type_name::<B>();
        Self {
            runtime,
            backend,
            name: path.rsplit("::").next().unwrap_or(path),
            capabilities,
        }
    }
    fn keep(&mut self, parts: impl IntoIterator<Item: Into<Capability>>) {
        let kept: Vec<Capability> = parts.into_iter().map(Into::into).collect();
        let kinds = QueueKind::ALL.map(Capability::Kind);
        for part in kinds.into_iter().chain([Capability::Once]) {
            if !kept.contains(&part) {
                self.capabilities = self.capabilities.clone().without(part);
            }
        }
    }
}
