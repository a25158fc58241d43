//! The samples of the queues that this process keeps: for rates, charts, and the metric of standstill.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, PoisonError, RwLock},
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
use maud::{Markup, html};
use queue_core::{Backend, QueueInfo, QueueName};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, sleep, timeout_at},
};

use super::Web;
use crate::{Rates, Sample, Sampler};

/// Queues that are sampled.
const SAMPLED: NonZeroUsize = NonZeroUsize::new(1_000).unwrap();

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
    samples: RwLock<BTreeMap<QueueName, Sample>>,
    /// The number of samples so far.
    count: watch::Sender<u64>,
    streams: Arc<Semaphore>,
}

impl Watch {
    pub(super) fn new(every: Duration) -> Self {
        Self(Arc::new(Inner {
            every: every.max(SHORTEST),
            samples: RwLock::default(),
            count: watch::Sender::new(0),
            streams: Arc::new(Semaphore::new(STREAMS)),
        }))
    }

    /// Samples until nobody has this watch any more.
    pub(super) fn start(&self, backend: Arc<dyn Backend>) {
        let (weak, every) = (Arc::downgrade(&self.0), self.0.every);
        tokio::spawn(async move {
            let mut sampler = Sampler::new(backend, SAMPLED);
            while let Some(inner) = weak.upgrade() {
                // If the backend does not answer, the last samples stay, and the pages say why.
                if let Ok(samples) = sampler.sample().await {
                    let samples = samples.into_iter();
                    let samples = samples.map(|sample| (sample.info.name.clone(), sample));
                    *inner
                        .samples
                        .write()
                        .unwrap_or_else(PoisonError::into_inner) = samples.collect();
                }
                inner.count.send_modify(|count| *count += 1);
                drop(inner);
                sleep(every).await;
            }
        });
    }

    /// Reads the sample of a queue; none if it is not sampled.
    pub(super) fn of<T>(&self, queue: &QueueName, read: impl FnOnce(&Sample) -> T) -> Option<T> {
        let samples = self
            .0
            .samples
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        samples.get(queue).map(read)
    }

    /// The sampled queues, as they were at the last sample.
    pub(super) fn all(&self) -> Vec<QueueInfo> {
        let samples = self
            .0
            .samples
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        samples.values().map(|sample| sample.info.clone()).collect()
    }

    pub(super) fn every(&self) -> Duration {
        self.0.every
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

/// Width and height of a chart.
const CHART: (f64, f64) = (600.0, 80.0);

/// Rates as lines, the latest on the right.
pub(super) fn chart(rates: &[Rates], every: Duration) -> Markup {
    let highest = rates
        .iter()
        .flat_map(|rates| [rates.pushed, rates.acked, rates.failed]);
    let highest = highest.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let line = |of: fn(&Rates) -> f64| {
        let step = CHART.0 / (rates.len().max(2) - 1) as f64;
        let points = rates.iter().enumerate().map(|(nth, rates)| {
            let height = of(rates) / highest * (CHART.1 - 2.0);
            format!("{:.1},{:.1}", nth as f64 * step, CHART.1 - 1.0 - height)
        });
        points.collect::<Vec<_>>().join(" ")
    };
    let last = rates.last().copied().unwrap_or_default();
    let span = crate::duration_in_words(every * u32::try_from(rates.len()).unwrap_or(u32::MAX));
    html! {
        figure {
            svg viewBox={ "0 0 " (CHART.0) " " (CHART.1) } preserveAspectRatio="none" role="img" aria-label={ "Rates of the last " (span) } {
                polyline class="pushed" points=(line(|rates| rates.pushed)) {}
                polyline class="acked" points=(line(|rates| rates.acked)) {}
                polyline class="failed" points=(line(|rates| rates.failed)) {}
            }
            figcaption {
                span.pushed { "in " (rate(last.pushed)) "/s" } ", "
                span.acked { "out " (rate(last.acked)) "/s" } ", "
                span.failed { "failed " (rate(last.failed)) "/s" }
                "; the last " (span) ", at most " (rate(highest)) "/s"
            }
        }
    }
}

/// Messages a second.
pub(super) fn rate(rate: f64) -> String {
    match rate {
        0.0..0.05 => "0".to_owned(),
        0.05..10.0 => format!("{rate:.1}"),
        _ => format!("{rate:.0}"),
    }
}
