//! How much is in play: mostly little, since that is fast and reads well; rarely so much that calls,
//! scripts and answers meet their bounds.

use std::sync::LazyLock;

use bytes::Bytes;
use queue_core::{
    QueueKind,
    limits::{MAX_BATCH, MAX_BATCH_BYTES, MAX_PAGE},
};

use crate::plan::{Decisions, Lane, Plan, Site, What};

/// How much is in play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// A handful of messages.
    Usual,
    /// More messages than one call takes, expires or promotes.
    Crowd,
    /// Bodies of which more than one call carries are put in at once.
    Heavy,
}

/// How often each is drawn.
const SIZES: [u32; 3] = [9_992, 5, 3];

/// Messages put in at once, in a crowd: about one batch, about two, more.
const CROWDS: [u32; 5] = [129, 128, 200, 256, 300];
/// Messages taken, settled or extended at once, in a crowd: about as many as a script reads at a
/// time, and as many as a call may.
const HANDFULS: [usize; 4] = [MAX_BATCH, MAX_BATCH - 1, 17, 16];
/// Entries of a page.
const PAGES: [usize; 6] = [100, 1, 2, 10, MAX_BATCH, MAX_PAGE];

/// The largest body that a queue takes by default: eight of them are all that a call carries.
static LARGE: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![b'x'; MAX_BATCH_BYTES / 8]));

impl Size {
    /// Where it is decided.
    const SITE: Site = Site::new(Lane::WORLD, 0, What::Parameter).nth(12);

    pub(super) fn draw(decisions: &Decisions) -> Self {
        match decisions.weigh(Self::SITE, &SIZES) {
            0 => Self::Usual,
            1 => Self::Crowd,
            _ => Self::Heavy,
        }
    }

    /// The plan that decides this and nothing else.
    pub fn plan(self) -> Plan {
        [(Self::SITE, self as u32)].into_iter().collect()
    }

    /// What is to be reached where so much is in play.
    pub fn goals(self, kind: QueueKind) -> Vec<&'static str> {
        use super::goals::{BEYOND_ONE_BATCH, BEYOND_ONE_CALLS_BYTES, FULL_HANDFUL};
        match self {
            Self::Usual => Vec::new(),
            // A ring takes no more than a batch at once.
            Self::Crowd if kind == QueueKind::Rotating => vec![FULL_HANDFUL],
            Self::Crowd => vec![BEYOND_ONE_BATCH, FULL_HANDFUL],
            Self::Heavy if kind == QueueKind::Rotating => Vec::new(),
            Self::Heavy => vec![BEYOND_ONE_CALLS_BYTES],
        }
    }
}

/// How many are put in at once, in a crowd, and how many of them there are to choose from.
pub(super) fn crowd(choose: impl FnOnce(u32) -> u32) -> u32 {
    CROWDS[choose(CROWDS.len() as u32) as usize]
}

/// How many are taken or settled at once, in a crowd.
pub(super) fn handful(choose: impl FnOnce(u32) -> u32) -> usize {
    HANDFULS[choose(HANDFULS.len() as u32) as usize]
}

/// How many entries a page has.
pub(super) fn page(choose: impl FnOnce(u32) -> u32) -> usize {
    PAGES[choose(PAGES.len() as u32) as usize]
}

/// A body of the largest size, or one less: every eighth or ninth of them is beyond a call.
pub(super) fn large(shorter: bool) -> Bytes {
    LARGE.slice(usize::from(shorter)..)
}
