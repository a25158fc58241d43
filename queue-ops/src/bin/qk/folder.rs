//! Queues in a folder. A command that only looks reads the folder beside the process that has it, and holds no lock;
//! any other command opens the folder, if no process has it.

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use queue_core::{
    AnyQueue, Backend, Error, ErrorKind, Facts, QueueConfig, QueueInfo, QueueName, Result,
    StoredQueue, Timestamp,
    call::{Answer, Call, Service},
};
use queue_file::FileBackend;
use tokio::sync::Mutex;

/// Counts are read again after this time: a diagnosis looks at them twice.
const FRESH: Duration = Duration::from_millis(250);
/// Everything else is read again after this time, and after four times the time that reading takes.
const RECENT: Duration = Duration::from_secs(1);

/// Opens the folder of a URL; none is made. `only_looks`: without its lock.
pub(crate) fn open(url: &str, only_looks: bool) -> Result<Arc<dyn Backend>> {
    let path = FileBackend::path(url)?;
    FileBackend::folder_facts(&path)?;
    Ok(match only_looks {
        true => Arc::new(Look(Arc::new(Folder {
            path,
            seen: Mutex::new(None),
        }))),
        false => Arc::new(FileBackend::connect(url)?),
    })
}

/// The queues of a folder as they were a moment ago.
#[derive(Debug)]
struct Seen {
    queues: Arc<dyn Backend>,
    begun: Instant,
    took: Duration,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    seen: Mutex<Option<Seen>>,
}

impl Folder {
    /// The queues as they were at most a short time ago.
    async fn look(&self, is_count: bool) -> Result<Arc<dyn Backend>> {
        let mut seen = self.seen.lock().await;
        if let Some(seen) = &*seen {
            let longest = match is_count {
                true => FRESH,
                false => RECENT.max(seen.took * 4),
            };
            // Since the reading was over.
            if seen.begun.elapsed().saturating_sub(seen.took) < longest {
                return Ok(Arc::clone(&seen.queues));
            }
        }
        let (begun, path) = (Instant::now(), self.path.clone());
        let looked = tokio::task::spawn_blocking(move || FileBackend::look(path)).await;
        let looked = looked.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        let queues: Arc<dyn Backend> = Arc::new(looked?);
        *seen = Some(Seen {
            queues: Arc::clone(&queues),
            begun,
            took: begun.elapsed(),
        });
        Ok(queues)
    }

    /// The error of a call that changes something.
    fn refused(&self, call: &str) -> Error {
        let message = format!(
            "`{call}` changes the queues of the folder {}, and this command only looks at them: run a command that \
             changes them when no process has the folder, or act on the page `queue_ops::web` in that process",
            self.path.display()
        );
        Error::new(ErrorKind::Configuration, message)
    }
}

/// The backend of a command that only looks.
#[derive(Debug)]
struct Look(Arc<Folder>);

#[async_trait]
impl Backend for Look {
    async fn open(&self, name: &QueueName, _: &QueueConfig) -> Result<AnyQueue> {
        let stored = self.open_stored(name).await?;
        let stored = stored.ok_or_else(|| self.0.refused("open").with_queue(name))?;
        Ok(stored.queue)
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let stored = self.0.look(false).await?.open_stored(name).await?;
        Ok(stored.map(|stored| {
            let looked = LookedQueue {
                folder: Arc::clone(&self.0),
                name: name.clone(),
            };
            let queue = AnyQueue::behind(Arc::new(looked), stored.config.kind());
            StoredQueue::new(stored.config, queue)
        }))
    }

    async fn now(&self) -> Result<Timestamp> {
        self.0.look(false).await?.now().await
    }

    /// Nobody knows which consumers of another process wait.
    async fn facts(&self, _: &QueueName) -> Result<Facts> {
        let mut facts = Facts::default();
        facts.server = Some(FileBackend::folder_facts(&self.0.path)?);
        Ok(facts)
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        let queues = self.0.look(after.is_none()).await?;
        queues.queues(after, limit).await
    }
}

/// A queue of a folder that is looked at.
#[derive(Debug)]
struct LookedQueue {
    folder: Arc<Folder>,
    name: QueueName,
}

#[async_trait]
impl Service for LookedQueue {
    async fn call(&self, call: Call) -> Result<Answer> {
        let is_count = match &call {
            Call::Counters | Call::Depth => true,
            Call::DeadLetters(_)
            | Call::Peek(..)
            | Call::Find(_)
            | Call::NextDue
            | Call::Groups(_)
            | Call::Recent(_)
            | Call::Capacity
            | Call::List(_)
            | Call::Len => false,
            call => return Err(self.folder.refused(call.name()).with_queue(&self.name)),
        };
        let queues = self.folder.look(is_count).await?;
        let gone = || {
            let removed = Error::new(ErrorKind::Configuration, "the queue was removed meanwhile");
            removed.with_queue(&self.name)
        };
        let stored = queues.open_stored(&self.name).await?.ok_or_else(gone)?;
        stored.queue.call(call).await
    }
}
