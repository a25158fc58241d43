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

use super::{Fault, RunContext, trouble::Trouble};
use crate::plan::{Chance, Process, What};

/// Carries requests and replies, and loses, delays and repeats them by decisions. Clones are the
/// same network.
///
/// A late message travels without its sender: it arrives even if the sender crashes or drops the call.
#[derive(Clone)]
pub struct Network(Arc<NetworkInner>);

struct NetworkInner {
    context: RunContext,
    trouble: Trouble,
    carriers: Mutex<Vec<Running>>,
    /// By process: delayed messages queue here, so that they arrive in order.
    turns: Mutex<BTreeMap<Process, SendLock>>,
}

type SendLock = Arc<tokio::sync::Mutex<()>>;

impl Network {
    /// The network of a run.
    pub fn new(context: RunContext) -> Self {
        Self(Arc::new(NetworkInner {
            trouble: Trouble::new(&context),
            context,
            carriers: Mutex::default(),
            turns: Mutex::default(),
        }))
    }

    /// The run's shared parts.
    pub fn context(&self) -> &RunContext {
        &self.0.context
    }

    /// The network's faults.
    pub(super) fn trouble(&self) -> &Trouble {
        &self.0.trouble
    }

    /// The time that a client waits for a reply.
    pub fn patience(&self) -> Duration {
        self.trouble().patience()
    }

    /// Whether no fault strikes, either in this run or from now on.
    pub(super) fn is_calm(&self) -> bool {
        let faults = self.trouble().faults();
        faults.iter().all(|fault| fault.is_of_processes()) || self.trouble().is_over()
    }

    /// Ends the faults. Partitions heal, and all messages on their way arrive before this returns.
    pub async fn heal(&self) {
        self.trouble().end();
        while self.trouble().is_under_way() {
            self.trouble().arrived().await;
        }
    }

    /// The fault among `faults` that strikes this process now, if any.
    pub(super) fn strike(&self, process: Process, what: What, faults: &[Fault]) -> Option<Fault> {
        let fault = self.trouble().strike(process, what, faults, |weights| {
            let sum: Chance = weights.iter().sum();
            weights[0] = 100_u32.saturating_sub(sum).max(10);
        })?;
        self.trouble().note(fault, process);
        Some(fault)
    }

    /// Cuts off a process for a while, if a decision says so.
    pub(super) fn partition(&self, process: Process) {
        let partition = self.strike(process, What::Server, &[Fault::Partition]);
        if partition.is_some() {
            self.trouble().hold(process, self.trouble().pause(process));
        }
    }

    /// Delivers after this delay, but not while the process is cut off.
    pub(super) fn carry(
        &self,
        process: Process,
        late: Duration,
        arrival: impl Future<Output = ()> + Send + 'static,
    ) {
        let under_way = self.trouble().set_out();
        let network = self.clone();
        let carrier = async move {
            let trouble = network.trouble();
            time::sleep(late).await;
            if trouble.held(process).is_some() {
                let turn = Arc::clone(lock(&network.0.turns).entry(process).or_default());
                let turn = turn.lock_owned().await;
                while let Some(until) = trouble.held(process) {
                    time::sleep_until(until).await;
                }
                arrival.await;
                drop(turn);
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
        f.debug_tuple("Network").field(self.trouble()).finish()
    }
}
