//! A queue on its server: its handle, its stored configuration, and its entry in the list of queues.

mod bodies;
pub(crate) mod config;
mod confirmer;
mod handle;
pub(crate) mod listing;
mod opening;

use std::sync::Arc;

use queue_core::Spawn;
use redis_link::Client;

pub(crate) use self::{bodies::StagedBodies, config::Stored, handle::Handle};

/// The servers and settings that all queues of a backend share.
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
