//! The list of running workers, for operators.
//!
//! It is a bounded queue: each worker has one message under a distinct key, and replaces it at each beat (B7). So the
//! list works on each backend that has bounded queues, and has the promises of a queue.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Json, LeasingExt, MessageId, Overflow, Page,
    Place, Push, QueueName, Result, TimeToLive, limits, millis_ceil,
};

/// The name of the queue that has the list. Nobody leases from it.
pub const WORKER_LIST: &str = "qk-workers";
/// Workers that are listed. One more drops the one whose last beat is the oldest.
const CAPACITY: usize = 1_000;
/// How long a worker is listed after its last beat.
const LISTED: Duration = Duration::from_secs(86_400);
/// Missed beats after which a worker counts as gone.
const MISSED: u32 = 3;

/// The record that a worker writes at each beat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkerRecord {
    /// The name that its leases carry.
    pub holder: String,
    /// Name and version of the program.
    pub program: String,
    /// The queues that it serves, by its names for them.
    pub queues: Vec<String>,
    /// Handlers that it runs at once, at most.
    pub slots: u64,
    /// Messages in handlers.
    pub in_flight: u64,
    /// Milliseconds since it was started.
    pub uptime_ms: u64,
    /// Milliseconds until its next beat.
    pub next_beat_ms: u64,
}

/// A worker, as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WorkerInfo {
    /// Its record of its last beat.
    #[serde(flatten)]
    pub record: WorkerRecord,
    /// Milliseconds since its last beat, by the backend's clock.
    pub last_beat_ms: u64,
    /// Whether it has missed three beats: it was killed, stands still, or does not reach the backend. A worker that ends
    /// by itself takes itself off the list.
    pub gone: bool,
}

/// The place of one worker in the list of workers.
#[derive(Debug)]
pub struct WorkerRegistration {
    list: Arc<dyn BoundedQueue>,
    key: String,
    last: Option<MessageId>,
}

impl WorkerRegistration {
    /// Opens the list for a worker. `key` is a name that no other worker has.
    ///
    /// # Errors
    ///
    /// The errors of [`Backend::open_bounded`].
    pub async fn open(backend: &dyn Backend, key: String) -> Result<Self> {
        let config = BoundedConfig::new(CAPACITY);
        let list = backend.open_bounded(&name(), &config).await?;
        Ok(Self {
            list,
            key,
            last: None,
        })
    }

    /// Lists the worker, in place of what it said before.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`](crate::Leasing::push).
    pub async fn beat(&mut self, record: &WorkerRecord) -> Result<()> {
        let push =
            Push::new(Json::write(record)?).with_time_to_live(TimeToLive::drop_after(LISTED));
        let push = push
            .with_distinct(self.key.clone())
            .with_overflow(Overflow::DropOldest);
        // A list that is full of leased records keeps the last one.
        self.last = self.list.push_one(push).await?.id().or(self.last);
        Ok(())
    }

    /// Takes the worker off the list.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::cancel`](crate::Leasing::cancel).
    pub async fn leave(&mut self) -> Result<()> {
        match self.last.take() {
            Some(id) => self.list.cancel_one(id).await.map(drop),
            None => Ok(()),
        }
    }
}

/// The workers that registered with this backend, by their holders' names: those of the last day, up to 1,000.
///
/// # Errors
///
/// The errors of [`Backend::open_stored`] and of [`Leasing::peek`](crate::Leasing::peek).
pub async fn workers(backend: &dyn Backend) -> Result<Vec<WorkerInfo>> {
    let stored = backend.open_stored(&name()).await?;
    let Some(AnyQueue::Bounded(list)) = stored.map(|stored| stored.queue) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let mut page = Page::first(limits::MAX_PAGE);
    loop {
        let read = list.peek(Place::Ready, page).await?;
        // A record that does not decode is of a later version.
        found.extend(read.entries.iter().filter_map(|one| {
            let record: WorkerRecord = Json::read(&one.message.body).ok()?;
            let beats = Duration::from_millis(record.next_beat_ms);
            Some(WorkerInfo {
                gone: one.age > beats.saturating_mul(MISSED),
                last_beat_ms: millis_ceil(one.age),
                record,
            })
        }));
        match read.next {
            Some(next) => page = Page::after(next, limits::MAX_PAGE),
            None => break,
        }
    }
    found.sort_by(|one, other| one.record.holder.cmp(&other.record.holder));
    Ok(found)
}

fn name() -> QueueName {
    QueueName::new(WORKER_LIST).expect("the name is one")
}
