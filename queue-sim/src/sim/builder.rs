use std::{
    fmt, future::Future, marker::PhantomData, path::PathBuf, pin::Pin, sync::Arc, time::Duration,
};

use queue_core::{
    Bounded, BoundedConfig, Consumer, Delay, DelayConfig, Priority, PriorityConfig, QueueConfig,
    Queues, Reliable, ReliableConfig, Result, Rotating, RotatingConfig,
};
use queue_worker::{Context, IntoVerdict, Worker};
use serde::{Serialize, de::DeserializeOwned};

use super::{Chaos, Run, check::Check, handled::told};
use crate::world::Environment;

/// Whatever ends a lane early.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(super) type Life = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// What a lane does, once for each of its lives.
pub(super) type Script = Arc<dyn Fn(Run) -> Life + Send + Sync>;

type MakeEnvironment = Arc<dyn Fn() -> Box<dyn Environment> + Send + Sync>;

/// A simulation: queues, what works on them, what may go wrong, and what must hold all the same.
///
/// [`sim`](super::sim) begins one, and [`run`](Self::run) plays it.
#[must_use = "nothing is simulated before `run`"]
#[derive(Clone)]
pub struct Sim {
    pub(super) name: String,
    pub(super) queues: Vec<(String, QueueConfig)>,
    /// Those of them that a handler works on.
    pub(super) handled: Vec<String>,
    pub(super) lanes: Vec<LaneScript>,
    pub(super) chaos: Chaos,
    pub(super) checks: Vec<Arc<dyn Check>>,
    pub(super) seeds: u64,
    pub(super) lease: Duration,
    pub(super) patience: Duration,
    pub(super) environment: Option<MakeEnvironment>,
    pub(super) regressions: Option<PathBuf>,
}

/// One lane of a simulation.
#[derive(Clone)]
pub(super) struct LaneScript {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) script: Script,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Runs once, to its end, without faults; its errors fail the run.
    Producer,
    /// Runs once, to its end or until an error, under every fault but crashes.
    FaultyProducer,
    /// Runs until shutdown; crashes, and is started again.
    Worker,
}

