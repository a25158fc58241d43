//! What is between the lanes and a backend in this process.

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
use crate::plan::{Chance, Lane, What};

/// Carries requests and replies, and loses, delays and repeats them as is decided. Clones are the
/// same network.
///
/// A message that is late travels by itself: what becomes of whoever sent it, crashes and dropped
/// futures included, does not call it back.
#[derive(Clone)]
pub struct Network(Arc<Inner>);

struct Inner {
    context: RunContext,
    trouble: Trouble,
    carriers: Mutex<Vec<Running>>,
    /// By lane: kept by what is held up, one after another, so that it arrives in order.
    turns: Mutex<BTreeMap<Lane, Turn>>,
}

type Turn = Arc<tokio::sync::Mutex<()>>;

impl Network {
    /// The network of a run.
    pub fn new(context: RunContext) -> Self {
        Self(Arc::new(Inner {
            trouble: Trouble::new(&context),
            context,
            carriers: Mutex::default(),
            turns: Mutex::default(),
        }))
    }

    /// What the run shares.
    pub fn context(&self) -> &RunContext {
        &self.0.context
    }

    /// What goes wrong on it.
    pub(super) fn trouble(&self) -> &Trouble {
        &self.0.trouble
    }

    /// How long a client waits for a reply.
    pub fn patience(&self) -> Duration {
        self.trouble().patience()
    }

    /// Whether nothing goes wrong with what it carries: never, or not any more.
    pub(super) fn is_calm(&self) -> bool {
        let faults = self.trouble().faults();
        faults.iter().all(|fault| fault.is_of_lanes()) || self.trouble().is_over()
    }

    /// Ends the faults: partitions heal, and what is on its way arrives before this returns.
    pub async fn heal(&self) {
        self.trouble().end();
        while self.trouble().is_under_way() {
            self.trouble().arrived().await;
        }
    }

    /// Which of these faults strikes this lane now, if any.
    pub(super) fn strike(&self, lane: Lane, what: What, faults: &[Fault]) -> Option<Fault> {
        let fault = self.trouble().strike(lane, what, faults, |weights| {
            let sum: Chance = weights.iter().sum();
            weights[0] = 100_u32.saturating_sub(sum).max(10);
        })?;
        self.trouble().note(fault, lane);
        Some(fault)
    }

    /// Cuts a lane off for a while, if that is decided now.
    pub(super) fn partition(&self, lane: Lane) {
        let partition = self.strike(lane, What::Server, &[Fault::Partition]);
        if partition.is_some() {
            self.trouble().hold(lane, self.trouble().pause(lane));
        }
    }

    /// Lets what it carries arrive so much later, but not while the lane is cut off.
    pub(super) fn carry(
        &self,
        lane: Lane,
        late: Duration,
        arrival: impl Future<Output = ()> + Send + 'static,
    ) {
        let under_way = self.trouble().set_out();
        let network = self.clone();
        let carrier = async move {
            let trouble = network.trouble();
            time::sleep(late).await;
            if trouble.held(lane).is_some() {
                let turn = Arc::clone(lock(&network.0.turns).entry(lane).or_default());
                let turn = turn.lock_owned().await;
                while let Some(until) = trouble.held(lane) {
                    time::sleep_until(until).await;
                }
                arrival.await;
                drop(turn);
            } else {
                arrival.await;
            }
            drop(under_way);
        };
        let spawner = self.context().executor.spawner(Lane::WORLD);
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
