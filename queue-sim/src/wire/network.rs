//! What is between the clients of a run and the server.

use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_core::Timestamp;
use tokio::{
    sync::watch,
    time::{self, Instant},
};

use super::{listeners::ConnectionId, machine::Machine, rewrite::Rewrite};
use crate::{
    history::{Event, Journal},
    plan::{Chance, Decisions, Lane, What},
    world::{Fault, Faults, Stage},
};

/// How often a request, and again its reply, is struck by any fault at the most, in percent.
const MOST: Chance = 30;

/// Whatever the wires of one run have in common. Clones are the same.
#[derive(Clone)]
pub(super) struct Network(Arc<Inner>);

struct Inner {
    // Not the whole stage: its executor holds the tasks that hold this.
    decisions: Decisions,
    journal: Journal,
    faults: Faults,
    ttl: Duration,
    machine: Arc<Mutex<Machine>>,
    durable: bool,
    rewrite: Option<Arc<dyn Rewrite>>,
    state: Mutex<State>,
    healed: watch::Sender<bool>,
    cut: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    last_connection: ConnectionId,
    /// How many requests are on their way, or their replies.
    under_way: usize,
    /// Until when nothing gets through to or from a lane.
    held: BTreeMap<Lane, Instant>,
    /// Until when the server takes no connections.
    down: Option<Instant>,
    /// By how much the server's clock is behind.
    behind: Duration,
    /// The last thing that had happened when the data were remembered.
    snapshot: Option<u64>,
}

impl Network {
    pub(super) fn new(
        stage: &Stage,
        machine: Arc<Mutex<Machine>>,
        durable: bool,
        rewrite: Option<Arc<dyn Rewrite>>,
    ) -> Self {
        Self(Arc::new(Inner {
            decisions: stage.decisions.clone(),
            journal: stage.journal.clone(),
            faults: stage.faults.clone(),
            ttl: stage.ttl,
            machine,
            durable,
            rewrite,
            state: Mutex::default(),
            healed: watch::channel(false).0,
            cut: watch::channel(0).0,
        }))
    }

    /// How long a client waits for a reply: longer than a request and a reply that are delayed.
    pub(super) fn patience(&self) -> Duration {
        self.0.ttl * 2 + Duration::from_millis(3)
    }

