//! The size of batches and bodies: mostly small, because such runs are fast and easy to read. Rarely it is so large
//! that calls, scripts and answers reach their bounds.

use std::sync::LazyLock;

use bytes::Bytes;
use queue_core::limits::{MAX_BATCH, MAX_BATCH_BYTES, MAX_PAGE};

use crate::plan::{ChoicePoint, Decisions, Plan, Process, What};

/// The size of batches and bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// A handful of messages.
    Usual,
    /// More messages than one call takes, expires or promotes.
    Crowd,
    /// Processes put in more bodies at once than one call carries.
    Heavy,
}

/// The weight of each size.
const SIZES: [u32; 3] = [9_992, 5, 3];

/// Messages put in at once, in a crowd: about one batch, about two, or more.
const CROWDS: [u32; 5] = [129, 128, 200, 256, 300];
/// Messages taken, settled or extended at once, in a crowd: about as many as a script reads at a time, or as a call may
/// carry.
const HANDFULS: [usize; 4] = [MAX_BATCH, MAX_BATCH - 1, 17, 16];
/// Entries of a page.
const PAGES: [usize; 6] = [100, 1, 2, 10, MAX_BATCH, MAX_PAGE];

/// The largest body that a queue takes by default. One call carries no more than eight of them.
static LARGE: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![b'x'; MAX_BATCH_BYTES / 8]));

impl Size {
    /// The choice point that decides the size.
    const SITE: ChoicePoint = ChoicePoint::new(Process::WORLD, 0, What::Parameter).nth(12);

    pub(super) fn draw(decisions: &Decisions) -> Self {
        match decisions.weigh(Self::SITE, &SIZES) {
            0 => Self::Usual,
            1 => Self::Crowd,
            _ => Self::Heavy,
        }
    }

    /// A plan that decides this and nothing else.
    pub fn plan(self) -> Plan {
        [(Self::SITE, self as u32)].into_iter().collect()
    }
}

/// The number of messages put in at once, in a crowd.
pub(super) fn crowd(choose: impl FnOnce(u32) -> u32) -> u32 {
    CROWDS[choose(CROWDS.len() as u32) as usize]
}

/// The number of messages taken or settled at once, in a crowd.
pub(super) fn handful(choose: impl FnOnce(u32) -> u32) -> usize {
    HANDFULS[choose(HANDFULS.len() as u32) as usize]
}

/// The number of entries of a page.
pub(super) fn page(choose: impl FnOnce(u32) -> u32) -> usize {
    PAGES[choose(PAGES.len() as u32) as usize]
}

/// A body of the largest size, or one byte less. Every eighth or ninth of them exceeds a call.
pub(super) fn large(shorter: bool) -> Bytes {
    LARGE.slice(usize::from(shorter)..)
}
