//! The rules of the contract, one by one. They check the answers in a history.
//!
//! A rule alarms only when it is sure. It concludes an order only from calls that do not overlap,
//! and an expiry only if the backend's clock had surely come so far. A call without an answer may
//! have done anything.

mod attempts;
mod bounded;
mod cancelling;
mod changes;
mod conservation;
mod dead_letters;
mod dedup;
mod delay;
mod distinct;
mod failures;
mod fencing;
mod finding;
mod groups;
mod leases;
mod limits;
mod order;
pub(super) mod outcomes;
mod outdating;
mod peeking;
mod progress;
mod rotating;
mod states;
mod sums;
mod waiting;

use queue_core::QueueKind;

use super::{Facts, Finding, span::Span};

/// A finding, and its place in the order of the run.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) at: u64,
    pub(super) finding: Finding,
}

impl Found {
    /// A finding of this rule, shown by these calls.
    fn at(rule: &'static str, spans: &[&Span], message: String) -> Self {
        let mut calls: Vec<_> = spans.iter().map(|span| span.call).collect();
        calls.sort_unstable();
        calls.dedup();
        Self {
            at: spans.iter().map(|span| span.first).max().unwrap_or(0),
            finding: Finding::new(rule, message).shown_by(calls),
        }
    }
}

/// Checks every rule that the kind of queue has.
pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    if facts.kind() == QueueKind::Rotating {
        rotating::check(facts, found);
        waiting::check(facts, found);
        return;
    }
    leases::check(facts, found);
    limits::check(facts, found);
    groups::check(facts, found);
    fencing::check(facts, found);
    attempts::check(facts, found);
    conservation::check(facts, found);
    dedup::check(facts, found);
    dead_letters::check(facts, found);
    failures::check(facts, found);
    order::check(facts, found);
    delay::check(facts, found);
    cancelling::check(facts, found);
    peeking::check(facts, found);
    finding::check(facts, found);
    outdating::check(facts, found);
    if facts.kind() == QueueKind::Bounded {
        bounded::check(facts, found);
    }
    distinct::check(facts, found);
    states::check(facts, found);
    progress::check(facts, found);
    waiting::check(facts, found);
}
