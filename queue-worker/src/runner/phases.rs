//! The phases from shutdown to the end.

use std::{
    task::{Context as Poller, Poll},
    time::Duration,
};

use tokio::time::Instant;

use super::{Runner, alarm::Alarm, refused_results::SettlingAlone, served::ServedQueue};
use crate::{
    Control, Health, Report, Stop,
    event::{Event, Phase},
    later::after,
};

/// After it has cut handlers off, the worker tries at least for this time to settle the remaining results.
const LAST_CALL: Duration = Duration::from_secs(1);

/// A shutdown that has begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shutdown {
    began: Instant,
    /// The end of the present phase.
    until: Instant,
    /// Whether every handler had ended when the drain was over; true until then.
    in_time: bool,
    /// The open deliveries when it began.
    open_before: u64,
}

impl Runner {
    /// Whether no shutdown has begun.
    pub(super) const fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Working | Phase::Paused)
    }

    /// Whether it may ask for messages.
    pub(super) const fn may_lease(&self) -> bool {
        matches!(self.phase, Phase::Working)
    }

    /// Follows what the program wants of its worker. Returns true if that has changed.
    pub(super) fn follow(&mut self, cx: &mut Poller<'_>, now: Instant) -> bool {
        let Poll::Ready(seen) = self.steered.as_mut().poll(cx) else {
            return false;
        };
        self.steered = Box::pin(Control::changed(seen));
        let steering = self.control.steering();
        if let Some(concurrency) = steering.concurrency {
            self.settings.concurrency = concurrency;
        }
        if !self.is_working() {
            return true;
        }
        if steering.draining {
            self.begin_shutdown(now);
        } else if steering.paused != (self.phase == Phase::Paused) {
            self.enter(match steering.paused {
                true => Phase::Paused,
                false => Phase::Working,
            });
        }
        true
    }

    pub(super) fn begin_shutdown(&mut self, now: Instant) {
        self.shutdown = Some(Shutdown {
            began: now,
            until: after(now, self.settings.drain),
            in_time: true,
            open_before: self.events.counts().open(),
        });
        self.enter(Phase::Draining);
        self.shutting_down.send_replace(true);
        self.release_gathered(now);
    }

    /// Enters the next phase if it is time. Returns true if it did.
    pub(super) fn advance(&mut self, alarm: &mut Alarm) -> bool {
        // In the last phase, this sets the alarm for the time at which the worker gives up the rest.
        let Some(shutdown) = self.shutdown.as_mut().filter(|it| alarm.has_come(it.until)) else {
            return false;
        };
        match self.phase {
            Phase::Draining => {
                shutdown.until = after(alarm.now, self.settings.cleanup);
                shutdown.in_time = self.jobs.is_empty();
                self.enter(Phase::Stopping);
                self.stop_all();
                true
            }
            Phase::Stopping => {
                let last = self.settings.cleanup.max(LAST_CALL);
                planted!(NoLastCall => last = self.settings.cleanup);
                shutdown.until = after(alarm.now, last);
                self.enter(Phase::Ending);
                for job in self.jobs.values_mut() {
                    job.task = None;
                }
                true
            }
            _ => false,
        }
    }

    fn stop_all(&self) {
        let stop = Stop::Shutdown;
        for job in self.jobs.values() {
            let name = &self.queues[job.queue].name;
            for lease in job.leases.iter().filter(|lease| !lease.is_lost()) {
                lease.stop(stop);
                self.events.emit(name, &Event::Told { lease, stop });
            }
        }
    }

    /// Whether no work or no time is left. The loop always awaits a call in flight.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let Some(shutdown) = &self.shutdown else {
            return false;
        };
        if self.queues.iter().any(|served| served.call.is_some()) {
            return false;
        }
        let done = self.jobs.is_empty() && self.queues.iter().all(ServedQueue::is_settled);
        done || self.phase == Phase::Ending && now >= shutdown.until
    }

    /// Counts the deliveries that the worker gave up, and reports.
    pub(super) fn finish(mut self, health: &Health) -> Report {
        let now = Instant::now();
        self.events.now = now;
        for job in std::mem::take(&mut self.jobs).into_values() {
            let name = &self.queues[job.queue].name;
            for lease in &job.leases {
                self.events.emit(name, &Event::Abandoned { lease });
            }
        }
        for served in &mut self.queues {
            let alone = served.alone.take().map(SettlingAlone::into_results);
            for pending in alone.into_iter().flatten().chain(served.pending.drain(..)) {
                self.events.emit(&served.name, &pending.unsettled());
            }
        }
        self.enter(Phase::Ended);
        let counts = health.counts();
        let drained = |it: Shutdown| it.in_time && counts.open() == it.open_before;
        Report {
            counts,
            shutdown: self
                .shutdown
                .map_or(Duration::ZERO, |it| now.saturating_duration_since(it.began)),
            drained: self.shutdown.is_none_or(drained),
        }
    }
}
