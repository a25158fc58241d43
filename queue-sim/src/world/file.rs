//! Queues in a folder, on a machine whose power fails.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Claim, Due, Facts, Guarantees, Layered,
    OnceCounts, OnceStore, QueueConfig, QueueInfo, QueueKind, QueueName, Removal, Result,
    StoredQueue, Timestamp, Token,
    call::{Answer, Call, Front, Service},
};
use queue_file::{FileBackend, SyncMode, simulated::SimulatedDisk};
use tokio::time::Instant;

use super::{
    EPOCH, Environment, Fault, FaultInjector, Network, RunContext, World, fault::NotExecuted,
};
use crate::plan::{ChoicePoint, Process, What};

/// The length of a segment: short, so that states are stored and segments removed in most runs.
const SEGMENT: u64 = 4 * 1024;
/// The power fails in one of so many operations of the disk.
const OPERATIONS: u32 = 32;

/// Worlds around queue-file on a [simulated disk](SimulatedDisk). The power fails at any operation of the disk
/// ([`Fault::Restarted`]), also while the journal is read back, a state is stored, or segments are removed. Or a sync fails,
/// and the machine starts again. Unsynced writes are then lost or torn.
///
/// All calls under way fail, and the next ones find the queues that the disk still has. A call of a process that faults
/// spare is never under way at that time. The journal of the history has the truth: whether a call that failed so is on
/// the disk.
#[derive(Debug, Clone, Default)]
pub struct FileEnvironment {
    _private: (),
}

impl FileEnvironment {
    /// An environment that syncs before each answer.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Environment for FileEnvironment {
    fn name(&self) -> &str {
        "file"
    }

    fn world(&mut self, context: &RunContext) -> Arc<dyn World> {
        let seed = ChoicePoint::new(Process::WORLD, 2, What::Parameter);
        let disk = SimulatedDisk::new(context.decisions.choose(seed, 1 << 16).into());
        Arc::new(FileWorld(Arc::new(Machine {
            network: Network::new(context.clone()),
            begun: Instant::now(),
            life: Mutex::new(Life::begin(disk, EPOCH, 0).expect("an empty disk opens")),
            spared: AtomicUsize::new(0),
        })))
    }

    fn has_truth(&self) -> bool {
        true
    }

    fn faults(&self) -> &'static [Fault] {
        &[
            Fault::RequestLost,
            Fault::ReplyLost,
            Fault::Delayed,
            Fault::Late,
            Fault::Repeated,
            Fault::Refused,
            Fault::Spurious,
            Fault::Cut,
            Fault::Partition,
            Fault::Cancelled,
            Fault::Crashed,
            Fault::Stalled,
            Fault::Restarted,
        ]
    }
}

#[derive(Debug)]
struct FileWorld(Arc<Machine>);

#[async_trait]
impl World for FileWorld {
    async fn connect(&self, process: Process) -> Result<Arc<dyn Backend>> {
        let client = Client {
            machine: Arc::clone(&self.0),
            process,
        };
        let injector = FaultInjector::new(process, self.0.network.clone());
        Ok(Arc::new(Layered::new(injector, Arc::new(client))))
    }

    async fn heal(&self) {
        self.0.life().fails_no_more();
        self.0.network.heal().await;
    }
}

/// The machine with the disk.
#[derive(Debug)]
struct Machine {
    network: Network,
    begun: Instant,
    life: Mutex<Life>,
    /// The calls of processes that faults spare. The power does not fail meanwhile.
    spared: AtomicUsize,
}

/// The time from one start of the machine to the next loss of power.
#[derive(Debug, Clone)]
struct Life {
    number: u64,
    disk: SimulatedDisk,
    backend: FileBackend,
}

impl Life {
    fn begin(disk: SimulatedDisk, now: Timestamp, number: u64) -> Result<Self> {
        let shared = Arc::new(disk.clone());
        let backend = FileBackend::with_segments(shared, SyncMode::Always, SEGMENT, now)?;
        Ok(Self {
            number,
            disk,
            backend,
        })
    }

