//! The backend: its connections, and the parts that its queues share.

mod builder;
mod connecting;
mod facts;
mod health;
mod plain;
mod queues;
mod removing;
mod startup;

use std::sync::{Arc, atomic::AtomicU64};

use queue_core::Result;
use redis_link::{ErasedArc, Servers, connection::Warning};

use self::connecting::Connecting;
pub use self::{builder::Builder, health::Health};
use crate::{queue::Context, waiting};

/// Queues on a Redis server.
///
/// It holds two connections, or two for each node of a cluster. One carries commands. The other opens at the first wait
/// and receives the wake-ups for all queues and waiting callers of this backend. A supervisor reopens each connection
/// whenever it ends. Cloning copies a pointer. Dropping the last clone, and the last queue opened from it, closes them.
#[derive(Debug, Clone)]
pub struct RedisBackend {
    context: Context,
    /// The count of the numbers that [`draw`](Self::draw) has given out.
    drawn: Arc<AtomicU64>,
    connecting: ErasedArc<Connecting>,
}

impl RedisBackend {
    /// Connects to the server at this URL: `redis://[[user]:password@]host[:port][/db]`, the same with `rediss://`
    /// through [TLS](crate#tls), `unix:///path/to/socket[?db=…&user=…&pass=…]`; to the primary that
    /// [sentinels](crate#sentinel) name; or to a [cluster](crate#cluster). Each may set the [prefix](Builder::prefix)
    /// of all keys, the [name](Builder::client_name) of its connections, and how long to
    /// [wait](Builder::startup_timeout) for a server that is not up yet, as in
    /// `redis://localhost?prefix=shop&client_name=shop&startup_timeout=30s`.
    ///
    /// The scheme may be in upper case. `user:@` is a user with an empty password. A link-local address names its
    /// interface, as in `redis://[fe80::1%25eth0]`.
    ///
    /// The backend's tasks live on the tokio runtime that called this (or on that of [`Builder::spawn`]). Calls can
    /// come from any other runtime while this one is driven. Once it has ended, every call fails permanently with
    /// `Configuration`; so does a call outside of any runtime.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad URL, or an unknown parameter in it. `Unavailable` if the server cannot be reached.
    /// `Configuration` if the server is a replica, is older than 6.2, evicts keys, or is a node of a cluster without
    /// `+cluster` in the URL. Also `Configuration` if the server refuses the user, the database, or the scripts'
    /// commands for this user. Also if TLS was not compiled in, if a certificate is wrong, if the sentinels do not know
    /// the service, and outside of a tokio runtime.
    pub async fn connect(url: &str) -> Result<Self> {
        Self::builder(url)?.connect().await
    }

    /// Connects with settings other than the defaults.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad URL, or an unknown parameter in it; `Configuration` for a URL that asks for TLS without the
    /// feature `tls`.
    pub fn builder(url: &str) -> Result<Builder> {
        Builder::to(url)
    }

    /// Connects through a connector of your own, with the feature `connector`.
    #[cfg(feature = "connector")]
    pub fn with_connector(connector: impl redis_link::connection::Connector) -> Builder {
        Builder::through(Arc::new(connector))
    }

    /// The state of the connections, without asking the server. For a cluster, this is the state of the worst node.
    /// [`Builder::keep_alive`] says how soon it shows an outage while no call is made.
    pub fn health(&self) -> Health {
        match self.client().servers() {
            Servers::One(node) => Health {
                commands: node.health(),
                waiter: waiting::at(node).health(),
                warnings: self.all_warnings(),
            },
            Servers::Cluster(cluster) => Health {
                commands: cluster.health(|node| node.health()),
                waiter: cluster.health(|node| waiting::at(node).health()),
                warnings: self.all_warnings(),
            },
        }
    }

    /// Sends the server a ping and waits for the reply; for a cluster, pings all nodes at the same time.
    ///
    /// # Errors
    ///
    /// `Unavailable` if no reply comes within the response timeout.
    pub async fn ping(&self) -> Result<()> {
        self.client().ping().await
    }

    /// The warnings of all nodes, each once.
    fn all_warnings(&self) -> Vec<Warning> {
        let nodes = self.client().servers().nodes();
        let mut all: Vec<Warning> = Vec::new();
        for warning in nodes.iter().flat_map(|node| node.warnings()) {
            if !all.contains(&warning) {
                all.push(warning);
            }
        }
        all
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.context.prefix
    }
}
