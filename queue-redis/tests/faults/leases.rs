//! The deliveries of one message: no two of them live at one time (L1).

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use queue_core::{Bytes, Delivery, MessageId, Token};

use crate::histories::Step;

/// A server counts whole milliseconds.
const ROUNDING: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
pub(crate) struct Leases(BTreeMap<Token, Lease>);

#[derive(Debug, Clone, Copy)]
struct Lease {
    step: Step,
    attempt: u32,
    /// The lease is live at least until then, unless its holder ends it.
    until: Instant,
}

impl Lease {
    /// Whether this lease was live during the whole call that granted the other.
    fn covers(&self, other: &Self) -> bool {
        self.step.is_over_before(other.step) && other.step.answered() < self.until
    }
}

impl Leases {
    pub(crate) fn add(&mut self, delivery: &Delivery, step: Step) {
        let (body, token) = (&delivery.body, delivery.receipt.token);
        let lease = Lease {
            step,
            attempt: delivery.attempt,
            until: step.made() + delivery.time_left.saturating_sub(ROUNDING),
        };
        for (other_token, other) in self.0.iter().filter(|(other, _)| **other != token) {
            let apart = other.step.may_be_apart(step) || step.may_be_apart(other.step);
            assert!(
                apart || !other.covers(&lease) && !lease.covers(other),
                "L1: {body:?} was leased with {other_token}, {other:?}, and with {token}, {lease:?}"
            );
        }
        if let Some(before) = self.0.insert(token, lease) {
            // Two primaries may make the same token in the same microsecond.
            let apart = before.step.may_be_apart(step);
            assert!(apart, "L4: {body:?} was delivered twice with {token}");
        }
    }

    /// The holder of this lease is about to end it.
    pub(crate) fn may_end(&mut self, token: Token) {
        if let Some(lease) = self.0.get_mut(&token) {
            lease.until = lease.until.min(Instant::now());
        }
    }

    pub(crate) fn with(&self, token: Token) -> Option<Step> {
        self.0.get(&token).map(|lease| lease.step)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Token, Step)> {
        self.0.iter().map(|(token, lease)| (token, lease.step))
    }

    /// The first delivery, if this is known to be it.
    pub(crate) fn first(&self) -> Option<Step> {
        let first = self.0.values().next()?;
        let is_certain = |lease: &Lease| lease.step.is_before_failovers();
        (first.attempt == 1 && self.0.values().all(is_certain)).then_some(first.step)
    }
}

/// Fails if one of these messages was delivered first after a later one.
pub(crate) fn check_order(mut messages: Vec<(MessageId, &Bytes, Step)>) {
    messages.sort_by_key(|(id, ..)| *id);
    let mut soonest: Option<(&Bytes, Step)> = None;
    for (id, body, first) in messages.into_iter().rev() {
        if let Some((later, before)) = soonest {
            assert!(
                !before.is_over_before(first),
                "F1: {later:?} came before {body:?}, which is {id}: {before:?}, {first:?}"
            );
        }
        if soonest.is_none_or(|(_, before)| first.answered() < before.answered()) {
            soonest = Some((body, first));
        }
    }
}
