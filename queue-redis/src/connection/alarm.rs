use std::sync::Arc;

use tokio::sync::{Notify, futures::Notified};

/// Rung when one connection of a backend is found silent: then its others are tested, too, since
/// what made one of them silent may have struck them all. Clones ring the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Alarm(Arc<Notify>);

impl Alarm {
    pub(super) fn ring(&self) {
        self.0.notify_waiters();
    }

    /// Waits until it is rung from now on, whether polled by then or not.
    pub(super) fn rung(&self) -> Notified<'_> {
        self.0.notified()
    }
}
