use std::{
    fmt, future::Future, marker::PhantomData, path::PathBuf, pin::Pin, sync::Arc, time::Duration,
};

use queue_core::{
    Bounded, BoundedConfig, Consumer, Delay, DelayConfig, Grouped, GroupedConfig, Priority,
    PriorityConfig, QueueConfig, Queues, Reliable, ReliableConfig, Result, Rotating,
    RotatingConfig,
};
use queue_worker::{Context, IntoVerdict, Worker};
use serde::{Serialize, de::DeserializeOwned};

use super::{FaultSet, Run, check::Check, handled::recorded};
use crate::world::Environment;

/// The most processes that have numbers of their own; the auditor has another.
pub(super) const MOST_PROCESSES: usize = 254;

/// Any error that ends a process early.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(super) type ProcessFuture = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// A process's code, called once for each of its lives.
pub(super) type ProcessMain = Arc<dyn Fn(Run) -> ProcessFuture + Send + Sync>;

type MakeEnvironment = Arc<dyn Fn() -> Box<dyn Environment> + Send + Sync>;

/// A simulation: queues, their producers and workers, the faults, and the checks that must pass all
/// the same.
///
/// [`sim`](super::sim) begins one, and [`run`](Self::run) plays it.
#[must_use = "nothing is simulated before `run`"]
#[derive(Clone)]
pub struct Sim {
    pub(super) name: String,
    pub(super) queues: Vec<(String, QueueConfig)>,
    /// The queues that have a handler.
    pub(super) handled: Vec<String>,
    /// The queues that have a handler and no worker.
    pub(super) unserved: Vec<String>,
    pub(super) processes: Vec<ProcessScript>,
    pub(super) fault_set: FaultSet,
    pub(super) checks: Vec<Arc<dyn Check>>,
    pub(super) seeds: u64,
    pub(super) lease: Duration,
    pub(super) patience: Duration,
    pub(super) environment: Option<MakeEnvironment>,
    pub(super) regressions: Option<PathBuf>,
}

/// One process of a simulation.
#[derive(Clone)]
pub(super) struct ProcessScript {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) script: ProcessMain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Runs once, to its end, without faults. Its error fails the run.
    Producer,
    /// Runs once, to its end or until an error, under all faults except crashes.
    ProducerUnderFaults,
    /// Runs until shutdown. It crashes, and starts again.
    Worker,
    /// Runs to its end. It crashes, and starts again.
    Source,
}

impl Role {
    pub(super) const fn crashes(self) -> bool {
        matches!(self, Self::Worker | Self::Source)
    }
}

