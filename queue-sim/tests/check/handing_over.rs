//! Messages that are handed over to waiting calls.

use queue_core::{
    Delivery, Holder, Settlement, Token,
    call::{Answer, Call},
};
use queue_sim::{
    history::{CallEnd, Ended},
    plan::Process,
};

use crate::story::{LEASE_TIME, Story, lease, leased, ms, push};

fn wait() -> Call {
    Call::WaitToLease(ms(LEASE_TIME), Holder::new("one").ok(), ms(5000))
}

/// A message is pushed, and handed over at once.
fn handed_over(story: &mut Story) -> Delivery {
    story.push("a");
    match story.call(wait()) {
        Answer::Leased(mut leased) => leased.deliveries.remove(0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_handed_over_message_is_leased_to_its_caller() {
    let mut story = Story::reliable();
    let first = handed_over(&mut story);
    story.settle(Settlement::ack(first.receipt));
    story.call(Call::Counters);
    let second = handed_over(&mut story);
    story.after(LEASE_TIME + 1).take();
    story.settle(Settlement::ack(second.receipt));
    story.holds();
}

#[test]
fn a_wait_that_brings_nothing_leases_nothing() {
    let mut story = Story::reliable();
    story.push("a");
    story.record(wait(), Some(CallEnd::Ok(wait().waited())), false);
    let taken = story.take();
    story.settle(Settlement::ack(taken.receipt));
    story.holds();
}

#[test]
fn a_handover_too_late_for_its_caller_is_released() {
    let mut story = Story::reliable();
    let late = handed_over(&mut story).receipt;
    story.last().ended.as_mut().unwrap().outcome = CallEnd::Ok(wait().waited());
    story.call(Call::Settle(vec![Settlement::release(late)]));
    story.last().ended.as_mut().unwrap().outcome = CallEnd::Dropped;
    assert_eq!(story.take().attempt, 1);
    story.holds_with_truth();
}

#[test]
fn l1_what_is_handed_over_is_leased_to_another() {
    let mut story = Story::reliable();
    let mut again = handed_over(&mut story);
    again.receipt.token = Token::new(again.receipt.token.get() + 1);
    story.says(lease(1), leased(&again));
    story.breaks("L1");
}

#[test]
fn f1_it_is_handed_over_before_another() {
    let mut story = Story::reliable();
    story.push("a");
    story.push("b");
    let first = story.take();
    let second = story.take();
    story.last().call = wait();
    story.swap_last_two(&[first, second]);
    story.breaks_first("F1");
}

#[test]
fn the_lease_is_older_than_the_call() {
    let mut story = Story::reliable();
    handed_over(&mut story);
    let began = story.moment();
    let record = story.last();
    record.began = began;
    let ended = story.moment();
    story.last().ended.as_mut().unwrap().at = ended;
    story.breaks_first("outcome");
}

#[test]
fn a_handover_is_no_notice_of_other_messages() {
    let mut story = Story::reliable();
    story.slack = Some(ms(20));
    story.record(Call::WaitForArrival(ms(5000)), None, false);
    story.last().process = Process(2);
    let sleeper = story.calls() - 1;
    handed_over(&mut story);
    story.call(push("b"));
    story.after(50);
    let at = story.moment();
    story.nth(sleeper).ended = Some(Ended {
        at,
        outcome: CallEnd::Ok(Answer::Nothing),
    });
    story.call(lease(1));
    story.breaks_first("waiting");
}
