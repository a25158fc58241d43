//! The list of running workers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    Listed, OperatorsList, OperatorsRecord,
    wishes::{WorkerWish, wish_for},
};
use crate::{Backend, MessageId, Pushed, Result, millis_ceil};

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
    /// The key of its record, by which [`ask_worker`](crate::ask_worker) reaches it; empty for a worker that cannot be
    /// asked.
    #[serde(default)]
    pub key: String,
    /// Its state.
    #[serde(default)]
    pub state: WorkerState,
    /// The wish that came since its last beat.
    #[serde(default)]
    pub asked: Option<WorkerWish>,
}

/// The state of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkerState {
    /// It receives messages.
    #[default]
    Works,
    /// It receives no messages; its handlers go on.
    Quiet,
    /// It ends after its handlers.
    Drains,
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
    /// Whether somebody has replaced the record, and the wish was not read yet.
    is_asked: bool,
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
            is_asked: false,
        })
    }

    /// Lists the worker, in place of what it said before. One call.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`](crate::Leasing::push).
    pub async fn beat(&mut self, record: &WorkerRecord) -> Result<()> {
        let mut record = record.clone();
        record.key.clone_from(&self.key);
        let written = self.list.write(&[(self.key.clone(), record)]).await?;
        for pushed in written {
            if let Pushed::Replaced { replaced, .. } = pushed {
                self.is_asked |= self.last != Some(replaced);
            }
            // A list that is full of leased records keeps the last one.
            self.last = pushed.id().or(self.last);
        }
        Ok(())
    }

    /// The wish of an operator for this worker. Makes a call only if somebody has replaced its record before the last
    /// beat, as [`ask_worker`](crate::ask_worker) does.
    ///
    /// # Errors
    ///
    /// The errors of [`OperatorsList::read`]. The next call tries again.
    pub async fn wish(&mut self, backend: &dyn Backend) -> Result<Option<WorkerWish>> {
        if !self.is_asked {
            return Ok(None);
        }
        let wish = wish_for(backend, &self.key).await?;
        self.is_asked = false;
        Ok(wish)
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
    let workers = listed.into_iter().map(|listed| WorkerInfo {
        gone: is_gone(&listed),
        last_beat_ms: millis_ceil(listed.age),
        record: listed.record,
    });
    let mut workers: Vec<_> = workers.collect();
    workers.sort_by(|one, other| one.record.holder.cmp(&other.record.holder));
    Ok(workers)
}

/// Whether a worker has missed three beats.
pub(super) fn is_gone(listed: &Listed<WorkerRecord>) -> bool {
    let beats = Duration::from_millis(listed.record.next_beat_ms);
    listed.age > beats.saturating_mul(MISSED)
}