macro_rules! queue {
    ($(#[$doc:meta])* $kind:ident($config:ident) by $open:ident: $typed:ident) => {
        $(#[$doc])*
        pub fn $kind<T: Body>(self, name: &str, config: $config) -> QueueWorkload<T, $typed<T>> {
            let (named, with) = (name.to_owned(), config.clone());
            let open: Open<$typed<T>> = Arc::new(move |queues| {
                let (queues, name, config) = (queues.clone(), named.clone(), with.clone());
                Box::pin(async move { queues.$open(&name, &config).await })
            });
            QueueWorkload::new(self, name, QueueConfig::$typed(config), open)
        }
    };
}

impl Sim {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            queues: Vec::new(),
            handled: Vec::new(),
            lanes: Vec::new(),
            chaos: Chaos::all(),
            checks: Vec::new(),
            seeds: 256,
            lease: Duration::from_secs(30),
            patience: Duration::from_secs(24 * 60 * 60),
            environment: None,
            regressions: None,
        }
    }

    queue! {
        /// A reliable queue of this name, and then what works on it.
        reliable(ReliableConfig) by reliable_with: Reliable
    }
    queue! {
        /// A delay queue of this name, and then what works on it.
        delay(DelayConfig) by delay_with: Delay
    }
    queue! {
        /// A priority queue of this name, and then what works on it.
        priority(PriorityConfig) by priority_with: Priority
    }
    queue! {
        /// A bounded queue of this name, and then what works on it.
        bounded(BoundedConfig) by bounded_with: Bounded
    }
    queue! {
        /// A ring of this name, and then what works on it.
        rotating(RotatingConfig) by rotating_with: Rotating
    }

    /// What may go wrong. [`Chaos::all`] by default.
    pub fn faults(mut self, chaos: Chaos) -> Self {
        self.chaos = chaos;
        self
    }

    /// What must hold of every run. Several checks may be given; without any, a run is only held
    /// to end, and to be drained.
    pub fn check(mut self, check: impl Check) -> Self {
        self.checks.push(Arc::new(check));
        self
    }

    /// How many seeds are played, 256 by default. `QUEUE_SIM_SEEDS` in the environment overrides
    /// it.
    pub const fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// How long the workers' leases are, 30 s by default: crashes and pauses are drawn near it.
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// How long, in virtual time, a run may take until nothing is left: a day by default. Longer
    /// than the longest delay that is scheduled.
    pub const fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Plays on this instead of on memory: a real server, or a backend of one's own.
    pub fn backend<G: Environment + 'static>(
        mut self,
        environment: impl Fn() -> G + Send + Sync + 'static,
    ) -> Self {
        self.environment = Some(Arc::new(move || Box::new(environment())));
        self
    }

    /// Where plans that fail are kept, and those that failed before are found: by default
    /// `sim-regressions` in the folder of the crate under test, as cargo tells it at run time. Where
    /// tests are not run by cargo, there is no such folder, and nothing is kept unless one is given.
    /// In it, each simulation has a file for each backend, named after both.
    pub fn regressions(mut self, folder: impl Into<PathBuf>) -> Self {
        self.regressions = Some(folder.into());
        self
    }

    /// Anything else that takes part: `script` runs until it ends, crashes like a worker and is
    /// started again. It opens what it needs from [`Run::queues`]; if it runs for ever, it has to
    /// end at [`Run::shutdown`].
    pub fn lane<F>(self, name: &str, script: impl Fn(Run) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let script: Script = Arc::new(move |run| Box::pin(script(run)));
        self.add(name.to_owned(), Role::Worker, script)
    }

    fn add(mut self, name: String, role: Role, script: Script) -> Self {
        self.lanes.push(LaneScript { name, role, script });
        self
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes: Vec<&str> = self.lanes.iter().map(|lane| &*lane.name).collect();
        f.debug_struct("Sim")
            .field("name", &self.name)
            .field("queues", &self.queues)
            .field("lanes", &lanes)
            .field("chaos", &self.chaos)
            .field("checks", &self.checks)
            .finish_non_exhaustive()
    }
}

/// What a message of a simulated queue can be.
pub trait Body: Serialize + DeserializeOwned + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Send + 'static> Body for T {}

type Opening<Q> = Pin<Box<dyn Future<Output = Result<Q>> + Send>>;
type Open<Q> = Arc<dyn Fn(&Queues) -> Opening<Q> + Send + Sync>;
type Tune<T> = Arc<dyn Fn(Worker<T>) -> Worker<T> + Send + Sync>;

/// A simulation, and the queue that is being furnished: its producers and workers.
#[must_use = "nothing is simulated before `run`"]
pub struct QueueWorkload<T, Q> {
    sim: Sim,
    name: String,
    open: Open<Q>,
    workers: usize,
    tune: Tune<T>,
    value: PhantomData<fn() -> T>,
}

