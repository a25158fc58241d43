//! The backend: its connections, and the parts that its queues share.

mod builder;
mod connecting;
mod health;
mod queues;
mod removing;
mod startup;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use queue_core::{Result, Spawn};
use redis_link::{
    Client, ErasedArc, Servers,
    connection::{Connector, Warning},
};

use self::connecting::Connecting;
pub use self::{builder::Builder, health::Health};
use crate::waiting;

/// Queues on a Redis server.
///
/// It holds two connections: one for commands, and, from the first wait on, one that hears of
/// arrivals for all queues and waiters of this backend; of a cluster, two for each node. A supervisor
/// opens each again whenever it ends. Cloning copies a pointer. Dropping the last clone, and the last
/// queue opened from it, closes them.
#[derive(Debug, Clone)]
pub struct RedisBackend {
    client: Client,
    prefix: Arc<str>,
    spawn: Arc<dyn Spawn>,
    large: usize,
    packs: usize,
    /// Random; no other backend has it.
    seed: u64,
    /// How many names were drawn from the seed.
    drawn: Arc<AtomicU64>,
    connecting: ErasedArc<Connecting>,
}

impl RedisBackend {
    /// Connects to the server at this URL: `redis://[[user]:password@]host[:port][/db]`, the same
    /// with `rediss://` through [TLS](crate#tls), `unix:///path/to/socket[?db=…&user=…&pass=…]`; to
    /// the primary that [sentinels](crate#sentinel) name; or to a [cluster](crate#cluster). Each may set the
    /// [prefix](Builder::prefix) of all keys, the [name](Builder::client_name) of its connections, and how long
    /// to [wait](Builder::startup_timeout) for a server that is not up yet, as in
    /// `redis://localhost?prefix=shop&client_name=shop&startup_timeout=30s`.
    ///
    /// The scheme may be in capitals. `user:@` is a user with an empty password. An address that is valid on
    /// one link alone names the interface, as in `redis://[fe80::1%25eth0]`.
    ///
    /// The backend's tasks live on the tokio runtime that called this (or on that of
    /// [`Builder::spawn`]). You can make calls from any other for as long as this one is driven.
    /// When it has ended, every call fails for good with `Configuration`; so does a call outside of
    /// any runtime.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad URL, or an unknown parameter in it; `Unavailable` if the server cannot
    /// be reached; `Configuration` if it is a replica, older than 6.2 or, without `+cluster` in the URL, a
    /// node of a cluster, evicts keys, does not let this user in, does not have this database, or does not let the user run
    /// the scripts' commands; if TLS was not compiled in, or a certificate is wrong; if the sentinels
    /// do not know the service; and outside of a tokio runtime.
    pub async fn connect(url: &str) -> Result<Self> {
        Self::builder(url)?.connect().await
    }

    /// Connects with other settings than the defaults.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad URL, or an unknown parameter in it; `Configuration` for a URL that asks
    /// for TLS without the feature `tls`.
    pub fn builder(url: &str) -> Result<Builder> {
        Builder::to(url)
    }

    /// Connects through a connector of your own.
    pub fn with_connector(connector: impl Connector) -> Builder {
        Builder::through(Arc::new(connector))
    }

    /// The state of the connections, without asking the server. Of a cluster it is that of the worst
    /// node. [`Builder::keep_alive`] says how soon it shows an outage while no call is made.
    pub fn health(&self) -> Health {
        match self.client.servers() {
            Servers::One(node) => Health {
                commands: node.health(),
                waiter: waiting::at(node).health(),
            },
            Servers::Cluster(cluster) => Health {
                commands: cluster.health(|node| node.health()),
                waiter: cluster.health(|node| waiting::at(node).health()),
            },
        }
    }

    /// Asks the server for an answer; each node at the same time, if it is a cluster.
    ///
    /// # Errors
    ///
    /// `Unavailable` if none comes within the response timeout.
    pub async fn ping(&self) -> Result<()> {
        self.client.ping().await
    }

    /// The last connect's findings that are no reason to refuse the server, but that an operator
    /// should know. Of a cluster, those of its nodes, each once.
    pub fn warnings(&self) -> Vec<Warning> {
        let nodes = self.client.servers().nodes();
        let mut all: Vec<Warning> = Vec::new();
        for warning in nodes.iter().flat_map(|node| node.warnings()) {
            if !all.contains(&warning) {
                all.push(warning);
            }
        }
        all
    }

    /// Sends to the list of queues.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// So many messages and more in one call are stored in packs.
    pub(crate) const fn packs(&self) -> usize {
        self.packs
    }

    /// Messages of so many bytes and more are large.
    pub(crate) const fn large(&self) -> usize {
        self.large
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// The next number of this backend's: each is given once, whatever handle asks.
    pub(crate) fn draw(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) const fn spawn(&self) -> &Arc<dyn Spawn> {
        &self.spawn
    }
}
