//! Children of a job, and their ends.

use std::{fmt, sync::Arc};

use queue_core::{Leasing, MessageId};

use crate::families::FailedChild;

/// The children that a step of a job pushed, by [`Context::spawn`](crate::Context::spawn).
#[derive(Clone)]
#[must_use = "the children run whatever happens to the parent: join them to wait for their ends"]
pub struct Children {
    pub(super) name: String,
    pub(super) queue: Arc<dyn Leasing>,
    pub(super) queue_name: String,
    pub(super) ids: Arc<[MessageId]>,
    pub(super) cancels_others: bool,
}

impl Children {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Their ids, in the order of the jobs.
    pub fn ids(&self) -> &[MessageId] {
        &self.ids
    }

    /// Cancels the undelivered children once a child is dead, as soon as a [`join`](crate::Context::join) sees it.
    /// Children that are leased go on, and are waited for.
    pub const fn cancel_others_on_failure(mut self) -> Self {
        self.cancels_others = true;
        self
    }

    /// The words for a dead child.
    pub(super) fn dead_child(&self, failed: &FailedChild) -> String {
        let (queue, id) = (&self.queue_name, failed.id);
        format!(
            "{:?} has a dead child, {id} of the queue {queue}: {}",
            self.name, failed.reason
        )
    }
}

impl fmt::Debug for Children {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Children")
            .field("name", &self.name)
            .field("count", &self.ids.len())
            .field("cancels_others", &self.cancels_others)
            .finish_non_exhaustive()
    }
}

/// The ends of all children of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "a child may have died"]
pub struct Joined {
    pub(super) done: u64,
    pub(super) gone: u64,
    pub(super) dead: u64,
    pub(super) failed: Vec<FailedChild>,
}

impl Joined {
    /// How many children were acked with a result that is still kept.
    pub const fn done(&self) -> u64 {
        self.done
    }

    /// How many children are gone: acked without a result, cancelled, or ended by their time to live. To tell them
    /// apart, keep results in the worker of the children.
    pub const fn gone(&self) -> u64 {
        self.gone
    }

    /// How many children are among the dead letters.
    pub const fn dead(&self) -> u64 {
        self.dead
    }

    /// The first hundred of the dead children, with the reasons of their deaths.
    pub fn failed(&self) -> &[FailedChild] {
        &self.failed
    }
}
