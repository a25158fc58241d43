//! A router's types of jobs, as the loop sees them, and their settings.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_core::{Error, Result, in_millis};
use tokio::time::Instant;

use super::{Backoff, Failure, later::after};

/// The longest time for which a job is put back because its type has no free slot.
const LONGEST_PUT_BACK: Duration = Duration::from_secs(30);

/// The shortest one: a shorter delay would only cost round trips.
const SHORTEST_PUT_BACK: Duration = Duration::from_millis(20);

/// The settings of one type of job, for [`Router::on_with`](crate::Router::on_with). The queue's settings hold for
/// whatever they leave out.
#[must_use = "it does nothing until it is given to a router"]
#[derive(Debug, Clone, Default)]
pub struct JobSettings {
    timeout: Option<Duration>,
    retry: Option<Backoff>,
    bury_undecodable: Option<bool>,
    at_most: Option<usize>,
}

impl JobSettings {
    /// The queue's settings.
    pub const fn new() -> Self {
        Self {
            timeout: None,
            retry: None,
            bury_undecodable: None,
            at_most: None,
        }
    }

    /// Cuts a handler of this type off after `limit`, as [`Worker::timeout`](crate::Worker::timeout) does.
    pub const fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Sets how long a failed job of this type waits, as [`Worker::retry`](crate::Worker::retry) does.
    pub fn retry(mut self, backoff: Backoff) -> Self {
        self.retry = Some(backoff);
        self
    }

    /// Buries a job of this type whose body does not decode, or does not, whatever the
    /// [queue's setting](crate::Worker::bury_undecodable).
    pub const fn bury_undecodable(mut self, bury: bool) -> Self {
        self.bury_undecodable = Some(bury);
        self
    }

    /// Limits how many jobs of this type this worker handles at once. No limit by default, besides the worker's
    /// slots.
    ///
    /// A job that comes while all are taken is deferred until a handler is likely to be free, which refunds the attempt.
    /// The delay is 20 ms to 30 s, by the average time of the type's handlers. So the worker's other slots stay free for
    /// other types, and jobs of this type may change their order. Each deferral costs a part of a round trip.
    pub const fn at_most(mut self, jobs: usize) -> Self {
        self.at_most = Some(jobs);
        self
    }
}

/// A type of job in a router.
#[derive(Debug)]
pub(crate) struct JobType {
    pub(crate) name: Arc<str>,
    settings: JobSettings,
    running: Mutex<Slots>,
}

/// The slots of a type that has a limit.
#[derive(Debug, Default)]
struct Slots {
    taken: usize,
    /// The moving average of its handlers' times.
    average: Duration,
    /// Since when all are taken.
    full_since: Option<Instant>,
    /// The time at which the next deferred job will find a free slot, if handlers take the average time.
    next_free: Option<Instant>,
}

impl JobType {
    pub(crate) fn new(name: impl Into<Arc<str>>, settings: JobSettings) -> Self {
        Self {
            name: name.into(),
            settings,
            running: Mutex::default(),
        }
    }

    /// Refuses settings that make no sense; the queue holds a message for `hold`.
    pub(crate) fn check(&self, hold: Option<Duration>) -> Result<()> {
        let name = &self.name;
        if self.settings.at_most == Some(0) {
            return Err(Error::invalid(format!(
                "at most 0 jobs of type `{name}` at once would never be handled: at least 1"
            )));
        }
        if let Some(timeout) = self.settings.timeout {
            if timeout.is_zero() {
                return Err(Error::invalid(format!(
                    "a timeout of 0 leaves jobs of type `{name}` no time to work"
                )));
            }
            if let Some(hold) = hold.filter(|hold| timeout > *hold) {
                return Err(Error::invalid(format!(
                    "a timeout of {} for jobs of type `{name}` is longer than a message is held ({}): shorten \
                     the timeout, or lengthen max_hold",
                    in_millis(timeout),
                    in_millis(hold)
                )));
            }
        }
        match &self.settings.retry {
            Some(backoff) => backoff.check(),
            None => Ok(()),
        }
    }

    pub(crate) const fn timeout(&self) -> Option<Duration> {
        self.settings.timeout
    }

    pub(crate) const fn retry(&self) -> Option<&Backoff> {
        self.settings.retry.as_ref()
    }

    pub(crate) const fn bury_undecodable(&self) -> Option<bool> {
        self.settings.bury_undecodable
    }

    /// Takes a slot of this type for one handling.
    ///
    /// # Errors
    ///
    /// The failure that defers the job until a slot is likely to be free.
    pub(crate) fn take_slot(self: &Arc<Self>) -> Result<Option<SlotGuard>, Failure> {
        let Some(most) = self.settings.at_most else {
            return Ok(None);
        };
        let now = Instant::now();
        let mut slots = self.lock();
        if slots.taken < most {
            slots.taken += 1;
            if slots.taken == most {
                slots.full_since = Some(now);
            }
            return Ok(Some(SlotGuard {
                job_type: Arc::clone(self),
                began: now,
            }));
        }
        // Handlers that take longer than those before them are not yet in the average.
        let full_since = slots.full_since.unwrap_or(now);
        let time = slots.average.max(now.saturating_duration_since(full_since));
        let pace = time / u32::try_from(most).unwrap_or(u32::MAX);
        let next = slots.next_free.map_or(now, |next| next.max(now));
        let next = after(next, pace).min(after(now, LONGEST_PUT_BACK));
        slots.next_free = Some(next);
        let delay = next.saturating_duration_since(now).max(SHORTEST_PUT_BACK);
        let name = &self.name;
        let reason = format!("{most} jobs of type `{name}` run already");
        Err(Failure::defer(reason, delay))
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        // No code panics half-way while it counts.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A taken slot of a type; its drop frees the slot.
#[derive(Debug)]
pub(crate) struct SlotGuard {
    job_type: Arc<JobType>,
    began: Instant,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        let took = self.began.elapsed();
        let mut slots = self.job_type.lock();
        slots.taken -= 1;
        slots.full_since = None;
        // A moving average over some eight jobs; the first one is the average until then.
        slots.average = match slots.average {
            Duration::ZERO => took,
            average => (average * 7 + took) / 8,
        };
    }
}
