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
//! Three types wait:
//!
//! - [`Waiter`], one for each handle and marker. A handle reports its polls to the waiter, and waits by it. The waiter
//!   decides when a caller polls again.
//! - [`WaiterRegistry`](registry::WaiterRegistry), one for each node: all waiting callers there. It decides which caller
//!   gets a change or a message, and who gets them if the caller is gone. For each marker it knows this process's
//!   [registration](registration::Registration).
//! - [`NodeWaiter`], one for each node: the registry, and the connection whose [task](watch::watch) talks to the server.

mod caller;
#[cfg(test)]
mod interleavings;
mod node;
mod registration;
mod registry;
mod waiter;
mod watch;

use redis_link::node::Node;

pub(crate) use self::{
    caller::{HandoffTerms, ReleaseUnwanted},
    node::NodeWaiter,
    waiter::Waiter,
    watch::Settings,
};

/// The waiter of this node.
pub(crate) fn at(node: &Node) -> &NodeWaiter {
    node.companion()
}
