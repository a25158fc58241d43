//! The stage of a case: its harness, a client, and the queues that it opens.

mod answers;
mod audit;
mod guard;
mod leasing_queue;
mod needs;
mod numbers;
mod seen;

use std::{
    fmt::Debug,
    future::Future,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use queue_core::{Layered, *};
use tokio::{task::JoinHandle, time::Instant};

pub(crate) use self::leasing_queue::LeasingQueue;
use self::{audit::Audit, guard::Guard};
use crate::{Capability, Harness, Skip, ending::Exit};

/// The name of a case's queue, where it has only one.
pub(crate) const QUEUE: &str = "queue";
/// The capacity of a bounded queue in cases that are not about capacity.
const AMPLE: usize = 1_000_000;
/// The contract's slack: the lateness that a wait may have if nothing fails.
const SLACK: Duration = Duration::from_millis(20);

/// One case's stage. It audits the queues that the case opens, and checks them when it closes (L5).
#[derive(Debug)]
pub(crate) struct Stage<'h> {
    harness: &'h dyn Harness,
    kind: Option<QueueKind>,
    exit: Exit,
    backend: Arc<dyn Backend>,
    /// The guarantees of the case's kind of queue: its features, and the rules that it keeps.
    guarantees: Guarantees,
    /// The backend, behind the guard if its queues have less than everything.
    guarded: Arc<dyn Backend>,
    audit: Audit,
    /// The guarded backend behind the audit.
    audited: Layered<Audit>,
    /// The messages that the case has numbered itself.
    numbered: Arc<AtomicU64>,
}

impl<'h> Stage<'h> {
    pub(crate) async fn set(harness: &'h dyn Harness, kind: Option<QueueKind>, exit: Exit) -> Self {
        let (backend, audit) = (harness.connect().await, Audit::default());
        let guarantees = backend.guarantees(kind.unwrap_or(QueueKind::Reliable));
        let guarded: Arc<dyn Backend> = if kind.is_none() || guarantees.is_all() {
            Arc::clone(&backend)
        } else {
            let guard = Guard::new(guarantees.clone(), exit.clone(), harness.patience());
            Arc::new(Layered::new(guard, Arc::clone(&backend)))
        };
        Self {
            harness,
            kind,
            exit,
            backend,
            guarantees,
            audited: Layered::new(audit.clone(), Arc::clone(&guarded)),
            guarded,
            audit,
            numbered: Arc::default(),
        }
    }

    /// Checks the counts of every opened queue (L5), and that removed messages have left nothing
    /// behind.
    pub(crate) async fn close(self) {
        self.audit.close(&self.guarantees).await;
        let left = self.harness.leaks().await;
        assert!(left.is_empty(), "L5: left behind: {}", left.join("; "));
    }

    /// Turns off the checks at the end, for a case that changes a queue past the audit.
    pub(crate) fn skip_audit(&self) {
        self.audit.clear();
    }

    /// The kind of queue that the case plays on.
    pub(crate) fn kind(&self) -> QueueKind {
        self.kind.expect("a case of one kind")
    }

    pub(crate) const fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    pub(crate) fn kinds(&self) -> Vec<QueueKind> {
        self.harness.capabilities().kinds().collect()
    }

    /// Another client of the same backend.
    pub(crate) async fn connect(&self) -> Arc<dyn Backend> {
        self.harness.connect().await
    }

    pub(crate) async fn advance(&self, millis: u64) {
        self.harness.advance(ms(millis)).await;
    }

