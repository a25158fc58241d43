//! The waiting callers of one handle: when must one of them poll again?

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use queue_core::{Error, ErrorKind, Outcome, QueueName, Result, TokioSpawn, in_millis};
use redis_link::{Client, connection::ConnectionHealth, node::Node};
use tokio::time::{self, Instant};

use super::{
    NodeWaiter,
    marker_queue::{HandoffTerms, Wake},
    registry::WaiterRegistry,
};

/// The longest time in which a caller that ended a wait and polled is expected to wait again, over a slow network.
const RETURNS: Duration = Duration::from_millis(100);

/// Waits at one marker of a queue, for all callers of a handle.
#[derive(Debug)]
pub(crate) struct Waiter {
    client: Client,
    queue: QueueName,
    marker: Bytes,
    // A std mutex: a call holds it briefly, and never across an await.
    state: Mutex<PollState>,
}

/// The end of a wait.
#[derive(Debug)]
pub(crate) enum Woken {
    /// Something may have changed, or the time is over: the caller polls.
    Poll,
    /// A message that was handed over, as `lua/lib/wake_up.lua` published it. The caller need not poll.
    Message(Bytes),
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
        std::mem::take(&mut self.has_waited)
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
    /// message itself may be handed over.
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
    ) -> Result<Woken> {
        let node = self.client.node();
        let here = super::at(&node);
        let fall_back = here.fall_back();
        let (next_due, longest) = {
            let mut state = self.lock();
            (state.next_due, state.wait_begins(fall_back))
        };
        let next_due = next_due.filter(|due| is_soon(*due, fall_back));
        let woken = self.wait_at(here, timeout.min(longest), next_due, terms);
        let woken = woken.await;
        self.lock().wait_ended(fall_back);
        woken.map_err(|error| error.with_queue(&self.queue))
    }

    async fn wait_at(
        &self,
        node: &NodeWaiter,
        timeout: Duration,
        next_due: Option<Instant>,
        terms: Option<HandoffTerms>,
    ) -> Result<Woken> {
        // Without a runtime, the timer of a wait panics.
        TokioSpawn::current()?;
        let registry = node.start();
        let mut known = KnownChange {
            registry,
            marker: &self.marker,
            change: next_due,
        };
        let wants_message = terms.is_some();
        let mut ticket = registry.join(&self.marker, terms, next_due);
        let woken = time::timeout(timeout, ticket.woken()).await;
        let handed = match &woken {
            Ok(Wake::HandedOver(handed)) => Some(handed.clone()),
            Ok(Wake::Notified | Wake::Poll) => None,
            Err(_) => ticket.leave(),
        };
        if let Some(handed) = handed {
            // The caller does not poll, so others have to be notified of the change.
            return Ok(Woken::Message(handed));
        }
        // In both cases the caller polls again; after its own timeout, it may leave instead.
        if woken.is_ok() || next_due.is_some_and(|due| due <= Instant::now()) {
            known.change = None;
        }
        match (woken, node.health()) {
            (Err(_), ConnectionHealth::Down(Some(reason))) => {
                // A message may have been handed over on the connection that is down.
                let outcome = match wants_message {
                    true => Outcome::Unknown,
                    false => Outcome::NotApplied,
                };
                Err(deaf(&reason, node.fall_back(), outcome).with_server(&node.address()))
            }
            _ => Ok(Woken::Poll),
        }
    }

    /// Forgets a registration at the marker, which the server has lost with the queue.
    pub(crate) fn forget(&self) {
        let node = self.client.node();
        super::at(&node).registry().forget(&self.marker);
    }

    /// Notes a poll's result: the time until the next change that needs no call. If the caller was woken to poll, and
    /// does not wait for that change, another caller is notified when it comes.
    fn polled(&self, next: Option<Duration>) {
        let change = next.and_then(|next| Instant::now().checked_add(next));
        let has_waited = self.lock().polled(change);
        if let (Some(change), true) = (change, has_waited) {
            let node = self.client.node();
            let node = super::at(&node);
            if is_soon(change, node.fall_back()) {
                node.registry().remember(&self.marker, change, change);
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

/// A future change that its holder waits for. Dropping the guard notifies another caller, unless a caller here soon
/// waits for the change again. An immediate notification would end the other's wait. Two callers that each end their
/// waits when notified, as consumers of several queues do, would then wake each other for ever.
struct KnownChange<'a> {
    registry: &'a WaiterRegistry,
    marker: &'a Bytes,
    change: Option<Instant>,
}

impl Drop for KnownChange<'_> {
    fn drop(&mut self) {
        if let Some(change) = self.change {
            let soon = Instant::now() + RETURNS;
            self.registry
                .remember(self.marker, change, change.min(soon));
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
