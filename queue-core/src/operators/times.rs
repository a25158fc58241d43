//! The list of waits and handlers' times, minute by minute, of the workers that keep them.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::{OperatorsList, OperatorsRecord};
use crate::{Backend, Result};

/// Minutes that are kept.
pub const TIMES_MINUTES: usize = 60;
/// A minute in milliseconds.
const MINUTE: u64 = 60_000;
/// Classes of a histogram. Each is twice as wide as the one before it, and the last has all that is longer: 37 hours.
const CLASSES: u64 = 31;
/// The end of the first class in microseconds.
const FIRST: u64 = 125;

/// Counts of durations by class: up to 125 µs, 250 µs, 500 µs, 1 ms, 2 ms and so on. A quantile of it is off by a
/// fourth at most for times that are spread over their class, and never by more than half.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimesHistogram(BTreeMap<u64, u64>);

impl TimesHistogram {
    /// Counts a duration.
    pub fn note(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let parts = micros.div_ceil(FIRST).max(1);
        // The number of doublings of the first class.
        let class = u64::from(parts.next_power_of_two().trailing_zeros());
        let count = self.0.entry(class.min(CLASSES - 1)).or_default();
        *count = count.saturating_add(1);
    }

    /// Adds the counts of another one.
    pub fn add(&mut self, other: &Self) {
        for (class, count) in &other.0 {
            let own = self.0.entry(*class).or_default();
            *own = own.saturating_add(*count);
        }
    }

    /// The duration that this part of the durations does not exceed, from 0 to 1; `None` if nothing was counted.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let all: f64 = self.0.values().map(|count| *count as f64).sum();
        let mut wanted = part.clamp(0.0, 1.0) * all;
        let last = self.0.keys().next_back()?;
        for (class, count) in &self.0 {
            let count = *count as f64;
            if count >= wanted || class == last {
                let end = (FIRST << class) as f64;
                let begin = if *class == 0 { 0.0 } else { end / 2.0 };
                let within = (wanted / count).clamp(0.0, 1.0);
                let micros = (end - begin).mul_add(within, begin);
                return Some(Duration::from_nanos((micros * 1e3) as u64));
            }
            wanted -= count;
        }
        None
    }
}

/// The jobs of one type that ended within a minute, and how long they waited and took.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
#[non_exhaustive]
pub struct TimesMinute {
    /// Handlings that ended.
    pub handled: u64,
    /// Handlings that failed, among them.
    pub failed: u64,
    /// From the push, or the due time, to the first delivery.
    pub wait: TimesHistogram,
    /// From a handler's start to its end.
    pub handler: TimesHistogram,
}

impl TimesMinute {
    fn add(&mut self, other: &Self) {
        self.handled = self.handled.saturating_add(other.handled);
        self.failed = self.failed.saturating_add(other.failed);
        self.wait.add(&other.wait);
        self.handler.add(&other.handler);
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl From<TimesMinute> for Vec<u64> {
    /// The handled and the failed ones, the number of classes of waits, and each class of both histograms with its count.
    fn from(minute: TimesMinute) -> Self {
        let (waits, handlers) = (minute.wait.0, minute.handler.0);
        let mut numbers = vec![minute.handled, minute.failed, waits.len() as u64];
        for (class, count) in waits.into_iter().chain(handlers) {
            numbers.extend([class, count]);
        }
        numbers
    }
}

impl TryFrom<Vec<u64>> for TimesMinute {
    type Error = &'static str;

    fn try_from(numbers: Vec<u64>) -> std::result::Result<Self, Self::Error> {
        let damaged = "the numbers of a minute are damaged";
        let [handled, failed, waits, ref classes @ ..] = numbers[..] else {
            return Err(damaged);
        };
        let waits = usize::try_from(waits)
            .ok()
            .and_then(|waits| waits.checked_mul(2));
        let both = waits.and_then(|waits| classes.split_at_checked(waits));
        let (wait, handler) = both.ok_or(damaged)?;
        let histogram = |numbers: &[u64]| {
            let (pairs, rest) = numbers.as_chunks::<2>();
            let pairs: BTreeMap<u64, u64> = pairs
                .iter()
                .map(|[class, count]| (*class, *count))
                .collect();
            let is_good = rest.is_empty() && pairs.len() * 2 == numbers.len();
            let is_good = is_good && pairs.keys().all(|class| *class < CLASSES);
            is_good.then_some(TimesHistogram(pairs)).ok_or(damaged)
        };
        Ok(Self {
            handled,
            failed,
            wait: histogram(wait)?,
            handler: histogram(handler)?,
        })
    }
}

/// The record of a worker for one type of job on one queue. A later record replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TimesRecord {
    /// The queue, by the worker's name for it.
    pub queue: String,
    /// The type of the job; `None` if no router handles the queue.
    pub job: Option<String>,
    /// The milliseconds of the last minute so far.
    pub last_ms: u64,
    /// The minutes in which something ended, each with the number of minutes between it and the last one.
    pub minutes: Vec<(u64, TimesMinute)>,
}

impl TimesRecord {
    /// The record of a type of job. Without times it is as good as none.
    pub const fn new(queue: String, job: Option<String>) -> Self {
        Self {
            queue,
            job,
            last_ms: 0,
            minutes: Vec::new(),
        }
    }
}

impl OperatorsRecord for TimesRecord {
    const LIST: &'static str = "qk-times";
    const CAPACITY: usize = 1_000;
    const LISTED: Duration = Duration::from_secs(3_600);
}

/// The times of one type of job on one queue, of all workers together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JobTimes {
    /// The queue, by the workers' name for it.
    pub queue: String,
    /// The type of the job; `None` if no router handles the queue.
    pub job: Option<String>,
    /// The last hour: first the minute that ends now, last the one that began an hour ago. The first one has up to half a
    /// minute more, which has not come to an end.
    pub minutes: Vec<TimesMinute>,
}

