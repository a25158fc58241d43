//! A connection's state, as a backend reports it.

use std::sync::Arc;

use queue_core::Error;

use super::ConnectionState;

/// The state of one connection.
#[derive(Debug, Clone)]
pub enum ConnectionHealth {
    /// Not opened yet: no call has needed it.
    Unused,
    /// Open, as far as is known.
    Up,
    /// Not open; the backend is opening it. Contains the reason, once one is known.
    Down(Option<Arc<Error>>),
}

impl ConnectionHealth {
    /// The severity of a state: of several connections, the worst state is reported.
    pub const fn gravity(&self) -> u8 {
        match self {
            Self::Unused => 0,
            Self::Up => 1,
            Self::Down(None) => 2,
            Self::Down(Some(_)) => 3,
        }
    }

    /// The health of a connection in this state.
    pub fn of(state: &ConnectionState) -> Self {
        match state {
            ConnectionState::Up(channel) if !channel.is_over() => Self::Up,
            ConnectionState::Up(_) => Self::Down(None),
            ConnectionState::Down(reason) => Self::Down(reason.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use queue_core::ErrorKind;

    use super::*;

    #[test]
    fn the_gravest_is_what_is_down_for_a_known_reason() {
        let reason = Arc::new(Error::new(ErrorKind::Unavailable, "away"));
        let (known, unknown) = (
            ConnectionHealth::Down(Some(reason)),
            ConnectionHealth::Down(None),
        );
        let from_best = [
            ConnectionHealth::Unused,
            ConnectionHealth::Up,
            unknown,
            known,
        ];
        let gravities = from_best.map(|state| state.gravity());
        assert!(
            gravities.is_sorted_by(|better, worse| better < worse),
            "{gravities:?}"
        );
    }
}
