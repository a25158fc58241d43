//! The waiting callers at one node: their registry, and the connection over which the node notifies them. The connection's
//! task is in [`watch`](super::watch).

use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::BuildHasher,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use queue_core::Running;
use redis_link::{
    connection::{ConnectionHealth, Supervised},
    node::Companion,
};

use super::{
    registry::WaiterRegistry,
    watch::{Dialer, Settings, watch},
};

/// Waits at one node for all queues of a backend. Dropping it closes the connection.
pub(crate) struct NodeWaiter {
    pub(super) registry: Arc<WaiterRegistry>,
    pub(super) settings: Arc<Settings>,
    /// The connection, and its task.
    started: OnceLock<(Supervised, Running)>,
}

impl Companion for NodeWaiter {
    /// Callers waiting at this node would get no more wake-ups; their next poll goes to the new owner.
    fn left(&self) {
        self.registry.wake_all();
    }
}

impl NodeWaiter {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            registry: Arc::new(WaiterRegistry::new(settings.trusted(), first_serial())),
            settings: Arc::new(settings),
            started: OnceLock::new(),
        }
    }

    /// The registry, with its connection. The connection opens when it is first needed, because a process that only
    /// pushes needs none.
    pub(super) fn start(&self) -> &Arc<WaiterRegistry> {
        self.started.get_or_init(|| {
            let node = &self.settings.node;
            let spawn = &*node.settings.spawn;
            let dialer = Dialer(Arc::clone(&self.settings));
            let (backoff, alarm) = (node.backoff.clone(), node.alarm.clone());
            // If the server falls silent, the connection for commands rings the alarm. If only this connection falls
            // silent, registrations notice it.
            let connection = Supervised::new(dialer, None, backoff, None, alarm, spawn);
            let task = watch(
                Arc::clone(&self.settings),
                Arc::clone(&self.registry),
                connection.clone(),
            );
            (connection, spawn.spawn(Box::pin(task)))
        });
        &self.registry
    }

    /// Forwards a wake-up that a caller did not use for a poll.
    pub(super) fn forward(&self, marker: &Bytes) {
        // If no caller has ever waited, none was notified.
        if self.started.get().is_some() {
            self.registry.forward(marker);
        }
    }

    pub(crate) fn health(&self) -> ConnectionHealth {
        let Some((connection, _)) = self.started.get() else {
            return ConnectionHealth::Unused;
        };
        match self.registry.trouble() {
            Some(trouble) => ConnectionHealth::Down(Some(trouble)),
            None => ConnectionHealth::of(&connection.state()),
        }
    }
}

/// The first serial number of a registry. No two registrations of any process have the same number, because two
/// backends with the same [jitter seed](crate::Builder::jitter_seed) listen to the same channel. A message is for only
/// one of them. Within a process, later registries have larger numbers of the same length, so that the order of
/// registrations on a server is reproducible.
fn first_serial() -> u64 {
    static PROCESS: LazyLock<u64> =
        LazyLock::new(|| 1_000_000_000_000_000_000 + RandomState::new().hash_one(()) % (1 << 61));
    static REGISTRIES: AtomicU64 = AtomicU64::new(0);
    *PROCESS + (REGISTRIES.fetch_add(1, Ordering::Relaxed) << 32)
}

impl fmt::Debug for NodeWaiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeWaiter")
            .field("registry", &self.registry)
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}
