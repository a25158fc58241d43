use std::{fmt, future::Future, sync::Arc, time::Duration};

use queue_core::{Layered, Queues, Result, Spawn, Timestamp};
use tokio::{sync::watch, time};

use super::{
    actors::{Actor, Actors},
    ledger::{Books, Ledger},
};
use crate::{
    history::Recorder,
    plan::{Process, What},
    world::World,
};

/// A process's access to its run. Each life of each process has its own.
#[derive(Clone)]
pub struct Run {
    pub(super) queues: Queues,
    pub(super) actor: Actor,
    pub(super) actors: Actors,
    pub(super) books: Books,
    pub(super) shutdown: watch::Receiver<bool>,
    pub(super) seed: u64,
    #[cfg(all(unix, feature = "redis"))]
    pub(super) world: Arc<dyn World>,
}

impl Run {
    /// Connects a process to the world, behind the layers that record and interrupt it.
    pub(super) async fn connect(
        world: &Arc<dyn World>,
        actors: &Actors,
        actor: Actor,
        books: &Books,
        shutdown: watch::Receiver<bool>,
    ) -> Result<Self> {
        let process = actor.process();
        let backend = world.connect(process).await?;
        let recorder = Recorder::new(process, actors.context().journal.clone());
        let recorded = Layered::new(recorder, backend);
        let backend = Layered::new(actor.clone(), Arc::new(recorded));
        let decisions = &actors.context().decisions;
        let seed = decisions.choose(decisions.choice_point(process, What::Parameter), 1 << 16);
        Ok(Self {
            queues: Queues::new(backend),
            actor,
            actors: actors.clone(),
            books: books.clone(),
            shutdown,
            seed: u64::from(seed),
            #[cfg(all(unix, feature = "redis"))]
            world: Arc::clone(world),
        })
    }

    /// The queues of the run, through this process's own client, with its own faults.
    pub const fn queues(&self) -> &Queues {
        &self.queues
    }

    /// A connection to the run's Redis server, for code that sends its own commands. Other processes
    /// may go first at every command, and the history view of a failure shows it.
    ///
    /// # Errors
    ///
    /// Errors of connecting; and an error if the run's backend has no server.
    #[cfg(all(unix, feature = "redis"))]
    pub async fn redis(&self) -> redis::RedisResult<redis::aio::MultiplexedConnection> {
        let connection = self.world.connection(self.actor.process()).await;
        connection.unwrap_or_else(|| {
            let message = "this simulation has no Redis server: give it one by Sim::backend";
            Err((redis::ErrorKind::InvalidClientConfig, message).into())
        })
    }

    /// A system outside of the queue, by name. All processes of the run share it.
    pub fn ledger(&self, name: &str) -> Ledger {
        self.books.ledger(name, self.actor.clone())
    }

    /// Returns a value that all processes of the run share and that survives their crashes, such as a database in memory.
    /// The first caller makes it.
    ///
    /// # Panics
    ///
    /// If the run has something of another type by this name.
    pub fn shared<T: Send + Sync + 'static>(&self, name: &str, make: impl FnOnce() -> T) -> Arc<T> {
        self.books.shared(name, make)
    }

    /// A point at which this process may crash or stall, or others go first: before and after what it does to something
    /// [shared](Self::shared).
    pub async fn step(&self) {
        self.actor.interruptible().await;
    }

    /// Ends when the run asks its workers to shut down because nothing is left to do.
    pub fn shutdown(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut asked = self.shutdown.clone();
        async move {
            // The sender goes away only when the run is over.
            let _ = asked.wait_for(|asked| *asked).await;
        }
    }

    /// Spawns background tasks into the process, so that they crash with it. Tasks from `tokio::spawn`
    /// would survive.
    pub fn spawner(&self) -> impl Spawn + use<> {
        self.actors.context().executor.spawner(self.actor.process())
    }

    /// Chooses one of the given number of options. The seed decides, and shrinking lowers the choice to 0 where it can.
    /// Use it instead of a random number.
    pub fn choose(&self, options: u32) -> u32 {
        let decisions = &self.actors.context().decisions;
        decisions.choose(
            decisions.choice_point(self.actor.process(), What::User),
            options,
        )
    }

    /// A number for code that needs a seed, such as a worker's jitter.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// This process.
    pub const fn process(&self) -> Process {
        self.actor.process()
    }

    /// The run's current time.
    pub fn now(&self) -> Timestamp {
        self.actors.context().journal.now()
    }

    /// Waits in virtual time, as `tokio::time::sleep` does.
    pub async fn sleep(&self, time: Duration) {
        time::sleep(time).await;
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("process", &self.actor.process())
            .finish_non_exhaustive()
    }
}
