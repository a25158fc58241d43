//! The promises about each message, to check against the events.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use queue_core::{Bytes, Delivery, Token};

/// The promises: bodies that must be in the queue, and bodies that must be done.
///
/// Tasks note an answer only after they have it, in any order, so the tokens tell which delivery
/// came first.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    offered: BTreeSet<Bytes>,
    accepted: BTreeSet<Bytes>,
    delivered: BTreeMap<Bytes, BTreeSet<Token>>,
    acked: BTreeMap<Bytes, Token>,
    ack_unknown: BTreeSet<Bytes>,
}

impl Books {
    /// Done is done: no delivery after the acked one (L3, L4).
    fn check_done(&self, body: &Bytes) {
        let last = self.delivered.get(body).and_then(BTreeSet::last);
        if let (Some(acked), Some(last)) = (self.acked.get(body), last) {
            assert!(
                last <= acked,
                "L3: {body:?} was acked with {acked} and delivered with {last}"
            );
        }
    }
}

impl Ledger {
    /// A push of it is under way: from now on the queue may deliver it.
    pub(crate) fn offered(&self, body: &Bytes) {
        self.books().offered.insert(body.clone());
    }

    /// The push was acknowledged: from now on the queue must not lose it (L5).
    pub(crate) fn accepted(&self, body: &Bytes) {
        self.books().accepted.insert(body.clone());
    }

    /// The queue delivered it: somebody pushed it (L5), its token is its own (L4), and it was not
    /// done (L3).
    pub(crate) fn delivered(&self, delivery: &Delivery) {
        let (body, token) = (&delivery.body, delivery.receipt.token);
        let mut books = self.books();
        assert!(books.offered.contains(body), "L5: nobody pushed {body:?}");
        let fresh = books
            .delivered
            .entry(body.clone())
            .or_default()
            .insert(token);
        assert!(fresh, "L4: {body:?} was delivered twice with {token}");
        books.check_done(body);
    }

    /// The ack was acknowledged: from now on the queue must not deliver it (L3).
    pub(crate) fn acked(&self, delivery: &Delivery) {
        let (body, token) = (&delivery.body, delivery.receipt.token);
        let mut books = self.books();
        let before = books.acked.insert(body.clone(), token);
        assert_eq!(before, None, "L4: {body:?} was acked twice");
        books.check_done(body);
    }

    /// The server may have applied the ack.
    pub(crate) fn ack_unknown(&self, delivery: &Delivery) {
        self.books().ack_unknown.insert(delivery.body.clone());
    }

    /// Checks an empty queue: every accepted message was acked, or perhaps acked (L5).
    pub(crate) fn check(&self) {
        let books = self.books();
        let accepted = books.accepted.iter();
        let lost: Vec<_> = accepted
            .filter(|body| !books.acked.contains_key(*body) && !books.ack_unknown.contains(*body))
            .collect();
        assert!(lost.is_empty(), "L5: lost {lost:?}");
    }

    /// The number of acknowledged acks.
    pub(crate) fn acks(&self) -> usize {
        self.books().acked.len()
    }

    /// The number of messages that were offered and are not known to be done.
    pub(crate) fn open(&self) -> usize {
        let books = self.books();
        books.offered.len() - books.acked.len()
    }

    /// After a panic elsewhere, that panic is the failure to report, not the lock.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
