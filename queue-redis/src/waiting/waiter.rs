//! When does a waiting caller poll again?
//!
//! - When the server notifies this process of a change, or another caller forwards one. The [registry](super::registry)
//!   chooses the caller.
//! - When its timeout comes. The caller sets it to the time of the next change that its own last poll found, if any.
//! - When a fall-back interval has passed without a poll ([`PollState`]), because a wake-up may get lost.
//! - When another caller was the only one to know the time of a change, and does not wait for it ([`KnownChange`]).

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use queue_core::{Error, ErrorKind, Outcome, QueueName, Result, TokioSpawn, in_millis};
use redis_link::{Client, connection::ConnectionHealth, node::Node};
use tokio::time::{self, Instant, sleep_until};

use super::{
    NodeWaiter,
    caller::{HandoffTerms, Wake},
    registry::{KnownChange, State, WaiterRegistry},
};

/// The longest time in which a caller that ended a wait and polled is expected to wait again, over a slow network.
pub(super) const RETURNS: Duration = Duration::from_millis(100);

/// Waits at one marker of a queue, for all callers of a handle.
#[derive(Debug)]
pub(crate) struct Waiter {
    client: Client,
    queue: QueueName,
    marker: Bytes,
    // A std mutex: a call holds it briefly, and never across an await.
    state: Mutex<PollState>,
}

/// Results of the polls and waits of a handle's callers.
#[derive(Debug, Default)]
struct PollState {
    /// The time of the next change that needs no call, as far as the last poll knew.
    next_due: Option<Instant>,
    /// Whether a wait has ended since the last poll: no other caller may have got its wake-up.
    has_waited: bool,
    /// The beginning of the first wait since the last poll. A wake-up may get lost, so a waiting caller polls once per
    /// fall-back interval, even if each single wait is shorter.
    waiting_since: Option<Instant>,
}

impl PollState {
    /// A caller polled, and found out the time of the next change. Returns true if a wait had led to this poll.
    fn polled(&mut self, next_due: Option<Instant>) -> bool {
        self.next_due = next_due;
        self.waiting_since = None;
        mem::take(&mut self.has_waited)
    }

    /// A wait begins. Returns how long it may take.
    fn wait_begins(&mut self, fall_back: Duration) -> Duration {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        fall_back.saturating_sub(since.elapsed())
    }

    /// A wait has ended. If the interval is over, its caller polls.
    fn wait_ended(&mut self, fall_back: Duration) {
        self.has_waited = true;
        self.waiting_since
            .take_if(|since| since.elapsed() >= fall_back);
    }
}

impl Waiter {
    /// Waits at this marker of the queue, at the node that has the client's keys.
    pub(crate) fn new(client: &Client, queue: &QueueName, marker: &str) -> Self {
        Self {
            client: client.clone(),
            queue: queue.clone(),
            marker: Bytes::copy_from_slice(marker.as_bytes()),
            state: Mutex::default(),
        }
    }

