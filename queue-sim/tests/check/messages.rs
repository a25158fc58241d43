//! The fates of messages: the queue invents none, loses none, and counts none twice.

use queue_core::{
    call::{Answer, Call},
    *,
};
use queue_sim::history::{CallEnd, Event};

use crate::history_builder::{HistoryBuilder, LEASE_TIME, again, keyed, lease, leased, ms, push};

#[test]
fn l5_a_message_is_made_up() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let mut first = history.take();
    first = again(&first, 1);
    first.receipt.id = MessageId::new(2);
    history.after(1).claims(lease(1), leased(&first));
    history.breaks("L5");
}

#[test]
fn l5_a_body_is_another() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let mut other = HistoryBuilder::reliable();
    other.push("b");
    let wrong = other.take();
    history.says(lease(1), leased(&wrong));
    history.breaks("L5");
}

#[test]
fn l5_the_books_do_not_balance() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let Answer::Counters(mut counters) = history
        .model()
        .apply(queue_sim::world::EPOCH, &Call::Counters)
        .unwrap()
    else {
        panic!("counters");
    };
    counters.depth.ready = 0;
    history.says(Call::Counters, Answer::Counters(counters));
    history.breaks("L5");
}

#[test]
fn l5_an_acked_message_is_not_counted() {
    let (mut history, first) = HistoryBuilder::leased();
    history.settle(Settlement::ack(first.receipt));
    history.says_counted(|counters| counters.purged = 1);
    history.breaks("L5");
}

#[test]
fn l7_something_is_left() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.event(Event::Healed);
    history.call(Call::Counters);
    history.breaks("L7");
}

#[test]
fn l8_a_message_is_lost() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.loses(push("b"), false);
    history.event(Event::Healed);
    history.says_counted(|counters| counters.trimmed = 1);
    history.breaks("L8");
}

#[test]
fn l8_not_applied_is_not_true() {
    let mut history = HistoryBuilder::reliable();
    let outcome = CallEnd::NotApplied(ErrorKind::Unavailable, "no connection".to_owned());
    history.record(push("a"), Some(outcome), true);
    history.breaks_first("outcome");
}

#[test]
fn a_valid_call_is_refused_as_invalid() {
    let mut history = HistoryBuilder::reliable();
    let outcome = CallEnd::NotApplied(ErrorKind::Invalid, "an empty body".to_owned());
    history.record(push("a"), Some(outcome), false);
    history.breaks("limits");
}

#[test]
fn an_invalid_call_succeeds() {
    let mut history = HistoryBuilder::reliable();
    history.says(Call::Push(Vec::new()), Answer::Pushed(Vec::new()));
    history.breaks_first("linearisable");
}

#[test]
fn l9_a_key_is_accepted_twice() {
    let mut history = HistoryBuilder::reliable();
    history.call(keyed("a"));
    history.after(20);
    history.says(keyed("a"), accepted(2));
    history.breaks("L9");
}

#[test]
fn l9_a_mark_outlives_its_window() {
    let mut history = HistoryBuilder::reliable();
    history.call(keyed("a"));
    history.after(60);
    history.says(keyed("a"), duplicate_of(1));
    history.breaks("L9");
}

fn unique(body: &'static str) -> Call {
    Call::Push(vec![Push::new(body).with_unique("key", ms(500))])
}

fn accepted(id: u64) -> Answer {
    Answer::Pushed(vec![Pushed::Accepted(MessageId::new(id))])
}

fn duplicate_of(id: u64) -> Answer {
    Answer::Pushed(vec![Pushed::Duplicate(MessageId::new(id))])
}

#[test]
fn a_unique_key_is_free_when_its_message_is_done_or_its_window_is_over() {
    let mut history = HistoryBuilder::reliable();
    assert_eq!(history.call(unique("a")), accepted(1));
    assert_eq!(history.call(unique("a")), duplicate_of(1));
    let first = history.take();
    assert_eq!(history.call(unique("a")), duplicate_of(1));
    history.settle(Settlement::ack(first.receipt));
    assert_eq!(history.call(unique("b")), accepted(2));
    let second = history.take();
    history.settle(Settlement::bury(second.receipt, "no"));
    assert_eq!(history.call(unique("c")), accepted(3));
    history.call(Call::Revive(vec![MessageId::new(2)]));
    history.call(Call::Cancel(vec![MessageId::new(3)]));
    assert_eq!(history.call(unique("d")), accepted(4));
    history.after(500);
    assert_eq!(history.call(unique("e")), accepted(5));
    // The key has the mark of another message by now.
    history.call(Call::Cancel(vec![MessageId::new(4)]));
    assert_eq!(history.call(unique("e")), duplicate_of(5));
    history.holds();
}