/// The times that workers keep (`keep_times` of a worker), of each queue and each type of job, by name: those of the last
/// hour. Nothing if no worker keeps any.
///
/// Minutes of several workers do not begin together. Each counts as the minute that has its middle.
///
/// # Errors
///
/// The errors of [`OperatorsList::read`].
pub async fn job_times(backend: &dyn Backend) -> Result<Vec<JobTimes>> {
    let mut jobs: BTreeMap<(String, Option<String>), JobTimes> = BTreeMap::new();
    for listed in OperatorsList::<TimesRecord>::read(backend).await? {
        let record = listed.record;
        let age = u64::try_from(listed.age.as_millis()).unwrap_or(u64::MAX);
        let key = (record.queue.clone(), record.job.clone());
        let job = jobs.entry(key).or_insert_with(|| JobTimes {
            queue: record.queue,
            job: record.job,
            minutes: vec![TimesMinute::default(); TIMES_MINUTES],
        });
        for (before, minute) in record.minutes {
            let length = if before == 0 { record.last_ms } else { MINUTE };
            let middle = before
                .saturating_mul(MINUTE)
                .saturating_add(record.last_ms)
                .saturating_add(age);
            let middle = middle.saturating_sub(length / 2);
            let index = usize::try_from(middle / MINUTE).unwrap_or(usize::MAX);
            if let Some(own) = job.minutes.get_mut(index) {
                own.add(&minute);
            }
        }
    }
    let shown = |job: &JobTimes| job.minutes.iter().any(|minute| !minute.is_empty());
    Ok(jobs.into_values().filter(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(micros: impl IntoIterator<Item = u64>) -> TimesHistogram {
        let mut histogram = TimesHistogram::default();
        for micros in micros {
            histogram.note(Duration::from_micros(micros));
        }
        histogram
    }

    #[test]
    fn a_quantile_is_off_by_a_fourth_at_most() {
        let spread = histogram((1..=1_000).map(|milli| milli * 1_000));
        for (part, millis) in [(0.5, 500.0), (0.95, 950.0), (0.1, 100.0), (1.0, 1_000.0)] {
            let found = spread.quantile(part).expect("it has some").as_secs_f64() * 1e3;
            assert!(
                (found / millis - 1.0).abs() < 0.25,
                "{part}: {found} for {millis}"
            );
        }
        // Times that are all the same are at a known place of their class, whatever that is.
        for micros in [0, 1, 125, 126, 1_000, 77_777, 3_600_000_000] {
            let found = histogram([micros; 9])
                .quantile(0.5)
                .expect("it has some")
                .as_micros() as f64;
            let micros = micros as f64;
            assert!(
                found <= (micros * 1.5).max(125.0) && found >= micros * 0.5 - 1.0,
                "{micros}: {found}"
            );
        }
        assert_eq!(TimesHistogram::default().quantile(0.5), None);
        assert!(histogram([u64::MAX]).quantile(1.0).is_some());
    }

    #[test]
    fn a_minute_comes_back_as_it_was_and_a_damaged_one_is_refused() {
        let minute = TimesMinute {
            handled: 7,
            failed: 2,
            wait: histogram([10, 10_000, 10_000]),
            handler: histogram([1, 2, 1_000_000, u64::MAX]),
        };
        let json = serde_json::to_string(&minute).expect("it is written");
        assert_eq!(json, "[7,2,2,0,1,7,2,0,2,13,1,30,1]");
        assert_eq!(
            serde_json::from_str::<TimesMinute>(&json).expect("it was written"),
            minute
        );
        for damaged in [
            "[]",
            "[1,2]",
            "[1,2,1]",
            "[1,2,1,3]",
            "[1,2,0,31,1]",
            "[1,2,0,3,1,3,1]",
            "[1,2,9223372036854775808]",
        ] {
            assert!(
                serde_json::from_str::<TimesMinute>(damaged).is_err(),
                "{damaged}"
            );
        }
    }
}
