//! The loop: one future that holds everything in flight, and drops none of it.
//!
//! It is polled by hand instead of through `select!`, since what is in flight is a changing set:
//! a call, an extension and a wait for each queue. Each pass goes through all of it in the same
//! order, so that a simulation repeats, until nothing moves; then it sleeps until something wakes
//! it, or until the earliest time that anybody asked for.

mod alarm;
mod beats;
mod calls;
mod feed;
mod jobs;
mod phases;
mod reach;
#[cfg(feature = "metrics")]
mod samples;
mod waits;
mod watch;

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context as Poller, Poll},
    time::Duration,
};

use queue_core::{Error, Result};
use tokio::{
    sync::mpsc,
    time::{Instant, Sleep},
};

use self::{alarm::Alarm, feed::Feed, jobs::Job, phases::Stage};
#[cfg(feature = "rate-limit")]
use super::rate::Limiter;
use super::{
    Health, Report,
    event::{Event, Phase},
    events::Events,
    note::Note,
    settings::Pool,
    shares::Shares,
    source::Source,
};

pub(crate) struct Runner {
    pool: Pool,
    events: Events,
    feeds: Vec<Feed>,
    shares: Shares,
    jobs: BTreeMap<u64, Job>,
    last_job: u64,
    notes: mpsc::UnboundedReceiver<Note>,
    /// What handlers' tasks send by.
    notebook: mpsc::UnboundedSender<Note>,
    stage: Stage,
    /// What was open when the shutdown began.
    open_before: u64,
    /// When the first of the free slots became free, unless they have been offered since.
    freed: Option<Instant>,
    /// What a handler takes, on a moving average.
    usual: Duration,
    #[cfg(feature = "rate-limit")]
    rate: Option<Limiter>,
    /// No lease ends and no handler is to be cut off before this.
    watch_due: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

/// Runs a worker until `shutdown` ends, and to its end.
pub(crate) async fn run(
    pool: Pool,
    sources: Vec<Source>,
    health: Health,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<Report> {
    pool.check()?;
    if sources.is_empty() {
        return Err(Error::invalid("a worker without a queue: add one"));
    }
    for source in &sources {
        source.terms.check()?;
    }
    let mut runner = Runner::new(pool, sources, health.clone());
    runner.enter(Phase::Working);
    let mut shutdown = pin!(shutdown);
    poll_fn(|cx| runner.poll(cx, shutdown.as_mut())).await;
    Ok(runner.finish(&health))
}

impl Runner {
    fn new(pool: Pool, sources: Vec<Source>, health: Health) -> Self {
        let events = Events::new(health, &pool);
        let now = Instant::now();
        let seed = pool.outage_seed();
        let shares = Shares::new(pool.sharing, sources.iter().map(|s| s.terms.weight));
        let feeds = sources.into_iter().enumerate();
        let feeds = feeds.map(|(index, source)| {
            let given = source.terms.name.clone();
            let name = given.unwrap_or_else(|| Arc::from(format!("queue {}", index + 1)));
            Feed::new(source, name, now, seed.wrapping_add(index as u64))
        });
        #[cfg(feature = "rate-limit")]
        let rate = pool.rate.and_then(|rate| Limiter::new(rate, now));
        let (notebook, notes) = mpsc::unbounded_channel();
        Self {
            pool,
            events,
            feeds: feeds.collect(),
            shares,
            jobs: BTreeMap::new(),
            last_job: 0,
            notes,
            notebook,
            stage: Stage::Working,
            open_before: 0,
            #[cfg(feature = "rate-limit")]
            rate,
            freed: None,
            usual: Duration::ZERO,
            watch_due: None,
            timer: Box::pin(tokio::time::sleep_until(now)),
        }
    }

    fn poll<S: Future<Output = ()>>(
        &mut self,
        cx: &mut Poller<'_>,
        mut shutdown: Pin<&mut S>,
    ) -> Poll<()> {
        loop {
            let mut alarm = Alarm::new(Instant::now());
            let mut moved = false;
            if self.stage.is_working() && shutdown.as_mut().poll(cx).is_ready() {
                self.begin_shutdown(alarm.now);
                moved = true;
            }
            while let Poll::Ready(Some(note)) = self.notes.poll_recv(cx) {
                self.take(note, alarm.now);
                moved = true;
            }
            for index in 0..self.feeds.len() {
                moved |= self.poll_call(index, cx, alarm.now);
                moved |= self.poll_beat(index, cx, alarm.now);
                moved |= self.poll_wait(index, cx, alarm.now);
            }
            moved |= self.advance(&mut alarm);
            moved |= self.watch_leases(&mut alarm);
            moved |= self.send_calls(&mut alarm);
            moved |= self.send_beats(&mut alarm);
            moved |= self.set_waits(&mut alarm);
            #[cfg(feature = "metrics")]
            {
                moved |= self.take_samples(cx, &mut alarm);
            }
            if self.is_over(alarm.now) {
                return Poll::Ready(());
            }
            if moved {
                continue;
            }
            let Some(at) = alarm.earliest() else {
                return Poll::Pending;
            };
            self.timer.as_mut().reset(at);
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn take(&mut self, note: Note, now: Instant) {
        match note {
            Note::Ended { job, endings, took } => self.ended(job, endings.as_deref(), took, now),
            Note::Extend {
                job,
                entry,
                ttl,
                reply,
            } => self.asked(job, entry, ttl, reply),
        }
    }

    fn enter(&self, phase: Phase) {
        self.events.emit(&Arc::from(""), &Event::Phase(phase));
    }
}
