//! The backend: opening a folder, and its queues.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use queue_core::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Confirmation, Error, ErrorKind, Facts,
    FolderFacts, OnceStore, QueueConfig, QueueInfo, QueueKind, QueueName, Removal, Result,
    ServerFacts, StoredQueue, Timestamp,
    call::{Answer, Call},
    limits,
};
use queue_memory::{MemoryBackend, journal};

use crate::{
    at_once::at_once,
    core::{Core, SlotState},
    disk::{Disk, Folder},
    folder,
    journal::Writer,
    owner::Owner,
    queue::{Called, Effect, FileOnce, FileQueue, on_queue},
    record,
    segments::SEGMENT,
    url::{SyncMode, parse},
};

/// Opens queues that are kept in a folder.
///
/// Clones share the folder. It is free for another process when the last clone and the last handle to a queue are
/// dropped; that waits for what is being written.
#[derive(Debug, Clone)]
pub struct FileBackend {
    owner: Arc<Owner>,
    confirmation: Option<Confirmation>,
}

impl FileBackend {
    /// Opens the folder of a URL: `file:PATH`, with `?sync=always` (the default), `?sync=50ms` or `?sync=never`.
    ///
    /// Reads the whole journal, which takes about a second for a gigabyte. The folder is made if there is none.
    ///
    /// # Errors
    ///
    /// `Invalid` for a malformed URL, and the errors of [`open`](Self::open).
    pub fn connect(url: &str) -> Result<Self> {
        let (path, sync) = parse(url)?;
        Self::open(path, sync)
    }

    /// The folder that a URL names.
    ///
    /// # Errors
    ///
    /// `Invalid` for a malformed URL.
    pub fn path(url: &str) -> Result<PathBuf> {
        parse(url).map(|(path, _)| path)
    }

    /// Opens a folder of queues; makes it if there is none.
    ///
    /// # Errors
    ///
    /// `Configuration` if the path is no folder, or a folder of another program; if another process has it, which the
    /// error names; if it is of another format, or damaged; if this process may not write to it, or its file system has no
    /// locks. Nothing was changed then. `Unavailable` if the disk cannot be read or written, or is full.
    pub fn open(path: impl AsRef<Path>, sync: SyncMode) -> Result<Self> {
        let folder = Arc::new(Folder::own(path.as_ref())?);
        Self::with(folder, sync, SEGMENT, Writer::Thread, None)
    }

    /// Opens the queues on a disk of your own, such as a [simulated](crate::simulated) one. Callers write to it, and no
    /// thread is started: so a test is the same each time. Without a thread, [`SyncMode::Every`] syncs when
    /// [`SyncMode::Never`] does.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), as far as a disk has the cause.
    pub fn on_disk(disk: Arc<dyn Disk>, sync: SyncMode) -> Result<Self> {
        Self::with(disk, sync, SEGMENT, Writer::GatheringCallers, None)
    }

    /// [`on_disk`](Self::on_disk) with segments of this length, so that a test sees many of them, and at a time of its
    /// own. A call has taken effect, and is on the disk, in the poll that ends it.
    ///
    /// # Errors
    ///
    /// As [`on_disk`](Self::on_disk).
    #[doc(hidden)]
    pub fn with_segments(
        disk: Arc<dyn Disk>,
        sync: SyncMode,
        segment: u64,
        now: Timestamp,
    ) -> Result<Self> {
        Self::with(disk, sync, segment, Writer::Callers, Some(now))
    }

    /// The queues of a folder as they are now, also while another process has it. Changes of these queues are not
    /// kept, and no change of the other process shows.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); no folder is made.
    pub fn look(path: impl AsRef<Path>) -> Result<MemoryBackend> {
        crate::recovery::look(&Folder::look(path.as_ref())?)
    }

    /// The state of a folder, as a server's: its owner, and the room on its disk. Changes nothing, and reads no queue.
    ///
    /// # Errors
    ///
    /// `Configuration` if there is no folder with queues at the path.
    pub fn folder_facts(path: impl AsRef<Path>) -> Result<ServerFacts> {
        folder::look(path.as_ref())
    }

    /// Without a time, it is the system's.
    fn with(
        disk: Arc<dyn Disk>,
        sync: SyncMode,
        segment: u64,
        writer: Writer,
        now: Option<Timestamp>,
    ) -> Result<Self> {
        let now = now.unwrap_or_else(|| MemoryBackend::new().time());
        Ok(Self {
            owner: Arc::new(Owner::open(disk, sync, segment, writer, now)?),
            confirmation: None,
        })
    }

    pub(crate) fn core(&self) -> &Core {
        &self.owner.core
    }

    /// Whether a write or a sync has failed, so that the folder has to be opened again.
    #[doc(hidden)]
    pub fn has_failed(&self) -> bool {
        self.core().journal.failure().is_some()
    }

    /// The number of records so far. A call that changes anything makes one.
    #[doc(hidden)]
    pub fn records(&self) -> u64 {
        self.core().journal.next() - 1
    }

    fn handle(&self, name: &QueueName, config: &QueueConfig, memory: AnyQueue) -> AnyQueue {
        let config = config.clone();
        FileQueue::handle(&self.owner, name, config, memory, self.confirmation)
    }

