//! Real Postgres servers for tests of programs that talk to one.
//!
//! [`Server`] starts one in a folder of its own, on a Unix socket and no port. It kills the server, starts it again, and
//! leaves nothing behind, also when the test panics or is killed. [`Pooler`] is a PgBouncer before it, in transaction mode.
//!
//! # Requirements
//!
//! Postgres 13 or newer: the programs `initdb`, `postgres` and `psql` in the `PATH`, in a folder that
//! `QUEUE_TEST_POSTGRES_BIN` names, or where Debian has them; for a [`Pooler`] also `pgbouncer`. If one is missing, the
//! test fails with an error that says how to install it. Postgres refuses to run as root: a test of root runs it as the
//! user `postgres`, by `setpriv`.
//!
//! With `QUEUE_TEST_POSTGRES=container`, the server runs in a container of the image that `QUEUE_TEST_POSTGRES_IMAGE` names
//! (`postgres:16` by default), and only `psql` and `pgbouncer` are needed here. `scripts/containers` makes an image of the
//! Postgres that is installed.

#![cfg(unix)]

mod container;
mod error;
mod pooler;
mod programs;
mod server;
mod watched;

pub use self::{error::ServerError, pooler::Pooler, server::Server};
