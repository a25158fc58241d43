//! Waiting for changes. All waiting callers of a process share one connection, which listens to the process's own
//! channel.
//!
//! A *marker* is a sorted set on the server, one for each kind of hint of a queue. A waiting client registers its
//! process there. A script that makes messages ready notifies as many registered processes as it has messages for, each
//! once. If none is registered, it *arms* the marker for the next process that waits (`lua/lib/wake_up.lua`). So a
//! wake-up costs the same for any number of queues, and the longest waiting processes go first. If nobody listens to a
//! process's channel any more, the script notices that when it publishes. A marker holds only hints, so a lost marker
//! delays consumers by at most the fall-back interval.
//!
//! A waiting client may also request a handoff. The process is then registered with the terms of its lease. A push of a
//! short message that is next leases it by these terms, and publishes the message instead of the hint
//! (`lua/lib/wake_up.lua`). The registry gives the message to a caller that was already waiting for it when it was
//! leased. If there is none, the message goes back to the queue. If the message is lost on its way, its lease expires.

#[cfg(test)]
mod interleavings;
mod pending_wakeups;
mod registry;
mod watch;

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::{
        Arc, LazyLock, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use queue_core::{Error, ErrorKind, Holder, Outcome, Result, Running, TokioSpawn, in_millis};
use redis_link::{
    connection::{ConnectionHealth, Supervised},
    node::{Companion, NewNode, Node},
};
use tokio::time::{self, Instant};

pub(crate) use self::registry::ReturnLease;
use self::{
    pending_wakeups::PendingWakeups,
    registry::{HandoffTerms, WaiterRegistry, Wake},
    watch::{Dialer, Watch},
};

/// Number of fall-back intervals for which the registry trusts a registration. Renewals are rare enough to cost an idle
/// process next to nothing, and frequent enough to notice a connection that has gone silent.
const TRUSTED: u32 = 4;

/// The longest time in which a caller that ended a wait and polled is expected to wait again, over a slow network.
const RETURNS: Duration = Duration::from_millis(100);

/// Waits for changes. Cloning copies a pointer; dropping the last clone closes the connection.
#[derive(Debug, Clone)]
pub(crate) struct Waiter(Arc<WaiterInner>);

/// A waiting caller's request for a message.
pub(crate) struct HandoffRequest {
    /// The lease time in ms.
    pub(crate) lease_time: u64,
    pub(crate) holder: Option<Holder>,
    /// Takes the message back if the caller is gone when it arrives.
    pub(crate) returns: Weak<dyn ReturnLease>,
}

impl HandoffRequest {
    /// The terms as `lua/lib/wake_up.lua` reads them.
    fn terms(self) -> HandoffTerms {
        let holder = self.holder.as_ref().map_or("", Holder::as_str);
        HandoffTerms {
            text: format!("{} {holder}", self.lease_time).into(),
            returns: self.returns,
        }
    }
}

/// The settings of a waiter.
pub(crate) struct Settings {
    /// How its connections are opened.
    pub(crate) node: NewNode,
    /// The time after which a waiting caller polls.
    pub(crate) fall_back: Duration,
    /// The process's own channel; no other process has it.
    pub(crate) channel: Arc<str>,
}

/// The waiter at this node.
pub(crate) fn at(node: &Node) -> &Waiter {
    node.companion()
}

impl Companion for Waiter {
    /// Callers waiting at this node would get no more wake-ups; their next poll goes to the new owner.
    fn left(&self) {
        self.wake_all();
    }
}

struct WaiterInner {
    pending: Arc<PendingWakeups>,
    registry: Arc<WaiterRegistry>,
    started: OnceLock<Started>,
    settings: Settings,
}

#[derive(Debug)]
struct Started {
    connection: Supervised,
    _running: Running,
}

impl Waiter {
    pub(crate) fn new(settings: Settings) -> Self {
        let trusted = settings.fall_back * TRUSTED;
        Self(Arc::new(WaiterInner {
            registry: Arc::new(WaiterRegistry::new(trusted, first_serial())),
            pending: Arc::default(),
            started: OnceLock::new(),
            settings,
        }))
    }

    /// Waits for a change at the marker, up to `timeout` and no longer than the fall-back interval. The caller then
    /// polls.
    ///
    /// This process times the wait, not the server. It may return without a reason. A wait that is dropped, or times
    /// out at the same moment, forwards a received wake-up. The wake-up goes to another waiting caller at this marker,
    /// here or in another process. `change` is the time of the next change that the caller knows of. If the wait ends
    /// before that time and no other wait begins here, another caller is woken to poll, because nobody else may know of
    /// the change. A change after the fall-back interval needs none of this, because every caller polls before it.
    ///
    /// Returns the message that was handed over, if the caller requested one; the caller then need not poll.
    ///
    /// # Errors
    ///
    /// `Unavailable`, after the wait, if there was no wake-up and could be none: the connection is down, or the server
    /// refuses to register. The outcome is unknown if the caller requested a message, which may be lost on its way.
    /// `Configuration`, at once, outside of a runtime.
    pub(crate) async fn wait(
        &self,
        marker: &Bytes,
        timeout: Duration,
        change: Option<Instant>,
        wish: Option<HandoffRequest>,
    ) -> Result<Option<Bytes>> {
        // Without a runtime, the timer of a wait panics.
        TokioSpawn::current()?;
        self.0.start();
        let fall_back = self.fall_back();
        let watched = self.soon(change);
        if let Some(change) = watched {
            self.0.pending.take_over(marker, change);
        }
        let mut watch = ChangeGuard {
            inner: &self.0,
            change: watched.map(|change| (marker, change)),
        };
        let wishes = wish.is_some();
        let terms = wish.map(HandoffRequest::terms);
        let mut place = self.0.registry.join(marker, terms);
        let woken = time::timeout(timeout.min(fall_back), place.woken()).await;
        let handed = match &woken {
            Ok(Wake::HandedOver(handed)) => Some(handed.clone()),
            Ok(Wake::Notified | Wake::Poll) => None,
            Err(_) => place.leave(),
        };
        if handed.is_some() {
            // The caller does not poll, so others have to be notified of the change.
            return Ok(handed);
        }
        // In both cases the caller polls again; after its own timeout, it may leave instead.
        if woken.is_ok() || watched.is_some_and(|at| at <= Instant::now()) {
            watch.change = None;
        }
        match (woken, self.health()) {
            (Err(_), ConnectionHealth::Down(Some(reason))) => {
                // A message may have been handed over on the connection that is down.
                let outcome = match wishes {
                    true => Outcome::Unknown,
                    false => Outcome::NotApplied,
                };
                let address = self.0.settings.node.connector.address();
                Err(deaf(&reason, fall_back, outcome).with_server(&address))
            }
            _ => Ok(None),
        }
    }

    /// A change at this marker, which may lead to a call.
    pub(crate) fn hint(&self, marker: Bytes) -> Hint {
        Hint {
            inner: Arc::clone(&self.0),
            unused: Some(marker),
        }
    }

    /// Notes that a woken caller polled, and found only the time of the next change. If it does not wait for that
    /// change, another caller is notified when the change comes.
    pub(crate) fn found(&self, marker: &Bytes, change: Instant) {
        if let Some(change) = self.soon(Some(change)) {
            self.0.pending.add(marker, change);
        }
    }

    /// The change, unless every caller polls before it.
    fn soon(&self, change: Option<Instant>) -> Option<Instant> {
        change.filter(|at| *at < Instant::now() + self.fall_back())
    }

    /// Forgets a registration at this marker that the server has lost.
    pub(crate) fn forget(&self, marker: &Bytes) {
        self.0.registry.forget(marker);
    }

    /// Wakes all callers to poll, because no more changes are reported here.
    pub(crate) fn wake_all(&self) {
        self.0.registry.wake_all();
    }

    /// The time after which a waiting caller polls.
    pub(crate) fn fall_back(&self) -> Duration {
        self.0.settings.fall_back
    }

    /// The settings of its node's connections.
    #[cfg(feature = "recipes")]
    pub(crate) fn node_settings(&self) -> &NewNode {
        &self.0.settings.node
    }

    pub(crate) fn health(&self) -> ConnectionHealth {
        let Some(started) = self.0.started.get() else {
            return ConnectionHealth::Unused;
        };
        match self.0.registry.trouble() {
            Some(trouble) => ConnectionHealth::Down(Some(trouble)),
            None => ConnectionHealth::of(&started.connection.state()),
        }
    }
}

/// A hint that its holder uses for a call. Dropping it before the call has succeeded forwards it, as [`Waiter::wait`]
/// does.
pub(crate) struct Hint {
    inner: Arc<WaiterInner>,
    unused: Option<Bytes>,
}

impl Hint {
    /// The call has succeeded.
    pub(crate) fn used(mut self) {
        self.unused = None;
    }
}

impl Drop for Hint {
    fn drop(&mut self) {
        // If no caller has ever waited, none was notified.
        if let (Some(marker), Some(_)) = (&self.unused, self.inner.started.get()) {
            self.inner.registry.give_up(marker);
        }
    }
}

/// A future change that its holder waits for. Dropping the guard notifies another caller, unless a caller here soon
/// waits for the change again. An immediate notification would end the other's wait. Two callers that each end their
/// waits when notified, as consumers of several queues do, would then wake each other for ever.
struct ChangeGuard<'a> {
    inner: &'a WaiterInner,
    change: Option<(&'a Bytes, Instant)>,
}

impl Drop for ChangeGuard<'_> {
    fn drop(&mut self) {
        if let Some((marker, change)) = self.change {
            let soon = Instant::now() + RETURNS;
            self.inner
                .pending
                .add_until(marker, change, change.min(soon));
        }
    }
}

