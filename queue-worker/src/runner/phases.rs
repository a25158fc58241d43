//! The phases from shutdown to the end.

use std::time::Duration;

use tokio::time::Instant;

use super::{Runner, alarm::Alarm};
use crate::{
    Health, Report, Stop,
    event::{Event, Phase},
};

/// After it has cut handlers off, the worker tries at least this long to settle the remaining
/// results.
const LAST_CALL: Duration = Duration::from_secs(1);

/// The loop's phase, with its times. The last three count from `began`, the start of the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifecycle {
    Working,
    Draining {
        began: Instant,
        until: Instant,
    },
    /// `in_time` says whether every handler had ended when the drain was over.
    Stopping {
        began: Instant,
        until: Instant,
        in_time: bool,
    },
    Ending {
        began: Instant,
        until: Instant,
        in_time: bool,
    },
}

impl Lifecycle {
    pub(super) const fn is_working(self) -> bool {
        matches!(self, Self::Working)
    }
}

impl Runner {
    pub(super) fn begin_shutdown(&mut self, now: Instant) {
        self.lifecycle = Lifecycle::Draining {
            began: now,
            until: after(now, self.settings.drain),
        };
        self.open_before = self.events.counts().open();
        self.enter(Phase::Draining);
    }

    /// Enters the next phase if it is time. Answers whether it did.
    pub(super) fn advance(&mut self, alarm: &mut Alarm) -> bool {
        match self.lifecycle {
            Lifecycle::Draining { began, until } if alarm.has_come(until) => {
                self.lifecycle = Lifecycle::Stopping {
                    began,
                    until: after(alarm.now, self.settings.cleanup),
                    in_time: self.jobs.is_empty(),
                };
                self.enter(Phase::Stopping);
                self.tell_all();
                true
            }
            Lifecycle::Stopping {
                began,
                until,
                in_time,
            } if alarm.has_come(until) => {
                self.lifecycle = Lifecycle::Ending {
                    began,
                    until: after(alarm.now, self.settings.cleanup.max(LAST_CALL)),
                    in_time,
                };
                self.enter(Phase::Ending);
                for job in self.jobs.values_mut() {
                    job.task = None;
                }
                true
            }
            Lifecycle::Ending { until, .. } => {
                // Sets the alarm for the time at which the worker gives up the rest.
                alarm.has_come(until);
                false
            }
            _ => false,
        }
    }

    fn tell_all(&self) {
        let stop = Stop::Shutdown;
        for job in self.jobs.values() {
            let name = &self.queues[job.queue].name;
            for lease in job.leases.iter().filter(|lease| !lease.is_lost()) {
                lease.tell(stop);
                self.events.emit(name, &Event::Told { lease, stop });
            }
        }
    }

    /// Whether no work or no time is left. The loop awaits a call in flight in any case.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        if self.lifecycle.is_working() || self.queues.iter().any(|served| served.call.is_some()) {
            return false;
        }
        let done =
            self.jobs.is_empty() && self.queues.iter().all(|served| served.pending.is_empty());
        let late = matches!(self.lifecycle, Lifecycle::Ending { until, .. } if now >= until);
        done || late
    }

    /// Counts the deliveries that the worker gave up, and reports.
    pub(super) fn finish(mut self, health: &Health) -> Report {
        for job in std::mem::take(&mut self.jobs).into_values() {
            let name = &self.queues[job.queue].name;
            for lease in &job.leases {
                self.events.emit(name, &Event::Abandoned { lease });
            }
        }
        for served in &mut self.queues {
            for pending in served.pending.drain(..) {
                self.events.emit(&served.name, &pending.unsettled());
            }
        }
        self.enter(Phase::Ended);
        let now = Instant::now();
        let (began, in_time) = match self.lifecycle {
            Lifecycle::Working => (now, true),
            Lifecycle::Draining { began, .. } => (began, true),
            Lifecycle::Stopping { began, in_time, .. }
            | Lifecycle::Ending { began, in_time, .. } => (began, in_time),
        };
        let counts = health.counts();
        Report {
            counts,
            shutdown: now.saturating_duration_since(began),
            drained: in_time && counts.open() == self.open_before,
        }
    }
}

/// Adds a time, cut to 30 years: an `Instant` cannot hold all that a `Duration` can.
pub(super) fn after(now: Instant, time: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    now + time.min(FAR)
}
