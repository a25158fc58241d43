//! The backend's time.

use std::time::SystemTime;

use queue_core::Timestamp;
use tokio::time::Instant;

/// Starts at the system's time and then runs as tokio's clock does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    base: Timestamp,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            base: SystemTime::now().into(),
        }
    }
}

impl Clock {
    pub(crate) fn now(&self) -> Timestamp {
        let since = self.start.elapsed().as_millis();
        self.base.plus_millis(since as u64)
    }
}
