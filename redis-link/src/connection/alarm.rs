use std::sync::Arc;

use tokio::sync::{Notify, futures::Notified};

/// Rings when a connection of the backend turns out to be silent. The backend then tests its other connections, too,
/// because the same cause may affect all. Clones ring together.
#[derive(Debug, Clone, Default)]
pub struct Alarm(Arc<Notify>);

impl Alarm {
    pub(super) fn ring(&self) {
        self.0.notify_waiters();
    }

    /// Waits for a ring. Rings count from this call on, even before the first poll.
    pub(super) fn rung(&self) -> Notified<'_> {
        self.0.notified()
    }
}
