//! Calls scripts and sends commands, on the server that has the keys.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::future::{self, BoxFuture, FutureExt};
use queue_core::{
    Copies, Error, ErrorKind, Result, Timestamp, TokioSpawn, in_millis, with_sources,
};
use redis::{Cmd, FromRedisValue, ToRedisArgs, Value};
use tokio::time::Instant;

use crate::{
    call::ScriptCall,
    clock::Clock,
    cluster::{Cluster, Redirection, slot_of},
    connection::{Channel, ConnectionState, Settings},
    erased_arc::ErasedArc,
    error::Failure,
    node::Node,
    script::Script,
    waits::Moment,
};

/// Sends calls to the keys of one slot. Cloning copies a pointer.
#[derive(Clone)]
pub struct Client {
    inner: ErasedArc<ClientInner>,
    /// The slot of the keys, on a cluster.
    slot: u16,
}

struct ClientInner {
    servers: Servers,
    response_timeout: Duration,
    clock: Clock,
    only_reads: bool,
}

/// Where the keys are.
#[derive(Debug)]
pub enum Servers {
    /// One server has all keys.
    One(Arc<Node>),
    /// Each node of a cluster has some of the keys.
    Cluster(Cluster),
}

impl Servers {
    /// All known nodes.
    pub fn nodes(&self) -> Vec<Arc<Node>> {
        match self {
            Self::One(node) => vec![Arc::clone(node)],
            Self::Cluster(cluster) => cluster.nodes(),
        }
    }
}

/// A connection to the node that has some keys.
#[derive(Debug)]
pub struct Route {
    /// The node.
    pub node: Arc<Node>,
    /// Its connection for commands.
    pub channel: Arc<Channel>,
    /// The number of times that a call to the cluster had been led to another node by then.
    changes: u64,
}

impl Client {
    /// A client for a key, with the clock and the timeout of these settings.
    pub fn new(servers: Servers, settings: &Settings, key: &str) -> Self {
        let inner = ClientInner {
            servers,
            response_timeout: settings.timeouts.response,
            clock: settings.clock.clone(),
            only_reads: settings.needs.only_reads,
        };
        let inner = ErasedArc::new(inner);
        Self { inner, slot: 0 }.at(key)
    }

    /// The same client for this key, and for all other keys in its slot.
    pub fn at(&self, key: &str) -> Self {
        Self {
            inner: self.inner.clone(),
            slot: match self.inner.servers {
                Servers::One(_) => 0,
                Servers::Cluster(_) => slot_of(key.as_bytes()),
            },
        }
    }

    /// The slot of the keys, on a cluster.
    pub const fn slot(&self) -> u16 {
        self.slot
    }

    /// Whether the servers are nodes of a cluster.
    pub fn is_clustered(&self) -> bool {
        matches!(self.inner.servers, Servers::Cluster(_))
    }

    /// Begins a call of a script. `ARGV[1]` is the time: empty for the server's clock.
    pub fn prepare<K: ToRedisArgs>(
        &self,
        script: &'static Script,
        keys: impl IntoIterator<Item = K, IntoIter: ExactSizeIterator>,
    ) -> ScriptCall {
        match self.inner.only_reads {
            true => ScriptCall::read_only(script, keys),
            false => ScriptCall::new(script, keys, &self.inner.clock.argument()),
        }
    }

