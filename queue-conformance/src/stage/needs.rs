//! The needs of a case, compared with the guarantees of its queues.

use queue_core::*;

use super::{Stage, guard};
use crate::Skip;

impl Stage<'_> {
    /// Ends the case as skipped if it is about queues of one kind, and queues of that kind break the case's own rule.
    pub(crate) fn needs_own_rule(&self, rule: &str) {
        if self.kind.is_some() {
            self.needs_rule(rule);
        }
    }

    /// Ends the case as skipped if its queues break this rule.
    pub(crate) fn needs_rule(&self, rule: &str) {
        if let Some(skip) = Skip::of_rule(&self.guarantees, rule) {
            self.exit.skip(skip);
        }
    }

    /// Ends the case as skipped if a queue of the case's kind lacks `feature`. If the case is about the backend, a
    /// queue of any kind counts.
    pub(crate) fn needs(&self, feature: Feature) {
        let kinds = self.kind.map_or_else(|| self.kinds(), |kind| vec![kind]);
        for kind in kinds {
            let guarantees = self.backend.guarantees(kind);
            if !guarantees.has(feature) {
                self.exit.skip(guard::lacks(&guarantees, feature));
            }
        }
    }

    /// Ends the case as skipped if its queues hand messages out in another order than that of their
    /// arrival.
    pub(crate) fn needs_order(&self) {
        if let Some(skip) = self.no_order() {
            self.exit.skip(skip);
        }
    }

    /// The numbers of messages that were handed out, sorted if the queues do not keep to the order of arrival.
    pub(crate) fn ordered(&self, mut numbers: Vec<u64>) -> Vec<u64> {
        if self.no_order().is_some() {
            numbers.sort_unstable();
        }
        numbers
    }

    fn no_order(&self) -> Option<Skip> {
        guard::broken_alone(&self.guarantees, self.kind().order())
    }

    /// Whether the queues of the case's kind keep this rule.
    pub(crate) fn keeps(&self, rule: &str) -> bool {
        self.guarantees.keeps(rule)
    }

    /// Whether the queues of the case's kind have everything.
    pub(crate) fn has_all(&self) -> bool {
        self.guarantees.is_all()
    }
}
