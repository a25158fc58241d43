//! The processes of a run: which of them live, which have crashed, and where they may crash.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    QueueName, Result, Timestamp,
    call::{Answer, Call, Layer, Service},
};

use crate::{
    engine::yield_now,
    history::Event,
    plan::{Process, What},
    world::{Fault, RunContext},
};

/// A process crashes at most this often in a run, so that it gets work done in between.
const MOST_CRASHES: u32 = 3;

/// All processes of a run.
#[derive(Clone)]
pub(super) struct Actors(Arc<ActorsInner>);

struct ActorsInner {
    context: RunContext,
    /// The workers' lease: most bugs are near its end.
    lease: Duration,
    state: Mutex<ActorState>,
}

#[derive(Default)]
struct ActorState {
    members: BTreeMap<Process, Member>,
    calm: bool,
}

#[derive(Debug, Default)]
struct Member {
    fragile: bool,
    crashes: u32,
    /// The number of the process's steps so far; it decides at steps.
    steps: u32,
    alive: bool,
}

impl Actors {
    pub(super) fn new(context: RunContext, lease: Duration) -> Self {
        Self(Arc::new(ActorsInner {
            context,
            lease,
            state: Mutex::default(),
        }))
    }

    pub(super) fn context(&self) -> &RunContext {
        &self.0.context
    }

    /// Brings a process to life, for the first time or again. A fragile process may crash and stall.
    pub(super) fn enters(&self, process: Process, fragile: bool) -> Actor {
        let mut state = self.lock();
        let member = state.members.entry(process).or_default();
        member.fragile = fragile;
        member.alive = true;
        drop(state);
        let actor = Actor {
            process,
            actors: self.clone(),
        };
        actor.step();
        actor
    }

    /// From now on no process crashes or stalls.
    pub(super) fn calm(&self) {
        self.lock().calm = true;
    }

    /// Whether faults may strike now.
    pub(super) fn is_rough(&self) -> bool {
        !self.lock().calm && self.0.context.faults.iter().next().is_some()
    }

    /// Notes that the process ended without a crash.
    pub(super) fn leaves(&self, process: Process) {
        if let Some(member) = self.lock().members.get_mut(&process) {
            member.alive = false;
        }
    }

    /// Crashes the process. Returns false if it may not crash now, or has crashed too often.
    pub(super) fn crash(&self, process: Process) -> bool {
        let mut state = self.lock();
        let calm = state.calm;
        let Some(member) = state.members.get_mut(&process) else {
            return false;
        };
        if calm || !member.fragile || !member.alive || member.crashes >= MOST_CRASHES {
            return false;
        }
        member.crashes += 1;
        member.alive = false;
        drop(state);
        let RunContext {
            executor, journal, ..
        } = &self.0.context;
        journal.note(Event::Fault(Fault::Crashed.as_str(), process));
        journal.note(Event::Crashed(process));
        executor.crash(process);
        true
    }

    fn stall(&self, process: Process, pause: Duration) -> bool {
        let state = self.lock();
        let may = state.members.get(&process);
        if state.calm || !may.is_some_and(|member| member.fragile && member.alive) {
            return false;
        }
        drop(state);
        let RunContext {
            executor, journal, ..
        } = &self.0.context;
        let pause_millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        journal.note(Event::Fault(Fault::Stalled.as_str(), process));
        journal.note(Event::Stalled(
            process,
            journal.now().plus_millis(pause_millis),
        ));
        executor.stall(process, pause);
        true
    }

    fn lock(&self) -> MutexGuard<'_, ActorState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Actors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actors")
            .field("members", &self.lock().members)
            .finish_non_exhaustive()
    }
}

/// One life of a process.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    process: Process,
    actors: Actors,
}

impl Actor {
    pub(super) const fn process(&self) -> Process {
        self.process
    }

    /// Begins the process's next step.
    fn step(&self) {
        let mut state = self.actors.lock();
        let member = state.members.entry(self.process).or_default();
        member.steps += 1;
        let step = member.steps;
        drop(state);
        self.actors.context().decisions.enter(self.process, step);
    }

    /// A point at which other processes may go first, and at which this process may crash or stall.
    pub(super) async fn interruptible(&self) {
        let context = self.actors.context();
        let point = context
            .decisions
            .choice_point(self.process, What::Interrupt);
        let crashes = context.faults.chance(Fault::Crashed);
        let stalls = context.faults.chance(Fault::Stalled);
        let chance = (crashes + stalls).min(100) / 3;
        match context.decisions.draw(point, 3, chance) {
            1 if crashes > 0 && self.actors.crash(self.process) => {
                // The process has crashed: the executor drops this future before it polls it again.
                std::future::pending::<()>().await;
            }
            2 if stalls > 0 => {
                let pause = self.boundary();
                if self.actors.stall(self.process, pause) {
                    yield_now().await;
                }
            }
            _ => yield_now().await,
        }
    }

    /// The time after which this life ends, if the simulator ends it at a chosen time.
    pub(super) fn doom(&self) -> Option<Duration> {
        let context = self.actors.context();
        let chance = context.faults.chance(Fault::Crashed);
        let point = context
            .decisions
            .choice_point(self.process, What::Interrupt);
        let doomed = context.decisions.draw(point, 2, chance) > 0;
        doomed.then(|| self.boundary())
    }

    /// A time near the end of a lease, or well before it.
    fn boundary(&self) -> Duration {
        let (lease, tick) = (self.actors.0.lease, Duration::from_millis(1));
        let times = [
            tick,
            lease / 3,
            lease / 2,
            lease.saturating_sub(tick),
            lease,
            lease + tick,
            lease * 2,
        ];
        let context = self.actors.context();
        let point = context.decisions.choice_point(self.process, What::Delay);
        times[context.decisions.choose(point, times.len() as u32) as usize]
    }

    /// Writes down an effect, and returns its order and its time.
    pub(super) fn effect(&self, ledger: &str, key: &str) -> (u64, Timestamp) {
        let journal = &self.actors.context().journal;
        journal.note(Event::Effect(self.process, format!("{ledger} {key}")));
        (journal.order(), journal.now())
    }

    /// Writes down that the ledger left an effect out, and why.
    pub(super) fn spares(&self, ledger: &str, key: &str, why: &str) {
        let journal = &self.actors.context().journal;
        journal.note(Event::Spared(
            self.process,
            format!("{ledger} {key}: {why}"),
        ));
    }

    /// Writes down the handler's failure.
    pub(super) fn failed(&self, how: &str) {
        let how: Vec<&str> = how.split_whitespace().collect();
        let journal = &self.actors.context().journal;
        journal.note(Event::Failed(self.process, how.join(" ")));
    }
}

/// The process may crash before and after each call.
#[async_trait]
impl Layer for Actor {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let wait = call.is_wait();
        self.interruptible().await;
        let answer = queue.call(call).await;
        // A call that found nothing is no step. So a worker's second ack is at the same step after any number of empty
        // polls, and a plan stays valid when it shrinks.
        let is_step = match &answer {
            Ok(Answer::Leased(leased)) => !leased.is_empty(),
            Ok(Answer::SettledAndLeased(settled, leased)) => {
                !settled.is_empty() || !leased.is_empty()
            }
            Ok(_) => !wait,
            Err(_) => false,
        };
        if is_step {
            self.step();
        }
        self.interruptible().await;
        answer
    }
}
