//! A lease that this worker holds: shared by the loop, which keeps it alive, and the handler's
//! context, which shows it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_core::{Delivery, Headers, Receipt};
use tokio::{sync::watch, time::Instant};

use super::stop::Stop;

/// Deadlines are counted from before the call that set them, and by this much less: the backend's
/// clock shows whole milliseconds, so a lease may end that much sooner than its length says.
const CLOCK_GRAIN: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) receipt: Receipt,
    pub(crate) attempt: u32,
    pub(crate) headers: Headers,
    /// Heartbeats end here.
    pub(crate) hold_until: Option<Instant>,
    deadline: Mutex<Instant>,
    stop: watch::Sender<Option<Stop>>,
}

impl Lease {
    /// The lease of this delivery, which was asked for at `sent`.
    pub(crate) fn new(delivery: &Delivery, sent: Instant, hold: Option<Duration>) -> Arc<Self> {
        Arc::new(Self {
            receipt: delivery.receipt,
            attempt: delivery.attempt,
            headers: delivery.headers.clone(),
            hold_until: hold.and_then(|hold| sent.checked_add(hold)),
            deadline: Mutex::new(end(sent, delivery.time_left)),
            stop: watch::Sender::new(None),
        })
    }

    /// Until when it certainly lives, unless somebody ended it.
    pub(crate) fn deadline(&self) -> Instant {
        *self.lock()
    }

    /// It was extended by a call sent at this time.
    pub(crate) fn extended(&self, sent: Instant, ttl: Duration) {
        *self.lock() = end(sent, ttl);
    }

    /// When it is time for a heartbeat: two thirds of a lease before the deadline. `None` if it is
    /// lost, or was held for as long as it may be.
    pub(crate) fn beat_at(&self, ttl: Duration) -> Option<Instant> {
        if self.is_lost() {
            return None;
        }
        let deadline = self.deadline();
        let at = deadline.checked_sub(ttl / 3 * 2).unwrap_or(deadline);
        let held = self.hold_until.is_some_and(|until| at >= until);
        (!held).then_some(at)
    }

    /// Tells the handler to stop. The first reason stays, but for a lost lease, which says more.
    pub(crate) fn tell(&self, stop: Stop) {
        self.stop.send_if_modified(|told| {
            let news = told.is_none() || (stop == Stop::LeaseLost && *told != Some(stop));
            if news {
                *told = Some(stop);
            }
            news
        });
    }

    pub(crate) fn told(&self) -> Option<Stop> {
        *self.stop.borrow()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.told() == Some(Stop::LeaseLost)
    }

    pub(crate) fn listen(&self) -> watch::Receiver<Option<Stop>> {
        self.stop.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Instant> {
        // An instant is whole after a panic, too.
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn end(sent: Instant, ttl: Duration) -> Instant {
    sent + ttl.saturating_sub(CLOCK_GRAIN)
}
