//! How long the last syncs took.

use std::{
    collections::VecDeque,
    io,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use queue_core::{SyncFacts, Timestamp};
use queue_memory::MemoryBackend;

/// The number of syncs that are kept.
const KEPT: usize = 32;

/// The times of the last syncs, and when the last one ended.
#[derive(Debug, Default)]
pub(crate) struct SyncTimes(Mutex<(VecDeque<Duration>, Timestamp)>);

impl SyncTimes {
    /// Does a sync, and notes its time.
    pub(crate) fn time(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let begun = Instant::now();
        sync()?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.truncate(KEPT - 1);
        kept.0.push_front(begun.elapsed());
        kept.1 = MemoryBackend::new().time();
        Ok(())
    }

    pub(crate) fn facts(&self) -> Option<SyncFacts> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut times: Vec<Duration> = kept.0.iter().copied().collect();
        times.sort_unstable();
        let mut facts = SyncFacts::default();
        facts.slowest = *times.last()?;
        facts.median = times[times.len() / 2];
        (facts.count, facts.last) = (times.len() as u64, kept.1);
        Some(facts)
    }
}

/// A line of text that [`read`] reads.
pub(crate) fn line(facts: &SyncFacts) -> String {
    let (median, slowest) = (facts.median.as_millis(), facts.slowest.as_millis());
    let last = facts.last.as_millis();
    format!(
        "syncs: {} median_ms: {median} slowest_ms: {slowest} last: {last}\n",
        facts.count
    )
}

pub(crate) fn read(line: &str) -> Option<SyncFacts> {
    let mut numbers = line.split(' ').skip(1).step_by(2).map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    let mut facts = SyncFacts::default();
    facts.count = next()?;
    facts.median = Duration::from_millis(next()?);
    facts.slowest = Duration::from_millis(next()?);
    facts.last = Timestamp::from_millis(next()?);
    Some(facts)
}
