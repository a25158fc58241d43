//! One server and its connections: the connection for commands, and the companion's.

use std::{
    any::Any,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::{Error, ErrorKind, Result};
use tokio::time::{self, Instant};

use crate::{
    connection::{
        AcceptedSizes, Alarm, Backoff, Channel, CommandDialer, ConnectionHealth, ConnectionState,
        Connector, CopiesAsked, Dial, Settings, Supervised, Warning,
    },
    erased_arc::ErasedArc,
    error::{Failure, OwnMeanings},
    waits::{CopyWait, Waits},
};

const FIRST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// State that the owner of nodes keeps beside each node, such as a connection of its own.
pub trait Companion: Any + fmt::Debug + Send + Sync {
    /// Called when the node no longer has a slot of its cluster.
    fn left(&self);
}

/// A node that is about to be created.
#[derive(Debug)]
pub struct NewNode {
    /// Opens connections to the node.
    pub connector: Arc<dyn Connector>,
    /// The settings of all connections.
    pub settings: Arc<Settings>,
    /// The pauses between attempts to connect, for a connection of the companion.
    pub backoff: Backoff,
    /// Rung when the server falls silent.
    pub alarm: Alarm,
    /// A number that no other node of this maker has.
    pub seed: u64,
}

/// Makes the companion of a node.
pub type MakeCompanion = Box<dyn Fn(NewNode) -> Arc<dyn Companion> + Send + Sync>;

/// A server, and the connections to it. Dropping the last handle closes them.
#[derive(Debug)]
pub struct Node {
    address: String,
    commands: Supervised,
    companion: Arc<dyn Companion>,
    warnings: Arc<Mutex<Vec<Warning>>>,
    /// The sizes that the server accepts, as far as they are known.
    sizes: Arc<AcceptedSizes>,
    /// Opens connections, also one for a single request.
    dialer: ErasedArc<CommandDialer>,
    /// The waits for copies, if the node's calls can be confirmed.
    waits: Option<Waits>,
    meanings: OwnMeanings,
}

impl Node {
    /// The server's address, without a password.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The error that a caller sees, for a request to this server.
    pub fn error(&self, failure: Failure) -> Error {
        failure.into_error_of(&self.address, self.meanings)
    }

    /// Opens connections to the server, and has their settings.
    pub fn dialer(&self) -> &CommandDialer {
        &self.dialer
    }

    /// The connection for commands.
    pub const fn commands(&self) -> &Supervised {
        &self.commands
    }

    /// The open connection for commands; waits for one until `deadline`.
    pub async fn channel_until(&self, deadline: Instant) -> Result<Arc<Channel>> {
        let channel = self.commands.channel_until(deadline).await;
        channel.map_err(|error| error.with_server(&self.address))
    }

    /// The node's companion.
    ///
    /// # Panics
    ///
    /// If the node's maker creates companions of another type.
    pub fn companion<T: Companion>(&self) -> &T {
        let companion: &dyn Any = &*self.companion;
        let companion = companion.downcast_ref();
        companion.expect("the maker of this node makes companions of this type")
    }

    /// Tells the companion that the node no longer has a slot of its cluster.
    pub(crate) fn left(&self) {
        self.companion.left();
    }

    /// The waits for copies of writes over the connection for commands.
    pub(crate) const fn waits(&self) -> Option<&Waits> {
        self.waits.as_ref()
    }

    /// The connection for a request whose largest part has `size` bytes: the `shared` one, unless the size may be the
    /// cause of a disconnect.
    ///
    /// # Errors
    ///
    /// `Configuration` if the server refuses requests of this size; `Unavailable` if there is no connection by
    /// `deadline`.
    pub async fn connection_for(
        &self,
        shared: Arc<Channel>,
        size: impl FnOnce() -> usize,
        deadline: Instant,
    ) -> Result<RequestConnection> {
        let alone = self.sizes.needs_own_connection(size, &self.address)?;
        // A confirmation covers the calls of one connection, which no other caller uses.
        let own = match alone && self.waits.is_none() {
            true => Some(self.own(deadline).await?),
            false => None,
        };
        Ok(RequestConnection {
            shared,
            own,
            is_suspect: alone,
        })
    }

    /// Opens a connection for one request, until `deadline`.
    async fn own(&self, deadline: Instant) -> Result<Channel> {
        let outage = |reason: &str| {
            let address = &self.address;
            let text =
                format!("there is no connection to {address} for a large request alone{reason}");
            Error::new(ErrorKind::Unavailable, text).with_server(address)
        };
        match time::timeout_at(deadline, self.dialer.dial()).await {
            Ok(Ok(channel)) => Ok(channel),
            // The error may be transient, as for the connection that all other calls use.
            Ok(Err(error)) => Err(outage("").with_source(error)),
            Err(_) => Err(outage(": it did not open in time")),
        }
    }

    /// Notes the result of a request on this connection.
    ///
    /// # Errors
    ///
    /// `Configuration` if the request's size was the cause of a disconnect.
    pub fn note_result(
        &self,
        used: &RequestConnection,
        failure: Option<&Failure>,
        size: impl FnOnce() -> usize,
    ) -> Result<()> {
        // If the shared connection ended as well, the whole server may have ended.
        let current = || match self.commands.state() {
            ConnectionState::Up(current) => {
                Arc::ptr_eq(&current, &used.shared) && !current.is_over()
            }
            ConnectionState::Down(_) => false,
        };
        let alone = match &used.own {
            Some(_) => failure.is_some() && current(),
            None => used.is_suspect,
        };
        self.sizes.note_result(failure, size, alone, &self.address)
    }

    /// The state of the connection for commands.
    pub fn health(&self) -> ConnectionHealth {
        ConnectionHealth::of(&self.commands.state())
    }

    /// The last connect's findings that do not rule the server out.
    pub fn warnings(&self) -> Vec<Warning> {
        let warnings = self.warnings.lock();
        warnings.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The connection that one request uses.
#[derive(Debug)]
pub struct RequestConnection {
    shared: Arc<Channel>,
    /// The request's own connection; it closes with this value.
    own: Option<Channel>,
    /// Whether the request's size may be the cause of a disconnect.
    is_suspect: bool,
}

impl RequestConnection {
    /// The connection.
    pub fn channel(&self) -> &Channel {
        self.own.as_ref().unwrap_or(&self.shared)
    }
}

/// Creates the nodes of one backend.
pub struct NodeMaker {
    settings: Arc<Settings>,
    made: AtomicU64,
    companion: MakeCompanion,
}

impl NodeMaker {
    /// Creates nodes with these settings, each with a companion.
    pub fn new(settings: Arc<Settings>, companion: MakeCompanion) -> Self {
        Self {
            settings,
            made: AtomicU64::new(0),
            companion,
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Opens connections to the server of this connector.
    pub fn dialer(&self, connector: Arc<dyn Connector>) -> CommandDialer {
        CommandDialer {
            connector,
            settings: Arc::clone(&self.settings),
            warnings: Arc::default(),
            sizes: Arc::default(),
        }
    }

    /// Connects to the server of this connector.
    pub async fn connect(&self, connector: Arc<dyn Connector>) -> Result<Arc<Node>> {
        let dialer = self.dialer(connector);
        let first = dialer.dial().await?;
        Ok(self.start(dialer, Some(first)))
    }

    /// Keeps a server's connections open from now on. `first` is open already.
    pub fn start(&self, dialer: CommandDialer, first: Option<Channel>) -> Arc<Node> {
        let settings = &self.settings;
        let made = self.made.fetch_add(1, Ordering::Relaxed);
        let seed = settings.seed.wrapping_add(made);
        let alarm = Alarm::default();
        let backoff = |seed| Backoff::new(FIRST_RETRY, LONGEST_RETRY, seed);
        let companion = (self.companion)(NewNode {
            connector: Arc::clone(&dialer.connector),
            settings: Arc::clone(settings),
            backoff: backoff(seed.rotate_left(32)),
            alarm: alarm.clone(),
            seed,
        });
        let address = dialer.connector.address();
        let warnings = Arc::clone(&dialer.warnings);
        let sizes = Arc::clone(&dialer.sizes);
        let own_dialer = ErasedArc::new(dialer.clone());
        let waits = settings.confirmation.map(|confirmation| {
            let asked = CopiesAsked::new(confirmation, address.clone());
            // The previous wait takes that long, if no copies come.
            let patience = settings.timeouts.response + confirmation.within;
            CopyWait::waits(asked, patience, Arc::clone(&settings.spawn))
        });
        let commands = Supervised::new(
            dialer,
            first,
            backoff(seed),
            Some(settings.keep_alive),
            alarm,
            &*settings.spawn,
        );
        Arc::new(Node {
            address,
            commands,
            companion,
            warnings,
            sizes,
            dialer: own_dialer,
            waits,
            meanings: settings.meanings,
        })
    }
}

impl fmt::Debug for NodeMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeMaker")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
