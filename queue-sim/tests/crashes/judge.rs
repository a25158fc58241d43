//! The judge finds each sort of broken promise, in histories that are written by hand.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::FutureExt;
use queue_core::{
    call::{Answer, Call, Service},
    *,
};

use crate::{
    ledger::{Ledger, Toll},
    traffic::config,
};

const LEASE: Duration = Duration::from_secs(3_600);

/// A queue that gives one answer.
#[derive(Debug)]
struct Says(Mutex<Option<Answer>>);

#[async_trait::async_trait]
impl Service for Says {
    async fn call(&self, _: Call) -> Result<Answer> {
        let mut answer = self.0.lock().expect("no panic");
        answer.take().ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "the reply is lost").with_outcome(Outcome::Unknown)
        })
    }
}

/// The account of a reliable queue, as its clients tell it.
struct Told(Ledger);

fn told() -> Told {
    let kind = QueueKind::Reliable;
    let (name, guarantees) = ("jobs".parse().unwrap(), Guarantees::all("told", kind));
    Told(Ledger::new(
        name,
        config(kind),
        guarantees,
        Counters::default(),
    ))
}

impl Told {
    /// A client makes a call, and gets this answer, or none.
    fn call(&self, call: Call, answer: impl Into<Option<Answer>>) {
        let says = Arc::new(Says(Mutex::new(answer.into())));
        let queue = self
            .0
            .client(0, &AnyQueue::behind(says, QueueKind::Reliable));
        let _ = queue.call(call).now_or_never().expect("it answers at once");
    }

    fn push(&self, id: u64, body: &'static str) {
        let pushed = Answer::Pushed(vec![Pushed::Accepted(MessageId::new(id))]);
        self.call(Call::Push(vec![Push::new(body)]), pushed);
    }

    fn deliver(&self, id: u64, token: u64, attempt: u32, body: &'static str) {
        let delivery = Delivery::new(receipt(id, token), attempt, LEASE, body);
        let leased = Answer::Leased(Leased::of(vec![delivery]));
        self.call(Call::Lease(NonZeroUsize::MIN, LEASE), leased);
    }

    fn ack(&self, id: u64, token: u64, settled: impl Into<Option<Settled>>) {
        let ack = Settlement::ack(receipt(id, token));
        let settled = settled.into().map(|settled| Answer::Settled(vec![settled]));
        self.call(Call::Settle(vec![ack]), settled);
    }

    fn confirmed(&self) {
        self.0.confirmed(0);
    }

    /// The clients read these counts at the end, when the queue is empty.
    fn ends(&self, accepted: u64, acked: u64) -> Toll {
        let mut counters = Counters::default();
        (counters.accepted, counters.acked) = (accepted, acked);
        self.call(Call::Counters, Answer::Counters(Box::new(counters)));
        self.0.judge()
    }
}

fn receipt(id: u64, token: u64) -> Receipt {
    Receipt::new(MessageId::new(id), Token::new(token * Token::PER_MILLI))
}

#[test]
fn a_message_that_is_delivered_and_acked_is_accounted_for() {
    let told = told();
    told.push(1, "a");
    told.deliver(1, 5, 1, "a");
    told.ack(1, 5, Settled::Done);
    told.ack(1, 5, Settled::LeaseLost);
    let toll = told.ends(1, 1);
    assert_eq!((toll.accepted, toll.lost), (1, 0));
}

#[test]
fn a_message_whose_ack_has_no_answer_may_be_gone() {
    let told = told();
    told.push(1, "a");
    told.deliver(1, 5, 1, "a");
    told.ack(1, 5, None);
    let toll = told.ends(1, 1);
    assert_eq!((toll.accepted, toll.lost), (1, 0));
}

/// A message that comes too late for a wait is given back, or its lease expires.
#[test]
fn a_wait_may_have_leased_what_it_did_not_bring() {
    let told = told();
    told.push(1, "a");
    let nothing = Answer::Leased(Leased::nothing(None));
    told.call(Call::WaitToLease(LEASE, None, LEASE), nothing);
    told.deliver(1, 6, 2, "a");
    told.ack(1, 6, Settled::Done);
    told.ends(1, 1);
}

/// A push and an ack are undone: the message of the one is gone, and the message of the other comes again.
fn fails_over(told: &Told, confirms: bool) {
    told.push(1, "a");
    told.deliver(1, 5, 1, "a");
    told.0.failover_begins();
    told.push(2, "b");
    if confirms {
        told.confirmed();
    }
    told.ack(1, 5, Settled::Done);
    told.0.failover_is_over();
}

