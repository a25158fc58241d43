//! Waits and handlers' times, minute by minute, for the list that operators read.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_core::{TIMES_MINUTES, TimesMinute, TimesRecord, Timestamp, Token, millis_ceil};
use tokio::time::Instant;

use super::{event::Event, handler_result::HandlerResult, lease::Lease};

/// Types of jobs that are kept, of all queues together. Others are not.
const MOST: usize = 64;
const MINUTE: Duration = Duration::from_secs(60);

/// The times of a worker, by queue and type of job.
#[derive(Debug)]
pub(crate) struct Times {
    started: Instant,
    jobs: Mutex<BTreeMap<Job, Kept>>,
}

/// A queue, and the type of the job if a router handles it.
type Job = (Arc<str>, Option<Arc<str>>);

#[derive(Debug)]
struct Kept {
    /// The number of its record.
    number: usize,
    /// The minutes in which something ended, by their numbers since the start.
    minutes: VecDeque<(u64, TimesMinute)>,
    has_changed: bool,
}

impl Times {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            started: now,
            jobs: Mutex::default(),
        }
    }

    pub(crate) fn note(&self, queue: &Arc<str>, event: &Event<'_>, now: Instant) {
        match event {
            Event::Leased { lease } if lease.attempt == 1 => {
                if let Some(wait) = wait_of(lease) {
                    self.in_minute(queue, event, now, |minute| minute.wait.note(wait));
                }
            }
            Event::Ended { ending, took, .. } => {
                let failed = ending.is_none_or(HandlerResult::has_failed);
                self.in_minute(queue, event, now, |minute| {
                    minute.handled += 1;
                    minute.failed += u64::from(failed);
                    minute.handler.note(*took);
                });
            }
            _ => {}
        }
    }

    fn in_minute(
        &self,
        queue: &Arc<str>,
        event: &Event<'_>,
        now: Instant,
        note: impl FnOnce(&mut TimesMinute),
    ) {
        let number = self.minute(now);
        let job = event.job().map(|job| Arc::clone(&job.name));
        let mut jobs = self.lock();
        let count = jobs.len();
        let key = (Arc::clone(queue), job);
        if count >= MOST && !jobs.contains_key(&key) {
            return;
        }
        let kept = jobs.entry(key).or_insert_with(|| Kept {
            number: count,
            minutes: VecDeque::new(),
            has_changed: false,
        });
        kept.has_changed = true;
        if kept.minutes.back().is_none_or(|(last, _)| *last < number) {
            kept.minutes.push_back((number, TimesMinute::default()));
        }
        if let Some((_, minute)) = kept.minutes.back_mut() {
            note(minute);
        }
    }

    /// The records that have changed since they were taken last, each with its key: this one, and the number of the
    /// record.
    pub(crate) fn take_changed(&self, key: &str, now: Instant) -> Vec<(String, TimesRecord)> {
        let number = self.minute(now);
        let within = now.saturating_duration_since(self.started);
        let within =
            within.saturating_sub(MINUTE.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX)));
        let mut jobs = self.lock();
        let changed = jobs.iter_mut().filter(|(_, kept)| kept.has_changed);
        let records = changed.map(|((queue, job), kept)| {
            kept.has_changed = false;
            let is_old = |first: &(u64, TimesMinute)| number - first.0 >= TIMES_MINUTES as u64;
            while kept.minutes.front().is_some_and(is_old) {
                kept.minutes.pop_front();
            }
            let job = job.as_ref().map(ToString::to_string);
            let mut record = TimesRecord::new(queue.to_string(), job);
            record.last_ms = millis_ceil(within);
            let minutes = kept.minutes.iter();
            record.minutes = minutes
                .map(|(own, minute)| (number - own, minute.clone()))
                .collect();
            (format!("{key}-{}", kept.number), record)
        });
        records.collect()
    }

    /// Takes all records again at the next beat, because the last ones may not be written.
    pub(crate) fn repeat(&self) {
        self.lock()
            .values_mut()
            .for_each(|kept| kept.has_changed = true);
    }

    /// The number of a minute since the start.
    fn minute(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_secs() / MINUTE.as_secs()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Job, Kept>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From the due time of a stamped message, or from the push, to the lease.
fn wait_of(lease: &Lease) -> Option<Duration> {
    let leased = Timestamp::from_millis(lease.receipt.token.get() / Token::PER_MILLI);
    match lease.headers.due_at() {
        Some(due) => Some(leased.since(due)),
        None => lease.age,
    }
}
