use std::sync::Arc;

use queue_core::Timestamp;

/// The clock that a test or a simulation injects instead of the server's.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
