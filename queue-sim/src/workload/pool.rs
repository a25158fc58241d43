use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use queue_core::{MessageId, Pushed, Receipt, Timestamp};

/// The receipts and ids that all processes of a run have seen. Processes take stale receipts, other processes'
/// receipts, and old ids from it. Clones share one state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool(Arc<Mutex<SeenMessage>>);

#[derive(Debug, Default)]
struct SeenMessage {
    receipts: Vec<Receipt>,
    ids: Vec<MessageId>,
    /// The times of changes that come without a call, as far as the processes know.
    boundaries: Vec<Timestamp>,
    /// The number of bodies made.
    bodies: u64,
}

/// The most entries that the processes look back.
const WINDOW: usize = 8;

impl Pool {
    pub(super) fn add_receipt(&self, receipt: Receipt) {
        self.lock().receipts.push(receipt);
    }

    /// Remembers the accepted messages.
    pub(super) fn add_pushed(&self, pushed: &[Pushed]) {
        let accepted = pushed.iter().filter(|pushed| !pushed.is_duplicate());
        accepted
            .filter_map(|pushed| pushed.id())
            .for_each(|id| self.add_id(id));
    }

    pub(super) fn add_id(&self, id: MessageId) {
        self.lock().ids.push(id);
    }

    pub(super) fn add_boundary(&self, at: Timestamp) {
        self.lock().boundaries.push(at);
    }

    /// The numbers of receipts and of ids to choose from.
    pub(super) fn receipts(&self) -> u32 {
        self.lock().receipts.len().min(WINDOW) as u32
    }

    pub(super) fn ids(&self) -> u32 {
        self.lock().ids.len().min(WINDOW) as u32
    }

    /// A receipt, counted back from the latest.
    pub(super) fn receipt(&self, back: u32) -> Option<Receipt> {
        self.lock()
            .receipts
            .iter()
            .rev()
            .nth(back as usize)
            .copied()
    }

    /// An id, counted back from the latest.
    pub(super) fn id(&self, back: u32) -> Option<MessageId> {
        self.lock().ids.iter().rev().nth(back as usize).copied()
    }

    /// The latest ids, at most the given number.
    pub(super) fn latest(&self, most: usize) -> Vec<MessageId> {
        self.lock().ids.iter().rev().take(most).copied().collect()
    }

    /// The next few boundaries after now, soonest first.
    pub(super) fn boundaries(&self, now: Timestamp) -> Vec<Timestamp> {
        let mut seen = self.lock();
        seen.boundaries.retain(|at| *at > now);
        seen.boundaries.sort_unstable();
        seen.boundaries.dedup();
        seen.boundaries.iter().take(4).copied().collect()
    }

    /// A number that no body has had.
    pub(super) fn next_body(&self) -> u64 {
        let mut seen = self.lock();
        seen.bodies += 1;
        seen.bodies
    }

    fn lock(&self) -> MutexGuard<'_, SeenMessage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
