//! Messages that are handed over to waiting calls.

use queue_core::{
    Delivery, Holder, Settlement, Token,
    call::{Answer, Call},
};
use queue_sim::{
    history::{CallEnd, Ended},
    plan::Process,
};

use crate::history_builder::{HistoryBuilder, LEASE_TIME, lease, leased, ms, push};

fn wait() -> Call {
    Call::WaitToLease(ms(LEASE_TIME), Holder::new("one").ok(), ms(5000))
}

/// A message is pushed, and handed over at once.
fn handed_over(history: &mut HistoryBuilder) -> Delivery {
    history.push("a");
    match history.call(wait()) {
        Answer::Leased(mut leased) => leased.deliveries.remove(0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_handed_over_message_is_leased_to_its_caller() {
    let mut history = HistoryBuilder::reliable();
    let first = handed_over(&mut history);
    history.settle(Settlement::ack(first.receipt));
    history.call(Call::Counters);
    let second = handed_over(&mut history);
    history.after(LEASE_TIME + 1).take();
    history.settle(Settlement::ack(second.receipt));
    history.holds();
}

#[test]
fn a_wait_that_brings_nothing_leases_nothing() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.record(wait(), Some(CallEnd::Ok(wait().waited())), false);
    let taken = history.take();
    history.settle(Settlement::ack(taken.receipt));
    history.holds();
}

#[test]
fn a_handover_too_late_for_its_caller_is_released() {
    let mut history = HistoryBuilder::reliable();
    let late = handed_over(&mut history).receipt;
    history.last().ended.as_mut().unwrap().outcome = CallEnd::Ok(wait().waited());
    history.call(Call::Settle(vec![Settlement::release(late)]));
    history.last().ended.as_mut().unwrap().outcome = CallEnd::Dropped;
    assert_eq!(history.take().attempt, 1);
    history.holds_with_truth();
}

#[test]
fn l1_a_handed_over_message_is_leased_to_another() {
    let mut history = HistoryBuilder::reliable();
    let mut again = handed_over(&mut history);
    again.receipt.token = Token::new(again.receipt.token.get() + 1);
    history.says(lease(1), leased(&again));
    history.breaks("L1");
}

#[test]
fn f1_it_is_handed_over_before_another() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.push("b");
    let first = history.take();
    let second = history.take();
    history.last().call = wait();
    history.swap_last_two(&[first, second]);
    history.breaks_first("F1");
}

#[test]
fn the_lease_is_older_than_the_call() {
    let mut history = HistoryBuilder::reliable();
    handed_over(&mut history);
    let began = history.moment();
    let record = history.last();
    record.began = began;
    let ended = history.moment();
    history.last().ended.as_mut().unwrap().at = ended;
    history.breaks_first("outcome");
}

#[test]
fn a_handover_is_no_notice_of_other_messages() {
    let mut history = HistoryBuilder::reliable();
    history.slack = Some(ms(20));
    history.record(Call::WaitForArrival(ms(5000)), None, false);
    history.last().process = Process(2);
    let sleeper = history.calls() - 1;
    handed_over(&mut history);
    history.call(push("b"));
    history.after(50);
    let at = history.moment();
    history.nth(sleeper).ended = Some(Ended {
        at,
        outcome: CallEnd::Ok(Answer::Nothing),
    });
    history.call(lease(1));
    history.breaks_first("waiting");
}
