//! Harnesses, which give the suite a backend, its clock and its capabilities.

use std::{
    collections::BTreeSet,
    fmt::{self, Debug},
    future::Future,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{Backend, QueueKind};
use tokio::{runtime::Builder, time};

/// A running case.
pub type Play<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The environment of one case: a backend without queues, its clock, and a runtime.
///
/// The suite makes a harness for every case and drops it afterwards, so that cases cannot touch each other. A backend
/// in this process starts empty; a backend on a server takes a prefix of its own. The suite calls [`run`](Self::run)
/// once for each case, on a plain thread, and the other methods from inside it.
///
/// The cases spawn tasks and sleep with tokio. A backend in real time, as on a server, only has to
/// [`connect`](Self::connect). The harness in this example is in virtual time:
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use queue_core::Backend;
/// use queue_conformance::{Capabilities, Harness, Play};
///
/// #[derive(Debug)]
/// struct InProcess(Arc<dyn Backend>);
///
/// #[async_trait::async_trait]
/// impl Harness for InProcess {
///     fn capabilities(&self) -> Capabilities {
///         Capabilities::all()
///     }
///     fn run(&self, case: Play<'_>) {
///         let mut runtime = tokio::runtime::Builder::new_current_thread();
///         let runtime = runtime.enable_time().start_paused(true).build();
///         runtime.expect("a runtime").block_on(case);
///     }
///     async fn connect(&self) -> Arc<dyn Backend> {
///         Arc::clone(&self.0)
///     }
///     async fn advance(&self, by: Duration) {
///         tokio::time::advance(by).await;
///     }
/// }
/// ```
#[async_trait]
pub trait Harness: Debug + Send + Sync {
    /// The capabilities of the backend and of this harness. The suite skips a case that needs more,
    /// and says so. [`as_time_passes`](Capabilities::as_time_passes) by default.
    fn capabilities(&self) -> Capabilities {
        Capabilities::as_time_passes()
    }

    /// Runs a case to its end, and lets its panic through; by default on two threads of a runtime of
    /// its own. Clean up here, or when the harness is dropped.
    fn run(&self, case: Play<'_>) {
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(case);
    }

    /// A client of this harness's backend. A second call gives a second client of the same
    /// queues.
    async fn connect(&self) -> Arc<dyn Backend>;

    /// Moves the backend's clock. Without [`Capability::ExactClock`], it sleeps for at least that
    /// long instead, as it does by default.
    async fn advance(&self, by: Duration) {
        time::sleep(by).await;
    }

    /// The backend's leftovers, a line for each: entries that no message, dead letter, item or once key of its queues
    /// explains. The suite reads them at the end of each case. A harness that cannot read them returns none.
    ///
    /// In a database a queue consists of several tables or keys. A backend may remove an entry from one of them and
    /// forget it in another: no call shows the rest, and the database grows.
    async fn leaks(&self) -> Vec<String> {
        Vec::new()
    }

    /// How long, in tokio's time, a case waits for the effect of a cause (a push, a due time) before it fails: 10
    /// seconds. If the backend's waits also poll on a timer, return less than that timer here, or the timer hides every
    /// lost wake-up.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }
}

/// A capability that a case may need, and that not every backend or harness has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Capability {
    /// The backend has this kind of queue.
    Kind(QueueKind),
    /// The backend has stores of once keys.
    Once,
    /// The backend removes queues.
    Removal,
    /// [`Harness::advance`] moves the backend's clock by exactly the given time. Otherwise the clock stands still,
    /// except for sleeps in virtual time. Only such a clock shows what happens at a deadline and one millisecond before
    /// it.
    ExactClock,
    /// The backend's clock is tokio's, and is paused: a sleep takes no real time, and the length of
    /// a wait is exact.
    VirtualTime,
}

impl From<QueueKind> for Capability {
    fn from(kind: QueueKind) -> Self {
        Self::Kind(kind)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "{kind} queues"),
            Self::Once => f.write_str("once keys"),
            Self::Removal => f.write_str("removal of queues"),
            Self::ExactClock => f.write_str("an exact clock"),
            Self::VirtualTime => f.write_str("virtual time"),
        }
    }
}

/// The capabilities of a backend and its harness.
///
/// ```
/// use queue_core::QueueKind;
/// use queue_conformance::{Capabilities, Capability};
///
/// let on_a_server = Capabilities::all().without(Capability::VirtualTime);
/// assert!(on_a_server.has(Capability::ExactClock));
///
/// let rings_only = Capabilities::all().only([QueueKind::Rotating]);
/// assert!(!rings_only.has(Capability::Kind(QueueKind::Delay)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities(BTreeSet<Capability>);

impl Capabilities {
    /// Everything: all kinds of queue, once keys and removal, in virtual time.
    pub fn all() -> Self {
        let kinds = QueueKind::ALL.map(Capability::Kind);
        let others = [
            Capability::Once,
            Capability::Removal,
            Capability::ExactClock,
            Capability::VirtualTime,
        ];
        Self(kinds.into_iter().chain(others).collect())
    }

    /// All capabilities except those that need a clock that the test moves: for a backend in real time.
    pub fn as_time_passes() -> Self {
        Self::all()
            .without(Capability::ExactClock)
            .without(Capability::VirtualTime)
    }

    /// These capabilities without the given one.
    #[must_use]
    pub fn without(mut self, missing: Capability) -> Self {
        self.0.remove(&missing);
        self
    }

    /// These capabilities with only these kinds of queue.
    #[must_use]
    pub fn only(mut self, kinds: impl IntoIterator<Item = QueueKind>) -> Self {
        let kinds: Vec<QueueKind> = kinds.into_iter().collect();
        self.0.retain(|capability| match capability {
            Capability::Kind(kind) => kinds.contains(kind),
            _ => true,
        });
        self
    }

    /// Whether this capability is among them.
    pub fn has(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }

    /// The kinds of queue among them.
    pub fn kinds(&self) -> impl Iterator<Item = QueueKind> {
        QueueKind::ALL
            .into_iter()
            .filter(|kind| self.has(Capability::Kind(*kind)))
    }
}
