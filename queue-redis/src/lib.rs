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
//! The one number to know is [`Builder::response_timeout`], 3 s: a call fails when nothing has been
//! heard of the server for so long since it was made. Until then it waits for a connection, where
//! there is none, and for its turn; not sent by then, it fails as `NotApplied`, and sent, but without
//! an answer, as `Unknown`. Bytes that move are a sign of life: on a slow line a large reply takes as
//! long as it takes. The library itself never repeats a call that may have run.
//!
//! `NotApplied` is claimed only for errors that Redis itself answers before it does anything; what
//! else is answered, perhaps by something between, is `Unknown`.
//!
//! What makes a server unfit (a replica, a node of a cluster, an eviction policy, a password that is
//! wrong) is `Configuration` when a backend is connected. Once it is connected it may pass, in the
//! middle of a failover say, and is told as a transient `Unavailable` with the same text, until the
//! server is fit again.
//!
//! Small pushes that are made while another is under way travel together, in one call. What waits
//! for that is bounded in bytes for each queue; beyond, callers wait for room, within the same time.
//! Whatever a caller does with its future (polls it once and sets it aside, drops it, never polls it
//! again), no other call waits for that.
//!
//! # Runtimes
//!
//! The backend's tasks live on the tokio runtime that connected it, or on that of
//! [`Builder::spawn`]. Calls can be made from other runtimes for as long as that one is driven. When
//! it has ended, the backend has, too: every call answers the permanent error `Configuration`.
//!
//! # Rights
//!
//! This is all that a user of the server has to be allowed, for the prefix `qk`:
//!
//! ```text
//! ~qk:* resetchannels &qk:wake:* -@all
//! +evalsha +eval +script|exists +script|load +subscribe +publish +ping +info +config|get
//! +time +type +exists +hget +hmget +hset +hdel +hincrby +llen +lrange +lindex +ltrim +rpush
//! +zadd +zcard +zcount +zincrby +zmscore +zrange +zrangebylex +zrangebyscore +zrem
//! +zremrangebyscore +zrevrange +zscore
//! ```
//!
//! From Redis 7.0 on, and on Valkey, connecting asks the server whether the user has them: what
//! scripts need and lack is a `Configuration` error that names it, since a script would stop
//! half-way. Without `publish`, `subscribe` or their channels, messages are noticed at the fall-back
//! interval only; `ping`, `info` and `config|get` can be done without, too.
//! [`RedisBackend::warnings`] names what is missing and what it costs.
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

/// Another thread may come between here: see `queue_interleave`.
macro_rules! step {
    () => {
        #[cfg(test)]
        queue_interleave::step();
    };
}

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
    let all = scripts::ALL.iter();
    all.map(|script| (script.name(), script.source()))
}

/// A script that looks for what is kept for nothing: `EVAL` it with the prefix as its argument, and
/// it answers a line for whatever no message, dead letter, item or once key explains, such as the
/// body of a message that is gone.
///
/// It reads all keys at one instant, and the server does nothing else meanwhile: for tests, and for
/// a copy of a server that grows though its queues do not.
pub const LEFTOVERS: &str = concat!(
    "local ADDS = 0\n",
    include_str!("../lua/shared/frames.lua"),
    include_str!("../lua/leftovers.lua")
);

pub use self::{
    backend::{Builder, Health, RedisBackend},
    connection::{ConnectionHealth, Connector, Link, Role, ServerConnector, Warning, Wire},
};
