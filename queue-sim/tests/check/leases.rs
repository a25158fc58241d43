//! Leases, receipts and attempts: the holder of a message, its deadline, and the attempts charged.

use queue_core::{call::Call, *};
use queue_sim::history::Event;

use crate::story::{LEASE_TIME, Story, again, keyed, lease, leased, ms, push};

#[test]
fn a_history_as_it_should_be_holds() {
    let mut story = Story::reliable();
    story.push("a");
    story.call(keyed("b"));
    story.call(keyed("b"));
    let first = story.take();
    story
        .after(10)
        .settle(Settlement::retry(first.receipt, ms(20)));
    let second = story.take();
    story
        .after(60)
        .call(Call::Extend(vec![second.receipt], ms(LEASE_TIME)));
    let third = story.take();
    assert_eq!(third.attempt, 2);
    story.settle(Settlement::retry(third.receipt, ms(5)));
    story.settle(Settlement::ack(second.receipt));
    story.settle(Settlement::ack(second.receipt));
    story.loses(push("lost"), false);
    story.loses(push("there"), true);
    story.loses(lease(1), true);
    story
        .after(2 * LEASE_TIME)
        .call(Call::DeadLetters(Page::first(10)));
    let last = story.take();
    assert_eq!(last.attempt, 2);
    story.after(LEASE_TIME).call(Call::Counters);
    story.call(Call::Revive(vec![MessageId::new(1), MessageId::new(9)]));
    story.event(Event::Healed);
    let revived = story.take();
    story.settle(Settlement::ack(revived.receipt));
    story.call(Call::Depth);
    story.call(Call::Counters);
    story.holds();
}

#[test]
fn l1_a_second_live_lease() {
    let (mut story, first) = Story::leased();
    story.after(LEASE_TIME / 2);
    let mut second = again(&first, LEASE_TIME / 2);
    second.attempt = 2;
    story.claims(lease(1), leased(&second));
    story.breaks("L1");
}

#[test]
fn l2_the_dead_are_delivered() {
    let (mut story, first) = Story::leased();
    story.settle(Settlement::bury(first.receipt, "no"));
    story.after(10);
    story.claims(lease(1), leased(&again(&first, 10)));
    story.breaks("L2");
}

#[test]
fn l3_the_acked_is_delivered() {
    let (mut story, first) = Story::leased();
    story.settle(Settlement::ack(first.receipt));
    story.after(LEASE_TIME + 10);
    let mut second = again(&first, LEASE_TIME + 10);
    second.attempt = 2;
    story.claims(lease(1), leased(&second));
    story.breaks("L3");
}

#[test]
fn l4_an_expired_lease_is_settled() {
    let (mut story, first) = Story::leased();
    story.after(LEASE_TIME + 5);
    story.says_settled(Settlement::ack(first.receipt), Settled::Done);
    story.breaks("L4");
}

#[test]
fn l4_a_stale_receipt_is_taken() {
    let (mut story, first) = Story::leased();
    story.after(LEASE_TIME);
    story.take();
    story.says_settled(Settlement::ack(first.receipt), Settled::Done);
    story.breaks("L4");
}

#[test]
fn l4_a_live_lease_is_called_lost() {
    let (mut story, first) = Story::leased();
    story.after(LEASE_TIME / 2);
    story.says_settled(Settlement::ack(first.receipt), Settled::LeaseLost);
    story.breaks("L4");
}

#[test]
fn l4_an_ack_is_taken_twice() {
    let (mut story, first) = Story::leased();
    story.settle(Settlement::ack(first.receipt));
    story.says_settled(Settlement::ack(first.receipt), Settled::Done);
    story.breaks("L4");
}

#[test]
fn l4_a_token_comes_twice() {
    let (mut story, first) = Story::leased();
    story.settle(Settlement::release(first.receipt));
    story.says(lease(1), leased(&first));
    story.breaks("L4");
}

#[test]
fn l4_a_made_up_receipt_is_taken() {
    let mut story = Story::reliable();
    story.push("a");
    let made_up = Receipt::new(MessageId::new(1), Token::new(3));
    story.says_settled(Settlement::ack(made_up), Settled::Done);
    story.breaks("L4");
}

#[test]
fn l6_an_expiry_is_not_charged() {
    let (mut story, first) = Story::leased();
    story.after(LEASE_TIME);
    story.says(lease(1), leased(&again(&first, LEASE_TIME)));
    story.breaks("L6");
}

#[test]
fn l6_a_release_is_charged() {
    let (mut story, first) = Story::leased();
    story.settle(Settlement::release(first.receipt));
    let mut second = again(&first, 0);
    second.receipt.token = Token::new(first.receipt.token.get() + 1);
    second.attempt = 2;
    story.says(lease(1), leased(&second));
    story.breaks("L6");
}

#[test]
fn l6_a_last_attempt_is_retried() {
    let (mut story, _) = Story::leased();
    story.after(LEASE_TIME);
    let second = story.take();
    let retry = Settlement::retry(second.receipt, ms(1));
    story.says_settled(retry, Settled::Done);
    story.breaks("L6");
}

#[test]
fn l10_an_extended_lease_is_lost() {
    let (mut story, first) = Story::leased();
    story
        .after(50)
        .call(Call::Extend(vec![first.receipt], ms(30)));
    story.after(10);
    story.says_settled(Settlement::ack(first.receipt), Settled::LeaseLost);
    story.breaks("L10");
}

#[test]
fn l11_a_retry_comes_too_soon() {
    let (mut story, first) = Story::leased();
    story.settle(Settlement::retry(first.receipt, ms(50)));
    story.after(10);
    let mut second = again(&first, 10);
    second.attempt = 2;
    story.says(lease(1), leased(&second));
    story.breaks("L11");
}
