//! The Redis backend of queue-kit: five kinds of queue on a Redis server, 6.2 or newer.
//!
//! [`RedisBackend`] opens the queues. Every verb is one script that runs on the server as one
//! atomic step, by the server's clock; a batch, and a turn, is one round trip.
//!
//! # Connections
//!
//! One connection carries the commands of all queues of a backend. A second, opened when somebody
//! first waits, listens to a channel of this backend's own, `<prefix>:wake:<number>`, for all of them
//! together: whoever makes work publishes there how many should look. Both are kept open by
//! a supervisor: a connection that ends is opened again with back-off and jitter, and so is one
//! that stops answering or leads to a server that has become a replica.
//!
//! A call during an outage waits for the connection up to the response timeout, and then fails as
//! `NotApplied`: nothing was sent. A call that was sent and got no answer fails as `Unknown`. The
//! library itself never repeats a call that may have run.
//!
//! # Durability
//!
//! A call is acknowledged when the server has done it in memory. What a crash of the server can
//! undo after that is the server's setting (R1); all rules hold for what survives, and receipts
//! from the lost history match nothing.
//!
//! | setting | the process is killed | the power fails |
//! | --- | --- | --- |
//! | no persistence | everything is lost; open warns of it | the same |
//! | snapshots only | all since the last snapshot is undone | the same |
//! | `appendfsync everysec` | up to two seconds may be undone, while an fsync is under way | the same |
//! | `appendfsync no` | nothing acknowledged is lost | what the system had not written yet |
//! | `appendfsync always` | nothing acknowledged is lost | nothing, if the disk keeps what it confirms |
//!
//! The middle column's AOF rows are tested with `kill -9` under traffic. After a failover, what the
//! old primary had not yet sent to the replica is undone.

mod backend;
mod call;
mod client;
mod coalescer;
mod connection;
mod error;
mod frame;
mod keys;
mod once;
mod panic;
mod queue;
mod reply;
mod script;
mod scripts;
mod waiter;

/// The crate whose connections a [`Connector`] opens, in the version that it has to be.
pub use ::redis;

/// Every script that a backend calls, by name (`reliable/turn`) and text: to read them, to load
/// them ahead, or to find out which commands a user must be allowed.
pub fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    scripts::ALL
        .iter()
        .map(|script| (script.name(), script.source()))
}

pub use self::{
    backend::{Builder, ConnectionHealth, Health, RedisBackend},
    connection::{Connector, Link, Role, ServerConnector, Warning, Wire},
};
