//! The list of running workers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{OperatorsList, OperatorsRecord};
use crate::{Backend, MessageId, Result, millis_ceil};

/// The name of the queue that has the list. Nobody leases from it.
pub const WORKER_LIST: &str = WorkerRecord::LIST;
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

impl OperatorsRecord for WorkerRecord {
    const LIST: &'static str = "qk-workers";
    const CAPACITY: usize = 1_000;
    const LISTED: Duration = Duration::from_secs(86_400);
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
    list: OperatorsList<WorkerRecord>,
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
        Ok(Self {
            list: OperatorsList::open(backend).await?,
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
        let beat = [(self.key.clone(), record.clone())];
        // A list that is full of leased records keeps the last one.
        let written = self.list.write(&beat).await?;
        self.last = written.into_iter().flatten().next().or(self.last);
        Ok(())
    }

    /// Takes the worker off the list.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::cancel`](crate::Leasing::cancel).
    pub async fn leave(&mut self) -> Result<()> {
        match self.last.take() {
            Some(id) => self.list.remove(id).await,
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
    let listed = OperatorsList::<WorkerRecord>::read(backend).await?;
    let workers = listed.into_iter().map(|listed| {
        let beats = Duration::from_millis(listed.record.next_beat_ms);
        WorkerInfo {
            gone: listed.age > beats.saturating_mul(MISSED),
            last_beat_ms: millis_ceil(listed.age),
            record: listed.record,
        }
    });
    let mut workers: Vec<_> = workers.collect();
    workers.sort_by(|one, other| one.record.holder.cmp(&other.record.holder));
    Ok(workers)
}
