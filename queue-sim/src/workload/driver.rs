use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use queue_core::{AnyQueue, Backend, ErrorKind, Layered, QueueName, Result, Task};
use tokio::time;

use super::{
    Fit, Pool, Workload,
    actor::Actor,
    bounded, delay, grouped,
    interrupt::{Cut, CutPoint, UpTo},
    leasing, lost_hints,
    put::{overtakes, put},
    rotating, singly,
    verbs::{Leaning, Verb},
};
use crate::{
    history::{Event, Recorder},
    plan::{Process, What},
    workload::Mode,
    world::{Fault, RunContext, World},
};

/// One process of a run: it opens the queue and makes calls, one step after another. After a crash it
/// begins again, and remembers only the step's number.
#[derive(Debug, Clone)]
pub(crate) struct Driver {
    pub(crate) process: Process,
    pub(crate) steps: u32,
    pub(crate) context: RunContext,
    pub(crate) world: Arc<dyn World>,
    pub(crate) name: QueueName,
    pub(crate) workload: Arc<Workload>,
    pub(crate) pool: Pool,
    /// The clients of processes that have ended, in runs where no hint may get lost. They stay until the run is over,
    /// because a process that ends may take a hint with it.
    pub(crate) done: Arc<Mutex<Vec<AnyQueue>>>,
    /// Whether the process only waits.
    pub(crate) is_audience: bool,
    /// Makes calls fit a queue that lacks some.
    pub(crate) fit: Option<Fit>,
}

/// The awaits at which a fault may interrupt a step.
const AWAITS: u32 = 6;

impl Driver {
    /// Starts the process.
    pub(crate) fn enter(self) {
        let leaning = match self.is_audience {
            true => Leaning::of_audience(&self.workload),
            false => Leaning::draw(self.process, &self.workload, &self.context.decisions),
        };
        let executor = self.context.executor.clone();
        executor.spawn(self.process, Box::pin(self.live(1, leaning)));
    }

    /// Connects a client of the process's own, whose calls the journal records.
    pub(super) async fn connect(&self) -> (AnyQueue, Arc<dyn Backend>) {
        loop {
            if let Ok(backend) = self.world.connect(self.process).await {
                let recorder = Recorder::new(self.process, self.context.journal.clone());
                let backend: Arc<dyn Backend> = Arc::new(Layered::new(recorder, backend));
                let backend = match &self.fit {
                    Some(fit) => Arc::new(Layered::new(fit.clone(), backend)),
                    None => backend,
                };
                if let Ok(Some(queue)) = self.open(&*backend).await {
                    return (queue, backend);
                }
            }
            time::sleep(self.workload.lease_time).await;
        }
    }

    /// Opens the queue; as it is stored, if another process has changed its configuration.
    async fn open(&self, backend: &dyn Backend) -> Result<Option<AnyQueue>> {
        let opened = backend.open(&self.name, &self.workload.config).await;
        if !matches!(&opened, Err(error) if error.kind() == ErrorKind::ConfigMismatch) {
            return opened.map(Some);
        }
        let stored = backend.open_stored(&self.name).await?;
        Ok(stored.map(|stored| stored.queue))
    }

    /// Lives from this step on.
    async fn live(self, from: u32, leaning: Leaning) {
        let RunContext {
            executor,
            decisions,
            ..
        } = &self.context;
        decisions.enter(self.process, from - 1);
        let (queue, backend) = self.connect().await;
        let mut actor = Actor::new(
            self.process,
            self.context.clone(),
            Arc::clone(&self.workload),
            self.pool.clone(),
            backend,
            self.name.clone(),
        );
        actor.is_audience = self.is_audience;
        for step in from..=self.steps {
            decisions.enter(self.process, step);
            if self.play(&mut actor, &queue, &leaning).await {
                // Dropping the client belongs to the life, so it comes last.
                drop(queue);
                let again = self.clone();
                executor.crash(self.process);
                executor.spawn(self.process, Box::pin(again.live_again(step + 1, leaning)));
                return;
            }
        }
        if self.workload.mode != Mode::Waiting {
            return;
        }
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push(queue);
    }

    /// [`live`](Self::live), boxed: a life holds the next one.
    fn live_again(self, from: u32, leaning: Leaning) -> Task {
        Box::pin(self.live(from, leaning))
    }

