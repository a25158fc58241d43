use std::fmt::Debug;

use async_trait::async_trait;
use redis::RedisResult;

use super::Link;

/// The use of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Carries the commands; none of them blocks.
    Commands,
    /// Listens to the process's channel, and sends what concerns it. Its link must provide the connection's pushes
    /// ([`Link::with_pushes`]).
    Waiter,
}

/// Opens connections to the primary.
///
/// The backend asks for a new connection whenever the last one ended, stopped responding, or was found to lead to a
/// replica. Each time the connector looks up the primary again. The backend retries, backs off, and bounds the time of
/// a connect.
///
/// A connection must speak RESP3 and have its user, password and database set. It must not retry commands or time them
/// out: a retry could run a call twice, and the backend has timeouts of its own.
///
/// A custom connector's connection keeps the redis crate's own limit of 50 requests in its pipeline, unless the
/// connector sets another (`AsyncConnectionConfig::set_pipeline_buffer_size`). A request beyond the limit waits for
/// room, which goes to the future that asked first: if nobody polls that future, other calls wait for it. The built-in
/// connector sets no such limit: only the
/// bytes that wait in each batcher are bounded (four full batches).
#[async_trait]
pub trait Connector: Debug + Send + Sync + 'static {
    /// Opens a connection. The backend may drop the future half-way.
    async fn connect(&self, role: Role) -> RedisResult<Link>;

    /// The address that it connects to, for messages. It never contains a password.
    fn address(&self) -> String;
}
