//! One server and its connections: the one for commands, and the one that hears of arrivals.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::Result;

use crate::{
    connection::{
        Alarm, Backoff, Channel, ConnectionHealth, Connector, CopiesAsked, Dial, Primary, Settings,
        Supervised, Warning,
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

/// Makes the nodes of one backend.
pub(crate) struct NodeMaker {
    pub(crate) settings: Arc<Settings>,
    pub(crate) made: AtomicU64,
}

impl NodeMaker {
    /// Opens connections to the server that this connector leads to.
    pub(crate) fn primary(&self, connector: Arc<dyn Connector>) -> Primary {
        Primary {
            connector,
            settings: Arc::clone(&self.settings),
            warnings: Arc::default(),
        }
    }

    /// Connects to the server that this connector leads to.
    pub(crate) async fn connect(&self, connector: Arc<dyn Connector>) -> Result<Arc<Node>> {
        let primary = self.primary(connector);
        let first = primary.dial().await?;
        Ok(self.start(primary, Some(first)))
    }

    /// Has a server's connections kept open from now on. `first` is open already.
    pub(crate) fn start(&self, primary: Primary, first: Option<Channel>) -> Arc<Node> {
        let settings = &self.settings;
        // Each node has a channel of its own: a cluster hands a message to all nodes, and the one at
        // which somebody waits knows only its own listeners.
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        let seed = settings.seed.wrapping_add(made);
        let alarm = Alarm::default();
        let backoff = |seed| Backoff::new(FIRST_RETRY, LONGEST_RETRY, seed);
        let waiter = Waiter::new(waiter::Settings {
            connector: Arc::clone(&primary.connector),
            of_all: Arc::clone(settings),
            backoff: backoff(seed.rotate_left(32)),
            alarm: alarm.clone(),
            channel: keys::channel(&settings.prefix, seed).into(),
        });
        let address = primary.connector.address();
        let warnings = Arc::clone(&primary.warnings);
        let waits = settings.confirmation.map(|confirmation| {
            let asked = CopiesAsked::new(confirmation, address.clone());
            let patience = settings.timeouts.response;
            Waiting::waits(asked, patience, Arc::clone(&settings.spawn))
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
