//! A lease that this worker holds. The loop, which keeps it alive, shares it with the handler's
//! context, which shows it.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use queue_core::{Bytes, Delivery, Headers, Receipt};
use tokio::{sync::Notify, time::Instant};

use super::{
    job_state::{JobState, Unstored},
    job_type::JobType,
    later::after,
    stop::Stop,
};

/// The worker counts a deadline from before the call that set it, less this margin. The backend's clock shows
/// whole milliseconds, so a lease may end this much sooner than its length says.
const CLOCK_GRAIN: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) receipt: Receipt,
    pub(crate) attempt: u32,
    pub(crate) headers: Headers,
    pub(crate) failure: Option<String>,
    pub(crate) age: Option<Duration>,
    pub(crate) last_attempt: bool,
    pub(crate) priority: Option<i16>,
    pub(crate) group: Option<Bytes>,
    /// When the delivery came.
    received: Instant,
    /// The state that the delivery brought (L21).
    brought: Option<Box<Bytes>>,
    /// The type of the job, if its handler is a router.
    pub(crate) job: Option<Arc<JobType>>,
    /// Heartbeats stop at this time.
    pub(crate) hold_until: Option<Instant>,
    state: Mutex<LeaseState>,
    /// The number of the order to stop; 0 before it.
    stop: AtomicU8,
    /// Notified with each order. A channel would cost each delivery much more, and hardly any handler is asked to stop.
    told: Notify,
}

/// What changes while a lease lives.
#[derive(Debug)]
struct LeaseState {
    deadline: Instant,
    /// The progress that no heartbeat has taken yet, and the time of the report.
    progress: Option<(Bytes, Instant)>,
    /// Whether a heartbeat has taken progress.
    has_reported: bool,
    /// The state of the message, once the handler asked for it or set it.
    state: Option<Box<JobState>>,
    /// Whether heartbeats leave the lease out, because the backend refused to extend it.
    is_left_out: bool,
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
            age: delivery.age,
            last_attempt: delivery.last_attempt,
            priority: delivery.priority,
            group: delivery.group.clone(),
            received: Instant::now(),
            brought: delivery.state.clone(),
            job,
            hold_until: hold.and_then(|hold| sent.checked_add(hold)),
            state: Mutex::new(LeaseState {
                deadline: end(sent, delivery.time_left),
                progress: None,
                has_reported: false,
                state: None,
                is_left_out: false,
            }),
            stop: AtomicU8::new(0),
            told: Notify::new(),
        })
    }

    /// The name of the job's type, if its handler is a router.
    #[cfg(feature = "tracing")]
    pub(crate) fn job_name(&self) -> Option<&str> {
        self.job.as_ref().map(|job| &*job.name)
    }

    /// The time until which the lease certainly lives, unless somebody ended it.
    pub(crate) fn deadline(&self) -> Instant {
        self.lock().deadline
    }

    /// Notes that a call sent at `sent` has extended the lease.
    pub(crate) fn extended(&self, sent: Instant, lease_time: Duration) {
        self.lock().deadline = end(sent, lease_time);
    }

    /// Notes that no heartbeat may extend the lease any more.
    pub(crate) fn hold_no_more(&self) {
        self.lock().is_left_out = true;
    }

    /// Notes the handler's progress, for the next heartbeat. Returns true if it is the first, for which a
    /// heartbeat is due at once.
    pub(crate) fn report(&self, progress: Bytes) -> bool {
        let mut state = self.lock();
        let is_first = !state.has_reported && state.progress.is_none();
        state.progress = Some((progress, Instant::now()));
        is_first
    }

    /// Takes the progress for a heartbeat.
    pub(crate) fn take_progress(&self) -> Option<Bytes> {
        let mut state = self.lock();
        let (progress, _) = state.progress.take()?;
        state.has_reported = true;
        Some(progress)
    }

    /// Reads or changes the state of the message.
    pub(crate) fn with_state<R>(&self, call: impl FnOnce(&mut JobState) -> R) -> R {
        let mut lease = self.lock();
        let state = lease.state.get_or_insert_with(|| {
            let brought = self.brought.as_deref().cloned();
            Box::new(JobState::brought(brought.unwrap_or_default()))
        });
        call(state)
    }

    /// The state that the handler set last, unless it is stored.
    pub(crate) fn unstored_state(&self) -> Option<Unstored> {
        self.lock().state.as_ref()?.unstored().cloned()
    }

    /// The names of steps in the state that the handler has not used.
    pub(crate) fn unused_steps(&self) -> Vec<String> {
        let lease = self.lock();
        let unused = lease.state.as_ref().map(|state| state.unused());
        unused.into_iter().flatten().map(str::to_owned).collect()
    }

    /// The time since the push of the message, by the backend's clock at the delivery and by this process's since then.
    pub(crate) fn age_now(&self) -> Option<Duration> {
        Some(self.age? + self.received.elapsed())
    }

    /// Puts progress back whose heartbeat failed, unless there is newer progress.
    pub(crate) fn report_again(&self, progress: Bytes) {
        let mut state = self.lock();
        state.progress.get_or_insert((progress, Instant::now()));
    }

    /// The time of the next heartbeat: two thirds of a lease before the deadline, or when the first progress
    /// was reported. `None` if the lease is lost, its longest hold is over, or the backend refused to extend it.
    pub(crate) fn heartbeat_at(&self, lease_time: Duration) -> Option<Instant> {
        if self.is_lost() {
            return None;
        }
        let (deadline, reported) = {
            let state = self.lock();
            if state.is_left_out {
                return None;
            }
            let first = state.progress.as_ref().filter(|_| !state.has_reported);
            (state.deadline, first.map(|(_, at)| *at))
        };
        let at = deadline.checked_sub(lease_time / 3 * 2).unwrap_or(deadline);
        let at = reported.map_or(at, |reported| at.min(reported));
        let held = self.hold_until.is_some_and(|until| at >= until);
        (!held).then_some(at)
    }

    /// Tells the handler to stop. The first reason stays, unless the new reason is a lost lease, which says
    /// more.
    pub(crate) fn stop(&self, stop: Stop) {
        let number = number(stop);
        if self.stop.fetch_max(number, Ordering::AcqRel) < number {
            self.told.notify_waiters();
        }
    }

    pub(crate) fn stopped(&self) -> Option<Stop> {
        match self.stop.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Stop::Shutdown),
            _ => Some(Stop::LeaseLost),
        }
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.stopped() == Some(Stop::LeaseLost)
    }

    /// Waits until the handler is asked to stop.
    pub(crate) async fn told(&self) -> Stop {
        loop {
            // Created before the look, so that no order between the two is missed.
            let told = self.told.notified();
            if let Some(stop) = self.stopped() {
                return stop;
            }
            told.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, LeaseState> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reasons' order: a later reason replaces an earlier one.
const fn number(stop: Stop) -> u8 {
    match stop {
        Stop::Shutdown => 1,
        Stop::LeaseLost => 2,
    }
}

fn end(sent: Instant, lease_time: Duration) -> Instant {
    after(sent, lease_time.saturating_sub(CLOCK_GRAIN))
}
