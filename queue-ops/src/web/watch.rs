//! The samples of the queues that this process keeps: for rates, charts, and the metric of standstill.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};

use axum::{
    extract::State,
    http::StatusCode,
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use queue_core::{Backend, QueueName, job_times};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, sleep, timeout_at},
};

use super::{Web, times::Times};
use crate::{Sample, Sampler, samples::Slice};

/// Queues that are sampled at a time. If there are more, the next sample goes on behind them.
const AT_ONCE: NonZeroUsize = NonZeroUsize::new(1_000).unwrap();
/// Queues that are sampled: the first by name.
pub(super) const SAMPLED: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// The least time between two looks at the times that workers keep: they write them every ten seconds.
const TIMES: Duration = Duration::from_secs(30);

/// Samples that are older are not shown in place of the queues.
const FRESH: Duration = Duration::from_secs(60);

/// Pages that follow the samples at a time: each keeps a connection.
const STREAMS: usize = 128;
/// The time for which a page follows the samples. Then its script connects again, unless the page was closed.
const STREAM: Duration = Duration::from_secs(600);

/// The shortest interval between two samples.
const SHORTEST: Duration = Duration::from_millis(100);

/// The last samples. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Watch(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    every: Duration,
    samples: RwLock<Samples>,
    /// The times that workers keep, and when they were read.
    times: RwLock<Option<(Instant, Times)>>,
    /// The number of samples so far.
    count: watch::Sender<u64>,
    streams: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Samples {
    queues: BTreeMap<QueueName, Sample>,
    /// The time of the last sample, once all queues have been sampled.
    last: Option<Instant>,
    /// Whether the backend answered when it was asked last.
    is_answered: bool,
}

impl Watch {
    pub(super) fn new(every: Duration) -> Self {
        Self(Arc::new(Inner {
            every: every.max(SHORTEST),
            samples: RwLock::default(),
            times: RwLock::default(),
            count: watch::Sender::new(0),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }))
    }

    /// Samples until nobody has this watch any more.
    pub(super) fn start(&self, backend: Arc<dyn Backend>) {
        let (weak, every) = (Arc::downgrade(&self.0), self.0.every);
        tokio::spawn(async move {
            let mut sampler = Sampler::new(Arc::clone(&backend), AT_ONCE);
            while let Some(inner) = weak.upgrade() {
                // If the backend does not answer, the last samples stay, and the pages say why.
                let sampled = sampler.sample_next(SAMPLED).await;
                inner.read_times(&*backend).await;
                let is_first_pass = inner.note(sampled.ok());
                inner.count.send_modify(|count| *count += 1);
                drop(inner);
                if is_first_pass {
                    tokio::task::yield_now().await;
                } else {
                    sleep(every).await;
                }
            }
        });
    }

    /// Reads the sample of a queue; none if it is not sampled.
    pub(super) fn of<T>(&self, queue: &QueueName, read: impl FnOnce(&Sample) -> T) -> Option<T> {
        self.0.read().queues.get(queue).map(read)
    }

    /// Reads all samples, with the time since the last one. None while they are old, before all queues
    /// were sampled, and while the backend does not answer.
    pub(super) fn all<T>(&self, read: impl Fn(&Sample) -> T) -> Option<(Duration, Vec<T>)> {
        let samples = self.0.read();
        let age = samples.last?.elapsed();
        let is_valid = age < FRESH && samples.is_answered;
        is_valid.then(|| (age, samples.queues.values().map(read).collect()))
    }

    /// Reads the times that workers keep; none while they are old.
    pub(super) fn times<T>(&self, read: impl FnOnce(&Times) -> Option<T>) -> Option<T> {
        let times = self.0.times.read().unwrap_or_else(PoisonError::into_inner);
        let (at, times) = times.as_ref()?;
        let fresh = FRESH.max(self.0.every + TIMES);
        if at.elapsed() < fresh {
            read(times)
        } else {
            None
        }
    }

    pub(super) fn every(&self) -> Duration {
        self.0.every
    }
}

impl Inner {
    /// Reads the times that workers keep, unless that was done lately. Where none keeps any, it is one call.
    async fn read_times(&self, backend: &dyn Backend) {
        let last = {
            let times = self.times.read().unwrap_or_else(PoisonError::into_inner);
            times.as_ref().map(|(at, _)| *at)
        };
        if last.is_some_and(|last| last.elapsed() < TIMES) {
            return;
        }
        let read = async {
            let jobs = job_times(backend).await?;
            Ok::<_, queue_core::Error>(Times::new(jobs, backend.now().await?))
        };
        // If they cannot be read, the last ones stay until they are old.
        if let Ok(read) = read.await {
            let mut times = self.times.write().unwrap_or_else(PoisonError::into_inner);
            *times = Some((Instant::now(), read));
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Samples> {
        self.samples.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the samples of a slice of the queues; without one, the backend did not answer. Returns true while some
    /// queues have never been sampled.
    fn note(&self, slice: Option<Slice>) -> bool {
        let mut samples = self.samples.write().unwrap_or_else(PoisonError::into_inner);
        samples.is_answered = slice.is_some();
        let Some(slice) = slice else {
            return false;
        };
        let is_within = |name: &QueueName| {
            let begins = slice.after.as_ref().is_none_or(|after| name > after);
            begins && slice.until.as_ref().is_none_or(|until| name <= until)
        };
        samples.queues.retain(|name, _| !is_within(name));
        let new = slice.samples.into_iter();
        samples
            .queues
            .extend(new.map(|sample| (sample.info.name.clone(), sample)));
        if slice.until.is_none() || samples.last.is_some() {
            samples.last = Some(Instant::now());
        }
        samples.last.is_none()
    }
}

/// An event after each sample, upon which the script of a page reads the page again.
pub(super) async fn events(State(web): State<Web>) -> Response {
    let refused = |status: StatusCode, why: &'static str| (status, why).into_response();
    let Some(watch) = web.watch else {
        return refused(StatusCode::NOT_FOUND, "nothing is sampled here");
    };
    let Ok(permit) = Arc::clone(&watch.0.streams).try_acquire_owned() else {
        let many = "too many pages are open: this one does not follow the queues";
        return refused(StatusCode::SERVICE_UNAVAILABLE, many);
    };
    let (count, end) = (watch.0.count.subscribe(), Instant::now() + STREAM);
    let events =
        futures_util::stream::unfold((count, permit), move |(mut count, permit)| async move {
            timeout_at(end, count.changed()).await.ok()?.ok()?;
            let number = *count.borrow_and_update();
            let event = Event::default().data(number.to_string());
            Some((Ok::<_, std::convert::Infallible>(event), (count, permit)))
        });
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}