    /// Starts a task and lets it run until it only waits.
    pub(crate) async fn start<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        let handle = tokio::spawn(task);
        // Enough for any work in this process. A task that talks to a server may still be under
        // way; the case must hold then, too.
        for _ in 0..64 {
            tokio::task::yield_now().await;
        }
        handle
    }

    /// The answer of a call that waited in vain. In real time, the timeout may have cut its last poll; then the call
    /// returns a transient error.
    pub(crate) fn in_vain<T>(&self, answered: Result<T>) -> Option<T> {
        match answered {
            Ok(answer) => Some(answer),
            Err(error) => {
                let exact = self.harness.capabilities().has(Capability::ExactClock);
                let cut = error.is_transient() && error.outcome() == Outcome::Unknown;
                assert!(cut && !exact, "a wait in vain is no failure: {error:?}");
                None
            }
        }
    }

    /// The task's answer, which must come promptly, since its cause has happened already.
    pub(crate) async fn prompt<T>(&self, what: &str, task: JoinHandle<T>) -> T {
        self.within(what, Duration::ZERO, task).await
    }

    /// The task's answer, which must come after the given time; in virtual time, within the slack of 20 ms.
    pub(crate) async fn within<T>(&self, what: &str, after: Duration, task: JoinHandle<T>) -> T {
        let start = Instant::now();
        let capabilities = self.harness.capabilities();
        let (exact, virtual_time) = (
            capabilities.has(Capability::ExactClock),
            capabilities.has(Capability::VirtualTime),
        );
        if exact && !virtual_time && !after.is_zero() {
            // The queue's clock stands still while the task sleeps: move it first, for when the
            // task wakes.
            self.harness.advance(after).await;
        }
        let patience = after + self.harness.patience();
        let Ok(answer) = tokio::time::timeout(patience, task).await else {
            if let Some(skip) = guard::forgetful(&self.guarantees) {
                self.exit.skip(skip);
            }
            panic!("{what}: still waiting after {patience:?}");
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let took = start.elapsed();
        if virtual_time {
            assert!(
                took <= after + SLACK,
                "{what}: took {took:?}, not {after:?}"
            );
        }
        answer
    }

    /// A queue of the case's kind.
    pub(crate) async fn leasing(&self) -> LeasingQueue {
        self.leasing_with(|_| {}).await
    }

    /// A queue of the case's kind with this configuration.
    pub(crate) async fn leasing_with(
        &self,
        set: impl FnOnce(&mut LeasingConfig) + Send,
    ) -> LeasingQueue {
        self.leasing_named(QUEUE, set).await
    }

    /// A queue of the case's kind under this name.
    pub(crate) async fn leasing_named(
        &self,
        queue: &str,
        set: impl FnOnce(&mut LeasingConfig) + Send,
    ) -> LeasingQueue {
        self.try_leasing(queue, set).await.expect("opens")
    }

    /// A queue of the case's kind, if it opens.
    pub(crate) async fn try_leasing(
        &self,
        queue: &str,
        set: impl FnOnce(&mut LeasingConfig) + Send,
    ) -> Result<LeasingQueue> {
        let config = self.config(set);
        let queue = self.audited.open(&name(queue), &config).await?;
        Ok(LeasingQueue::new(
            queue,
            &self.guarantees,
            Arc::clone(&self.numbered),
        ))
    }

    /// Another handle to the queue that [`leasing`](Self::leasing) opened, for calls that move no message.
    pub(crate) async fn another_leasing(&self) -> Arc<dyn Leasing> {
        let opened = self.guarded.open(&name(QUEUE), &self.config(|_| {})).await;
        opened
            .expect("opens")
            .leasing()
            .expect("a kind that leases")
    }

    fn config(&self, set: impl FnOnce(&mut LeasingConfig)) -> QueueConfig {
        let mut config = QueueConfig::of(self.kind(), AMPLE);
        if let Some(leasing) = config.leasing_mut() {
            set(leasing);
        }
        config
    }

    /// Changes the stored configuration of the queue that [`leasing`](Self::leasing) opened.
    pub(crate) async fn reconfigure_leasing(&self, set: impl FnOnce(&mut LeasingConfig) + Send) {
        let changed = self.reconfigure(self.config(set)).await;
        assert!(changed.expect("changes"), "the queue is there");
    }

    /// Changes the stored configuration of the case's queue.
    pub(crate) async fn reconfigure(&self, config: QueueConfig) -> Result<bool> {
        self.backend.reconfigure(&name(QUEUE), &config).await
    }
}

/// The openers of one leasing kind: with the case's own configuration, and as a try.
macro_rules! openers {
    ($open:ident: $open_with:ident, $try_open:ident, $config:ident, $queue:ident) => {
        impl $crate::stage::Stage<'_> {
            pub(crate) async fn $open_with(&self, config: $config) -> std::sync::Arc<dyn $queue> {
                self.$try_open($crate::stage::QUEUE, &config)
                    .await
                    .expect("opens")
            }

            pub(crate) async fn $try_open(
                &self,
                queue: &str,
                config: &$config,
            ) -> Result<std::sync::Arc<dyn $queue>> {
                self.audited()
                    .$open(&$crate::stage::name(queue), config)
                    .await
            }
        }
    };
}
pub(crate) use openers;

impl Stage<'_> {
    /// The guarded backend behind the audit.
    pub(crate) fn audited(&self) -> &impl Backend {
        &self.audited
    }

    /// Opens the bounded queue again, with this configuration's capacity.
    pub(crate) async fn open_or_resize(
        &self,
        config: BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        if !self.guarantees.calls.contains("resize") {
            let name = self.guarantees.name;
            self.exit.skip(Skip::Lacks(format!("{name} has no resize")));
        }
        self.backend.open_or_resize(&name(QUEUE), &config).await
    }

    pub(crate) async fn rotating(&self) -> Arc<dyn RotatingQueue> {
        self.rotating_with(RotatingConfig::default()).await
    }

    pub(crate) async fn rotating_with(&self, config: RotatingConfig) -> Arc<dyn RotatingQueue> {
        if config.pace.is_some() {
            self.needs_rule("T4");
        }
        let ring = self.guarded.open_rotating(&name(QUEUE), &config).await;
        ring.expect("opens")
    }
}

pub(crate) fn name(name: &str) -> QueueName {
    QueueName::new(name).expect("a good name")
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