#[test]
fn a_unique_key_is_free_when_its_message_has_expired_on_its_last_attempt() {
    let mut history = HistoryBuilder::reliable();
    history.call(unique("a"));
    for attempt in 1..=2 {
        assert_eq!(history.take().attempt, attempt);
        history.after(LEASE_TIME);
    }
    assert_eq!(history.call(unique("b")), accepted(2));
    history.holds();
}

#[test]
fn nobody_knows_whether_a_lost_ack_ended_a_mark() {
    for executed in [false, true] {
        let mut history = HistoryBuilder::reliable();
        history.call(unique("a"));
        let first = history.take();
        history.loses(Call::Settle(vec![Settlement::ack(first.receipt)]), executed);
        let answer = if executed {
            accepted(2)
        } else {
            duplicate_of(1)
        };
        assert_eq!(history.call(unique("b")), answer);
        history.holds();
    }
}

#[test]
fn l9_a_unique_message_is_accepted_twice() {
    let mut history = HistoryBuilder::reliable();
    history.call(unique("a"));
    let first = history.take();
    history.settle(Settlement::release(first.receipt));
    history.says(unique("a"), accepted(2));
    history.breaks("L9");
}

#[test]
fn l9_a_unique_mark_outlives_its_message() {
    let mut history = HistoryBuilder::reliable();
    history.call(unique("a"));
    let first = history.take();
    history.settle(Settlement::ack(first.receipt));
    history.says(unique("a"), duplicate_of(1));
    history.breaks("L9");
}

#[test]
fn l9_a_mark_ends_with_its_message() {
    let mut history = HistoryBuilder::reliable();
    history.call(keyed("a"));
    let first = history.take();
    history.settle(Settlement::ack(first.receipt));
    history.says(keyed("a"), accepted(2));
    history.breaks("L9");
}

#[test]
fn l13_more_dead_letters_than_are_kept() {
    let mut history = HistoryBuilder::reliable();
    for body in ["a", "b", "c"] {
        history.push(body);
        let delivery = history.take();
        history.settle(Settlement::bury(delivery.receipt, body));
    }
    let depth = Depth::new(0, 0, 0, 3);
    history.says(Call::Depth, Answer::Depth(depth));
    history.breaks("L13");
}

#[test]
fn l13_a_letter_has_another_reason() {
    let (mut history, delivery) = HistoryBuilder::leased();
    history.settle(Settlement::bury(delivery.receipt, "no"));
    let letter = DeadLetter::new(
        delivery.id(),
        delivery.body,
        DeathReason::Buried("yes".to_owned()),
        1,
        queue_sim::world::EPOCH,
        queue_sim::world::EPOCH,
    );
    let page = Paged::new(vec![letter], None);
    history.says(Call::DeadLetters(Page::first(9)), Answer::DeadLetters(page));
    history.breaks("L13");
}

#[test]
fn l13_a_live_message_is_revived() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let revived = Answer::Revived(vec![Revived::Revived]);
    history.says(Call::Revive(vec![MessageId::new(1)]), revived);
    history.breaks("L13");
}

#[test]
fn r1_a_history_that_survives_a_roll_back_holds() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let (order, model) = (history.order(), history.model());
    history.push("b");
    let lost = history.take();
    history.after(10).rolls_back(order, model);
    history.push("c");
    history.settle(Settlement::ack(lost.receipt));
    let first = history.take();
    assert_eq!(first.id(), lost.id());
    history.settle(Settlement::ack(first.receipt));
    assert_eq!(history.take().body, "c");
    history.holds_with_truth();
}

#[test]
fn r1_a_receipt_of_the_lost_history_is_taken() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let (order, model) = (history.order(), history.model());
    let lost = history.take();
    history.after(10).rolls_back(order, model);
    history.says_settled(Settlement::ack(lost.receipt), Settled::Done);
    history.breaks_first("R1");
}
