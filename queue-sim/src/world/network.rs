//! What is between the lanes and a backend in this process.

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_core::{Running, Spawn};
use tokio::{
    sync::Notify,
    time::{self, Instant},
};

use super::{Fault, Stage};
use crate::{
    history::Event,
    plan::{Lane, What},
};

/// Carries requests and replies, and loses, delays and repeats them as is decided. Clones are the
/// same network.
///
/// A message that is late travels by itself: what becomes of whoever sent it, crashes and dropped
/// futures included, does not call it back.
#[derive(Clone)]
pub struct Network(Arc<Inner>);

struct Inner {
    stage: Stage,
    /// How long a client waits for a reply: longer than a request and a reply that are delayed.
    patience: Duration,
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    healed: bool,
    /// Requests that travel by themselves.
    under_way: usize,
    carriers: Vec<Running>,
    lines: BTreeMap<Lane, Line>,
}

/// What connects one lane.
#[derive(Default)]
struct Line {
    /// Until when nothing gets through.
    held: Option<Instant>,
    /// Kept by whatever is held up, one after another, so that it arrives in order.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Network {
    /// The network of a run on this stage.
    pub fn new(stage: Stage) -> Self {
        let patience = stage.ttl * 2 + Duration::from_millis(3);
        Self(Arc::new(Inner {
            stage,
            patience,
            state: Mutex::default(),
            arrived: Notify::new(),
        }))
    }

    /// What the run shares.
    pub fn stage(&self) -> &Stage {
        &self.0.stage
    }

    /// Whether nothing goes wrong with what it carries: never, or not any more.
    pub(super) fn is_calm(&self) -> bool {
        let faults = &self.stage().faults;
        faults.iter().all(|fault| fault.is_of_lanes()) || self.lock().healed
    }

    /// How long a client waits for a reply.
    pub fn patience(&self) -> Duration {
        self.0.patience
    }

    /// Ends the faults: partitions heal, and what is on its way arrives before this returns.
    pub async fn heal(&self) {
        {
            let mut state = self.lock();
            state.healed = true;
            for line in state.lines.values_mut() {
                line.held = None;
            }
        }
        while self.lock().under_way > 0 {
            self.0.arrived.notified().await;
        }
    }

    /// Which of these faults strikes this lane now, if any.
    pub(super) fn strike(&self, lane: Lane, what: What, faults: &[Fault]) -> Option<Fault> {
        let stage = self.stage();
        if self.lock().healed || stage.faults.spares(lane) {
            return None;
        }
        let mut weights = [0; 8];
        let mut sum = 0;
        for (weight, fault) in weights[1..].iter_mut().zip(faults) {
            *weight = stage.faults.chance(*fault);
            sum += *weight;
        }
        if sum == 0 {
            return None;
        }
        weights[0] = 100_u32.saturating_sub(sum).max(10);
        let site = stage.decisions.site(lane, what);
        let struck = stage.decisions.weigh(site, &weights[..=faults.len()]);
        let fault = *faults.get((struck as usize).checked_sub(1)?)?;
        stage.journal.note(Event::Fault(fault.as_str(), lane));
        Some(fault)
    }

    /// How long something is late: about as long as a lease lives, or hardly.
    pub(super) fn delay(&self, lane: Lane) -> Duration {
        let stage = self.stage();
        let millisecond = Duration::from_millis(1);
        let delays = [
            millisecond,
            stage.ttl.saturating_sub(millisecond),
            stage.ttl,
            stage.ttl + millisecond,
        ];
        let site = stage.decisions.site(lane, What::Delay);
        delays[stage.decisions.choose(site, 4) as usize]
    }

    /// Cuts a lane off for a while, if that is decided now.
    pub(super) fn partition(&self, lane: Lane) {
        if self
            .strike(lane, What::Server, &[Fault::Partition])
            .is_none()
        {
            return;
        }
        let stage = self.stage();
        let millisecond = Duration::from_millis(1);
        let pauses = [
            stage.ttl,
            millisecond,
            stage.ttl + millisecond,
            stage.ttl * 4,
        ];
        let site = stage.decisions.site(lane, What::Delay);
        let pause = pauses[stage.decisions.choose(site, 4) as usize];
        let until = Instant::now() + pause;
        let mut state = self.lock();
        let line = state.lines.entry(lane).or_default();
        line.held = line.held.max(Some(until));
    }

    /// Until when the lane is cut off.
    pub(super) fn held(&self, lane: Lane) -> Option<Instant> {
        let mut state = self.lock();
        let held = &mut state.lines.get_mut(&lane)?.held;
        held.take_if(|until| *until <= Instant::now());
        *held
    }

    /// Lets what it carries arrive so much later, but not while the lane is cut off.
    pub(super) fn carry(
        &self,
        lane: Lane,
        late: Duration,
        arrival: impl Future<Output = ()> + Send + 'static,
    ) {
        let under_way = UnderWay::new(self);
        let network = self.clone();
        let carrier = async move {
            time::sleep(late).await;
            if network.held(lane).is_some() {
                let turn = Arc::clone(&network.lock().lines.entry(lane).or_default().turn);
                let turn = turn.lock_owned().await;
                while let Some(until) = network.held(lane) {
                    time::sleep_until(until).await;
                }
                arrival.await;
                drop(turn);
            } else {
                arrival.await;
            }
            drop(under_way);
        };
        let spawner = self.stage().executor.spawner(Lane::WORLD);
        let running = spawner.spawn(Box::pin(carrier));
        self.lock().carriers.push(running);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a request as under way until it is dropped.
struct UnderWay(Network);

impl UnderWay {
    fn new(network: &Network) -> Self {
        network.lock().under_way += 1;
        Self(network.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
        self.0.0.arrived.notify_one();
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Network")
            .field("healed", &state.healed)
            .field("under_way", &state.under_way)
            .finish_non_exhaustive()
    }
}
