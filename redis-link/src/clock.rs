use std::{fmt, sync::Arc};

use queue_core::Timestamp;

/// The clock that decides the time of a call.
#[derive(Clone, Default)]
pub enum Clock {
    /// The server's.
    #[default]
    Server,
    /// The clock that a test or a simulation puts in its place.
    Replaced(Arc<dyn Fn() -> Timestamp + Send + Sync>),
    /// The server's, behind a simulated wire: a call carries this number in the place of the time, so that the wire
    /// knows the call, and replaces the number by the time.
    Tagged(Arc<dyn Fn() -> u64 + Send + Sync>),
}

impl Clock {
    /// The time argument of a call: empty for the server's clock.
    pub fn argument(&self) -> String {
        match self {
            Self::Server => String::new(),
            Self::Replaced(now) => now().as_millis().to_string(),
            Self::Tagged(tag) => tag().to_string(),
        }
    }

    /// The time of the clock that replaces the server's.
    pub(crate) fn replaced(&self) -> Option<Timestamp> {
        match self {
            Self::Replaced(now) => Some(now()),
            Self::Server | Self::Tagged(_) => None,
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "Server",
            Self::Replaced(_) => "Replaced",
            Self::Tagged(_) => "Tagged",
        })
    }
}
