//! What cases must reach to be worth anything: a suite in which no lease ever expires proves
//! nothing about expiry.

use std::collections::BTreeSet;

use queue_core::Counters;

/// What cases for any leasing queue must reach, all together.
pub(super) const LEASING: &[&str] = &[
    "a lease expired",
    "a retry put a message back",
    "a message was deferred",
    "a message was released",
    "a message died when it was settled",
    "a dead letter was trimmed",
    "a dead letter was revived",
    "a dead letter was discarded",
    "messages were purged",
    "a stale settlement was refused",
    "a stale extension was refused",
    "a lease was extended",
    "an invalid call was refused",
    "a push was a duplicate",
    "a paused queue handed out nothing",
    "8 MiB cut a lease short",
    "more than 128 leases expired at once",
];

/// What was reached so far.
#[derive(Debug, Default)]
pub(super) struct Goals(BTreeSet<&'static str>);

impl Goals {
    pub(super) fn reach_if(&mut self, reached: bool, goal: &'static str) {
        if reached {
            self.0.insert(goal);
        }
    }

    pub(super) fn reach(&mut self, goal: &'static str) {
        self.reach_if(true, goal);
    }

    pub(super) fn count(&mut self, counters: &Counters) {
        self.reach_if(counters.expired > 0, "a lease expired");
        self.reach_if(counters.retried > 0, "a retry put a message back");
        self.reach_if(counters.deferred > 0, "a message was deferred");
        self.reach_if(counters.released > 0, "a message was released");
        self.reach_if(counters.trimmed > 0, "a dead letter was trimmed");
        self.reach_if(counters.revived > 0, "a dead letter was revived");
        self.reach_if(counters.discarded > 0, "a dead letter was discarded");
        self.reach_if(counters.purged > 0, "messages were purged");
        self.reach_if(counters.evicted > 0, "a message was evicted");
        self.reach_if(counters.replaced > 0, "a message was replaced");
        self.reach_if(counters.cancelled > 0, "a message was cancelled");
    }

    pub(super) fn reached(&self) -> &BTreeSet<&'static str> {
        &self.0
    }
}