    /// Whether a wake-up can get lost on the way, or its receiver.
    pub(super) fn loses_hints(&self) -> bool {
        let harmless = [Fault::Delayed, Fault::Cancelled];
        self.0.faults.iter().any(|fault| !harmless.contains(&fault))
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    pub(super) fn rewrite(&self) -> Option<&Arc<dyn Rewrite>> {
        self.0.rewrite.as_ref()
    }

    /// The server's clock.
    pub(super) fn now(&self) -> Timestamp {
        let behind = self.lock().behind.as_millis() as u64;
        let now = self.0.journal.now().as_millis();
        Timestamp::from_millis(now.saturating_sub(behind))
    }

    /// Uses the server. No time passes.
    ///
    /// What fails here is the ground itself, not what is tested: it is told as a broken rule, since
    /// the run proves nothing.
    pub(super) fn with_machine<T>(
        &self,
        work: impl FnOnce(&mut Machine) -> io::Result<T>,
    ) -> Option<T> {
        let done = work(&mut self.machine());
        match done {
            Ok(value) => Some(value),
            Err(error) => {
                let message = format!("the server of the simulation failed: {error}");
                self.0.journal.note(Event::Broken("wire", message));
                None
            }
        }
    }

    /// The server, for what cannot fail. No time passes.
    pub(super) fn machine(&self) -> MutexGuard<'_, Machine> {
        let machine = self.0.machine.lock();
        machine.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn next_connection(&self) -> ConnectionId {
        let mut state = self.lock();
        state.last_connection += 1;
        state.last_connection
    }

    /// Which of these faults strikes this lane now, if any, each as often as one in `rarely` of its
    /// chances; and all together not too often, or hardly anything would be done.
    pub(super) fn strike(
        &self,
        lane: Lane,
        what: What,
        faults: &[Fault],
        rarely: Chance,
    ) -> Option<Fault> {
        if *self.0.healed.borrow() || self.0.faults.spares(lane) {
            return None;
        }
        let mut weights = [0; 8];
        let mut sum = 0;
        for (weight, fault) in weights[1..].iter_mut().zip(faults) {
            *weight = self.0.faults.chance(*fault);
            sum += *weight;
        }
        let most = sum.max(MOST);
        for weight in &mut weights[1..] {
            *weight = *weight * 100 * MOST / (most * rarely);
        }
        let sum: u32 = weights.iter().sum();
        if sum == 0 {
            return None;
        }
        weights[0] = 10_000 - sum;
        let site = self.0.decisions.site(lane, what);
        let struck = self.0.decisions.weigh(site, &weights[..=faults.len()]);
        faults.get((struck as usize).checked_sub(1)?).copied()
    }

    /// Says that a fault has struck.
    pub(super) fn note(&self, fault: Fault, lane: Lane) {
        self.0.journal.note(Event::Fault(fault.as_str(), lane));
    }

    /// One of so many ways in which a fault can strike.
    pub(super) fn way(&self, lane: Lane, what: What, options: u32) -> u32 {
        let site = self.0.decisions.site(lane, what);
        self.0.decisions.choose(site, options)
    }

    /// How long something is late: about as long as a lease lives, or hardly.
    pub(super) fn delay(&self, lane: Lane) -> Duration {
        let (ttl, millisecond) = (self.0.ttl, Duration::from_millis(1));
        let delays = [
            millisecond,
            ttl.saturating_sub(millisecond),
            ttl,
            ttl + millisecond,
        ];
        delays[self.way(lane, What::Delay, 4) as usize]
    }

    /// Lets time pass, but no more when the faults are over.
    pub(super) async fn pause(&self, until: Instant) {
        tokio::select! {
            biased;
            () = self.healed() => {}
            () = time::sleep_until(until) => {}
        }
    }

    /// Waits while the lane is cut off.
    pub(super) async fn pass(&self, lane: Lane) {
        loop {
            let until = self.lock().held.get(&lane).copied();
            match until {
                Some(until) if until > Instant::now() => self.pause(until).await,
                _ => return,
            }
        }
    }

    /// Cuts a lane off for a while.
    pub(super) fn hold(&self, lane: Lane, pause: Duration) {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        let held = state.held.entry(lane).or_insert(until);
        *held = until.max(*held);
    }

    /// Whether the server takes connections.
    pub(super) fn is_down(&self) -> bool {
        self.lock().down.is_some_and(|until| until > Instant::now())
    }

    /// Puts the server's clock back.
    pub(super) fn step_back(&self, by: Duration) {
        self.lock().behind += by;
    }

    /// By how much it is behind.
    pub(super) fn behind(&self) -> Duration {
        self.lock().behind
    }

    /// Remembers all data; or, if that was done, puts them back as they were, as a failover to a
    /// replica that lagged behind does.
    pub(super) fn fail_over(&self, lane: Lane) {
        let remembered = self.lock().snapshot.take();
        let Some(to) = remembered else {
            let order = self.0.journal.order();
            self.machine().snapshot();
            self.lock().snapshot = Some(order);
            return;
        };
        self.cut_all();
        self.machine().roll_back();
        self.note(Fault::RolledBack, lane);
        self.0.journal.note(Event::RolledBack { to });
    }

    /// Kills the server, and starts it again from what it had written down; it takes connections
    /// after a while.
    pub(super) fn restart(&self, lane: Lane) {
        if !self.0.durable {
            return;
        }
        self.note(Fault::Restarted, lane);
        self.cut_all();
        self.with_machine(Machine::restart);
        let until = Instant::now() + self.delay(lane);
        self.lock().down = Some(until);
    }

    /// Ends all connections.
    fn cut_all(&self) {
        self.0.cut.send_modify(|cuts| *cuts += 1);
    }

    /// Tells when all connections are ended.
    pub(super) fn cuts(&self) -> watch::Receiver<u64> {
        self.0.cut.subscribe()
    }

    /// Ends the faults, and returns when nothing is on its way any more.
    pub(super) async fn heal(&self) {
        self.0.healed.send_replace(true);
        {
            let mut state = self.lock();
            state.held.clear();
            state.down = None;
        }
        // Time only passes when nobody can do anything any more.
        time::sleep(Duration::from_millis(1)).await;
        while self.lock().under_way > 0 {
            time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits for the end of the faults.
    pub(super) async fn healed(&self) {
        let mut healed = self.0.healed.subscribe();
        // The sender is in self.
        let _ = healed.wait_for(|healed| *healed).await;
    }

    /// Something is on its way, until what this returns is dropped.
    pub(super) fn set_out(&self) -> UnderWay {
        self.lock().under_way += 1;
        UnderWay(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something on its way.
pub(super) struct UnderWay(Network);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Network")
            .field("connections", &state.last_connection)
            .field("under_way", &state.under_way)
            .finish_non_exhaustive()
    }
}
