//! What another crate needs to send plain commands over a backend's connections, as `queue-recipes` does. It is hidden
//! from the documentation, and any release may change it.

use std::sync::atomic::Ordering;

use redis_link::Client;

use super::RedisBackend;

impl RedisBackend {
    /// Sends to the list of queues; [`Client::at`] sends to other keys.
    #[doc(hidden)]
    pub const fn client(&self) -> &Client {
        &self.context.client
    }

    /// The next number of this backend. All its clones together give out each number once, so that names made from it
    /// are unique.
    #[doc(hidden)]
    pub fn draw(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }
}
