//! Samples of queues, and the rates between them, kept in this process alone.

use std::{
    collections::{BTreeMap, VecDeque},
    num::NonZeroUsize,
    sync::Arc,
    time::Duration,
};

use queue_core::{Backend, Counters, Leasing, QueueKind, QueueName, Result, Timestamp};
use serde::Serialize;

/// Samples that are kept of each queue.
const KEPT: usize = 60;

/// Samples the queues of a backend again and again, and remembers the last sixty samples of each.
#[derive(Debug)]
pub struct Sampler {
    backend: Arc<dyn Backend>,
    most: NonZeroUsize,
    sampled: BTreeMap<QueueName, Sampled>,
}

#[derive(Debug)]
struct Sampled {
    queue: Arc<dyn Leasing>,
    last: (Timestamp, Counters),
    rates: VecDeque<Rates>,
}

/// Messages in and out, a second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct Rates {
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
    pub queue: QueueName,
    /// Its kind.
    pub kind: QueueKind,
    /// Its counters; `None` of a ring, and of a queue that cannot be read.
    pub counters: Option<Counters>,
    /// The rates between its last samples, the latest last.
    pub rates: Vec<Rates>,
}

impl Sampler {
    /// Samples up to `most` queues, in the order of their names.
    pub const fn new(backend: Arc<dyn Backend>, most: NonZeroUsize) -> Self {
        Self {
            backend,
            most,
            sampled: BTreeMap::new(),
        }
    }

    /// Takes one sample of each queue.
    ///
    /// # Errors
    ///
    /// Errors of the backend.
    pub async fn sample(&mut self) -> Result<Vec<Sample>> {
        let listed = self.backend.queues(None, self.most).await?;
        let now = self.backend.now().await?;
        let mut samples = Vec::with_capacity(listed.len());
        for info in listed {
            let counters = self.counters(&info.name, now).await?;
            let rates = self
                .sampled
                .get(&info.name)
                .map(|sampled| sampled.rates.iter().copied().collect());
            samples.push(Sample {
                queue: info.name,
                kind: info.kind,
                counters,
                rates: rates.unwrap_or_default(),
            });
        }
        let is_listed = |name: &QueueName| samples.iter().any(|sample| sample.queue == *name);
        self.sampled.retain(|name, _| is_listed(name));
        Ok(samples)
    }

    /// Reads a queue's counters, and notes the rates since the last time; none of what has no counters.
    async fn counters(&mut self, name: &QueueName, now: Timestamp) -> Result<Option<Counters>> {
        if let Some(sampled) = self.sampled.get_mut(name) {
            let counters = match sampled.queue.counters().await {
                Ok(counters) => counters,
                Err(error) if error.is_transient() => return Err(error),
                Err(_) => return Ok(None),
            };
            let (then, before) = sampled.last;
            let elapsed = now.since(then);
            if let Some(rates) = rates(&before, &counters, elapsed) {
                sampled.rates.push_back(rates);
                while sampled.rates.len() > KEPT {
                    sampled.rates.pop_front();
                }
            }
            sampled.last = (now, counters);
            return Ok(Some(counters));
        }
        let stored = match self.backend.open_stored(name).await {
            Ok(stored) => stored,
            Err(error) if error.is_transient() => return Err(error),
            Err(_) => return Ok(None),
        };
        let Some(queue) = stored.and_then(|stored| stored.queue.leasing()) else {
            return Ok(None);
        };
        let counters = queue.counters().await?;
        let sampled = Sampled {
            queue,
            last: (now, counters),
            rates: VecDeque::new(),
        };
        self.sampled.insert(name.clone(), sampled);
        Ok(Some(counters))
    }
}

/// The rates between two samples; none if no time passed, or if the queue was made again in between.
fn rates(before: &Counters, after: &Counters, elapsed: Duration) -> Option<Rates> {
    let seconds = elapsed.as_secs_f64();
    if seconds == 0.0 {
        return None;
    }
    let failed = |counters: &Counters| counters.retried + counters.died + counters.expired;
    let rate = |before: u64, after: u64| Some(after.checked_sub(before)? as f64 / seconds);
    Some(Rates {
        pushed: rate(before.accepted, after.accepted)?,
        acked: rate(before.acked, after.acked)?,
        failed: rate(failed(before), failed(after))?,
    })
}
