//! Waiting for changes. All waiting callers of a process share one connection, which listens to the process's own
//! channel.
//!
//! A *marker* is a sorted set on the server, one for each kind of hint of a queue. A waiting client registers its
//! process there. A script that makes messages ready notifies as many registered processes as it has messages for, each
//! once. If none is registered, it *arms* the marker for the next process that waits (`lua/lib/wake_up.lua`). So a
//! wake-up costs the same for any number of queues, and the longest waiting processes go first. If nobody listens to a
//! process's channel any more, the script notices that when it publishes. A marker holds only hints, so a lost marker
//! delays consumers by at most the fall-back interval.
//!
//! A waiting client may also request a handoff. The process is then registered with the terms of its lease. A push of a
//! short message that is next leases it by these terms, and publishes the message instead of the hint
//! (`lua/lib/wake_up.lua`). The registry gives the message to a caller that was already waiting for it when it was
//! leased. If there is none, the message goes back to the queue. If the message is lost on its way, its lease expires.
//!
//! A handle knows only its [`Waiter`]: the handle reports its polls to the waiter, and waits by it. The waiter decides
//! when the caller polls again. It waits at a node, in the node's [registry](registry::WaiterRegistry), and the node's
//! task ([`Watch`](watch::Watch)) talks to the server.

#[cfg(test)]
mod interleavings;
mod marker_queue;
mod markers;
mod node;
mod pending_wakeups;
mod registry;
mod waiter;
mod watch;

use redis_link::node::Node;

pub(crate) use self::{
    marker_queue::{HandoffTerms, ReleaseUnwanted},
    node::{NodeWaiter, Settings},
    waiter::{Waiter, Woken},
};

/// The waiter of this node.
pub(crate) fn at(node: &Node) -> &NodeWaiter {
    node.companion()
}
