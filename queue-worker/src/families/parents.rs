//! Jobs of a worker that wait for children: they come back early, once a watch has seen the last end.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use queue_core::{
    ChildrenRecord, Due, Leasing, LeasingExt, MessageId, Rescheduled, Result, Running, Spawn,
};
use tokio::time::Instant;

use super::look::look;

/// The most jobs of one queue that are watched at once. Others come back at their own time.
const MOST: usize = 1_000;

/// The pause after a failed call.
const AFTER_FAILURE: Duration = Duration::from_millis(250);

/// How long an end without a kept result, of which no hint comes, may go unnoticed: a quarter of the time since the last
/// end that was noticed, within these bounds.
const UNNOTICED: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The pause between two tries to wake a parent that is not put back yet.
const BETWEEN_WAKES: Duration = Duration::from_millis(20);

/// Watches over the children of jobs. A watch is a hint: it makes its job come back soon after the last end. A hint that
/// is lost, because the process dies for one, costs no more than the time for which the job was put back.
#[derive(Debug)]
pub(crate) struct WaitingParents {
    spawn: Arc<dyn Spawn>,
    watches: Mutex<BTreeMap<MessageId, Watch>>,
}

#[derive(Debug)]
struct Watch {
    _task: Running,
    is_over: Arc<AtomicBool>,
}

/// A job to wake, and the children that it waits for.
pub(crate) struct Waiting {
    pub(crate) parent: (Arc<dyn Leasing>, MessageId),
    pub(crate) children: Arc<dyn Leasing>,
    pub(crate) record: ChildrenRecord,
    /// Whether the first dead child wakes the job.
    pub(crate) wakes_at_death: bool,
    /// The time at which the job comes back by itself.
    pub(crate) until: Instant,
}

impl WaitingParents {
    pub(crate) const fn new(spawn: Arc<dyn Spawn>) -> Self {
        Self {
            spawn,
            watches: Mutex::new(BTreeMap::new()),
        }
    }

    /// Watches over the children of a job, in place of an earlier watch.
    pub(crate) fn watch(&self, waiting: Waiting) {
        let id = waiting.parent.1;
        let mut watches = self.watches.lock().unwrap_or_else(PoisonError::into_inner);
        watches.retain(|_, watch| !watch.is_over.load(Ordering::Relaxed));
        if watches.len() >= MOST && !watches.contains_key(&id) {
            return;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let task = self.spawn.spawn(Box::pin(async move {
            waiting.wake_in_time().await;
            ends.store(true, Ordering::Relaxed);
        }));
        watches.insert(
            id,
            Watch {
                _task: task,
                is_over,
            },
        );
    }
}

impl Waiting {
    async fn wake_in_time(mut self) {
        let mut last_end = Instant::now();
        while Instant::now() < self.until {
            match self.is_over(&mut last_end).await {
                Ok(true) => return self.wake().await,
                Ok(false) => {}
                Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
            }
        }
    }

    /// Looks at the children, and waits for the end of one.
    async fn is_over(&mut self, last_end: &mut Instant) -> Result<bool> {
        let queue = &*self.children;
        let known = self.record.ended_count();
        let seen = look(queue, &mut self.record, self.wakes_at_death).await?;
        let Some(waits_for) = seen.waits_for else {
            return Ok(true);
        };
        if self.wakes_at_death && seen.dead > 0 {
            return Ok(true);
        }
        if self.record.ended_count() > known {
            *last_end = Instant::now();
        }
        // Many children end between two looks.
        let left = self.record.count() - self.record.ended_count();
        let pause = Duration::from_micros(left.saturating_mul(10));
        tokio::time::sleep(pause.clamp(Duration::from_millis(1), AFTER_FAILURE)).await;
        let longest = self.until.saturating_duration_since(Instant::now());
        let unnoticed = (last_end.elapsed() / 4).clamp(UNNOTICED.0, UNNOTICED.1);
        let wait = longest.min(unnoticed);
        queue.wait_for_end(waits_for, wait).await?;
        Ok(false)
    }

    /// Makes the job due now. It may still be leased, because the worker has not deferred it yet.
    async fn wake(&self) {
        let (queue, id) = &self.parent;
        while Instant::now() < self.until {
            match queue.reschedule_one(*id, Due::from(Duration::ZERO)).await {
                Ok(Rescheduled::Moved) => return,
                Ok(Rescheduled::TooLate) => match queue.find_one(*id).await {
                    Ok(found) if found.is_over() => return,
                    _ => tokio::time::sleep(BETWEEN_WAKES).await,
                },
                Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
            }
        }
    }
}
