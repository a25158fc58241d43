//! Samples of queues, and the rates between them, kept in this process alone.

use std::{
    collections::{BTreeMap, VecDeque},
    num::NonZeroUsize,
    sync::Arc,
    time::Duration,
};

use queue_core::{
    Backend, Counters, QueueInfo, QueueKind, QueueName, Result, Timestamp, millis_ceil,
};
use serde::{Serialize, Serializer};

use crate::{
    diagnosis::{has_moved, is_shown_only},
    open::list_queues,
};

/// Rates that are kept of each queue, at most.
const KEPT: usize = 360;
/// The time for which they are kept.
const KEPT_FOR: Duration = Duration::from_secs(3_600);

/// Samples the queues of a backend again and again, and remembers the rates of each: the last 360, of the last hour.
#[derive(Debug)]
pub struct Sampler {
    backend: Arc<dyn Backend>,
    most: NonZeroUsize,
    kept: usize,
    sampled: BTreeMap<QueueName, Sampled>,
    /// The last queue of the last slice, and the queues of this pass so far.
    #[cfg_attr(
        not(feature = "web"),
        expect(dead_code, reason = "only the page samples in slices")
    )]
    last: (Option<QueueName>, usize),
}

/// The samples of queues whose names follow one another.
#[cfg(feature = "web")]
#[derive(Debug)]
pub(crate) struct Slice {
    /// The name behind which it begins.
    pub(crate) after: Option<QueueName>,
    /// Its last name; none if no queue is behind it.
    pub(crate) until: Option<QueueName>,
    pub(crate) samples: Vec<Sample>,
}

#[derive(Debug)]
struct Sampled {
    last: (Timestamp, Counters),
    rates: VecDeque<Rates>,
    /// The time since which messages are ready, and none moves.
    stands_since: Option<Timestamp>,
}

/// Messages in and out, a second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Rates {
    /// The end of the time that they are of, by the backend's clock.
    #[serde(rename = "at_ms")]
    pub at: Timestamp,
    /// Messages pushed.
    pub pushed: f64,
    /// Messages acked.
    pub acked: f64,
    /// Attempts that failed: retried, died, or left by a lease that expired.
    pub failed: f64,
}

/// A queue as it was sampled last.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sample {
    /// The queue.
    #[serde(flatten)]
    pub info: QueueInfo,
    /// The rates between its last samples, the latest last.
    pub rates: Vec<Rates>,
    /// How long messages have been ready while none was handed out or settled: since the oldest became ready, or, while
    /// somebody has messages, as far as this sampler has seen.
    #[serde(rename = "stands_for_ms", serialize_with = "in_millis")]
    pub stands_for: Duration,
}

fn in_millis<S: Serializer>(
    time: &Duration,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_u64(millis_ceil(*time))
}

impl Sampler {
    /// Samples up to `most` queues, in the order of their names.
    pub const fn new(backend: Arc<dyn Backend>, most: NonZeroUsize) -> Self {
        Self {
            backend,
            most,
            kept: KEPT,
            sampled: BTreeMap::new(),
            last: (None, 0),
        }
    }

    /// Remembers the last `rates` rates of each queue, where there are many queues.
    #[must_use]
    pub const fn with_kept(mut self, rates: usize) -> Self {
        self.kept = rates;
        self
    }

    /// Takes one sample of each queue.
    ///
    /// # Errors
    ///
    /// Errors of the backend.
    pub async fn sample(&mut self) -> Result<Vec<Sample>> {
        let listed = list_queues(&*self.backend, self.most.get()).await?;
        let now = self.backend.now().await?;
        let before = std::mem::take(&mut self.sampled);
        Ok(self.note(listed, now, before))
    }

