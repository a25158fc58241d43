//! Finds the node that has a slot, and follows a node's redirection to another.

use std::{sync::Arc, time::Duration};

use queue_core::Result;
use tokio::time::{self, Instant};

use super::{
    Cluster,
    slots::{self, NodeAddress},
};
use crate::{
    connection::{Channel, ConnectionState},
    error::{Failure, Refusal, SlotRefusal},
    node::Node,
};

/// How often the slots are reloaded for a caller whose node is away.
const DOUBT: Duration = Duration::from_millis(200);

/// A redirection by a node that did not execute a request.
#[derive(Debug)]
pub(crate) enum Redirection {
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

impl Cluster {
    /// Has the slots reloaded soon, because they may have changed.
    pub(crate) fn mark_suspect(&self) {
        self.shared.mark_suspect();
    }

    /// Follows a redirection of a request for this slot by the node that was asked. Returns whether the request goes to
    /// another node now, and the node that takes the slot over, if that is to be asked.
    pub(crate) fn follow(
        &self,
        redirection: Redirection,
        slot: u16,
        asked: &Arc<Node>,
    ) -> (bool, Option<Arc<Node>>) {
        match redirection {
            Redirection::Moved(place) => {
                let owner = self.shared.node_at(place);
                let is_new = !Arc::ptr_eq(&owner, asked);
                self.shared.note(slot, &owner);
                (is_new, None)
            }
            Redirection::Ask(place) => {
                self.shared.changes();
                (true, Some(self.shared.node_at(place)))
            }
            Redirection::Later => {
                self.shared.mark_suspect();
                (false, None)
            }
        }
    }

    /// A connection to the node that has this slot; waits for one until the deadline. If the node is away, also looks
    /// for its successor.
    pub(crate) async fn channel(
        &self,
        slot: u16,
        deadline: Instant,
    ) -> Result<(Arc<Node>, Arc<Channel>)> {
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
    pub(crate) fn redirection(&self, failure: &Failure, asked: &Arc<Node>) -> Option<Redirection> {
        // Some replies name only another port of the node's host.
        let nodes = self.shared.nodes().into_iter();
        let mut places = nodes.filter(|(_, node)| Arc::ptr_eq(node, asked));
        let host = places.next().map(|((host, _), _)| host).unwrap_or_default();
        Redirection::of(failure, &host)
    }
}