    fn fails_no_more(&self) {
        self.disk.crash_at(u64::MAX);
        self.disk.fail_sync_after(u64::MAX / 2);
    }
}

impl Machine {
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the power fail in one of the next operations of the disk, or a sync, if a decision says so.
    fn may_fail(&self, process: Process) {
        if self.spared.load(Ordering::Relaxed) > 0 || self.network.is_calm() {
            return;
        }
        let struck = self
            .network
            .strike(process, What::Server, &[Fault::Restarted]);
        if struck.is_some() {
            let ahead = self.network.faults().way(process, What::Server, OPERATIONS);
            let disk = &self.life().disk;
            disk.crash_at(disk.operations() + 1 + u64::from(ahead));
        }
    }

    /// Starts the machine again if the power or a sync has failed. The power may fail again meanwhile.
    fn restart_if_over(&self, process: Process) {
        let mut life = self.life();
        while life.disk.is_off() || life.backend.has_failed() {
            let disk = life.disk.restart();
            let now = Due::from(self.begun.elapsed()).resolve(EPOCH);
            // Mostly not: and never, where a plan decides nothing.
            let ahead = self.network.faults().way(process, What::Server, OPERATIONS);
            if let Some(ahead) = ahead.checked_sub(OPERATIONS * 3 / 4) {
                disk.crash_at(disk.operations() + 1 + u64::from(ahead));
            }
            match Life::begin(disk.clone(), now, life.number + 1) {
                Ok(next) => *life = next,
                Err(error) => {
                    assert!(disk.is_off(), "the journal is not read back: {error:?}");
                    life.disk = disk;
                }
            }
            life.fails_no_more();
        }
    }
}

/// A call of a process that faults spare.
struct Spared<'a>(&'a Machine);

impl<'a> Spared<'a> {
    fn begin(machine: &'a Machine) -> Self {
        machine.spared.fetch_add(1, Ordering::Relaxed);
        machine.life().fails_no_more();
        Self(machine)
    }
}

impl Drop for Spared<'_> {
    fn drop(&mut self) {
        self.0.spared.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call in a life of the machine. At its end the machine starts again if the power has failed.
struct Step<'a> {
    client: &'a Client,
    life: Life,
    _spared: Option<Spared<'a>>,
}

impl Step<'_> {
    fn backend(&self) -> &FileBackend {
        &self.life.backend
    }

    /// A handle that outlives this life.
    fn handle(&self, name: &QueueName, config: QueueConfig, queue: AnyQueue) -> Arc<dyn Service> {
        Arc::new(Handle {
            client: self.client.clone(),
            name: name.clone(),
            config,
            of_life: Mutex::new((self.life.number, Arc::new(queue))),
        })
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        self.client.machine.restart_if_over(self.client.process);
    }
}

/// The queues of the machine, as one process sees them: its handles outlive a loss of power.
#[derive(Debug, Clone)]
struct Client {
    machine: Arc<Machine>,
    process: Process,
}

impl Client {
    /// Begins a call, in which the power may fail.
    fn begin(&self) -> Step<'_> {
        let Self { machine, process } = self;
        if machine.network.context().faults.spares(*process) {
            return self.begin_quietly();
        }
        machine.may_fail(*process);
        Step {
            client: self,
            life: machine.life().clone(),
            _spared: None,
        }
    }

    /// Begins a call in which the power does not fail. It may make several records, so the truth of an error would be
    /// unknown.
    fn begin_quietly(&self) -> Step<'_> {
        let spared = Spared::begin(&self.machine);
        Step {
            client: self,
            life: self.machine.life().clone(),
            _spared: Some(spared),
        }
    }
}