macro_rules! queue {
    ($(#[$doc:meta])* $kind:ident($config:ident): $typed:ident $(, $capacity:ident)?) => {
        $(#[$doc])*
        pub fn $kind<T: Body>(self, name: &str, config: $config) -> QueueWorkload<T, $typed<T>> {
            let (named, with) = (name.to_owned(), config.clone());
            let open: OpenQueue<$typed<T>> = Arc::new(move |queues| {
                let (queues, name, config) = (queues.clone(), named.clone(), with.clone());
                Box::pin(async move {
                    let opening = queues.$kind(&name $(, config.$capacity)?);
                    opening.config(config).open().await
                })
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
            unserved: Vec::new(),
            processes: Vec::new(),
            fault_set: FaultSet::all(),
            checks: Vec::new(),
            seeds: 256,
            lease: Duration::from_secs(30),
            patience: Duration::from_secs(24 * 60 * 60),
            environment: None,
            regressions: None,
        }
    }

    queue! {
        /// Adds a reliable queue of this name; its producers and workers follow.
        reliable(ReliableConfig): Reliable
    }
    queue! {
        /// Adds a delay queue of this name; its producers and workers follow.
        delay(DelayConfig): Delay
    }
    queue! {
        /// Adds a priority queue of this name; its producers and workers follow.
        priority(PriorityConfig): Priority
    }
    queue! {
        /// Adds a grouped queue of this name; its producers and workers follow.
        grouped(GroupedConfig): Grouped
    }
    queue! {
        /// Adds a bounded queue of this name; its producers and workers follow.
        bounded(BoundedConfig): Bounded, capacity
    }
    queue! {
        /// Adds a ring of this name; its producers and workers follow.
        rotating(RotatingConfig): Rotating
    }

    /// Sets the faults that may strike; by default [`FaultSet::all`].
    pub fn faults(mut self, fault_set: FaultSet) -> Self {
        self.fault_set = fault_set;
        self
    }

    /// Adds a check that every run must pass. A simulation may have several. Without any check, a run must only end,
    /// and be drained.
    pub fn check(mut self, check: impl Check) -> Self {
        self.checks.push(Arc::new(check));
        self
    }

    /// Sets the number of seeds to play; by default 256. `QUEUE_SIM_SEEDS` in the process's
    /// environment overrides it.
    pub const fn seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// Sets the length of the workers' leases, 10 ms to 24 h; by default 30 s. Crashes and pauses come near it.
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the longest virtual time until nothing is left, 1 ms to 100 years; by default a day. It must be longer
    /// than the longest delay that the code under test schedules.
    pub const fn patience(mut self, time: Duration) -> Self {
        self.patience = time;
        self
    }

    /// Plays in this environment instead of in memory: on a real server, or on your own backend.
    pub fn backend<G: Environment + 'static>(
        mut self,
        environment: impl Fn() -> G + Send + Sync + 'static,
    ) -> Self {
        self.environment = Some(Arc::new(move || Box::new(environment())));
        self
    }

    /// Sets the folder in which the simulation keeps plans that fail, and finds those that failed
    /// before. The default is `sim-regressions` in the folder of the crate under test, which cargo
    /// names at run time. Without cargo there is no default, and the simulation keeps nothing. The
    /// folder has one file for each simulation and backend, named after both.
    pub fn regressions(mut self, folder: impl Into<PathBuf>) -> Self {
        self.regressions = Some(folder.into());
        self
    }

    /// Adds any other participant: `script` runs until it ends, crashes like a worker, and starts
    /// again. It opens queues through [`Run::queues`]. If it loops, it must end at
    /// [`Run::shutdown`].
    pub fn process<F>(self, name: &str, script: impl Fn(Run) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let script: ProcessMain = Arc::new(move |run| Box::pin(script(run)));
        self.add(name.to_owned(), Role::Worker, script)
    }

    /// Adds a participant from which the messages come: as [`process`](Self::process), but the run goes on until it has
    /// ended. An example is a process that fills an outbox, and ends when no row is left there.
    pub fn source<F>(self, name: &str, script: impl Fn(Run) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let script: ProcessMain = Arc::new(move |run| Box::pin(script(run)));
        self.add(name.to_owned(), Role::Source, script)
    }

    fn add(mut self, name: String, role: Role, script: ProcessMain) -> Self {
        self.processes.push(ProcessScript { name, role, script });
        self
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes: Vec<&str> = self
            .processes
            .iter()
            .map(|process| &*process.name)
            .collect();
        f.debug_struct("Sim")
            .field("name", &self.name)
            .field("queues", &self.queues)
            .field("processes", &processes)
            .field("faults", &self.fault_set)
            .field("checks", &self.checks)
            .finish_non_exhaustive()
    }
}

/// A type that can be the message of a simulated queue.
pub trait Body: Serialize + DeserializeOwned + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Send + 'static> Body for T {}

type OpenFuture<Q> = Pin<Box<dyn Future<Output = Result<Q>> + Send>>;
type OpenQueue<Q> = Arc<dyn Fn(&Queues) -> OpenFuture<Q> + Send + Sync>;
type Tune<T> = Arc<dyn Fn(Worker<T>) -> Worker<T> + Send + Sync>;

/// A simulation and its current queue, which gets producers and workers.
#[must_use = "nothing is simulated before `run`"]
pub struct QueueWorkload<T, Q> {
    sim: Sim,
    name: String,
    open: OpenQueue<Q>,
    workers: usize,
    tune: Tune<T>,
    value: PhantomData<fn() -> T>,
}

impl<T: Body, Q: Send + 'static> QueueWorkload<T, Q> {
    fn new(mut sim: Sim, name: &str, config: QueueConfig, open: OpenQueue<Q>) -> Self {
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

    /// Adds a process that puts messages in. `produce` runs once, to its end, without faults. If it returns an error,
    /// the run fails.
    pub fn producer<F>(self, produce: impl Fn(Q) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.produce(Role::Producer, produce)
    }

    /// As [`producer`](Self::producer), but under all faults except crashes. It may end with an
    /// error: a push whose reply was lost is `Unknown`, for example.
    pub fn producer_under_faults<F>(self, produce: impl Fn(Q) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.produce(Role::ProducerUnderFaults, produce)
    }

    fn produce<F>(mut self, role: Role, produce: impl Fn(Q) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let (open, produce) = (Arc::clone(&self.open), Arc::new(produce));
        let script = move |run: Run| -> ProcessFuture {
            let (opening, produce) = (open(run.queues()), Arc::clone(&produce));
            Box::pin(async move { produce(opening.await?).await })
        };
        let count = self.sim.processes.iter();
        let count = count.filter(|process| !process.role.crashes()).count();
        let name = format!("producer {count}");
        self.sim = self.sim.add(name, role, Arc::new(script));
        self
    }

    /// Sets the number of workers that [`handler`](Self::handler) starts, each in its own process; by
    /// default 2. A simulation has at most 254 processes.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets each worker up as in production: concurrency, back-off, timeouts. Its lease is the
    /// simulation's, unless `tune` sets another.
    pub fn worker(mut self, tune: impl Fn(Worker<T>) -> Worker<T> + Send + Sync + 'static) -> Self {
        self.tune = Arc::new(tune);
        self
    }

    /// Sets the handler. Each life of each worker calls `make` for a new handler, so that no state leaks from one run
    /// into another, or through a crash. State that outlives a worker belongs in a ledger of the [`Run`].
    pub fn handler<H, F>(mut self, make: impl Fn(&Run) -> H + Send + Sync + 'static) -> Self
    where
        Q: Into<Consumer<T>>,
        H: Fn(T, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        let (open, tune) = (Arc::clone(&self.open), Arc::clone(&self.tune));
        let (lease, name) = (self.sim.lease, self.name.clone());
        self.sim.handled.push(name.clone());
        let script = move |run: Run| -> ProcessFuture {
            let handler = recorded(make(&run), run.actor.clone());
            let opening = open(run.queues());
            let (tune, name) = (Arc::clone(&tune), name.clone());
            Box::pin(async move {
                let worker = Worker::new(opening.await?)
                    .named(name)
                    // The program's process id would make each run different.
                    .holder(format!("process {}", run.process()))
                    .lease(lease)
                    .seed(run.seed())
                    .spawn(run.spawner());
                tune(worker).run_until(run.shutdown(), handler).await?;
                Ok(())
            })
        };
        let script: ProcessMain = Arc::new(script);
        if self.workers == 0 {
            self.sim.unserved.push(self.name.clone());
        }
        // One process more than allowed is enough to be refused.
        let workers = self.workers.min(MOST_PROCESSES + 1);
        let before = self.sim.processes.iter();
        let before = before
            .filter(|process| process.role == Role::Worker)
            .count();
        for worker in before..before + workers {
            let name = format!("worker {worker}");
            self.sim = self.sim.add(name, Role::Worker, Arc::clone(&script));
        }
        self
    }

    /// Ends the set-up of this queue: the next calls set up the simulation, or another queue.
    pub fn and(self) -> Sim {
        self.sim
    }
}

/// Methods that a workload forwards to its simulation.
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
    /// [`Sim::grouped`]
    grouped<U>(name: &str, config: GroupedConfig) -> QueueWorkload<U, Grouped<U>>;
    /// [`Sim::bounded`]
    bounded<U>(name: &str, config: BoundedConfig) -> QueueWorkload<U, Bounded<U>>;
    /// [`Sim::rotating`]
    rotating<U>(name: &str, config: RotatingConfig) -> QueueWorkload<U, Rotating<U>>;
    /// [`Sim::faults`]
    faults(fault_set: FaultSet) -> Sim;
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
