//! A Redis Cluster: its nodes, and which of them has which keys.
//!
//! All keys of a call are in one slot. The call goes to the node that has the slot, over that node's own connection. If
//! a node replies that another has the slot, the call goes there: `resend` explains when a call is resent. A task
//! reloads the whole slot table whenever a call finds it to be wrong, or gets no reply.
//!
//! The redis crate has a client for clusters, which can be told to repeat no request (`retries(0)`). This crate has its
//! own because its callers need to know each node's connections:
//!
//! * Each node has a companion, with a connection of its own to the same server.
//! * A confirmation counts the writes of one connection, so it has to know that all calls used that connection.
//! * One silent node has its own connections tested and replaced, and holds up calls to its own slots alone.
//! * A request that was never sent fails as not applied; a request that was sent and not answered is of unknown
//!   outcome. Only the connection knows which of the two happened.

mod routing;
mod slots;
mod table;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use queue_core::{Error, ErrorKind, Outcome, Result, Running, in_millis};
use tokio::{
    sync::{Notify, watch},
    time,
};

pub(crate) use self::routing::Redirection;
pub use self::slots::{slot_of, tag_of};
use self::{
    slots::{NodeAddress, Range},
    table::Table,
};
use crate::{
    connection::{
        Channel, ConnectionHealth, ConnectionState, Connector, Dial, Role, Seeds, ServerConnector,
        head_start, open, race,
    },
    error::Failure,
    node::{Node, NodeMaker},
};

/// How long a connected node may take to return the slots, before another node is asked in parallel.
const HEAD_START: Duration = Duration::from_millis(300);
/// How long all connected nodes may take, before others are asked over new connections.
const LONGEST_ASK: Duration = Duration::from_secs(1);
/// The shortest time between two reloads of the slots.
const PAUSE: Duration = Duration::from_millis(100);

/// The nodes of a cluster. Dropping it closes all connections.
pub struct Cluster {
    shared: Arc<ClusterState>,
    _running: Running,
}

struct ClusterState {
    seeds: Seeds,
    maker: NodeMaker,
    table: watch::Sender<Table>,
    /// Notified when the table was found to be wrong, or may be.
    doubted: Notify,
    /// How many times a call was led to another node, or may be from then on.
    changes: AtomicU64,
}

impl Cluster {
    /// Loads the slots from one of the seeds, and connects to all nodes that have slots.
    ///
    /// # Errors
    ///
    /// The errors of connecting to a server. The server is a seed if no seed returns the slots, and a node if the node
    /// is permanently unfit or no node can be reached.
    pub async fn connect(seeds: Seeds, maker: NodeMaker) -> Result<Self> {
        let shared = Arc::new(ClusterState {
            seeds,
            maker,
            table: watch::Sender::new(Table::default()),
            doubted: Notify::new(),
            changes: AtomicU64::new(0),
        });
        let ranges = shared.ask_anew().await?;
        shared.open_all(&ranges).await?;
        shared.take(ranges);
        let spawn = &shared.maker.settings().spawn;
        let running = spawn.spawn(Box::pin(Arc::clone(&shared).keep_up()));
        Ok(Self {
            shared,
            _running: running,
        })
    }

    /// The node that has a slot, as far as is known.
    pub fn owner(&self, slot: u16) -> Arc<Node> {
        self.shared.owner(slot)
    }

    /// How many times a call was led to a node other than the previously known one. While the number stays the same,
    /// each call goes to the owner of its slot.
    pub fn changes(&self) -> u64 {
        self.shared.changes.load(Ordering::Acquire)
    }

    /// All nodes that are known to have slots.
    pub fn nodes(&self) -> Vec<Arc<Node>> {
        self.shared
            .nodes()
            .into_iter()
            .map(|(_, node)| node)
            .collect()
    }

    /// The worst of the nodes' states.
    pub fn health(&self, of: impl Fn(&Node) -> ConnectionHealth) -> ConnectionHealth {
        let states = self.nodes().into_iter().map(|node| of(&node));
        states
            .max_by_key(ConnectionHealth::gravity)
            .unwrap_or(ConnectionHealth::Down(None))
    }
}

impl ClusterState {
    fn owner(&self, slot: u16) -> Arc<Node> {
        let table = self.table.borrow();
        let owner = table.owner(slot).map(Arc::clone);
        owner.expect("a cluster that we connected to has a node")
    }

    fn nodes(&self) -> Vec<(NodeAddress, Arc<Node>)> {
        let table = self.table.borrow();
        let nodes = table.nodes().iter();
        nodes
            .map(|(place, node)| (place.clone(), Arc::clone(node)))
            .collect()
    }

    /// Has the slots reloaded soon.
    fn mark_suspect(&self) {
        self.doubted.notify_one();
    }

    /// The node at this address, which is created if it is not known yet.
    fn node_at(&self, place: NodeAddress) -> Arc<Node> {
        if let Some(node) = self.table.borrow().nodes().get(&place) {
            return Arc::clone(node);
        }
        let mut node = None;
        self.table.send_modify(|table| {
            node = Some(table.node(place, |place| self.make(place)));
        });
        node.expect("it was made")
    }

