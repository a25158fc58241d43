//! A sleeper that leaves in two steps: `Bug::ToldBeforeItLeaves`.

use queue_core::Timestamp;

use super::{FALL_BACK, SleeperId, Sleepers, Wakers};

impl Sleepers {
    /// A sleeper found something, and stays.
    pub(super) fn tell(&mut self, id: SleeperId, now: Timestamp) -> (Option<Timestamp>, Wakers) {
        if let Some(sleeper) = self.line.get_mut(&id) {
            sleeper.until = now.plus_millis(FALL_BACK);
        }
        self.looked(id);
        (None, Wakers::default())
    }

    /// The sleeper leaves, though an event may have woken it since its poll.
    pub(crate) fn leave_later(&mut self, id: SleeperId) {
        self.line.remove(&id);
        self.watcher.take_if(|watcher| *watcher == id);
    }
}
