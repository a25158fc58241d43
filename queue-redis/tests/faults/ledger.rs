//! The promises about each message, to check against the events.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    sync::{Mutex, MutexGuard, PoisonError},
};

use queue_core::{Bytes, Delivery, MessageId, Token};

use crate::{
    histories::{Histories, Made, Step},
    leases::{self, Leases},
};

/// The promises: bodies that must be in the queue, and bodies that must be done.
///
/// Tasks record an answer after they receive it, in any order, so the order of deliveries comes from their
/// tokens. Answers during a failover promise less (R1): an unconfirmed call may be undone. A removal ends
/// all promises about earlier messages.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Books>);

#[derive(Debug, Default)]
struct Books {
    histories: Histories,
    /// The first push of each body.
    offered: BTreeMap<Bytes, Made>,
    accepted: BTreeMap<Bytes, (Step, Option<MessageId>)>,
    delivered: BTreeMap<Bytes, Leases>,
    acked: BTreeMap<Bytes, (Token, Step)>,
    ack_unknown: BTreeSet<Bytes>,
    /// Offered, neither done nor perhaps done, and neither lost nor removed.
    open: BTreeSet<Bytes>,
    confirmed: usize,
    again: usize,
}

/// The number of messages that a failover affected.
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
        let delivered = self.delivered.get(body).into_iter().flat_map(Leases::iter);
        for (token, delivery) in delivered {
            assert!(
                *token <= *acked || ack.may_be_apart(delivery),
                "L3: {body:?} was acked with {acked}, {ack:?}, and delivered with {token}, {delivery:?}"
            );
        }
    }

    /// Whether the present queue must have the message, or have had it.
    fn is_in_the_last(&self, step: Step) -> bool {
        step.history() == Some(self.histories.over())
    }
}

impl Ledger {
    /// A call is about to be made.
    pub(crate) fn make(&self) -> Made {
        self.books().histories.make()
    }

    /// A failover begins. All calls answered so far must reach the replica before the primary is struck.
    pub(crate) fn failover_begins(&self, has_two: bool) {
        self.books().histories.begin(has_two);
    }

    /// There is one primary again, and only another failover can undo its calls.
    pub(crate) fn failover_is_over(&self) {
        self.books().histories.end();
    }

    /// The queue is about to be removed.
    pub(crate) fn removal_begins(&self) {
        self.books().histories.removal_begins();
    }

    /// All earlier messages of the queue are gone.
    pub(crate) fn removal_is_over(&self) {
        let mut books = self.books();
        books.histories.removal_is_over();
        let Books { open, accepted, .. } = &mut *books;
        open.retain(|body| !accepted.contains_key(body));
    }

    /// A push of it is under way: from now on the queue may deliver it.
    pub(crate) fn offered(&self, body: &Bytes) {
        let mut books = self.books();
        let made = books.histories.make();
        books.offered.entry(body.clone()).or_insert(made);
        books.open.insert(body.clone());
    }

    /// The push was acknowledged: from now on the queue must not lose it (L5).
    pub(crate) fn accepted(&self, body: &Bytes, made: Made, id: Option<MessageId>) {
        let mut books = self.books();
        let step = books.histories.answer(made);
        let stays = books.is_in_the_last(step) && !step.may_be_undone();
        if !stays {
            books.open.remove(body);
        }
        books.confirmed += usize::from(made.is_confirmed());
        books.accepted.insert(body.clone(), (step, id));
    }

    /// The queue delivered it. Checks that it was pushed (L5), to a queue that was not removed since (R1).
    /// It must have no other live lease (L1) and a new token (L4), and must not be done (L3).
    pub(crate) fn delivered(&self, delivery: &Delivery, made: Made) {
        let body = &delivery.body;
        let mut books = self.books();
        let offered = books.offered.contains_key(body);
        assert!(offered, "L5: nobody pushed {body:?}");
        let step = books.histories.answer(made);
        if let Some((pushed, _)) = books.accepted.get(body) {
            assert!(
                !pushed.is_removed_before(step),
                "R1: {body:?} was removed, and delivered: {pushed:?}, {step:?}"
            );
        }
        let leases = books.delivered.entry(body.clone()).or_default();
        leases.add(delivery, step);
        books.check_done(body);
    }

