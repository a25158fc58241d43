//! One server and its connections: the one for commands, and the one that hears of arrivals.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::{Confirmation, Result, Spawn};

use crate::{
    clock::Clock,
    connection::{
        Alarm, Backoff, Channel, ConnectionHealth, Connector, CopiesAsked, Dial, Primary,
        Supervised, Timeouts, Warning,
    },
    keys,
    waiter::{self, Waiter},
    waits::{Waiting, Waits},
};

const FIRST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// A server, and the connections to it. Dropping the last handle closes them.
#[derive(Debug)]
pub(crate) struct Node {
    address: String,
    commands: Supervised,
    waiter: Waiter,
    warnings: Arc<Mutex<Vec<Warning>>>,
    /// The waits for copies, if its calls can be confirmed.
    waits: Option<Waits>,
}

impl Node {
    /// The server's address, without a password.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) const fn commands(&self) -> &Supervised {
        &self.commands
    }

    pub(crate) const fn waiter(&self) -> &Waiter {
        &self.waiter
    }

    /// The waits for copies of what its connection for commands has written.
    pub(crate) const fn waits(&self) -> Option<&Waits> {
        self.waits.as_ref()
    }

    /// The state of the connection for commands.
    pub(crate) fn health(&self) -> ConnectionHealth {
        ConnectionHealth::of(&self.commands.state())
    }

    /// The last connect's findings that are no reason to refuse the server.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let warnings = self.warnings.lock();
        warnings.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a backend's user has set for its connections.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) timeouts: Timeouts,
    pub(crate) fall_back: Duration,
    pub(crate) allow_eviction: bool,
    pub(crate) prefix: Arc<str>,
    pub(crate) clock: Option<Clock>,
    pub(crate) spawn: Arc<dyn Spawn>,
    /// No other backend has it.
    pub(crate) seed: u64,
}

/// Makes the nodes of one backend.
pub(crate) struct NodeMaker {
    pub(crate) settings: Settings,
    /// Whether the servers are nodes of a cluster.
    pub(crate) in_cluster: bool,
    /// What its calls can wait for, if they can.
    pub(crate) confirmation: Option<Confirmation>,
    pub(crate) made: AtomicU64,
}

/// A node whose first connection is not open yet.
pub(crate) struct NewNode {
    primary: Primary,
    first: Option<Channel>,
}

impl NewNode {
    /// Opens its first connection, and checks the server.
    pub(crate) async fn connect(&mut self) -> Result<()> {
        self.first = Some(self.primary.dial().await?);
        Ok(())
    }
}

impl NodeMaker {
    /// A node that this connector leads to.
    pub(crate) fn plan(&self, connector: Arc<dyn Connector>) -> NewNode {
        let primary = Primary {
            connector,
            timeouts: self.settings.timeouts,
            allow_eviction: self.settings.allow_eviction,
            in_cluster: self.in_cluster,
            confirmation: self.confirmation,
            prefix: Arc::clone(&self.settings.prefix),
            warnings: Arc::default(),
        };
        NewNode {
            primary,
            first: None,
        }
    }

    /// Connects to the server that this connector leads to.
    pub(crate) async fn connect(&self, connector: Arc<dyn Connector>) -> Result<Arc<Node>> {
        let mut node = self.plan(connector);
        node.connect().await?;
        Ok(self.start(node))
    }

    /// Has its connections kept open from now on.
    pub(crate) fn start(&self, planned: NewNode) -> Arc<Node> {
        let NewNode { primary, first } = planned;
        let settings = self.settings.clone();
        // Each node has a channel of its own: a cluster hands a message to all nodes, and the one at
        // which somebody waits knows only its own listeners.
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        let seed = settings.seed.wrapping_add(made);
        let alarm = Alarm::default();
        let backoff = |seed| Backoff::new(FIRST_RETRY, LONGEST_RETRY, seed);
        let waiter = Waiter::new(waiter::Settings {
            connector: Arc::clone(&primary.connector),
            timeouts: settings.timeouts,
            fall_back: settings.fall_back,
            clock: settings.clock,
            backoff: backoff(seed.rotate_left(32)),
            alarm: alarm.clone(),
            spawn: Arc::clone(&settings.spawn),
            channel: keys::channel(&settings.prefix, seed).into(),
            guarded: self.in_cluster,
        });
        let address = primary.connector.address();
        let warnings = Arc::clone(&primary.warnings);
        let waits = self.confirmation.map(|confirmation| {
            let asked = CopiesAsked::new(confirmation, address.clone());
            Waiting::waits(
                asked,
                settings.timeouts.response,
                Arc::clone(&settings.spawn),
            )
        });
        let commands = Supervised::new(primary, first, backoff(seed), alarm, &*settings.spawn);
        Arc::new(Node {
            address,
            commands,
            waiter,
            warnings,
            waits,
        })
    }
}

impl fmt::Debug for NodeMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeMaker")
            .field("timeouts", &self.settings.timeouts)
            .field("in_cluster", &self.in_cluster)
            .finish_non_exhaustive()
    }
}
