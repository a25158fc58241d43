use redis_link::connection::{ConnectionHealth, Warning};

/// The state of a backend's connections.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Health {
    /// The connection for commands.
    pub commands: ConnectionHealth,
    /// The connection that listens for arrivals. While it is down, waiting consumers poll once per fall-back interval.
    pub waiter: ConnectionHealth,
    /// The warnings of the last connect: findings that do not rule the server out, but that an operator should know. For
    /// a cluster, the warnings of all nodes, each once. [`Backend::warnings`](queue_core::Backend::warnings) has them as
    /// sentences, with the server's address.
    pub warnings: Vec<Warning>,
}

impl Health {
    /// Whether no connection is down.
    pub const fn is_up(&self) -> bool {
        !matches!(self.commands, ConnectionHealth::Down(_))
            && !matches!(self.waiter, ConnectionHealth::Down(_))
    }
}