    /// A call that settles it is about to be made.
    pub(crate) fn settles(&self, delivery: &Delivery) -> Made {
        let mut books = self.books();
        let made = books.histories.make();
        if let Some(leases) = books.delivered.get_mut(&delivery.body) {
            leases.may_end(delivery.receipt.token);
        }
        made
    }

    /// The ack was acknowledged: from now on the queue must not deliver it (L3).
    pub(crate) fn acked(&self, delivery: &Delivery, made: Made) {
        let (body, token) = (&delivery.body, delivery.receipt.token);
        let mut books = self.books();
        let step = books.histories.answer(made);
        let lease = books.delivered.get(body);
        if let Some(lease) = lease.and_then(|leases| leases.with(token)) {
            assert!(
                !lease.is_removed_before(step),
                "R1: a receipt of a removed queue settled {body:?}: {lease:?}, {step:?}"
            );
        }
        if let Some((before, ack)) = books.acked.insert(body.clone(), (token, step))
            && !ack.is_removed_before(step)
        {
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
        books.open.remove(body);
        books.check_done(body);
    }

    /// The server may have applied the ack.
    pub(crate) fn ack_unknown(&self, delivery: &Delivery) {
        let mut books = self.books();
        books.ack_unknown.insert(delivery.body.clone());
        books.open.remove(&delivery.body);
    }

    /// Checks an empty queue: every accepted message was acked, or perhaps acked (L5), or lost with its
    /// history (R1).
    pub(crate) fn check(&self) -> Toll {
        let books = self.books();
        let accepted = books.accepted.iter();
        let missing = accepted.filter(|(body, _)| {
            let acked = books.acked.get(*body);
            let may_be_acked = acked.is_some_and(|(_, ack)| ack.may_be_in(books.histories.over()));
            !may_be_acked && !books.ack_unknown.contains(*body)
        });
        let may_be_gone = |step: Step| step.may_be_undone() || !books.is_in_the_last(step);
        let (undone, lost): (Vec<_>, Vec<_>) =
            missing.partition(|(_, (step, _))| may_be_gone(*step));
        assert!(lost.is_empty(), "L5: lost {lost:?}");
        Toll {
            accepted: books.accepted.len(),
            confirmed: books.confirmed,
            lost: undone.len(),
            again: books.again,
        }
    }

    /// Checks that the first deliveries of each partition came in the order of their ids (F1, F2). Only for
    /// traffic in which no message comes back unseen.
    pub(crate) fn check_order(&self) {
        let books = self.books();
        let mut partitions = BTreeMap::<_, Vec<_>>::new();
        for (body, (step, id)) in &books.accepted {
            let (Some(history), Some(id)) = (step.history(), id) else {
                continue;
            };
            let first = books.delivered.get(body).and_then(Leases::first);
            if let Some(first) = first.filter(|first| first.history() == Some(history)) {
                let partition = id.get() >> 56;
                let messages = partitions.entry((history, partition)).or_default();
                messages.push((*id, body, first));
            }
        }
        for messages in partitions.into_values() {
            leases::check_order(messages);
        }
    }

    /// The number of messages that the present queue may count as accepted, and as acked, if it was created
    /// again since this ledger began.
    pub(crate) fn bounds(&self) -> Option<[RangeInclusive<u64>; 2]> {
        let books = self.books();
        let last = books.histories.over();
        if last == 0 {
            return None;
        }
        let stays = |step: Step| books.is_in_the_last(step) && !step.may_be_undone();
        let accepted = books.accepted.values();
        let accepted = accepted.filter(|(step, _)| stays(*step)).count() as u64;
        let acked = books.acked.values().filter(|(_, step)| stays(*step));
        let acked = acked.count() as u64;
        let pushed = books.accepted.values();
        let pushed = pushed.filter(|(step, _)| step.may_be_in(last)).count() as u64;
        Some([accepted..=pushed, acked..=pushed])
    }

    /// The number of acknowledged acks.
    pub(crate) fn acks(&self) -> usize {
        self.books().acked.len()
    }

    /// The number of offered messages that are neither done nor lost, nor perhaps so.
    pub(crate) fn open(&self) -> usize {
        self.books().open.len()
    }

    /// After a panic elsewhere, the test reports that panic, not the poisoned lock.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