    /// Begins a poll: a call that finds out whether there is something to do.
    pub(crate) fn poll(&self) -> Poll<'_> {
        Poll {
            waiter: self,
            node: self.client.node(),
            succeeded: false,
        }
    }

    /// Waits for a change at the marker, up to `timeout` and no longer than the fall-back interval. With terms, the
    /// message itself may be handed over, as `lua/lib/wake_up.lua` published it. Otherwise the caller polls.
    ///
    /// This process times the wait, not the server. It may return without a reason. A wait that is dropped, or times
    /// out at the same moment, forwards a received wake-up. The wake-up goes to another waiting caller at this marker,
    /// here or in another process.
    ///
    /// The last poll may have found the time of the next change, and nobody else may know of it. If this wait ends
    /// before the change, and no other wait begins here, another caller is woken to poll.
    ///
    /// # Errors
    ///
    /// `Unavailable`, after the wait, if there was no wake-up and could be none: the connection is down, or the server
    /// refuses to register. The outcome is unknown if the caller requested a message, which may be lost on its way.
    /// `Configuration`, at once, outside of a runtime.
    pub(crate) async fn wait(
        &self,
        timeout: Duration,
        terms: Option<HandoffTerms>,
    ) -> Result<Option<Bytes>> {
        let node = self.client.node();
        let here = super::at(&node);
        let fall_back = here.settings.fall_back;
        let (next_due, longest) = {
            let mut state = self.lock();
            (state.next_due, state.wait_begins(fall_back))
        };
        let next_due = next_due.filter(|due| is_soon(*due, fall_back));
        let handed = self.wait_at(here, timeout.min(longest), next_due, terms);
        let handed = handed.await;
        self.lock().wait_ended(fall_back);
        handed.map_err(|error| error.with_queue(&self.queue))
    }

    async fn wait_at(
        &self,
        node: &NodeWaiter,
        timeout: Duration,
        next_due: Option<Instant>,
        terms: Option<HandoffTerms>,
    ) -> Result<Option<Bytes>> {
        // Without a runtime, the timer of a wait panics.
        TokioSpawn::current()?;
        let wants_message = terms.is_some();
        let mut ticket = node.start().join(&self.marker, terms, next_due);
        let handed = match time::timeout(timeout, ticket.woken()).await {
            Ok(Wake::HandedOver(handed)) => Some(handed),
            Ok(Wake::Notified | Wake::Poll) => return Ok(None),
            Err(_) => ticket.leave(),
        };
        match (handed, node.health()) {
            (None, ConnectionHealth::Down(Some(reason))) => {
                // A message may have been handed over on the connection that is down.
                let outcome = match wants_message {
                    true => Outcome::Unknown,
                    false => Outcome::NotApplied,
                };
                Err(deaf(&reason, node.settings.fall_back, outcome)
                    .with_server(&node.settings.address()))
            }
            (handed, _) => Ok(handed),
        }
    }

    /// Forgets a registration at the marker, which the server has lost with the queue.
    pub(crate) fn forget(&self) {
        let node = self.client.node();
        super::at(&node).registry.forget(&self.marker);
    }

    /// Notes a poll's result: the time until the next change that needs no call. If the caller was woken to poll, and
    /// does not wait for that change, another caller is notified when it comes.
    fn polled(&self, next: Option<Duration>) {
        let change = next.and_then(|next| Instant::now().checked_add(next));
        let has_waited = self.lock().polled(change);
        if let (Some(change), true) = (change, has_waited) {
            let node = self.client.node();
            let node = super::at(&node);
            if is_soon(change, node.settings.fall_back) {
                node.registry.remember(&self.marker, change, change);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, PollState> {
        // No code panics while it holds this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a change comes within the fall-back interval. Every caller polls before a later change.
fn is_soon(change: Instant, fall_back: Duration) -> bool {
    change < Instant::now() + fall_back
}

/// A poll in progress, to which a wake-up may have led. Dropping it before the poll has succeeded forwards the wake-up,
/// as [`Waiter::wait`] does.
pub(crate) struct Poll<'a> {
    waiter: &'a Waiter,
    node: Arc<Node>,
    succeeded: bool,
}

impl Poll<'_> {
    /// The poll has succeeded. `next` is the time until the next change that needs no call, if the poll found out.
    pub(crate) fn succeeded(mut self, next: Option<Duration>) {
        self.succeeded = true;
        self.waiter.polled(next);
    }
}

impl Drop for Poll<'_> {
    fn drop(&mut self) {
        if !self.succeeded {
            super::at(&self.node).forward(&self.waiter.marker);
        }
    }
}

impl State {
    /// A caller that knows of this change now waits.
    pub(super) fn take_over(&mut self, marker: &Bytes, change: Instant) {
        let known = self.known.get(marker);
        if known.is_some_and(|known| change <= known.change) {
            self.known.remove(marker);
        }
    }
}

impl WaiterRegistry {
    /// Remembers a change that nobody else may know of. If no caller that knows of it joins by `notify_at`, a caller is
    /// woken to poll.
    pub(super) fn remember(&self, marker: &Bytes, change: Instant, notify_at: Instant) {
        let new = KnownChange { change, notify_at };
        let mut state = self.lock();
        let known = state.known.entry(marker.clone()).or_insert(new);
        known.change = change.min(known.change);
        known.notify_at = notify_at.min(known.notify_at);
        drop(state);
        self.has_known.notify_one();
    }

    /// Has another caller notified of a change, because a caller that knows of it has ended its wait. That happens at
    /// once only if the change has come. An early notification ends the other caller's wait. Two callers that each end
    /// their waits when notified, as consumers of several queues do, would then wake each other for ever.
    pub(super) fn no_longer_awaited(&self, marker: &Bytes, change: Instant) {
        let soon = Instant::now() + RETURNS;
        self.remember(marker, change, change.min(soon));
    }

    /// Waits until the known changes have to be notified, and wakes a caller for each. If it is dropped before that, it
    /// does nothing.
    pub(super) async fn wake_for_known_changes(&self) {
        loop {
            let next = self
                .lock()
                .known
                .values()
                .map(|known| known.notify_at)
                .min();
            let Some(next) = next else {
                self.has_known.notified().await;
                continue;
            };
            tokio::select! {
                biased;
                () = self.has_known.notified() => {}
                () = sleep_until(next) => {
                    let mut state = self.lock();
                    let known = mem::take(&mut state.known);
                    for (marker, known) in known {
                        if known.notify_at <= next {
                            state.notify(&marker, 1);
                        } else {
                            state.known.insert(marker, known);
                        }
                    }
                    drop(state);
                    return self.has_requests.notify_one();
                }
            }
        }
    }
}

/// The error for a caller that could not have been woken.
fn deaf(reason: &Arc<Error>, fall_back: Duration, outcome: Outcome) -> Error {
    let fall_back = in_millis(fall_back);
    let message = format!(
        "the server cannot notify waiting callers at present, so they poll every {fall_back}"
    );
    Error::new(ErrorKind::Unavailable, message)
        .with_transient(true)
        .with_outcome(outcome)
        .with_source(Arc::clone(reason))
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn short_waits_add_up_to_an_interval_until_a_caller_polls() {
        let mut state = PollState::default();
        assert_eq!(state.wait_begins(5 * SECOND), 5 * SECOND);
        advance(2 * SECOND).await;
        state.wait_ended(5 * SECOND);
        advance(SECOND).await;
        assert_eq!(state.wait_begins(5 * SECOND), 2 * SECOND);
        advance(2 * SECOND).await;
        state.wait_ended(5 * SECOND);
        assert_eq!(
            state.wait_begins(5 * SECOND),
            5 * SECOND,
            "its caller polls"
        );
        advance(4 * SECOND).await;
        assert!(state.polled(None));
        assert_eq!(state.wait_begins(5 * SECOND), 5 * SECOND);
    }

    /// The state makes the caller poll once; if the caller does not poll, the next wait takes an interval again.
    #[tokio::test(start_paused = true)]
    async fn a_caller_that_never_polls_does_not_spin() {
        let mut state = PollState::default();
        assert_eq!(state.wait_begins(SECOND), SECOND);
        advance(9 * SECOND).await;
        assert_eq!(state.wait_begins(SECOND), Duration::ZERO);
        state.wait_ended(SECOND);
        assert_eq!(state.wait_begins(SECOND), SECOND);
    }
}
