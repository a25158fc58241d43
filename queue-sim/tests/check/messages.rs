//! The fates of messages: the queue invents none, loses none, and counts none twice.

use queue_core::{
    call::{Answer, Call},
    *,
};
use queue_sim::history::{CallEnd, Event};

use crate::story::{LEASE_TIME, Story, again, keyed, lease, leased, ms, push};

#[test]
fn l5_a_message_is_made_up() {
    let mut story = Story::reliable();
    story.push("a");
    let mut first = story.take();
    first = again(&first, 1);
    first.receipt.id = MessageId::new(2);
    story.after(1).claims(lease(1), leased(&first));
    story.breaks("L5");
}

#[test]
fn l5_a_body_is_another() {
    let mut story = Story::reliable();
    story.push("a");
    let mut other = Story::reliable();
    other.push("b");
    let wrong = other.take();
    story.says(lease(1), leased(&wrong));
    story.breaks("L5");
}

#[test]
fn l5_the_books_do_not_balance() {
    let mut story = Story::reliable();
    story.push("a");
    let Answer::Counters(mut counters) = story
        .model()
        .apply(queue_sim::world::EPOCH, &Call::Counters)
        .unwrap()
    else {
        panic!("counters");
    };
    counters.depth.ready = 0;
    story.says(Call::Counters, Answer::Counters(counters));
    story.breaks("L5");
}

#[test]
fn l5_what_was_acked_is_not_counted() {
    let (mut story, first) = Story::leased();
    story.settle(Settlement::ack(first.receipt));
    story.says_counted(|counters| counters.purged = 1);
    story.breaks("L5");
}

#[test]
fn l7_something_is_left() {
    let mut story = Story::reliable();
    story.push("a");
    story.event(Event::Healed);
    story.call(Call::Counters);
    story.breaks("L7");
}

#[test]
fn l8_a_message_is_lost() {
    let mut story = Story::reliable();
    story.push("a");
    story.loses(push("b"), false);
    story.event(Event::Healed);
    story.says_counted(|counters| counters.trimmed = 1);
    story.breaks("L8");
}

#[test]
fn l8_not_applied_is_not_true() {
    let mut story = Story::reliable();
    let outcome = CallEnd::NotApplied(ErrorKind::Unavailable, "no connection".to_owned());
    story.record(push("a"), Some(outcome), true);
    story.breaks_first("outcome");
}

#[test]
fn a_valid_call_is_refused_as_invalid() {
    let mut story = Story::reliable();
    let outcome = CallEnd::NotApplied(ErrorKind::Invalid, "an empty body".to_owned());
    story.record(push("a"), Some(outcome), false);
    story.breaks("limits");
}

#[test]
fn an_invalid_call_succeeds() {
    let mut story = Story::reliable();
    story.says(Call::Push(Vec::new()), Answer::Pushed(Vec::new()));
    story.breaks_first("linearisable");
}

#[test]
fn l9_a_key_is_accepted_twice() {
    let mut story = Story::reliable();
    story.call(keyed("a"));
    story.after(20);
    story.says(keyed("a"), accepted(2));
    story.breaks("L9");
}

#[test]
fn l9_a_mark_outlives_its_window() {
    let mut story = Story::reliable();
    story.call(keyed("a"));
    story.after(60);
    story.says(keyed("a"), duplicate_of(1));
    story.breaks("L9");
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
    let mut story = Story::reliable();
    assert_eq!(story.call(unique("a")), accepted(1));
    assert_eq!(story.call(unique("a")), duplicate_of(1));
    let first = story.take();
    assert_eq!(story.call(unique("a")), duplicate_of(1));
    story.settle(Settlement::ack(first.receipt));
    assert_eq!(story.call(unique("b")), accepted(2));
    let second = story.take();
    story.settle(Settlement::bury(second.receipt, "no"));
    assert_eq!(story.call(unique("c")), accepted(3));
    story.call(Call::Revive(vec![MessageId::new(2)]));
    story.call(Call::Cancel(vec![MessageId::new(3)]));
    assert_eq!(story.call(unique("d")), accepted(4));
    story.after(500);
    assert_eq!(story.call(unique("e")), accepted(5));
    // The key has the mark of another message by now.
    story.call(Call::Cancel(vec![MessageId::new(4)]));
    assert_eq!(story.call(unique("e")), duplicate_of(5));
    story.holds();
}

