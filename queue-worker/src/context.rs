//! The context of a handler: its delivery without the value.

use std::{fmt, sync::Arc, time::Duration};

use queue_core::{
    Bytes, Error, ErrorKind, Headers, Json, MessageId, Receipt, Result, Token, limits,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::{
    job_state::JobState,
    lease::Lease,
    queue_scope::QueueScope,
    stop::Stop,
    task_message::{ExtendRequest, TaskMessage},
};

/// A handler's view of its delivery. Clones view the same delivery.
///
/// A worker creates a context for each delivery; a test of a handler creates one by
/// [`for_test`](Self::for_test).
#[derive(Clone)]
pub struct Context {
    lease: Arc<Lease>,
    scope: Arc<QueueScope>,
    cut_off: Option<Instant>,
    extender: LeaseExtender,
}

/// The part that extends the lease when the handler asks for it.
#[derive(Clone)]
pub(crate) enum LeaseExtender {
    Worker {
        /// The loop. The job and the entry name this delivery in it.
        key: (u64, usize),
        notes: mpsc::UnboundedSender<TaskMessage>,
    },
    /// Nothing: the lease of a test is in no backend. It has this length.
    Nobody { lease_time: Duration },
}

impl Context {
    pub(crate) const fn new(
        lease: Arc<Lease>,
        scope: Arc<QueueScope>,
        cut_off: Option<Instant>,
        extender: LeaseExtender,
    ) -> Self {
        Self {
            lease,
            scope,
            cut_off,
            extender,
        }
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    pub(crate) fn scope(&self) -> &QueueScope {
        &self.scope
    }

    /// The worker's name for the message's queue.
    pub fn queue(&self) -> &str {
        &self.scope.name
    }

    /// The message's id.
    pub fn id(&self) -> MessageId {
        self.lease.receipt.id
    }

    /// Which attempt this is, from 1 (L6).
    pub fn attempt(&self) -> u32 {
        self.lease.attempt
    }

    /// The reason of the last retry (L14): a worker gives it for each attempt that fails.
    pub fn failure(&self) -> Option<&str> {
        self.lease.failure.as_deref()
    }

    /// Whether this is the last attempt (L6): if it fails or its lease expires, the message goes to the dead letters.
    pub fn is_last_attempt(&self) -> bool {
        self.lease.last_attempt
    }

    /// The time from the push to this delivery, by the backend's clock. `None` if the backend does not store when a
    /// message was pushed, as recipes do not.
    pub fn age(&self) -> Option<Duration> {
        self.lease.age
    }

    /// The message's priority, on a priority queue.
    pub fn priority(&self) -> Option<i16> {
        self.lease.priority
    }

    /// The key of the message's group, on a grouped queue.
    pub fn group(&self) -> Option<&Bytes> {
        self.lease.group.as_ref()
    }

    /// The fencing token: strictly greater at each delivery of the message. A sink can refuse
    /// tokens older than the greatest that it has seen.
    pub fn token(&self) -> Token {
        self.lease.receipt.token
    }

    /// The receipt: id and token, which prove the right to settle.
    pub fn receipt(&self) -> Receipt {
        self.lease.receipt
    }

    /// The headers that were pushed with the message.
    pub fn headers(&self) -> &Headers {
        &self.lease.headers
    }

    /// The end of the lease. Heartbeats move it.
    ///
    /// Under tokio's paused clock this is a time of that clock, as [`tokio::time::Instant::into_std`] returns it.
    pub fn deadline(&self) -> std::time::Instant {
        self.lease.deadline().into_std()
    }

    /// The time left of the lease, if no further heartbeat comes.
    pub fn remaining(&self) -> Duration {
        let deadline = self.lease.deadline();
        deadline.saturating_duration_since(Instant::now())
    }

    /// The time at which the timeout cuts the handler off, if there is one. It is of the same clock as
    /// [`deadline`](Self::deadline).
    pub fn cut_off(&self) -> Option<std::time::Instant> {
        self.cut_off.map(Instant::into_std)
    }

    /// Extends the lease to at least `lease_time` from now.
    ///
    /// Heartbeats extend leases automatically. Call this before work that prevents heartbeats, such as work
    /// that blocks the runtime. The worker raises a `lease_time` shorter than its own lease time to that
    /// time. If the future is dropped, the lease may or may not be extended.
    ///
    /// # Errors
    ///
    /// `Invalid` if `lease_time` is zero or over 24 h; `LeaseLost` if the lease has ended: give up the work;
    /// and the errors of [`extend`](queue_core::Leasing::extend).
    pub async fn extend(&self, lease_time: Duration) -> Result<()> {
        limits::lease_millis(lease_time)?;
        self.extend_with(lease_time, false).await
    }

    async fn extend_with(&self, lease_time: Duration, stores_state: bool) -> Result<()> {
        match &self.extender {
            LeaseExtender::Worker { key, notes } => {
                let (reply, answer) = oneshot::channel();
                let (job, entry) = *key;
                let request = ExtendRequest {
                    job,
                    entry,
                    lease_time,
                    stores_state,
                    reply,
                };
                // The call goes through the loop, so that the call and the heartbeats take effect in a known
                // order.
                if notes.send(TaskMessage::Extend(request)).is_err() {
                    return Err(gone());
                }
                answer.await.unwrap_or_else(|_| Err(gone()))
            }
            LeaseExtender::Nobody { .. } if self.lease.is_lost() => {
                Err(Error::lease_lost(self.lease.receipt))
            }
            LeaseExtender::Nobody { lease_time: own } => {
                self.lease.extended(Instant::now(), lease_time.max(*own));
                if let Some(unstored) = self.lease.unstored_state().filter(|_| stores_state) {
                    self.lease.with_state(|state| state.stored(&unstored));
                }
                Ok(())
            }
        }
    }

    /// Reports the handler's progress, in JSON of up to 1,024 bytes (L19). [`find`](queue_core::Leasing::find) and
    /// [`peek`](queue_core::Leasing::peek) show the last progress until the lease ends.
    ///
    /// The first progress of a lease is sent at once, with a heartbeat. Later progress goes with the next heartbeat, a
    /// third of a lease away at most, so a report costs no call of its own. If a report follows before that, the later
    /// one replaces it.
    ///
    /// # Errors
    ///
    /// `Invalid` if the value is too large, or JSON cannot write it; `LeaseLost` if the worker knows that the lease has
    /// ended: give up the work.
    pub fn progress<T: Serialize + ?Sized>(&self, progress: &T) -> Result<()> {
        let progress = Json::write(progress)?;
        limits::check_progress(progress.len())?;
        if self.lease.is_lost() {
            return Err(Error::lease_lost(self.lease.receipt));
        }
        if self.lease.report(progress)
            && let LeaseExtender::Worker { key, notes } = &self.extender
        {
            // If the worker is gone, so is the lease.
            let _ = notes.send(TaskMessage::Progress { job: key.0 });
        }
        Ok(())
    }

    /// The state of the message (L21): what the handler set last, or else what an earlier attempt left.
    ///
    /// ```
    /// use queue_worker::{Context, Failure};
    ///
    /// async fn import(file: String, cx: Context) -> Result<(), Failure> {
    ///     let lines: Vec<&str> = file.lines().collect();
    ///     let first = cx.state::<usize>()?.unwrap_or(0);
    ///     for (number, line) in lines.iter().enumerate().skip(first) {
    ///         // … import the line …
    ///         if line.is_empty() {
    ///             return Err(Failure::new(format!("line {number} is empty")));
    ///         }
    ///         cx.set_state(&(number + 1))?;
    ///     }
    ///     Ok(())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let cx = Context::for_test().state(&2).build();
    /// let imported = import("a\nb\nc\n\n".to_owned(), cx.clone()).await;
    /// assert_eq!(imported, Err(Failure::new("line 3 is empty")));
    /// assert_eq!(cx.state::<usize>().unwrap(), Some(3));
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Codec` if the state is not what JSON writes for a `T`: another version of the program may have stored it.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let state = self.lease.with_state(JobState::own)?;
        state.map(|state| Json::read(&state)).transpose()
    }

    /// Sets the state of the message, in JSON of up to 64 KiB with the results of all [steps](Self::step) (L21). It
    /// costs no call.
    ///
    /// A settlement stores the state, in one step: a retry, a defer, or the release of a shutdown. After an ack
    /// nothing is left of it. **If the process dies, or the lease is lost, the state is lost**, and the next attempt
    /// has the one before; use [`save_state`](Self::save_state) for what must survive that.
    ///
    /// # Errors
    ///
    /// `Invalid` if the value is too large, or JSON cannot write it, or its first field is `qk-steps`.
    pub fn set_state<T: Serialize + ?Sized>(&self, state: &T) -> Result<()> {
        let state = Json::write(state)?;
        self.lease.with_state(|own| own.set_own(state))
    }

    /// Stores the state of the message now, in JSON of up to 64 KiB (L21): once this returns, each later attempt has
    /// it, whatever happens to the process. It costs one call, which also extends the lease; calls of handlers that
    /// run at the same time go together.
    ///
    /// **Dropped future.** The state may or may not be stored.
    ///
    /// # Errors
    ///
    /// The errors of [`set_state`](Self::set_state); `Invalid` if the queue is a recipe, which has no states; `LeaseLost` if
    /// the lease has ended, and nothing is stored: give up the work; and the errors of
    /// [`extend`](queue_core::Leasing::extend). After an error that is transient, the state is set as `set_state` sets it.
    pub fn save_state<'a, T: Serialize + ?Sized>(
        &'a self,
        state: &T,
    ) -> impl Future<Output = Result<()>> + Send + use<'a, T> {
        // The future does not borrow the value, which need not be `Sync`.
        let set = self.set_state(state);
        async move {
            set?;
            self.store_state().await
        }
    }

    /// Stores the state as it is when the call is sent.
    pub(crate) async fn store_state(&self) -> Result<()> {
        let lease_time = self.remaining().max(Duration::from_millis(1));
        let stored = self.extend_with(lease_time, true).await;
        if let Err(error) = &stored
            && !error.is_transient()
        {
            // A settlement with a refused state would be refused, too.
            self.lease.with_state(JobState::forget_unstored);
        }
        stored
    }

    /// Takes the state of the message away, as [`set_state`](Self::set_state) sets one. The results of
    /// [steps](Self::step) stay.
    ///
    /// # Errors
    ///
    /// `Codec` if the state has steps that this version cannot read.
    pub fn clear_state(&self) -> Result<()> {
        self.lease.with_state(|own| own.set_own(Bytes::new()))
    }

    /// Whether the worker's shutdown has begun. The handler has the [drain](crate::Worker::drain) time to finish.
    pub fn is_shutting_down(&self) -> bool {
        *self.scope.shutting_down.borrow()
    }

    /// Waits until the worker's shutdown begins. A handler that waits for long, for a client or a stream, races its
    /// wait against this, so that it does not use up the drain time. It may return
    /// [`Failure::defer`](crate::Failure::defer), which costs the message no attempt. [`stopped`](Self::stopped) comes
    /// only when the drain is over.
    pub async fn shutting_down(&self) {
        let mut stop_signal = self.scope.shutting_down.subscribe();
        // The sender lives in this context.
        let _ = stop_signal.wait_for(|begun| *begun).await;
    }

    /// The reason for which the worker told the handler to stop, if it did.
    pub fn stop(&self) -> Option<Stop> {
        self.lease.stopped()
    }

    /// Waits until the worker tells the handler to stop. Most handlers are never told: race the work against
    /// this. A handler that stops for this must not return that it is done.
    ///
    /// If somebody else ended the lease, as an operator does to stop the job, the worker notices at its next
    /// heartbeat. If the handler goes on, the worker cuts it off after its `cleanup` time.
    pub async fn stopped(&self) -> Stop {
        self.lease.told().await
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("queue", &self.scope.name)
            .field("receipt", &self.receipt())
            .field("attempt", &self.attempt())
            .field("deadline", &self.deadline())
            .field("stop", &self.stop())
            .finish_non_exhaustive()
    }
}

fn gone() -> Error {
    Error::new(
        ErrorKind::LeaseLost,
        "the worker no longer holds the delivery: its handler ended, or the worker did",
    )
}