    /// Counts a change, before it is made.
    fn changes(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes a node's reply that `node` has the slot now.
    fn note(&self, slot: u16, node: &Arc<Node>) {
        self.changes();
        self.table
            .send_modify(|table| table.note(slot, Arc::clone(node)));
        self.mark_suspect();
    }

    fn make(&self, place: &NodeAddress) -> Arc<Node> {
        let connector = self.seeds.connector_to(place);
        let dialer = self.maker.dialer(Arc::new(connector));
        self.maker.start(dialer, None)
    }

    /// Opens a connection to each node. A node that is unreachable for now is no reason to fail while another can be
    /// reached. The first call to it reports the error, or finds its successor.
    async fn open_all(&self, ranges: &[Range]) -> Result<()> {
        let mut places: Vec<&NodeAddress> = ranges.iter().map(|range| &range.primary).collect();
        places.sort();
        places.dedup();
        let opened = join_all(places.iter().map(async |place| {
            let connector = self.seeds.connector_to(place);
            let dialer = self.maker.dialer(Arc::new(connector));
            let opened = dialer.dial().await;
            (dialer, opened)
        }));
        let opened = opened.await;
        let reached = opened.iter().any(|(_, opened)| opened.is_ok());
        for (place, (dialer, opened)) in places.into_iter().zip(opened) {
            let first = match opened {
                Err(error) if !reached || !error.is_transient() => return Err(error),
                opened => opened.ok(),
            };
            let start = |_: &NodeAddress| self.maker.start(dialer, first);
            self.table
                .send_modify(|table| drop(table.node(place.clone(), start)));
        }
        Ok(())
    }

    /// Reloads the slots whenever a call doubts the table.
    async fn keep_up(self: Arc<Self>) {
        loop {
            self.doubted.notified().await;
            // If no node can return them now, callers that wait for a slot ask again.
            if let Ok(ranges) = self.ask().await {
                self.take(ranges);
            }
            time::sleep(PAUSE).await;
        }
    }

    fn take(&self, ranges: Vec<Range>) {
        self.changes();
        let mut gone = Vec::new();
        self.table.send_modify(|table| {
            gone = table.replace(ranges, |place| self.make(place));
        });
        for node in gone {
            node.left();
        }
    }

    /// Asks the connected nodes, and if none of them replies, all other known nodes.
    async fn ask(&self) -> Result<Vec<Range>> {
        let heard = |(place, node): (NodeAddress, Arc<Node>)| match node.commands().state() {
            ConnectionState::Up(channel) if !channel.is_over() && !channel.is_silent() => {
                Some((place, node, channel))
            }
            _ => None,
        };
        let heard: Vec<_> = self.nodes().into_iter().filter_map(heard).collect();
        let pace = head_start(HEAD_START, LONGEST_ASK, heard.len());
        let tries = heard
            .into_iter()
            .map(async |(place, node, channel)| ask(&channel, &place.0, node.address()).await);
        match time::timeout(LONGEST_ASK, race(tries, pace)).await {
            Ok(Ok(ranges)) => Ok(ranges),
            _ => self.ask_anew().await,
        }
    }

    /// Asks seeds and known nodes over new connections, all at once.
    async fn ask_anew(&self) -> Result<Vec<Range>> {
        let known = self.nodes().into_iter();
        let known = known.map(|(place, _)| self.seeds.connector_to(&place));
        let all = known.chain(self.seeds.servers().iter().cloned());
        let mut asked: FuturesUnordered<_> = all.map(|server| self.ask_server(server)).collect();
        let mut last = None;
        while let Some(answered) = asked.next().await {
            match answered {
                Ok(ranges) => return Ok(ranges),
                // An error that a person has to fix is more useful than a transient one.
                Err(error) => {
                    let keeps = last
                        .as_ref()
                        .is_some_and(|last: &Error| !last.is_transient());
                    last = if keeps { last } else { Some(error) };
                }
            }
        }
        Err(last.unwrap_or_else(|| Error::new(ErrorKind::Unavailable, "there is no server to ask")))
    }

    async fn ask_server(&self, server: ServerConnector) -> Result<Vec<Range>> {
        let timeouts = self.maker.settings().timeouts;
        let channel = open(&server, Role::Commands, timeouts).await?;
        let (host, address) = (server.host(), server.address());
        let answered = time::timeout(timeouts.connect, ask(&channel, &host, &address));
        answered.await.unwrap_or_else(|_| {
            let timeout = in_millis(timeouts.connect);
            let text = format!("{address} did not tell the slots of its cluster within {timeout}");
            Err(Error::new(ErrorKind::Unavailable, text))
        })
    }
}

/// Asks a node for the slots of all nodes.
async fn ask(channel: &Channel, host: &str, address: &str) -> Result<Vec<Range>> {
    let mut command = redis::cmd("CLUSTER");
    command.arg("SLOTS");
    let answer = channel.request(&command).await;
    // The command changes nothing, whether it got a reply or not.
    let unanswered = |failure: Failure| {
        failure
            .into_error(address)
            .with_outcome(Outcome::NotApplied)
    };
    let answer = answer.map_err(unanswered)?;
    let ranges = slots::read(&answer, host).inspect_err(|_| channel.mark_suspect())?;
    if ranges.is_empty() {
        let text = format!("{address} knows of no node of its cluster that has slots: add them");
        return Err(Error::new(ErrorKind::Unavailable, text));
    }
    Ok(ranges)
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.nodes();
        let nodes = nodes.iter().map(|node| node.address());
        f.debug_set().entries(nodes).finish()
    }
}
