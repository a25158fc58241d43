//! The network between the processes and a backend in this program.

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_core::{Running, Spawn};
use tokio::time;

use super::{Fault, RunContext, fault::NetworkFaults};
use crate::plan::{Chance, Process, What};

/// Carries requests and replies, and loses, delays and repeats them by decisions. Clones are the
/// same network.
///
/// A late message travels without its sender: it arrives even if the sender crashes or drops the call.
#[derive(Clone)]
pub struct Network(Arc<NetworkInner>);

struct NetworkInner {
    context: RunContext,
    faults: NetworkFaults,
    carriers: Mutex<Vec<Running>>,
    /// By process: delayed messages queue here, so that they arrive in order.
    send_locks: Mutex<BTreeMap<Process, SendLock>>,
}

type SendLock = Arc<tokio::sync::Mutex<()>>;

impl Network {
    /// The network of a run.
    pub fn new(context: RunContext) -> Self {
        Self(Arc::new(NetworkInner {
            faults: NetworkFaults::new(&context),
            context,
            carriers: Mutex::default(),
            send_locks: Mutex::default(),
        }))
    }

    /// The run's shared parts.
    pub fn context(&self) -> &RunContext {
        &self.0.context
    }

    /// The network's faults.
    pub(super) fn faults(&self) -> &NetworkFaults {
        &self.0.faults
    }

    /// The time that a client waits for a reply.
    pub fn patience(&self) -> Duration {
        self.faults().patience()
    }

    /// Whether no fault strikes, either in this run or from now on.
    pub(super) fn is_calm(&self) -> bool {
        let faults = self.faults().mix();
        faults.iter().all(|fault| fault.is_of_processes()) || self.faults().is_over()
    }

    /// Ends the faults. Partitions heal, and all messages on their way arrive before this returns.
    pub async fn heal(&self) {
        self.faults().end();
        while self.faults().is_under_way() {
            self.faults().arrived().await;
        }
    }

    /// The fault among `faults` that strikes this process now, if any.
    pub(super) fn strike(&self, process: Process, what: What, faults: &[Fault]) -> Option<Fault> {
        let fault = self.faults().strike(process, what, faults, |weights| {
            let sum: Chance = weights.iter().sum();
            weights[0] = 100_u32.saturating_sub(sum).max(10);
        })?;
        self.faults().note(fault, process);
        Some(fault)
    }

    /// Cuts off a process for a while, if a decision says so.
    pub(super) fn partition(&self, process: Process) {
        let partition = self.strike(process, What::Server, &[Fault::Partition]);
        if partition.is_some() {
            self.faults().hold(process, self.faults().pause(process));
        }
    }

    /// Delivers after this delay, but not while the process is cut off.
    pub(super) fn carry(
        &self,
        process: Process,
        late: Duration,
        arrival: impl Future<Output = ()> + Send + 'static,
    ) {
        let under_way = self.faults().set_out();
        let network = self.clone();
        let carrier = async move {
            let faults = network.faults();
            time::sleep(late).await;
            if faults.held(process).is_some() {
                let guard = Arc::clone(lock(&network.0.send_locks).entry(process).or_default());
                let guard = guard.lock_owned().await;
                while let Some(until) = faults.held(process) {
                    time::sleep_until(until).await;
                }
                arrival.await;
                drop(guard);
            } else {
                arrival.await;
            }
            drop(under_way);
        };
        let spawner = self.context().executor.spawner(Process::WORLD);
        let running = spawner.spawn(Box::pin(carrier));
        lock(&self.0.carriers).push(running);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Network").field(self.faults()).finish()
    }
}
