//! The Redis backend of queue-kit: all kinds of queue on a Redis server, 6.2 or newer, or on a cluster.
//!
//! [`RedisBackend`] opens the queues. Every operation is one script: the server runs it as one atomic step, by its own
//! clock. A batch is one round trip, and so is a [`settle_and_lease`](queue_core::Leasing::settle_and_lease).
//!
//! The repository's page `docs/redis.md` is the guide: connections, TLS, sentinels, clusters, durability, confirmed
//! pushes, rights and damage. `docs/operations.md` is for operators.
//!
//! # Connections
//!
//! One connection carries the commands of all queues of a backend. The first wait opens a second one, which listens to
//! the backend's own channel, `<prefix>:wake:<number>`. A supervisor keeps both open. It reopens a connection, with
//! back-off and jitter, when the connection ends, stops responding, or leads to a server that has become a replica.
//!
//! The one number to know is [`Builder::response_timeout`], 3 s. A call fails when the backend has received nothing
//! from the server for that long since the call was made. A call that was not sent by then fails as `NotApplied`; a
//! call that was sent and got no reply, as `Unknown`. The backend claims `NotApplied` only for errors that Redis itself
//! returns before it does anything, and the library never repeats a call that may have run.
//!
//! The backend's tasks live on the tokio runtime that connected it, or on that of [`Builder::spawn`]. Other runtimes
//! can make calls while that one is driven. Once it has ended, every call fails with the permanent error
//! `Configuration`; so does every call outside of any runtime.
//!
//! # TLS
//!
//! A `rediss://` URL uses TLS 1.2 or 1.3 (feature `tls`, off by default), and [`Tls`] has its settings. The server's
//! certificate is always checked. The encryption is rustls with ring; no process-wide provider is installed.
//!
//! # Sentinel
//!
//! `redis+sentinel://[user:password@]host[:port][,host[:port]…]/service[/db]` names sentinels, and the service that
//! they watch. For each connection the backend asks a sentinel and connects to the server that the sentinel names. It
//! accepts the server only if the server reports that it is a primary.
//!
//! # Cluster
//!
//! `redis+cluster://[user:password@]host[:port][,host[:port]…]` names some servers of a cluster. A queue lives on one
//! node: all its keys are in one slot, by its name. The backend resends a call only if no part of it ran.
//!
//! # Confirmations
//!
//! For a message that has to outlive the server, use a handle that confirms (R2), from the backend that
//! [`confirmed`](queue_core::Backend::confirmed) returns. Each call through
//! [`LeasingExt::confirmed`](queue_core::LeasingExt::confirmed) is followed by a `WAIT`, or by a `WAITAOF` if the
//! confirmation asks for the disk, and reports whether enough copies were made in time.

#![cfg_attr(docsrs, feature(doc_cfg))]

/// A point at which a test lets another thread run. See `queue_testing::interleave`.
macro_rules! step {
    () => {
        #[cfg(test)]
        queue_testing::interleave::step();
    };
}

mod backend;
mod frame;
mod keys;
#[cfg(test)]
mod properties;
mod queue;
mod refusals;
mod reply;
mod rights;
mod script;
mod scripts;
mod settings;
mod verbs;
mod waiting;

/// The crate whose connections a [`Connector`] opens, in the version that they must have.
#[cfg(feature = "connector")]
pub use ::redis;

/// Every script that a backend calls, by name (`reliable/settle_and_lease`) and text: to read them, to preload them, or
/// to find out which commands a user needs.
pub fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = scripts::ALL.iter();
    all.map(|script| (script.name(), script.source()))
}

/// A script that finds leaks: data that belongs to no message, dead letter, item or once key, such as the body of a
/// removed message.
///
/// `EVAL` it with the prefix as its argument: it returns a line for each leak. It reads all keys at one instant, and
/// the server does nothing else meanwhile. So use it in tests, or on a copy of a server that grows although its queues
/// do not.
pub fn leak_finder() -> &'static str {
    scripts::LEAKS.source()
}

pub use self::{
    backend::{Builder, Health, RedisBackend},
    rights::{OptionalRight, access_rules, cluster_access_rules, optional_rights, read_only_rules},
};
#[cfg(feature = "tls")]
pub use redis_link::connection::Tls;
pub use redis_link::connection::{ConnectionHealth, Credentials, CredentialsProvider, Warning};
#[cfg(feature = "connector")]
pub use redis_link::connection::{Connector, Link, Role, SentinelConnector, ServerConnector, Wire};
