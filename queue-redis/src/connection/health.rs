//! A connection's state, as a backend reports it.

use std::sync::Arc;

use queue_core::Error;

use super::State;

/// The state of one connection.
#[derive(Debug, Clone)]
pub enum ConnectionHealth {
    /// Not opened yet: no call has needed it.
    Unused,
    /// Open, as far as is known.
    Up,
    /// Not open; the backend is opening it. With the reason, once one is known.
    Down(Option<Arc<Error>>),
}

impl ConnectionHealth {
    /// Of two connections' states the one that an operator has to know.
    pub(crate) fn worse(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Down(Some(_)), _) => self,
            (_, Self::Down(_)) => other,
            (Self::Down(None), _) => self,
            (Self::Unused, _) => other,
            _ => self,
        }
    }

    pub(crate) fn of(state: &State) -> Self {
        match state {
            State::Up(channel) if !channel.is_over() => Self::Up,
            State::Up(_) => Self::Down(None),
            State::Down(reason) => Self::Down(reason.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use queue_core::ErrorKind;

    use super::*;

    #[test]
    fn the_worst_of_several_is_what_is_down_for_a_known_reason() {
        let reason = Arc::new(Error::new(ErrorKind::Unavailable, "away"));
        // From the best to the worst.
        let states = [
            ConnectionHealth::Unused,
            ConnectionHealth::Up,
            ConnectionHealth::Down(None),
            ConnectionHealth::Down(Some(reason)),
        ];
        let shown = |state: &ConnectionHealth| format!("{state:?}");
        for (rank, worse) in states.iter().enumerate() {
            for better in &states[..=rank] {
                for (one, other) in [(worse, better), (better, worse)] {
                    let worst = one.clone().worse(other.clone());
                    assert_eq!(shown(&worst), shown(worse), "{one:?}, {other:?}");
                }
            }
        }
    }
}
