//! From shutdown to the end.

use std::time::Duration;

use tokio::time::Instant;

use super::{Runner, alarm::Alarm};
use crate::{
    Health, Report, Stop,
    event::{Event, Phase},
};

/// What is left to settle is tried at least for so long after handlers were cut off.
const LAST_CALL: Duration = Duration::from_secs(1);

/// Where in its life the loop is; the last three since `began`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Working,
    Draining {
        began: Instant,
        until: Instant,
    },
    /// `in_time` if every handler had ended when the drain was over.
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

impl Stage {
    pub(super) const fn is_working(self) -> bool {
        matches!(self, Self::Working)
    }
}

impl Runner {
    pub(super) fn begin_shutdown(&mut self, now: Instant) {
        self.stage = Stage::Draining {
            began: now,
            until: after(now, self.pool.drain),
        };
        self.open_before = self.events.counts().open();
        self.enter(Phase::Draining);
    }

    /// Goes on to the next stage if it is time. Answers whether it was.
    pub(super) fn advance(&mut self, alarm: &mut Alarm) -> bool {
        match self.stage {
            Stage::Draining { began, until } if alarm.has_come(until) => {
                self.stage = Stage::Stopping {
                    began,
                    until: after(alarm.now, self.pool.cleanup),
                    in_time: self.jobs.is_empty(),
                };
                self.enter(Phase::Stopping);
                self.tell_all();
                true
            }
            Stage::Stopping {
                began,
                until,
                in_time,
            } if alarm.has_come(until) => {
                self.stage = Stage::Ending {
                    began,
                    until: after(alarm.now, self.pool.cleanup.max(LAST_CALL)),
                    in_time,
                };
                self.enter(Phase::Ending);
                for job in self.jobs.values_mut() {
                    job.task = None;
                }
                true
            }
            Stage::Ending { until, .. } => {
                // For the alarm: what is not over then is given up.
                alarm.has_come(until);
                false
            }
            _ => false,
        }
    }

    fn tell_all(&self) {
        let stop = Stop::Shutdown;
        for job in self.jobs.values() {
            let name = &self.feeds[job.feed].name;
            for lease in job.leases.iter().filter(|lease| !lease.is_lost()) {
                lease.tell(stop);
                self.events.emit(name, &Event::Told { lease, stop });
            }
        }
    }

    /// Whether nothing is left to do, or no time to do it. A call in flight is awaited in any case.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        if self.stage.is_working() || self.feeds.iter().any(|feed| feed.call.is_some()) {
            return false;
        }
        let done = self.jobs.is_empty() && self.feeds.iter().all(|feed| feed.pending.is_empty());
        let late = matches!(self.stage, Stage::Ending { until, .. } if now >= until);
        done || late
    }

    /// Accounts for what was given up, and reports.
    pub(super) fn finish(mut self, health: &Health) -> Report {
        for job in std::mem::take(&mut self.jobs).into_values() {
            let name = &self.feeds[job.feed].name;
            for lease in &job.leases {
                self.events.emit(name, &Event::Abandoned { lease });
            }
        }
        for feed in &mut self.feeds {
            for pending in feed.pending.drain(..) {
                self.events.emit(&feed.name, &pending.unsettled());
            }
        }
        self.enter(Phase::Ended);
        let now = Instant::now();
        let (began, in_time) = match self.stage {
            Stage::Working => (now, true),
            Stage::Draining { began, .. } => (began, true),
            Stage::Stopping { began, in_time, .. } | Stage::Ending { began, in_time, .. } => {
                (began, in_time)
            }
        };
        let counts = health.counts();
        Report {
            counts,
            shutdown: now.saturating_duration_since(began),
            drained: in_time && counts.open() == self.open_before,
        }
    }
}

/// A time so far away that it cannot be shown is no time.
pub(super) fn after(now: Instant, time: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    now + time.min(FAR)
}