    /// Makes a change of a queue, and records it. `None` if there is no queue.
    async fn change<R: Send>(
        &self,
        name: &QueueName,
        content: impl Fn(u64) -> Vec<u8> + Send,
        work: impl FnOnce(&Core) -> Result<R> + Send,
        free: bool,
    ) -> Result<Option<R>> {
        let core = self.core();
        core.journal.check()?;
        let room = core.journal.room(content(u64::MAX).len(), false).await?;
        let changed = core.on_slot(false, name, |state: &mut SlotState| {
            let Some(number) = state.number else {
                return Ok((Ok(None), state.last));
            };
            let now = core.memory.time();
            let has_stirred = core.memory.stirs(name, now)?;
            let answer = journal::at(now, || work(core));
            let content = match &answer {
                Ok(_) => Some(content(number)),
                // The queue refuses another order of its messages after it has reclaimed others. All else is refused before.
                Err(error) if has_stirred && error.kind() == ErrorKind::Invalid => {
                    Some(record::look(number))
                }
                Err(_) => None,
            };
            if let Some(content) = content {
                state.last = core.journal.append(room, now, content);
            }
            let last = state.last;
            if free && answer.is_ok() {
                core.free(name, state);
            }
            Ok((answer.map(Some), last))
        });
        let (answer, record) = changed?;
        self.owner.done(record).await?;
        answer
    }
}

#[async_trait]
impl Backend for FileBackend {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        config.check().map_err(|error| error.with_queue(name))?;
        let core = self.core();
        core.journal.check()?;
        let record = core.make(name, config).await?;
        let memory = at_once(core.memory.open(name, config))?;
        self.owner.done(record).await?;
        Ok(self.handle(name, config, memory))
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let any = QueueConfig::from(config.clone());
        any.check().map_err(|error| error.with_queue(name))?;
        loop {
            self.core().make(name, &any).await?;
            let content = |number| record::open_or_resize(number, config);
            let work = |core: &Core| at_once(core.memory.open_or_resize(name, config));
            if let Some(memory) = self.change(name, content, work, false).await? {
                return match self.handle(name, &any, memory.into()) {
                    AnyQueue::Bounded(queue) => Ok(queue),
                    other => Err(other.kind().missing(name)),
                };
            }
        }
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        config.check().map_err(|error| error.with_queue(name))?;
        let content = |number| record::reconfigure(number, config);
        let work = |core: &Core| at_once(core.memory.reconfigure(name, config));
        Ok(self
            .change(name, content, work, false)
            .await?
            .unwrap_or(false))
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let core = self.core();
        core.journal.check()?;
        let Some(stored) = at_once(core.memory.open_stored(name))? else {
            return Ok(None);
        };
        let record = core.on_slot(false, name, |state| state.last);
        self.owner.done(record).await?;
        let queue = self.handle(name, &stored.config, stored.queue);
        Ok(Some(StoredQueue::new(stored.config, queue)))
    }

    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let work = |core: &Core| at_once(core.memory.remove(name, removal));
        let removed = self.change(name, record::remove, work, true).await?;
        Ok(removed.unwrap_or(false))
    }

    async fn confirmed(&self, confirmation: Confirmation) -> Result<Arc<dyn Backend>> {
        confirmation.check()?;
        let cannot = match (confirmation.replicas, self.core().journal.syncs()) {
            (0, SyncMode::Never) => "with sync=never it never knows what is on the disk",
            (0, _) => {
                return Ok(Arc::new(Self {
                    owner: Arc::clone(&self.owner),
                    confirmation: Some(confirmation),
                }));
            }
            _ => "it has no replicas: ask for a copy on disk",
        };
        let message = format!("a backend in a folder confirms nothing {confirmation}: {cannot}");
        Err(Error::new(ErrorKind::Configuration, message))
    }

    async fn now(&self) -> Result<Timestamp> {
        Ok(self.core().memory.time())
    }

    async fn facts(&self, name: &QueueName) -> Result<Facts> {
        let core = self.core();
        let mut facts = at_once(core.memory.facts(name))?;
        let mut folder = FolderFacts::default();
        (folder.owner, folder.held) = (Some(std::process::id()), true);
        folder.syncs = core.journal.sync_times.facts();
        let failure = core.journal.failure();
        // After a failure, room does not help.
        let needed = match failure {
            None => core.journal.needed(),
            Some(_) => 0,
        };
        let mut server = folder::facts(&*core.disk, core.memory.time(), folder, needed);
        server.refuses_writes = failure.or(server.refuses_writes);
        facts.server = Some(server);
        Ok(facts)
    }

    fn warnings(&self) -> Vec<String> {
        match self.core().journal.syncs() {
            SyncMode::Always => Vec::new(),
            SyncMode::Every(time) => vec![format!(
                "a loss of power undoes the calls of the last {} ms (sync={0}ms)",
                time.as_millis()
            )],
            SyncMode::Never => {
                vec!["a loss of power undoes calls that were answered (sync=never)".to_owned()]
            }
        }
    }

    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        Ok(Arc::new(FileOnce::open(&self.owner, name).await?))
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        limits::check_page(limit.get())?;
        let core = self.core();
        let mut infos = Vec::new();
        for slot in core.all_slots() {
            let is_next = !slot.is_once && after.is_none_or(|after| slot.name > *after);
            if !is_next || infos.len() == limit.get() {
                continue;
            }
            let Some(stored) = at_once(core.memory.open_stored(&slot.name)).ok().flatten() else {
                continue;
            };
            let kind: QueueKind = stored.config.kind();
            if kind == QueueKind::Rotating {
                let counters = at_once(stored.queue.counters()).ok();
                infos.push(QueueInfo::new(slot.name.clone(), kind, counters));
                continue;
            }
            let called = on_queue(
                core,
                &slot.name,
                &stored.queue,
                Call::Counters,
                Effect::Reads,
            );
            let counters = match called.await {
                Ok(Called::Done(Ok(Answer::Counters(counters)), record)) => {
                    self.owner.done(record).await?;
                    Some(*counters)
                }
                Ok(Called::NoQueue(_)) => continue,
                // A queue that a panic has damaged must not hide the others.
                _ => None,
            };
            infos.push(QueueInfo::new(slot.name.clone(), kind, counters));
        }
        Ok(infos)
    }
}
