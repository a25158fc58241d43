//! The waiting callers at one node: their registry, and the connection over which the node notifies them.

use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::BuildHasher,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use queue_core::Running;
use redis_link::{
    connection::{ConnectionHealth, Supervised},
    node::{Companion, NewNode},
};

use super::{
    registry::{KEPT, WaiterRegistry},
    watch::{Dialer, Watch},
};

/// Number of fall-back intervals for which the registry trusts a registration. Renewals are rare enough to cost an idle
/// process next to nothing, and frequent enough to notice a connection that has gone silent.
const TRUSTED: u32 = 4;

/// Waits at one node for all queues of a backend. Dropping it closes the connection.
pub(crate) struct NodeWaiter {
    registry: Arc<WaiterRegistry>,
    started: OnceLock<Started>,
    settings: Settings,
}

/// The settings of a node's waiter.
pub(crate) struct Settings {
    /// How its connections are opened.
    pub(crate) node: NewNode,
    /// The time after which a waiting caller polls.
    pub(crate) fall_back: Duration,
    /// The process's own channel; no other process has it.
    pub(crate) channel: Arc<str>,
}

#[derive(Debug)]
struct Started {
    connection: Supervised,
    _running: Running,
}

impl Companion for NodeWaiter {
    /// Callers waiting at this node would get no more wake-ups; their next poll goes to the new owner.
    fn left(&self) {
        self.registry.wake_all();
    }
}

impl NodeWaiter {
    pub(crate) fn new(settings: Settings) -> Self {
        let trusted = settings.fall_back * TRUSTED;
        Self {
            registry: Arc::new(WaiterRegistry::new(trusted, first_serial())),
            started: OnceLock::new(),
            settings,
        }
    }

    /// The registry, with its connection. The connection opens when it is first needed, because a process that only
    /// pushes needs none.
    pub(super) fn start(&self) -> &Arc<WaiterRegistry> {
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
                connection: connection.clone(),
                address: self.address(),
                channel: Arc::clone(&settings.channel),
                patience: settings.fall_back * (KEPT * TRUSTED),
                settings: Arc::clone(of_all),
            };
            Started {
                connection,
                _running: spawn.spawn(Box::pin(watch.run())),
            }
        });
        &self.registry
    }

    pub(super) const fn registry(&self) -> &Arc<WaiterRegistry> {
        &self.registry
    }

    /// Forwards a wake-up that a caller did not use for a poll.
    pub(super) fn forward(&self, marker: &Bytes) {
        // If no caller has ever waited, none was notified.
        if self.started.get().is_some() {
            self.registry.forward(marker);
        }
    }

    /// The time after which a waiting caller polls.
    pub(super) const fn fall_back(&self) -> Duration {
        self.settings.fall_back
    }

    /// The node's address, without a password.
    pub(super) fn address(&self) -> String {
        self.settings.node.connector.address()
    }

    /// The settings of its node's connections.
    #[cfg(feature = "recipes")]
    pub(crate) fn node_settings(&self) -> &NewNode {
        &self.settings.node
    }

    pub(crate) fn health(&self) -> ConnectionHealth {
        let Some(started) = self.started.get() else {
            return ConnectionHealth::Unused;
        };
        match self.registry.trouble() {
            Some(trouble) => ConnectionHealth::Down(Some(trouble)),
            None => ConnectionHealth::of(&started.connection.state()),
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