    /// Sends a plain command, and converts its reply; `what` names the reply's content. If the reply has the wrong
    /// type, the connection is tested, see [`mark_suspect`](Self::mark_suspect).
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd, what: &str) -> Result<T> {
        let answer = self.command(command).await?;
        redis::from_redis_value(answer).map_err(|error| {
            self.mark_suspect();
            let message = format!("{what} cannot be read: {error}");
            Error::new(ErrorKind::Internal, message)
        })
    }

    /// Sends a ping to each server and waits for the replies.
    pub async fn ping(&self) -> Result<()> {
        TokioSpawn::current()?;
        let nodes = self.inner.servers.nodes();
        let pings = nodes.iter().map(|node| self.ping_one(node));
        future::try_join_all(pings).await.map(drop)
    }

    async fn ping_one(&self, node: &Node) -> Result<()> {
        let made = Instant::now();
        let deadline = made + self.inner.response_timeout;
        let channel = node.channel_until(deadline).await?;
        let answer = channel.request_since(made, &redis::cmd("PING")).await;
        let answer = answer.map_err(|failure| node.error(failure))?;
        if answer != Value::SimpleString("PONG".to_owned()) {
            channel.mark_suspect();
            let message = format!("{} did not answer a PING with a PONG", node.address());
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        Ok(())
    }

    /// Has the connection to these keys tested, because a reply did not fit its request: the connection's replies may
    /// be out of sync. If they are, the connection is replaced; if stored data is damaged, the connection stays.
    pub fn mark_suspect(&self) {
        self.node().commands().mark_suspect();
    }

    /// The time of this client's clock, or of the clock that replaces the server's.
    pub fn own_time(&self) -> Timestamp {
        let replaced = self.inner.clock.replaced();
        replaced.unwrap_or_else(|| SystemTime::now().into())
    }

    /// The server's time, or that of the clock that replaces it.
    pub async fn time(&self) -> Result<Timestamp> {
        if let Some(now) = self.inner.clock.replaced() {
            return Ok(now);
        }
        let command = redis::cmd("TIME");
        let (seconds, micros): (u64, u64) = self.ask(&command, "the server's time").await?;
        Ok(Timestamp::from_millis(seconds * 1_000 + micros / 1_000))
    }

    /// Waits until a call can expect a reply: a connection is open, and its last request got a reply. An error means
    /// that there will never be a connection again.
    pub async fn ready(&self) -> Result<()> {
        loop {
            match self.route().await.map(|route| route.channel) {
                Ok(channel) if !channel.is_silent() => return Ok(()),
                Ok(channel) => channel.heard_or_over().await,
                Err(error) if error.is_transient() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether its calls can be confirmed.
    pub fn confirms(&self) -> bool {
        self.node().waits().is_some()
    }

    /// The connection that calls to these keys use from now on; waits for one as a call does. Boxed, as a call is.
    pub fn route(&self) -> BoxFuture<'_, Result<Route>> {
        async move {
            TokioSpawn::current()?;
            let deadline = Instant::now() + self.inner.response_timeout;
            // Read first, so that no later change is missed.
            let changes = self.changes();
            let (node, channel) = self.channel(deadline).await?;
            Ok(Route {
                node,
                channel,
                changes,
            })
        }
        .boxed()
    }

    /// An open connection to the node that has the keys; waits for one until the deadline.
    pub(crate) async fn channel(&self, deadline: Instant) -> Result<(Arc<Node>, Arc<Channel>)> {
        match &self.inner.servers {
            Servers::One(node) => Ok((Arc::clone(node), node.channel_until(deadline).await?)),
            Servers::Cluster(cluster) => cluster.channel(self.slot, deadline).await,
        }
    }

    /// The cluster's redirection in this failure, if this node did not execute the request.
    pub(crate) fn redirection(
        &self,
        failure: &Failure,
        node: &Arc<Node>,
    ) -> Option<(&Cluster, Redirection)> {
        match &self.inner.servers {
            Servers::One(_) => None,
            Servers::Cluster(cluster) => Some((cluster, cluster.redirection(failure, node)?)),
        }
    }

    /// The error that a caller sees, for a request to this node. On a cluster, the node may have a successor by now.
    pub(crate) fn failed(&self, failure: Failure, node: &Node) -> Error {
        if let Servers::Cluster(cluster) = &self.inner.servers {
            cluster.mark_suspect();
        }
        node.error(failure)
    }

    /// How often the cluster led a call to another node.
    fn changes(&self) -> u64 {
        match &self.inner.servers {
            Servers::One(_) => 0,
            Servers::Cluster(cluster) => cluster.changes(),
        }
    }

    /// Whether all calls to these keys that were answered since then used this connection. A closed connection is never
    /// reused: if it is still in use, it was in use all the time.
    fn is_still_on(&self, route: &Route) -> bool {
        let is_owner = Arc::ptr_eq(&self.node(), &route.node) && self.changes() == route.changes;
        let ConnectionState::Up(current) = route.node.commands().state() else {
            return false;
        };
        is_owner && Arc::ptr_eq(&current, &route.channel) && !current.is_over()
    }

    /// Waits for copies of everything that calls to these keys changed on this route before. A write to `key`, which
    /// nothing else uses, precedes the wait. If the calls may have used another connection, the result is unknown.
    pub async fn copies(&self, route: Route, key: &Arc<str>) -> Copies {
        let unknown = |reason: &str| Copies::Unknown(reason.to_owned());
        if !self.is_still_on(&route) {
            return unknown("the connection ended before there was a confirmation");
        }
        let Some(waits) = route.node.waits() else {
            return unknown("its connection waits for nothing");
        };
        let moment = Moment::now(route.channel, Arc::clone(key));
        let copies = waits.submit(&[moment]).await;
        match copies.map(|mut copies| copies.pop()) {
            Ok(Some(copies)) => copies,
            Ok(None) => unknown(&Error::unanswered().to_string()),
            Err(error) => unknown(&with_sources(&error)),
        }
    }

    /// The time until which the server may not reply, or did not, because it waits for copies.
    pub fn held_up(&self) -> Option<Instant> {
        match self.node().commands().state() {
            ConnectionState::Up(channel) => Some(channel.held_up()),
            ConnectionState::Down(_) => None,
        }
    }

    /// The error for a call that could not be sent in time.
    pub fn unsent(&self) -> Error {
        let node = self.node();
        let address = node.address();
        let reason = match node.commands().state() {
            ConnectionState::Up(channel) if channel.is_silent() => "does not answer at present",
            ConnectionState::Up(channel) if !channel.is_over() => {
                "has more calls waiting than it gets done: make fewer at a time, or larger batches"
            }
            _ => return node.commands().outage().with_server(address),
        };
        let timeout = in_millis(self.inner.response_timeout);
        Error::new(
            ErrorKind::Unavailable,
            format!("nothing was sent within {timeout}: {address} {reason}"),
        )
        .with_server(address)
    }

    /// How long the server may be silent before a call fails.
    pub fn response_timeout(&self) -> Duration {
        self.inner.response_timeout
    }

    /// The server that has the keys, as far as is known; waiting callers wait at this server.
    pub fn node(&self) -> Arc<Node> {
        match &self.inner.servers {
            Servers::One(node) => Arc::clone(node),
            Servers::Cluster(cluster) => cluster.owner(self.slot),
        }
    }

    /// The servers that this client sends to.
    pub fn servers(&self) -> &Servers {
        &self.inner.servers
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("servers", &self.inner.servers)
            .field("response_timeout", &self.inner.response_timeout)
            .finish_non_exhaustive()
    }
}
