//! Leases that run out unnoticed, and handlers that do not stop.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Runner, alarm::Alarm, jobs::earlier};
use crate::event::Event;

impl Runner {
    /// Notes if the loop is polled long after the time for which it set its timer: a handler blocks its thread, or
    /// the process stood still. Leases may have ended meanwhile.
    pub(super) fn watch_itself(&mut self) {
        let Some(planned) = self.planned.take() else {
            return;
        };
        let now = Instant::now();
        self.events.now = now;
        let late = now.saturating_duration_since(planned);
        for served in self.queues.iter().filter(|served| served.jobs > 0) {
            if late >= served.terms.lease / 2 {
                self.events.emit(&served.name, &Event::HeldUp { late });
            }
        }
    }

    /// Tells the handlers whose lease is over to stop, and cuts off handlers whose time to stop is over.
    /// Returns true if there were any.
    ///
    /// A deadline passes unextended if the worker cannot reach the backend, or if its process stood still.
    /// The backend's clock went on meanwhile: the message is ready for another worker.
    pub(super) fn watch_leases(&mut self, alarm: &mut Alarm) -> bool {
        if !self.watch_due.is_some_and(|due| alarm.has_come(due)) {
            return false;
        }
        let mut over = Vec::new();
        let mut cut = false;
        let mut next = None;
        for (id, job) in &mut self.jobs {
            for lease in job.leases.iter().filter(|lease| !lease.is_lost()) {
                let deadline = lease.deadline();
                if alarm.has_come(deadline) {
                    over.push((*id, Arc::clone(lease)));
                } else {
                    next = earlier(next, Some(deadline));
                }
            }
            if job.task.is_none() {
                continue;
            }
            if let Some(at) = job.cut_at {
                if alarm.has_come(at) {
                    job.task = None;
                    cut = true;
                } else {
                    next = earlier(next, Some(at));
                }
            }
        }
        self.watch_due = next;
        let moved = cut || !over.is_empty();
        for (job, lease) in over {
            self.lose(job, &lease, alarm.now);
        }
        moved
    }
}
