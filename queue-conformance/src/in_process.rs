//! Harnesses for backends in this process, so that their authors write none.

use std::{any::type_name, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{Backend, QueueKind};
use tokio::{
    runtime::{Builder, Runtime},
    time,
};

use crate::{Capabilities, Capability, Harness, Play};

/// Defines a harness for a backend in this process, with this kind of time.
macro_rules! in_process {
    ($(#[$doc:meta])* $name:ident in $time:expr) => {
        $(#[$doc])*
        pub struct $name(InProcess);

        impl $name {
            /// A harness for this backend, which declares all capabilities.
            ///
            /// # Panics
            ///
            /// If tokio cannot make a runtime.
            pub fn new<B: Backend>(make: impl FnOnce() -> B) -> Self {
                Self(InProcess::new($time, make))
            }

            /// Declares only the named ones of the kinds of queue, [`Capability::Once`] and [`Capability::Removal`], as
            /// in `[QueueKind::Delay]`. The suite skips cases that need the others, and says so.
            #[must_use]
            pub fn only(mut self, parts: impl IntoIterator<Item: Into<Capability>>) -> Self {
                self.0.keep(parts);
                self
            }
        }

        #[async_trait]
        impl Harness for $name {
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
                self.0.time.advance(by).await;
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} {}", self.0.name, self.0.time.as_str())
            }
        }
    };
}

in_process! {
    /// A backend in this process, on one thread, in tokio's paused time. Every case of its kinds
    /// plays, and a minute's lease takes no time.
    ///
    /// The backend's clock has to be tokio's ([`tokio::time::Instant`]): a backend that reads the system's clock stands
    /// still while the suite moves on, and fails. The harness makes a new backend for each case, inside the case's
    /// runtime, so that the backend may read the clock at once. All clients are the same object; a backend with
    /// connections needs a [`Harness`] of its own.
    ///
    /// ```
    /// use queue_conformance::InVirtualTime;
    /// use queue_core::{Backend, QueueKind};
    ///
    /// fn prove<B: Backend>(make: fn() -> B) {
    ///     let harness = InVirtualTime::new(make).only([QueueKind::Delay]);
    ///     queue_conformance::run(&harness, "delay::d1_a_message_is_never_early");
    /// }
    /// ```
    InVirtualTime in Time::Virtual
}

in_process! {
    /// A backend in this process, on four threads, in real time. It shows calls that truly run at
    /// once, which virtual time cannot.
    ///
    /// The suite skips cases that need [`Capability::ExactClock`], and says so; put the backend
    /// through [`InVirtualTime`] too.
    ///
    /// ```
    /// use queue_conformance::OnThreads;
    /// use queue_core::Backend;
    ///
    /// fn prove<B: Backend>(make: fn() -> B) {
    ///     let harness = OnThreads::new(make);
    ///     queue_conformance::run(&harness, "reliable::l1_concurrent_consumers_share_no_message");
    /// }
    /// ```
    OnThreads in Time::AsItPasses
}

/// A runtime whose clock leaps to the next timer when all tasks wait.
#[cfg(test)]
pub(crate) fn runtime_in_virtual_time() -> Runtime {
    Time::Virtual.runtime()
}

/// The kind of time that a backend is in.
#[derive(Debug, Clone, Copy)]
enum Time {
    /// Tokio's, paused, on one thread.
    Virtual,
    /// Real time, on several threads.
    AsItPasses,
}

impl Time {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Virtual => "in virtual time",
            Self::AsItPasses => "on four threads",
        }
    }

    fn runtime(self) -> Runtime {
        let runtime = match self {
            Self::Virtual => Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build(),
            Self::AsItPasses => {
                let mut runtime = Builder::new_multi_thread();
                runtime.enable_all().worker_threads(4).build()
            }
        };
        runtime.expect("tokio makes a runtime")
    }

    fn capabilities(self) -> Capabilities {
        match self {
            Self::Virtual => Capabilities::all(),
            Self::AsItPasses => Capabilities::as_time_passes(),
        }
    }

    async fn advance(self, by: Duration) {
        match self {
            Self::Virtual => time::advance(by).await,
            Self::AsItPasses => time::sleep(by).await,
        }
    }
}

/// The parts of such a harness.
struct InProcess {
    time: Time,
    runtime: Runtime,
    backend: Arc<dyn Backend>,
    name: &'static str,
    capabilities: Capabilities,
}

impl InProcess {
    fn new<B: Backend>(time: Time, make: impl FnOnce() -> B) -> Self {
        let runtime = time.runtime();
        let backend = {
            let _entered = runtime.enter();
            Arc::new(make())
        };
        let path = type_name::<B>();
        Self {
            time,
            runtime,
            backend,
            name: path.rsplit("::").next().unwrap_or(path),
            capabilities: time.capabilities(),
        }
    }

    fn keep(&mut self, parts: impl IntoIterator<Item: Into<Capability>>) {
        let kept: Vec<Capability> = parts.into_iter().map(Into::into).collect();
        let kinds = QueueKind::ALL.map(Capability::Kind);
        let others = [Capability::Once, Capability::Removal];
        for part in kinds.into_iter().chain(others) {
            if !kept.contains(&part) {
                self.capabilities = self.capabilities.clone().without(part);
            }
        }
    }
}
