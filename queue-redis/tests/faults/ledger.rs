//! The promises about each message, to check against the events.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use queue_core::{Bytes, Delivery, Token};

use crate::histories::{Histories, Made, Step};

/// The promises: bodies that must be in the queue, and bodies that must be done.
///
/// Tasks note an answer only after they have it, in any order, so the tokens tell which delivery
/// came first. While a server fails over to another, answers promise less (R1): what was answered then and
/// was not confirmed may be undone.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    histories: Histories,
    offered: BTreeSet<Bytes>,
    accepted: BTreeMap<Bytes, Step>,
    delivered: BTreeMap<Bytes, BTreeMap<Token, Step>>,
    acked: BTreeMap<Bytes, (Token, Step)>,
    ack_unknown: BTreeSet<Bytes>,
    /// Accepted, not done, and perhaps lost.
    at_risk: BTreeSet<Bytes>,
    confirmed: usize,
    again: usize,
}

/// How many messages bore what a failover may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Toll {
    pub(crate) accepted: usize,
    /// Pushes and acks that are known to be at a replica.
    pub(crate) confirmed: usize,
    /// Acknowledged pushes whose messages are gone.
    pub(crate) lost: usize,
    /// Acknowledged acks whose messages came again.
    pub(crate) again: usize,
}

impl Books {
    /// Done is done: no delivery after the acked one (L3, L4).
    fn check_done(&self, body: &Bytes) {
        let Some((acked, ack)) = self.acked.get(body) else {
            return;
        };
        let delivered = self.delivered.get(body).into_iter().flatten();
        for (token, delivery) in delivered {
            assert!(
                token <= acked || ack.may_be_apart(*delivery),
                "L3: {body:?} was acked with {acked}, {ack:?}, and delivered with {token}, {delivery:?}"
            );
        }
    }
}

impl Ledger {
    /// A call is about to be made.
    pub(crate) fn make(&self) -> Made {
        self.books().histories.make()
    }

    /// A failover begins. All that was answered by now has to reach the replica before the primary is struck.
    pub(crate) fn failover_begins(&self, has_two: bool) {
        self.books().histories.begin(has_two);
    }

    /// There is one primary, which nothing but another failover will undo.
    pub(crate) fn failover_is_over(&self) {
        self.books().histories.end();
    }

    /// A push of it is under way: from now on the queue may deliver it.
    pub(crate) fn offered(&self, body: &Bytes) {
        self.books().offered.insert(body.clone());
    }

    /// The push was acknowledged: from now on the queue must not lose it (L5).
    pub(crate) fn accepted(&self, body: &Bytes, made: Made) {
        let mut books = self.books();
        let step = books.histories.answer(made);
        if step.may_be_undone() && !books.acked.contains_key(body) {
            books.at_risk.insert(body.clone());
        }
        books.confirmed += usize::from(made.is_confirmed());
        books.accepted.insert(body.clone(), step);
    }

    /// The queue delivered it: somebody pushed it (L5), its token is its own (L4), and it was not
    /// done (L3).
    pub(crate) fn delivered(&self, delivery: &Delivery, made: Made) {
        let (body, token) = (&delivery.body, delivery.receipt.token);
        let mut books = self.books();
        assert!(books.offered.contains(body), "L5: nobody pushed {body:?}");
        let step = books.histories.answer(made);
        let tokens = books.delivered.entry(body.clone()).or_default();
        if let Some(before) = tokens.insert(token, step) {
            // Two primaries may take a token from the same microsecond.
            let apart = before.may_be_apart(step);
            assert!(apart, "L4: {body:?} was delivered twice with {token}");
        }
        books.check_done(body);
    }

    /// The ack was acknowledged: from now on the queue must not deliver it (L3).
    pub(crate) fn acked(&self, delivery: &Delivery, made: Made) {
        let (body, token) = (&delivery.body, delivery.receipt.token);
        let mut books = self.books();
        let step = books.histories.answer(made);
        if let Some((before, ack)) = books.acked.insert(body.clone(), (token, step)) {
            assert!(
                ack.may_be_apart(step),
                "L4: {body:?} was acked twice, with {before}, {ack:?}, and with {token}, {step:?}"
            );
            books.again += 1;
            if !ack.may_be_undone() {
                books.acked.insert(body.clone(), (before, ack));
            }
        }
        books.confirmed += usize::from(made.is_confirmed());
        books.at_risk.remove(body);
        books.check_done(body);
    }

    /// The server may have applied the ack.
    pub(crate) fn ack_unknown(&self, delivery: &Delivery) {
        self.books().ack_unknown.insert(delivery.body.clone());
    }

    /// Checks an empty queue: every accepted message was acked, or perhaps acked (L5), or lost with its
    /// history (R1).
    pub(crate) fn check(&self) -> Toll {
        let books = self.books();
        let accepted = books.accepted.iter();
        let missing = accepted.filter(|(body, _)| {
            !books.acked.contains_key(*body) && !books.ack_unknown.contains(*body)
        });
        let (undone, lost): (Vec<_>, Vec<_>) = missing.partition(|(_, step)| step.may_be_undone());
        assert!(lost.is_empty(), "L5: lost {lost:?}");
        Toll {
            accepted: books.accepted.len(),
            confirmed: books.confirmed,
            lost: undone.len(),
            again: books.again,
        }
    }

    /// The number of acknowledged acks.
    pub(crate) fn acks(&self) -> usize {
        self.books().acked.len()
    }

    /// The number of messages that were offered, and are neither known to be done nor perhaps lost.
    pub(crate) fn open(&self) -> usize {
        let books = self.books();
        books.offered.len() - books.acked.len() - books.at_risk.len()
    }

    /// After a panic elsewhere, that panic is the failure to report, not the lock.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
