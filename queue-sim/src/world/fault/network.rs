//! Faults on the way between the processes and any backend.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::{super::RunContext, Fault, FaultMix};
use crate::{
    history::{Event, Journal},
    plan::{Chance, Decisions, Process, What},
};

/// The time by which a client's timeout exceeds a delayed request and a delayed reply.
const MILLISECOND: Duration = Duration::from_millis(1);

/// Draws the faults of requests and replies, knows which processes are cut off, and counts messages on
/// their way. Clones share one state.
#[derive(Clone)]
pub(crate) struct NetworkFaults(Arc<NetworkFaultsInner>);

struct NetworkFaultsInner {
    // Not the whole context, because its executor holds the tasks that hold this.
    decisions: Decisions,
    journal: Journal,
    mix: FaultMix,
    lease_time: Duration,
    state: Mutex<NetworkFaultsState>,
    arrived: Notify,
}

#[derive(Default)]
struct NetworkFaultsState {
    over: bool,
    under_way: usize,
    /// The times until which nothing passes to or from a process.
    held: BTreeMap<Process, Instant>,
}

/// The weights of up to seven faults at one choice point, and of none striking.
pub(crate) type Weights = [Chance; 8];

impl NetworkFaults {
    pub(crate) fn new(context: &RunContext) -> Self {
        Self(Arc::new(NetworkFaultsInner {
            decisions: context.decisions.clone(),
            journal: context.journal.clone(),
            mix: context.faults.clone(),
            lease_time: context.lease_time,
            state: Mutex::default(),
            arrived: Notify::new(),
        }))
    }

    pub(crate) fn mix(&self) -> &FaultMix {
        &self.0.mix
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    /// The time that a client waits for a reply: longer than a delayed request and a delayed reply.
    pub(crate) fn patience(&self) -> Duration {
        self.0.lease_time * 2 + MILLISECOND * 3
    }

    /// The fault among `faults` that strikes this process now, if any. `weigh` makes weights of the faults' chances.
    /// This function writes nothing down.
    pub(crate) fn strike(
        &self,
        process: Process,
        what: What,
        faults: &[Fault],
        weigh: impl FnOnce(&mut Weights),
    ) -> Option<Fault> {
        if self.is_over() || self.0.mix.spares(process) {
            return None;
        }
        let mut weights = [0; 8];
        for (weight, fault) in weights[1..].iter_mut().zip(faults) {
            *weight = self.0.mix.chance(*fault);
        }
        weigh(&mut weights);
        if weights[1..].iter().all(|weight| *weight == 0) {
            return None;
        }
        let point = self.0.decisions.choice_point(process, what);
        let struck = self.0.decisions.weigh(point, &weights[..=faults.len()]);
        faults.get((struck as usize).checked_sub(1)?).copied()
    }

    /// Writes down that a fault has struck.
    pub(crate) fn note(&self, fault: Fault, process: Process) {
        self.0.journal.note(Event::Fault(fault.as_str(), process));
    }

    /// Chooses one of the given number of ways in which a fault can strike.
    pub(crate) fn way(&self, process: Process, what: What, options: u32) -> u32 {
        let point = self.0.decisions.choice_point(process, what);
        self.0.decisions.choose(point, options)
    }

    /// The delay of a late message: about a lease's time, or hardly any.
    pub(crate) fn delay(&self, process: Process) -> Duration {
        let lease_time = self.0.lease_time;
        let delays = [
            MILLISECOND,
            lease_time.saturating_sub(MILLISECOND),
            lease_time,
            lease_time + MILLISECOND,
        ];
        delays[self.way(process, What::Delay, 4) as usize]
    }

    /// The time for which a process is cut off.
    pub(crate) fn pause(&self, process: Process) -> Duration {
        let lease_time = self.0.lease_time;
        let pauses = [
            lease_time,
            MILLISECOND,
            lease_time + MILLISECOND,
            lease_time * 4,
        ];
        pauses[self.way(process, What::Delay, 4) as usize]
    }

    /// Cuts off a process for the given time.
    pub(crate) fn hold(&self, process: Process, pause: Duration) {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        let held = state.held.entry(process).or_insert(until);
        *held = until.max(*held);
    }

    /// The time until which the process is cut off.
    pub(crate) fn held(&self, process: Process) -> Option<Instant> {
        let held = self.lock().held.get(&process).copied();
        held.filter(|until| *until > Instant::now())
    }

    /// Whether the faults are over.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().over
    }

    /// Ends the faults: no process is cut off any more.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.over = true;
        state.held.clear();
    }

    /// Counts a message as on its way, until the caller drops the returned value.
    pub(crate) fn set_out(&self) -> UnderWay {
        self.lock().under_way += 1;
        UnderWay(self.clone())
    }

    /// Whether any message is on its way.
    pub(crate) fn is_under_way(&self) -> bool {
        self.lock().under_way > 0
    }

    /// Waits until a message has arrived.
    pub(crate) async fn arrived(&self) {
        self.0.arrived.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, NetworkFaultsState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message on its way.
pub(crate) struct UnderWay(NetworkFaults);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
        self.0.0.arrived.notify_one();
    }
}

impl fmt::Debug for NetworkFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("NetworkFaults")
            .field("over", &state.over)
            .field("under_way", &state.under_way)
            .field("held", &state.held)
            .finish_non_exhaustive()
    }
}
