//! Leases, receipts and attempts: the holder of a message, its deadline, and the attempts charged.

use queue_core::{call::Call, *};
use queue_sim::history::Event;

use crate::history_builder::{HistoryBuilder, LEASE_TIME, again, keyed, lease, leased, ms, push};

#[test]
fn a_history_as_it_should_be_holds() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.call(keyed("b"));
    history.call(keyed("b"));
    let first = history.take();
    history
        .after(10)
        .settle(Settlement::retry(first.receipt, ms(20)));
    let second = history.take();
    history
        .after(60)
        .call(Call::Extend(vec![second.receipt.into()], ms(LEASE_TIME)));
    let third = history.take();
    assert_eq!(third.attempt, 2);
    history.settle(Settlement::retry(third.receipt, ms(5)));
    history.settle(Settlement::ack(second.receipt));
    history.settle(Settlement::ack(second.receipt));
    history.loses(push("lost"), false);
    history.loses(push("there"), true);
    history.loses(lease(1), true);
    history
        .after(2 * LEASE_TIME)
        .call(Call::DeadLetters(Page::first(10)));
    let last = history.take();
    assert_eq!(last.attempt, 2);
    history.after(LEASE_TIME).call(Call::Counters);
    history.call(Call::Revive(vec![MessageId::new(1), MessageId::new(9)]));
    history.event(Event::Healed);
    let revived = history.take();
    history.settle(Settlement::ack(revived.receipt));
    history.call(Call::Depth);
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn l1_a_second_live_lease() {
    let (mut history, first) = HistoryBuilder::leased();
    history.after(LEASE_TIME / 2);
    let mut second = again(&first, LEASE_TIME / 2);
    second.attempt = 2;
    history.claims(lease(1), leased(&second));
    history.breaks("L1");
}

#[test]
fn l2_the_dead_are_delivered() {
    let (mut history, first) = HistoryBuilder::leased();
    history.settle(Settlement::bury(first.receipt, "no"));
    history.after(10);
    history.claims(lease(1), leased(&again(&first, 10)));
    history.breaks("L2");
}

#[test]
fn l3_the_acked_is_delivered() {
    let (mut history, first) = HistoryBuilder::leased();
    history.settle(Settlement::ack(first.receipt));
    history.after(LEASE_TIME + 10);
    let mut second = again(&first, LEASE_TIME + 10);
    second.attempt = 2;
    history.claims(lease(1), leased(&second));
    history.breaks("L3");
}

#[test]
fn l4_an_expired_lease_is_settled() {
    let (mut history, first) = HistoryBuilder::leased();
    history.after(LEASE_TIME + 5);
    history.says_settled(Settlement::ack(first.receipt), Settled::Done);
    history.breaks("L4");
}

#[test]
fn l4_a_stale_receipt_is_taken() {
    let (mut history, first) = HistoryBuilder::leased();
    history.after(LEASE_TIME);
    history.take();
    history.says_settled(Settlement::ack(first.receipt), Settled::Done);
    history.breaks("L4");
}

#[test]
fn l4_a_live_lease_is_called_lost() {
    let (mut history, first) = HistoryBuilder::leased();
    history.after(LEASE_TIME / 2);
    history.says_settled(Settlement::ack(first.receipt), Settled::LeaseLost);
    history.breaks("L4");
}

#[test]
fn l4_an_ack_is_taken_twice() {
    let (mut history, first) = HistoryBuilder::leased();
    history.settle(Settlement::ack(first.receipt));
    history.says_settled(Settlement::ack(first.receipt), Settled::Done);
    history.breaks("L4");
}

#[test]
fn l4_a_token_comes_twice() {
    let (mut history, first) = HistoryBuilder::leased();
    history.settle(Settlement::release(first.receipt));
    history.says(lease(1), leased(&first));
    history.breaks("L4");
}

#[test]
fn l4_a_made_up_receipt_is_taken() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let made_up = Receipt::new(MessageId::new(1), Token::new(3));
    history.says_settled(Settlement::ack(made_up), Settled::Done);
    history.breaks("L4");
}

#[test]
fn l6_an_expiry_is_not_charged() {
    let (mut history, first) = HistoryBuilder::leased();
    history.after(LEASE_TIME);
    history.says(lease(1), leased(&again(&first, LEASE_TIME)));
    history.breaks("L6");
}

#[test]
fn l6_a_release_is_charged() {
    let (mut history, first) = HistoryBuilder::leased();
    history.settle(Settlement::release(first.receipt));
    let mut second = again(&first, 0);
    second.receipt.token = Token::new(first.receipt.token.get() + 1);
    second.attempt = 2;
    history.says(lease(1), leased(&second));
    history.breaks("L6");
}

#[test]
fn l6_a_last_attempt_is_retried() {
    let (mut history, _) = HistoryBuilder::leased();
    history.after(LEASE_TIME);
    let second = history.take();
    let retry = Settlement::retry(second.receipt, ms(1));
    history.says_settled(retry, Settled::Done);
    history.breaks("L6");
}

#[test]
fn l10_an_extended_lease_is_lost() {
    let (mut history, first) = HistoryBuilder::leased();
    history
        .after(50)
        .call(Call::Extend(vec![first.receipt.into()], ms(30)));
    history.after(10);
    history.says_settled(Settlement::ack(first.receipt), Settled::LeaseLost);
    history.breaks("L10");
}

#[test]
fn l11_a_retry_comes_too_soon() {
    let (mut history, first) = HistoryBuilder::leased();
    history.settle(Settlement::retry(first.receipt, ms(50)));
    history.after(10);
    let mut second = again(&first, 10);
    second.attempt = 2;
    history.says(lease(1), leased(&second));
    history.breaks("L11");
}