impl<T: Body, Q: Send + 'static> QueueWorkload<T, Q> {
    fn new(mut sim: Sim, name: &str, config: QueueConfig, open: Open<Q>) -> Self {
        sim.queues.push((name.to_owned(), config));
        Self {
            sim,
            name: name.to_owned(),
            open,
            workers: 2,
            tune: Arc::new(|worker| worker),
            value: PhantomData,
        }
    }

    /// A lane that puts messages in: `produce` runs once, to its end, and meets no faults. An error
    /// of its fails the run.
    pub fn producer<F>(self, produce: impl Fn(Q) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.produce(Role::Producer, produce)
    }

    /// As [`producer`](Self::producer), but it meets every fault except crashes, and may end with
    /// an error: a push whose reply was lost is `Unknown`, say.
    pub fn faulty_producer<F>(self, produce: impl Fn(Q) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.produce(Role::FaultyProducer, produce)
    }

    fn produce<F>(mut self, role: Role, produce: impl Fn(Q) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let (open, produce) = (Arc::clone(&self.open), Arc::new(produce));
        let script = move |run: Run| -> Life {
            let (opening, produce) = (open(run.queues()), Arc::clone(&produce));
            Box::pin(async move { produce(opening.await?).await })
        };
        let count = self.sim.lanes.iter();
        let count = count.filter(|lane| lane.role != Role::Worker).count();
        let name = format!("producer {count}");
        self.sim = self.sim.add(name, role, Arc::new(script));
        self
    }

    /// How many workers [`handler`](Self::handler) starts, each in a lane of its own. 2 by default.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// How each worker is set up: concurrency, back-off, timeouts, as in production. Its lease is
    /// that of the simulation unless it is set here.
    pub fn worker(mut self, tune: impl Fn(Worker<T>) -> Worker<T> + Send + Sync + 'static) -> Self {
        self.tune = Arc::new(tune);
        self
    }

    /// The handler, made afresh for each life of each worker, so that no state leaks from one run
    /// into another, nor through a crash: what outlives a worker belongs into a ledger of the
    /// [`Run`].
    pub fn handler<H, F>(mut self, make: impl Fn(&Run) -> H + Send + Sync + 'static) -> Self
    where
        Q: Into<Consumer<T>>,
        H: Fn(T, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        let (open, tune) = (Arc::clone(&self.open), Arc::clone(&self.tune));
        let (lease, name) = (self.sim.lease, self.name.clone());
        self.sim.handled.push(name.clone());
        let script = move |run: Run| -> Life {
            let handler = told(make(&run), run.actor.clone());
            let opening = open(run.queues());
            let (tune, name) = (Arc::clone(&tune), name.clone());
            Box::pin(async move {
                let worker = Worker::new(opening.await?)
                    .named(name)
                    .lease(lease)
                    .seed(run.seed())
                    .spawn(run.spawner());
                tune(worker).run_until(run.shutdown(), handler).await?;
                Ok(())
            })
        };
        let script: Script = Arc::new(script);
        let before = self.sim.lanes.iter();
        let before = before.filter(|lane| lane.role == Role::Worker).count();
        for worker in before..before + self.workers {
            let name = format!("worker {worker}");
            self.sim = self.sim.add(name, Role::Worker, Arc::clone(&script));
        }
        self
    }

    /// Done with this queue: what follows concerns the simulation, or another queue.
    pub fn and(self) -> Sim {
        self.sim
    }
}

/// What a workload hands on to its simulation.
macro_rules! of_the_simulation {
    ($($(#[$doc:meta])* $name:ident$(<$body:ident>)?($($arg:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl<T: Body, Q: Send + 'static> QueueWorkload<T, Q> {
            $(
                $(#[$doc])*
                pub fn $name$(<$body: Body>)?(self, $($arg: $type),*) -> $answer {
                    self.and().$name($($arg),*)
                }
            )*
        }
    };
}

of_the_simulation! {
    /// [`Sim::reliable`]
    reliable<U>(name: &str, config: ReliableConfig) -> QueueWorkload<U, Reliable<U>>;
    /// [`Sim::delay`]
    delay<U>(name: &str, config: DelayConfig) -> QueueWorkload<U, Delay<U>>;
    /// [`Sim::priority`]
    priority<U>(name: &str, config: PriorityConfig) -> QueueWorkload<U, Priority<U>>;
    /// [`Sim::bounded`]
    bounded<U>(name: &str, config: BoundedConfig) -> QueueWorkload<U, Bounded<U>>;
    /// [`Sim::rotating`]
    rotating<U>(name: &str, config: RotatingConfig) -> QueueWorkload<U, Rotating<U>>;
    /// [`Sim::faults`]
    faults(chaos: Chaos) -> Sim;
    /// [`Sim::check`]
    check(check: impl Check) -> Sim;
    /// [`Sim::seeds`]
    seeds(seeds: u64) -> Sim;
    /// [`Sim::run`]
    run() -> ();
}

impl<T, Q> fmt::Debug for QueueWorkload<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueWorkload")
            .field("queue", &self.name)
            .field("sim", &self.sim)
            .finish_non_exhaustive()
    }
}
