//! What all queues of a backend share.

use std::sync::Arc;

use queue_core::Spawn;
use redis_link::Client;

/// The servers of a backend, and the settings of its queues.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// Sends to the list of queues.
    pub(crate) client: Client,
    /// The beginning of all keys.
    pub(crate) prefix: Arc<str>,
    pub(crate) spawn: Arc<dyn Spawn>,
    /// Size in bytes from which a message is large.
    pub(crate) large: usize,
    /// Number of messages in one call from which a push stores packs.
    pub(crate) packs: usize,
}
