//! A waiting caller that leaves in two steps: `Bug::ToldBeforeItLeaves`.

use queue_core::Timestamp;

use super::{FALL_BACK, TicketNumber, WaiterRegistry, Wakers};

impl WaiterRegistry {
    /// A waiting caller found something, and stays.
    pub(super) fn find_and_stay(
        &mut self,
        number: TicketNumber,
        now: Timestamp,
    ) -> (Option<Timestamp>, Wakers) {
        if let Some(caller) = self.waiting.get_mut(&number) {
            caller.until = now.plus_millis(FALL_BACK);
        }
        self.polled(number);
        (None, Wakers::default())
    }

    /// The waiting caller leaves, though an event may have woken it since its poll.
    pub(crate) fn leave_later(&mut self, number: TicketNumber) {
        self.waiting.remove(&number);
        self.watcher.take_if(|watcher| *watcher == number);
    }
}
