use redis_link::connection::ConnectionHealth;

/// The state of a backend's connections.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Health {
    /// The connection for commands.
    pub commands: ConnectionHealth,
    /// The connection that listens for arrivals. While it is down, waiting consumers poll once per fall-back interval.
    pub waiter: ConnectionHealth,
}

impl Health {
    /// Whether no connection is down.
    pub const fn is_up(&self) -> bool {
        !matches!(self.commands, ConnectionHealth::Down(_))
            && !matches!(self.waiter, ConnectionHealth::Down(_))
    }
}