impl WaiterInner {
    /// Opens the connection when it is first needed, because a process that only pushes needs none.
    fn start(&self) {
        self.started.get_or_init(|| {
            let settings = &self.settings;
            let of_all = &settings.node.settings;
            let dialer = Dialer {
                connector: Arc::clone(&settings.node.connector),
                timeouts: of_all.timeouts,
                channel: Arc::clone(&settings.channel),
            };
            let spawn = &*of_all.spawn;
            let (backoff, alarm) = (settings.node.backoff.clone(), settings.node.alarm.clone());
            // If the server falls silent, the connection for commands rings the alarm. If only this connection falls
            // silent, registrations notice it.
            let connection = Supervised::new(dialer, None, backoff, None, alarm, spawn);
            let watch = Watch {
                registry: Arc::clone(&self.registry),
                pending: Arc::clone(&self.pending),
                connection: connection.clone(),
                address: settings.node.connector.address(),
                channel: Arc::clone(&settings.channel),
                patience: settings.fall_back * (registry::KEPT * TRUSTED),
                settings: Arc::clone(of_all),
            };
            Started {
                connection,
                _running: spawn.spawn(Box::pin(watch.run())),
            }
        });
    }
}

/// The first serial number of a registry. No two registrations of any process have the same number, because two
/// backends with the same [jitter seed](crate::Builder::jitter_seed) listen to the same channel. A message is for only
/// one of them. Within a process, later registries have larger numbers of the same length, so that the order of
/// registrations on a server is reproducible.
fn first_serial() -> u64 {
    static PROCESS: LazyLock<u64> =
        LazyLock::new(|| 1_000_000_000_000_000_000 + RandomState::new().hash_one(()) % (1 << 61));
    static BOARDS: AtomicU64 = AtomicU64::new(0);
    *PROCESS + (BOARDS.fetch_add(1, Ordering::Relaxed) << 32)
}

/// The error for a caller that could not have been woken.
fn deaf(reason: &Arc<Error>, fall_back: Duration, outcome: Outcome) -> Error {
    let fall_back = in_millis(fall_back);
    let message = format!(
        "nobody can be told of changes at present, so who waits looks each {fall_back}: {reason}"
    );
    Error::new(ErrorKind::Unavailable, message)
        .with_transient(true)
        .with_outcome(outcome)
        .with_source(Arc::clone(reason))
}

impl std::fmt::Debug for WaiterInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("registry", &self.registry)
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}