    /// Plays one step. Returns true if the process crashed in it.
    async fn play(&self, actor: &mut Actor, queue: &AnyQueue, leaning: &Leaning) -> bool {
        let Some(fault) = self.interrupt() else {
            step(actor, queue, leaning).await;
            return false;
        };
        let choose = |options| {
            let point = self
                .context
                .decisions
                .choice_point(self.process, What::Interrupt);
            self.context.decisions.choose(point, options)
        };
        let at = 1 + choose(AWAITS);
        let when = match choose(3) {
            0 => CutPoint::AtOnce,
            1 => CutPoint::Woken,
            _ => CutPoint::After(self.pause()),
        };
        let mut step = pin!(step(actor, queue, leaning));
        if UpTo::new(step.as_mut(), at, when).await == Cut::Not {
            return false;
        }
        let journal = &self.context.journal;
        journal.note(Event::Fault(fault.as_str(), self.process));
        match fault {
            Fault::Stalled => {
                let pause = self.pause();
                let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
                let until = journal.now().plus_millis(millis);
                journal.note(Event::Stalled(self.process, until));
                self.context.executor.stall(self.process, pause);
                step.await;
                false
            }
            Fault::Crashed => {
                journal.note(Event::Crashed(self.process));
                true
            }
            _ => false,
        }
    }

    /// The fault that strikes the process in this step, if any.
    fn interrupt(&self) -> Option<Fault> {
        const INTERRUPTS: [Fault; 3] = [Fault::Cancelled, Fault::Crashed, Fault::Stalled];
        let mut weights = [0; 4];
        for (weight, fault) in weights[1..].iter_mut().zip(INTERRUPTS) {
            *weight = self.context.faults.chance(fault);
        }
        let sum: u32 = weights.iter().sum();
        if sum == 0 {
            return None;
        }
        weights[0] = 100_u32.saturating_sub(sum).max(20);
        let point = self
            .context
            .decisions
            .choice_point(self.process, What::Interrupt);
        let struck = self.context.decisions.weigh(point, &weights) as usize;
        Some(INTERRUPTS[struck.checked_sub(1)?])
    }

    /// The time until the process's interruption, or until it goes on.
    fn pause(&self) -> Duration {
        let lease_time = self.workload.lease_time;
        let millisecond = Duration::from_millis(1);
        let point = self
            .context
            .decisions
            .choice_point(self.process, What::Delay);
        let pauses = [
            lease_time,
            lease_time - millisecond,
            lease_time + millisecond,
            lease_time * 3,
        ];
        pauses[self.context.decisions.choose(point, 4) as usize]
    }
}

/// One step: one verb, perhaps after some time.
async fn step(actor: &mut Actor, queue: &AnyQueue, leaning: &Leaning) {
    let verb = leaning.verb(actor.process, &actor.context.decisions);
    if verb == Verb::Idle {
        return;
    }
    actor.verb = verb;
    actor.reached(verb.as_str());
    if verb == Verb::Sleep || actor.flip(20) {
        actor.sleep().await;
    }
    match (queue, verb) {
        (AnyQueue::Rotating(ring), verb) => rotating::act(actor, &**ring, verb).await,
        (queue, Verb::Put | Verb::PutUnique | Verb::PutOutdating | Verb::PutLater) => {
            put(actor, queue).await;
            lost_hints::after_putting(actor).await;
        }
        (AnyQueue::Delay(queue), Verb::Particular) => delay::particular(actor, &**queue).await,
        (AnyQueue::Grouped(queue), Verb::Particular) => {
            grouped::particular(actor, &**queue).await;
        }
        (AnyQueue::Bounded(queue), Verb::Wait) => bounded::wait(actor, &**queue).await,
        (AnyQueue::Bounded(queue), Verb::Particular) => bounded::particular(actor, &**queue).await,
        (any @ AnyQueue::Bounded(queue), Verb::Abandon) if actor.flip(50) => {
            bounded::abandon_room(actor, any, &**queue).await;
        }
        (queue, Verb::Reschedule) => {
            if let (false, Some(queue)) = (overtakes(actor, queue).await, queue.leasing()) {
                leasing::reschedule(actor, &*queue).await;
            }
            lost_hints::after_putting(actor).await;
        }
        (queue, Verb::WorkSingly) => singly::work(actor, queue).await,
        (queue, verb) => {
            if verb == Verb::PutOff {
                // Waiting processes mostly get the hint of these messages after this process has leased them.
                put(actor, queue).await;
                put(actor, queue).await;
            }
            if let Some(queue) = queue.leasing() {
                leasing::act(actor, &*queue, verb).await;
            }
        }
    }
}
