//! A lease that this worker holds. The loop, which keeps it alive, shares it with the handler's
//! context, which shows it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_core::{Delivery, Headers, Receipt};
use tokio::{sync::watch, time::Instant};

use super::{job_type::JobType, later::after, stop::Stop};

/// The worker counts a deadline from before the call that set it, less this margin. The backend's clock shows
/// whole milliseconds, so a lease may end this much sooner than its length says.
const CLOCK_GRAIN: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) receipt: Receipt,
    pub(crate) attempt: u32,
    pub(crate) headers: Headers,
    pub(crate) failure: Option<String>,
    /// The type of the job, if its handler is a router.
    pub(crate) job: Option<Arc<JobType>>,
    /// Heartbeats stop at this time.
    pub(crate) hold_until: Option<Instant>,
    deadline: Mutex<Instant>,
    stop: watch::Sender<Option<Stop>>,
}

impl Lease {
    /// The lease of a delivery that the worker asked for at `sent`.
    pub(crate) fn new(
        delivery: &Delivery,
        sent: Instant,
        hold: Option<Duration>,
        job: Option<Arc<JobType>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            receipt: delivery.receipt,
            attempt: delivery.attempt,
            headers: delivery.headers.clone(),
            failure: delivery.failure.clone(),
            job,
            hold_until: hold.and_then(|hold| sent.checked_add(hold)),
            deadline: Mutex::new(end(sent, delivery.time_left)),
            stop: watch::Sender::new(None),
        })
    }

    /// The name of the job's type, if its handler is a router.
    #[cfg(feature = "tracing")]
    pub(crate) fn job_name(&self) -> Option<&str> {
        self.job.as_ref().map(|job| &*job.name)
    }

    /// The time until which the lease certainly lives, unless somebody ended it.
    pub(crate) fn deadline(&self) -> Instant {
        *self.lock()
    }

    /// Notes that a call sent at `sent` has extended the lease.
    pub(crate) fn extended(&self, sent: Instant, lease_time: Duration) {
        *self.lock() = end(sent, lease_time);
    }

    /// The time of the next heartbeat: two thirds of a lease before the deadline. `None` if the
    /// lease is lost, or its longest hold is over.
    pub(crate) fn heartbeat_at(&self, lease_time: Duration) -> Option<Instant> {
        if self.is_lost() {
            return None;
        }
        let deadline = self.deadline();
        let at = deadline.checked_sub(lease_time / 3 * 2).unwrap_or(deadline);
        let held = self.hold_until.is_some_and(|until| at >= until);
        (!held).then_some(at)
    }

    /// Tells the handler to stop. The first reason stays, unless the new reason is a lost lease, which says
    /// more.
    pub(crate) fn stop(&self, stop: Stop) {
        self.stop.send_if_modified(|sent| {
            let news = sent.is_none() || (stop == Stop::LeaseLost && *sent != Some(stop));
            if news {
                *sent = Some(stop);
            }
            news
        });
    }

    pub(crate) fn stopped(&self) -> Option<Stop> {
        *self.stop.borrow()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.stopped() == Some(Stop::LeaseLost)
    }

    pub(crate) fn listen(&self) -> watch::Receiver<Option<Stop>> {
        self.stop.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Instant> {
        // A panic cannot leave an instant half-written.
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(sent: Instant, lease_time: Duration) -> Instant {
    after(sent, lease_time.saturating_sub(CLOCK_GRAIN))
}
