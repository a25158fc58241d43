use std::sync::Arc;

use queue_core::Error;

use crate::connection::State;

/// The state of a backend's connections.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Health {
    /// The connection for commands.
    pub commands: ConnectionHealth,
    /// The connection that waits for arrivals. While it is down, waiting consumers look again at
    /// each fall-back interval.
    pub waiter: ConnectionHealth,
}

impl Health {
    /// Whether no connection is down.
    pub const fn is_up(&self) -> bool {
        !matches!(self.commands, ConnectionHealth::Down(_))
            && !matches!(self.waiter, ConnectionHealth::Down(_))
    }
}

/// The state of one connection.
#[derive(Debug, Clone)]
pub enum ConnectionHealth {
    /// Not opened yet: nobody has needed it.
    Unused,
    /// Open, as far as is known.
    Up,
    /// Not open; it is being opened. With the reason, once one is known.
    Down(Option<Arc<Error>>),
}

impl ConnectionHealth {
    pub(crate) fn of(state: &State) -> Self {
        match state {
            State::Up(channel) if !channel.is_over() => Self::Up,
            State::Up(_) => Self::Down(None),
            State::Down(reason) => Self::Down(reason.clone()),
        }
    }
}
