//! Reading a queue for its diagnosis.

use std::num::NonZeroUsize;

use queue_core::{
    AnyQueue, Backend, Counters, DeadLetter, ErrorKind, Facts, Group, Leasing, Page, Peeked, Place,
    QueueConfig, QueueName, Result, Timestamp, WorkerInfo,
};
use std::sync::Arc;

/// Entries of a page.
const PAGE: usize = 100;
/// Groups that are read: each costs the server a few small commands.
const GROUPS: usize = 200;

/// A queue, as it was read.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) name: QueueName,
    pub(super) config: QueueConfig,
    pub(super) now: Timestamp,
    pub(super) facts: Facts,
    /// `None` of a ring.
    pub(super) line: Option<Line>,
    /// The first groups, of a grouped queue.
    pub(super) groups: Vec<Group>,
    /// The workers that register, and serve this queue.
    pub(super) workers: Vec<WorkerInfo>,
}

/// The messages of a leasing queue.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) queue: Arc<dyn Leasing>,
    pub(super) counters: Counters,
    pub(super) leased: Vec<Peeked>,
    pub(super) delayed: Vec<Peeked>,
    pub(super) dead: Vec<DeadLetter>,
}

impl Look {
    /// Reads a queue; none if there is none.
    pub(super) async fn at(backend: &dyn Backend, name: &QueueName) -> Result<Option<Self>> {
        let Some(stored) = backend.open_stored(name).await? else {
            return Ok(None);
        };
        let facts = backend.facts(name).await?;
        let line = match stored.queue.leasing() {
            Some(queue) => Some(Line::of(queue).await?),
            None => None,
        };
        let groups = match &stored.queue {
            AnyQueue::Grouped(queue) => queue.groups(Page::first(GROUPS)).await?.entries,
            _ => Vec::new(),
        };
        // Without messages, no worker is missed.
        let is_empty = |line: &Line| line.counters.depth.ready + line.counters.depth.leased == 0;
        let mut workers = match line.as_ref().is_none_or(is_empty) {
            true => Vec::new(),
            false => lacking(queue_core::workers(backend).await)?.unwrap_or_default(),
        };
        workers.retain(|worker| {
            worker
                .record
                .queues
                .iter()
                .any(|served| **served == *name.as_str())
        });
        Ok(Some(Self {
            workers,
            name: name.clone(),
            config: stored.config,
            now: backend.now().await?,
            facts,
            line,
            groups,
        }))
    }

    /// The capacity, of a bounded queue.
    pub(super) fn capacity(&self) -> Option<NonZeroUsize> {
        match &self.config {
            QueueConfig::Bounded(config) => NonZeroUsize::new(config.capacity),
            _ => None,
        }
    }
}

impl Line {
    async fn of(queue: Arc<dyn Leasing>) -> Result<Self> {
        let counters = match lacking(queue.counters().await)? {
            Some(counters) => counters,
            None => {
                let mut counters = Counters::default();
                counters.depth = queue.depth().await?;
                counters
            }
        };
        let depth = counters.depth;
        // A page of nothing costs a call as well.
        let page = async |place, count| match count {
            0 => Ok(Vec::new()),
            _ => match lacking(queue.peek(place, Page::first(PAGE)).await)? {
                Some(page) => Ok(page.entries),
                None => Ok(Vec::new()),
            },
        };
        let leased = page(Place::Leased, depth.leased).await?;
        let delayed = page(Place::Delayed, depth.delayed).await?;
        let dead = match depth.dead {
            0 => Vec::new(),
            _ => {
                let page = lacking(queue.dead_letters(Page::first(PAGE)).await)?;
                page.map_or_else(Vec::new, |page| page.entries)
            }
        };
        Ok(Self {
            queue,
            counters,
            leased,
            delayed,
            dead,
        })
    }
}

/// The answer to a call; `None` if the queue has no such call, as those of published strategies.
fn lacking<T>(called: Result<T>) -> Result<Option<T>> {
    match called {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.kind() == ErrorKind::Configuration => Ok(None),
        Err(error) => Err(error),
    }
}