    /// Takes one sample of each of the next queues by name: up to the sampler's number of them, and up to `all` in a pass.
    /// Behind the last queue, a new pass begins.
    ///
    /// # Errors
    ///
    /// Errors of the backend.
    #[cfg(feature = "web")]
    pub(crate) async fn sample_next(&mut self, all: NonZeroUsize) -> Result<Slice> {
        let (after, so_far) = self.last.clone();
        let listed = self.backend.queues(after.as_ref(), self.most).await?;
        let now = self.backend.now().await?;
        let so_far = so_far + listed.len();
        let until = listed.last().map(|last| last.name.clone());
        let until = until.filter(|_| listed.len() == self.most.get() && so_far < all.get());
        self.last = (until.clone(), until.as_ref().map_or(0, |_| so_far));
        let is_within = |(name, _): &(QueueName, Sampled)| {
            let begins = after.as_ref().is_none_or(|after| name > after);
            begins && until.as_ref().is_none_or(|until| name <= until)
        };
        let sampled = std::mem::take(&mut self.sampled).into_iter();
        let (before, others) = sampled.partition(is_within);
        self.sampled = others;
        Ok(Slice {
            samples: self.note(listed, now, before),
            after,
            until,
        })
    }

    fn note(
        &mut self,
        listed: Vec<QueueInfo>,
        now: Timestamp,
        mut before: BTreeMap<QueueName, Sampled>,
    ) -> Vec<Sample> {
        let samples = listed.into_iter().map(|info| {
            let before = before.remove(&info.name);
            // A ring counts no visits.
            let counters = info.counters.filter(|_| info.kind != QueueKind::Rotating);
            let Some(counters) = counters else {
                return Sample::without_rates(info);
            };
            let shown_only = is_shown_only(&info.name, info.kind, &counters);
            let mut next = Sampled::behind(before, now, counters, shown_only);
            next.rates
                .drain(..next.rates.len().saturating_sub(self.kept));
            let sample = Sample {
                rates: next.rates.iter().copied().collect(),
                stands_for: next
                    .stands_since
                    .map_or(Duration::ZERO, |since| now.since(since)),
                info: info.clone(),
            };
            self.sampled.insert(info.name, next);
            sample
        });
        samples.collect()
    }
}

impl Sample {
    const fn without_rates(info: QueueInfo) -> Self {
        Self {
            info,
            rates: Vec::new(),
            stands_for: Duration::ZERO,
        }
    }
}

impl Sampled {
    /// The sample that follows one.
    fn behind(before: Option<Self>, now: Timestamp, counters: Counters, shown_only: bool) -> Self {
        let Some(mut this) = before else {
            return Self {
                last: (now, counters),
                rates: VecDeque::new(),
                stands_since: None,
            };
        };
        let (then, last) = this.last;
        this.rates.extend(rates(&last, &counters, then, now));
        let is_old = |rates: &Rates| now.since(rates.at) > KEPT_FOR;
        while this.rates.len() > KEPT || this.rates.front().is_some_and(is_old) {
            this.rates.pop_front();
        }
        let is_ready = counters.depth.ready > 0 && last.depth.ready > 0;
        let stands = is_ready && !shown_only && !has_moved(&last, &counters);
        // While nobody has a message, those that are ready have waited in vain since the oldest became ready.
        let waits = match counters.depth.leased {
            0 => counters.oldest_ready.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        let since = this.stands_since.unwrap_or(then);
        let oldest = now.as_millis().saturating_sub(millis_ceil(waits));
        this.stands_since = stands.then(|| since.min(Timestamp::from_millis(oldest)));
        this.last = (now, counters);
        this
    }
}

/// The rates between two samples; none if no time passed, or if the queue was made again in between.
fn rates(before: &Counters, after: &Counters, then: Timestamp, now: Timestamp) -> Option<Rates> {
    let seconds = now.since(then).as_secs_f64();
    if seconds == 0.0 {
        return None;
    }
    let failed = |counters: &Counters| counters.retried + counters.died + counters.expired;
    let rate = |before: u64, after: u64| Some(after.checked_sub(before)? as f64 / seconds);
    Some(Rates {
        at: now,
        pushed: rate(before.accepted, after.accepted)?,
        acked: rate(before.acked, after.acked)?,
        failed: rate(failed(before), failed(after))?,
    })
}