#[test]
fn a_failover_may_undo_what_it_did_not_confirm() {
    let told = told();
    fails_over(&told, false);
    told.ack(1, 5, Settled::Done);
    let toll = told.ends(1, 1);
    assert_eq!((toll.accepted, toll.lost), (2, 1));
}

fn removed() -> Told {
    let told = told();
    told.push(1, "a");
    told.deliver(1, 5, 1, "a");
    told.0.removal_begins();
    told.0.removal_is_over();
    told
}

#[test]
fn a_removal_ends_the_promises_about_earlier_messages() {
    let told = removed();
    told.ack(1, 5, Settled::LeaseLost);
    told.push(1, "b");
    told.deliver(1, 6, 1, "b");
    told.ack(1, 6, Settled::Done);
    let toll = told.ends(1, 1);
    assert_eq!((toll.accepted, toll.lost), (2, 1));
}

/// For each case, its account, a part of the finding, and the calls.
macro_rules! finds {
    ($($name:ident $told:ident $words:literal |$calls:ident| $body:block)*) => {$(
        #[test]
        #[should_panic(expected = $words)]
        fn $name() {
            let $calls = $told();
            $body
        }
    )*};
}

finds! {
    an_attempt_that_nobody_made_is_found told "L6: message 1 is delivered as attempt 2" |told| {
        told.push(1, "a");
        told.deliver(1, 5, 2, "a");
        told.ack(1, 5, Settled::Done);
        told.ends(1, 1);
    }
    a_lost_message_is_found told "L5: the queue holds 0 messages" |told| {
        told.push(1, "a");
        // Another push, of which nobody knows, hides the loss from the sums.
        told.call(Call::Push(vec![Push::new("b")]), None);
        told.deliver(2, 5, 1, "b");
        told.ack(2, 5, Settled::Done);
        told.ends(1, 1);
    }
    a_push_that_the_queue_does_not_count_is_found told "L5: accepted: the queue counts 0" |told| {
        told.push(1, "a");
        told.ends(0, 0);
    }
    a_message_that_nobody_pushed_is_found told "and nobody pushed it" |told| {
        told.deliver(1, 5, 1, "a");
        told.ends(0, 0);
    }
    a_second_live_lease_is_found told "L1: message 1 is delivered" |told| {
        told.push(1, "a");
        told.deliver(1, 5, 1, "a");
        told.deliver(1, 6, 2, "a");
        told.ack(1, 6, Settled::Done);
        told.ends(1, 1);
    }
    a_delivery_after_the_ack_is_found told "L3: message 1 is delivered again after its ack" |told| {
        told.push(1, "a");
        told.deliver(1, 5, 1, "a");
        told.ack(1, 5, Settled::Done);
        told.deliver(1, 6, 2, "a");
        told.ends(1, 1);
    }
    a_settlement_after_the_end_of_the_lease_is_found told "is settled, and taken again" |told| {
        told.push(1, "a");
        told.deliver(1, 5, 1, "a");
        told.ack(1, 5, Settled::Done);
        told.ack(1, 5, Settled::Done);
        told.ends(1, 2);
    }
    a_token_that_comes_twice_is_found told "L4: two deliveries have the token" |told| {
        told.push(1, "a");
        told.push(2, "b");
        told.deliver(1, 5, 1, "a");
        told.deliver(2, 5, 1, "b");
        told.ack(1, 5, Settled::Done);
        told.ack(2, 5, Settled::Done);
        told.ends(2, 2);
    }
    a_message_out_of_its_order_is_found told "F1: message 2 is delivered" |told| {
        told.push(1, "a");
        told.push(2, "b");
        told.deliver(2, 5, 1, "b");
        told.deliver(1, 6, 1, "a");
        told.ack(1, 6, Settled::Done);
        told.ack(2, 5, Settled::Done);
        told.ends(2, 2);
    }
    a_confirmed_push_that_a_failover_undoes_is_found told "L5: accepted: the queue counts 1" |told| {
        fails_over(&told, true);
        told.ack(1, 5, Settled::Done);
        told.ends(1, 1);
    }
    a_push_from_before_a_failover_that_is_undone_is_found told "L5: accepted: the queue counts 0" |told| {
        told.push(1, "a");
        told.0.failover_begins();
        told.0.failover_is_over();
        told.ends(0, 0);
    }
    a_removed_message_that_is_delivered_is_found removed "and nobody pushed it" |told| {
        told.deliver(1, 6, 1, "a");
        told.ends(0, 0);
    }
    a_receipt_of_a_removed_queue_that_settles_is_found removed "R1: a receipt of a removed queue settled" |told| {
        told.ack(1, 5, Settled::Done);
        told.ends(0, 0);
    }
}