#[async_trait]
impl Backend for Client {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let step = self.begin();
        let queue = step.backend().open(name, config).await?;
        let handle = step.handle(name, config.clone(), queue);
        Ok(AnyQueue::behind(handle, config.kind()))
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let step = self.begin_quietly();
        let queue = step.backend().open_or_resize(name, config).await?;
        let handle = step.handle(name, config.clone().into(), AnyQueue::Bounded(queue));
        Ok(Arc::new(Front::of(handle)))
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let step = self.begin_quietly();
        let stored = step.backend().open_stored(name).await?;
        Ok(stored.map(|StoredQueue { config, queue, .. }| {
            let handle = step.handle(name, config.clone(), queue);
            let queue = AnyQueue::behind(handle, config.kind());
            StoredQueue::new(config, queue)
        }))
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        let step = self.begin_quietly();
        step.backend().reconfigure(name, config).await
    }

    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let step = self.begin_quietly();
        step.backend().remove(name, removal).await
    }

    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        let step = self.begin_quietly();
        step.backend().open_once(name).await?;
        Ok(Arc::new(OnceHandle {
            client: self.clone(),
            name: name.clone(),
        }))
    }

    async fn now(&self) -> Result<Timestamp> {
        let step = self.begin_quietly();
        step.backend().now().await
    }

    async fn facts(&self, name: &QueueName) -> Result<Facts> {
        let step = self.begin_quietly();
        step.backend().facts(name).await
    }

    fn guarantees(&self, kind: QueueKind) -> Guarantees {
        self.machine.life().backend.guarantees(kind)
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        let step = self.begin_quietly();
        step.backend().queues(after, limit).await
    }
}

/// A handle to a queue in every life of the machine.
#[derive(Debug)]
struct Handle {
    client: Client,
    name: QueueName,
    /// The configuration with which a call makes the queue again after a removal.
    config: QueueConfig,
    of_life: Mutex<(u64, Arc<dyn Service>)>,
}

impl Handle {
    fn of_life(&self) -> MutexGuard<'_, (u64, Arc<dyn Service>)> {
        self.of_life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn queue(&self, life: &Life) -> Result<Arc<dyn Service>> {
        {
            let (of, queue) = &*self.of_life();
            if *of == life.number {
                return Ok(Arc::clone(queue));
            }
        }
        let queue = match life.backend.open_stored(&self.name).await? {
            Some(stored) => stored.queue,
            None => life.backend.open(&self.name, &self.config).await?,
        };
        let queue: Arc<dyn Service> = Arc::new(queue);
        *self.of_life() = (life.number, Arc::clone(&queue));
        Ok(queue)
    }
}

#[async_trait]
impl Service for Handle {
    async fn call(&self, call: Call) -> Result<Answer> {
        if call.is_wait() {
            let life = self.client.machine.life().clone();
            return self.queue(&life).await?.call(call).await;
        }
        let step = self.client.begin();
        let queue = self.queue(&step.life).await?;
        let before = step.backend().records();
        let answer = queue.call(call).await;
        let machine = &*self.client.machine;
        machine.restart_if_over(self.client.process);
        match answer {
            Err(error) if machine.life().backend.records() == before => {
                Err(error.with_source(NotExecuted))
            }
            answer => answer,
        }
    }
}

/// A store of once keys in every life of the machine.
#[derive(Debug)]
struct OnceHandle {
    client: Client,
    name: QueueName,
}

impl OnceHandle {
    async fn store(&self, step: &Step<'_>) -> Result<Arc<dyn OnceStore>> {
        step.backend().open_once(&self.name).await
    }
}

#[async_trait]
impl OnceStore for OnceHandle {
    async fn claim(&self, key: &[u8], claim_time: Duration) -> Result<Claim> {
        let step = self.client.begin();
        self.store(&step).await?.claim(key, claim_time).await
    }

    async fn extend(&self, key: &[u8], token: Token, claim_time: Duration) -> Result<()> {
        let step = self.client.begin();
        let store = self.store(&step).await?;
        store.extend(key, token, claim_time).await
    }

    async fn finish(&self, key: &[u8], token: Token, keep: Duration) -> Result<()> {
        let step = self.client.begin();
        self.store(&step).await?.finish(key, token, keep).await
    }

    async fn release(&self, key: &[u8], token: Token) -> Result<()> {
        let step = self.client.begin();
        self.store(&step).await?.release(key, token).await
    }

    async fn counts(&self) -> Result<OnceCounts> {
        let step = self.client.begin();
        self.store(&step).await?.counts().await
    }
}
