use std::fmt::Debug;

use async_trait::async_trait;
use redis::RedisResult;

use super::Link;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Carries the commands; none of them blocks.
    Commands,
    /// Listens to the process's channel, and registers there who waits. Its link has to bring the
    /// connection's pushes ([`Link::told_by`]).
    Waiter,
}

/// Opens connections to the primary.
///
/// The backend asks for a new one whenever the last one ended, stopped answering, or turned out
/// to lead to a replica; each time the connector looks up anew where the primary is. Retrying,
/// back-off and the bound on how long a connect may take are the backend's.
///
/// A connection must speak RESP3, have its user, password and database set, and must not retry
/// commands or time them out by itself: a retry could run a push twice, and the backend has
/// timeouts of its own.
#[async_trait]
pub trait Connector: Debug + Send + Sync + 'static {
    /// Opens a connection. May be dropped half-way.
    async fn connect(&self, role: Role) -> RedisResult<Link>;

    /// Where it connects to, for messages. Never with a password in it.
    fn address(&self) -> String;
}
