//! Sends a request to the node that has its slot.
//!
//! A request is resent only if no part of it ran. The node may have replied that another has the slot (`MOVED`), that
//! the slot is moving (`ASK`, `TRYAGAIN`), or that the cluster does not serve it now (`CLUSTERDOWN`). Or the request
//! was never sent, because there is no connection to the node. All tries together take no longer than the response
//! timeout, counted from the call.

use std::{sync::Arc, time::Duration};

use queue_core::{Error, ErrorKind, Result, in_millis};
use redis::{Cmd, Value};
use tokio::time::{self, Instant};

use super::{
    Cluster,
    slots::{self, NodeAddress},
};
use crate::{
    call::Request,
    connection::{Channel, ConnectionState, largest_part},
    error::{Failure, Refusal, SlotRefusal},
    node::Node,
};

/// How often the slots are reloaded for a caller whose node is away.
const DOUBT: Duration = Duration::from_millis(200);
/// The pauses before a request is resent to a cluster that is changing.
const SHORTEST: Duration = Duration::from_millis(2);
const LONGEST: Duration = Duration::from_millis(50);

/// A redirection by a node that did not execute a request.
enum Redirection {
    /// This node has the slot.
    Moved(NodeAddress),
    /// This node is taking the slot over: ask it once.
    Ask(NodeAddress),
    /// No node can serve the slot at this moment.
    Later,
}

impl Redirection {
    /// The redirection in this failure, if no part of the request ran.
    fn of(failure: &Failure, asked: &str) -> Option<Self> {
        let Failure::Refused(error) = failure else {
            return None;
        };
        let refusal = Refusal::of(error);
        if refusal.place.is_some() {
            // The error came from a running script.
            return None;
        }
        let to = || slots::read_redirect(refusal.message, asked);
        match refusal.slot()? {
            SlotRefusal::Moved => to().map(Self::Moved),
            SlotRefusal::Ask => to().map(Self::Ask),
            SlotRefusal::Later => Some(Self::Later),
        }
    }
}

/// The pauses of one request. The first redirection is followed at once.
struct Pauses(Duration);

impl Pauses {
    async fn next(&mut self) {
        time::sleep(self.0).await;
        self.0 = LONGEST.min(self.0 * 2);
    }
}

impl Cluster {
    /// Sends a request for a slot, for a caller that has waited since `made`.
    ///
    /// # Errors
    ///
    /// Errors of the node that executed it; `Unavailable` and not applied if no node did within the timeout.
    pub async fn send(
        &self,
        slot: u16,
        made: Instant,
        timeout: Duration,
        request: Request<'_>,
    ) -> Result<Value> {
        let deadline = made + timeout;
        let mut since = made;
        let mut pauses = Pauses(SHORTEST);
        let mut followed = false;
        let mut taking_over: Option<Arc<Node>> = None;
        loop {
            let (node, answer) = match taking_over.take() {
                Some(node) => {
                    let channel = node.channel_until(deadline).await?;
                    let answer = request.send_asking(&channel).await;
                    (node, answer)
                }
                None => {
                    let (node, channel) = self.channel(slot, deadline).await?;
                    let size = || request.largest_part();
                    let lane = node.lane(channel, size, deadline).await?;
                    let answer = request.send(lane.channel(), since).await;
                    node.heard(&lane, answer.as_ref().err(), size)?;
                    (node, answer)
                }
            };
            let failure = match answer {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            let Some(redirection) = self.redirection(&failure, &node) else {
                // The node may have a successor by now.
                self.shared.mark_suspect();
                return Err(node.error(failure));
            };
            // A reply ends the silence, so the silence counts from here.
            since = Instant::now();
            if since >= deadline {
                return Err(untaken(timeout, &node, &failure));
            }
            let follows = match redirection {
                Redirection::Moved(place) => {
                    let owner = self.shared.node_at(place);
                    let is_new = !Arc::ptr_eq(&owner, &node);
                    self.shared.note(slot, &owner);
                    is_new
                }
                Redirection::Ask(place) => {
                    self.shared.changes();
                    taking_over = Some(self.shared.node_at(place));
                    true
                }
                Redirection::Later => {
                    self.shared.mark_suspect();
                    false
                }
            };
            // Nodes that disagree may redirect a request from one to the other and back.
            if followed || !follows {
                pauses.next().await;
            }
            followed = follows;
        }
    }

    /// Sends commands of one slot in one round trip, not as a transaction. Each has its own reply; a command that the
    /// node redirected is sent once more, alone.
    pub async fn send_each(
        &self,
        slot: u16,
        timeout: Duration,
        commands: Vec<Cmd>,
    ) -> Result<Vec<Result<Value>>> {
        let made = Instant::now();
        let (node, channel) = self.channel(slot, made + timeout).await?;
        let size = || largest_part(&commands);
        let lane = node.lane(channel, size, made + timeout).await?;
        let sent = lane.channel().request_each(commands.iter().cloned()).await;
        node.heard(&lane, sent.as_ref().err(), size)?;
        let sent = sent.map_err(|failure| {
            self.shared.mark_suspect();
            node.error(failure)
        })?;
        let mut answers = Vec::with_capacity(sent.len());
        for (command, answer) in commands.iter().zip(sent) {
            answers.push(match answer {
                Err(failure) if self.redirection(&failure, &node).is_some() => {
                    let now = Instant::now();
                    let request = Request::Command(command);
                    self.send(slot, now, timeout, request).await
                }
                answer => answer.map_err(|failure| node.error(failure)),
            });
        }
        Ok(answers)
    }

    /// A connection to the node that has this slot; waits for one until the deadline. If the node is away, also looks
    /// for its successor.
    pub async fn channel(&self, slot: u16, deadline: Instant) -> Result<(Arc<Node>, Arc<Channel>)> {
        loop {
            let node = self.owner(slot);
            if let ConnectionState::Up(channel) = node.commands().state()
                && !channel.is_over()
            {
                return Ok((node, channel));
            }
            self.shared.mark_suspect();
            let mut table = self.shared.table.subscribe();
            let successor = table.wait_for(|table| {
                let owner = table.owner(slot);
                owner.is_some_and(|owner| !Arc::ptr_eq(owner, &node))
            });
            tokio::select! {
                biased;
                channel = node.channel_until(deadline) => return Ok((node, channel?)),
                _ = successor => {}
                () = time::sleep(DOUBT) => {}
            }
        }
    }

    /// The redirection in this failure, if the node did not execute the request.
    fn redirection(&self, failure: &Failure, asked: &Arc<Node>) -> Option<Redirection> {
        // Some replies name only another port of the node's host.
        let nodes = self.shared.nodes().into_iter();
        let mut places = nodes.filter(|(_, node)| Arc::ptr_eq(node, asked));
        let host = places.next().map(|((host, _), _)| host).unwrap_or_default();
        Redirection::of(failure, &host)
    }
}

/// The error for a request that no node executed.
fn untaken(timeout: Duration, node: &Node, failure: &Failure) -> Error {
    let reply = match failure {
        Failure::Refused(error) => Refusal::of(error),
        Failure::Silent(_) | Failure::Cut(_) | Failure::OutOfStep => {
            unreachable!("a redirection is an answer")
        }
    };
    let text = format!(
        "no node of the cluster took the call within {}; the last that was asked, {}, answered: {} {} \
         (its slot is on its way to another node, or its node is down)",
        in_millis(timeout),
        node.address(),
        reply.code,
        reply.message
    );
    Error::new(ErrorKind::Unavailable, text).with_server(node.address())
}
