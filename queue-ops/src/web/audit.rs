//! The actions of operators, with their times and outcomes.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use queue_core::Timestamp;
use serde::Serialize;

/// Entries that are kept.
const KEPT: usize = 100;

/// An action of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditEntry {
    /// The time, by the backend's clock.
    pub at: Timestamp,
    /// The action: `pause orders`.
    pub action: String,
    /// The outcome, or the error.
    pub outcome: String,
}

#[derive(Debug, Default)]
pub(super) struct Audit(Mutex<VecDeque<AuditEntry>>);

impl Audit {
    pub(super) fn note(&self, entry: AuditEntry) {
        let mut entries = self.lock();
        entries.truncate(KEPT - 1);
        entries.push_front(entry);
    }

    /// The latest first.
    pub(super) fn entries(&self) -> Vec<AuditEntry> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<AuditEntry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuditEntry {
    pub(super) const fn new(at: Timestamp, action: String, outcome: String) -> Self {
        Self {
            at,
            action,
            outcome,
        }
    }
}
