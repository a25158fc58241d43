//! Real redis-servers for tests of programs that talk to one.
//!
//! [`Server`] starts one in a folder of its own, on a Unix socket of its own and, if asked, a loopback
//! port. It crashes, freezes and restarts the server, and leaves nothing behind, also when the test panics
//! or is killed. [`ServerPlace`] is a key prefix for a test, on a server that all tests of a process share, or on
//! the one that `QUEUE_TEST_REDIS_URL` names. [`Proxy`] stands between a client and a server, and makes the
//! connection slow, long or silent. [`Cluster`] is several servers that share the keys, some of which it
//! moves from one to another. [`VirtualClient`] connects while tokio's clock is paused.
//!
//! ```
//! use real_redis::Server;
//!
//! let server = Server::start()?;
//! let mut connection = server.connect()?;
//! redis::cmd("SET").arg("greeting").arg("hello").exec(&mut connection)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Requirements
//!
//! A `redis-server`, 6.2 or newer, in the `PATH`, or the one that `QUEUE_TEST_REDIS_SERVER` names;
//! and a POSIX shell. If it is missing, the test fails with an error that says how to install it;
//! it never skips.
//!
//! # In a container
//!
//! Where there is a Docker engine, `QUEUE_TEST_REDIS=container` puts the server of every [`ServerPlace`] in a
//! container, from the image that `QUEUE_TEST_REDIS_IMAGE` names (`redis:7.2` otherwise). The program
//! `redis-container`, from the crate of this name, has to be in the `PATH`. It removes the container when
//! the test process is gone, also when that is killed. A [`Server`] is still a process, because its test
//! kills and freezes it.
//!
//! # Existing servers
//!
//! A [`Server`] always belongs to its test, which may kill, fill and configure it. Only a [`ServerPlace`] ever
//! talks to an existing server, and only to the one that `QUEUE_TEST_REDIS_URL` names. It uses a key prefix
//! that no other run uses, and removes those keys and nothing else.

#![cfg(unix)]

mod builder;
mod cluster;
mod container;
mod error;
mod folder;
mod place;
mod process;
mod proxy;
mod server;
mod shared;
mod stats;
mod virtual_time;
mod watchdog;

pub use self::{
    builder::{Aof, ServerBuilder},
    cluster::Cluster,
    error::ServerError,
    place::ServerPlace,
    proxy::{Direction, Proxy},
    server::Server,
    stats::{CommandCounts, command_counts},
    virtual_time::{VirtualClient, VirtualConnection},
};