#[test]
fn a_unique_key_is_free_when_its_message_has_expired_on_its_last_attempt() {
    let mut story = Story::reliable();
    story.call(unique("a"));
    for attempt in 1..=2 {
        assert_eq!(story.take().attempt, attempt);
        story.after(LEASE_TIME);
    }
    assert_eq!(story.call(unique("b")), accepted(2));
    story.holds();
}

#[test]
fn nobody_knows_whether_a_lost_ack_ended_a_mark() {
    for executed in [false, true] {
        let mut story = Story::reliable();
        story.call(unique("a"));
        let first = story.take();
        story.loses(Call::Settle(vec![Settlement::ack(first.receipt)]), executed);
        let answer = if executed {
            accepted(2)
        } else {
            duplicate_of(1)
        };
        assert_eq!(story.call(unique("b")), answer);
        story.holds();
    }
}

#[test]
fn l9_a_unique_message_is_accepted_twice() {
    let mut story = Story::reliable();
    story.call(unique("a"));
    let first = story.take();
    story.settle(Settlement::release(first.receipt));
    story.says(unique("a"), accepted(2));
    story.breaks("L9");
}

#[test]
fn l9_a_unique_mark_outlives_its_message() {
    let mut story = Story::reliable();
    story.call(unique("a"));
    let first = story.take();
    story.settle(Settlement::ack(first.receipt));
    story.says(unique("a"), duplicate_of(1));
    story.breaks("L9");
}

#[test]
fn l9_a_mark_ends_with_its_message() {
    let mut story = Story::reliable();
    story.call(keyed("a"));
    let first = story.take();
    story.settle(Settlement::ack(first.receipt));
    story.says(keyed("a"), accepted(2));
    story.breaks("L9");
}

#[test]
fn l13_more_dead_letters_than_are_kept() {
    let mut story = Story::reliable();
    for body in ["a", "b", "c"] {
        story.push(body);
        let delivery = story.take();
        story.settle(Settlement::bury(delivery.receipt, body));
    }
    let depth = Depth {
        dead: 3,
        ..Depth::default()
    };
    story.says(Call::Depth, Answer::Depth(depth));
    story.breaks("L13");
}

#[test]
fn l13_a_letter_has_another_reason() {
    let (mut story, delivery) = Story::leased();
    story.settle(Settlement::bury(delivery.receipt, "no"));
    let letter = DeadLetter {
        id: delivery.id(),
        body: delivery.body,
        headers: Headers::new(),
        reason: DeathReason::Buried("yes".to_owned()),
        failure: None,
        attempts: 1,
        pushed_at: queue_sim::world::EPOCH,
        died_at: queue_sim::world::EPOCH,
    };
    let page = Paged {
        entries: vec![letter],
        next: None,
    };
    story.says(Call::DeadLetters(Page::first(9)), Answer::DeadLetters(page));
    story.breaks("L13");
}

#[test]
fn l13_who_never_died_is_revived() {
    let mut story = Story::reliable();
    story.push("a");
    let revived = Answer::Revived(vec![Revived::Revived]);
    story.says(Call::Revive(vec![MessageId::new(1)]), revived);
    story.breaks("L13");
}

#[test]
fn r1_what_survives_a_roll_back_holds() {
    let mut story = Story::reliable();
    story.push("a");
    let (order, model) = (story.order(), story.model());
    story.push("b");
    let lost = story.take();
    story.after(10).rolls_back(order, model);
    story.push("c");
    story.settle(Settlement::ack(lost.receipt));
    let first = story.take();
    assert_eq!(first.id(), lost.id());
    story.settle(Settlement::ack(first.receipt));
    assert_eq!(story.take().body, "c");
    story.holds_with_truth();
}

#[test]
fn r1_a_receipt_of_the_lost_history_is_taken() {
    let mut story = Story::reliable();
    story.push("a");
    let (order, model) = (story.order(), story.model());
    let lost = story.take();
    story.after(10).rolls_back(order, model);
    story.says_settled(Settlement::ack(lost.receipt), Settled::Done);
    story.breaks_first("R1");
}
