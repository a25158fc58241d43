use std::num::NonZeroUsize;

use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::history_builder::{HistoryBuilder, again, lease, leased, ms};

fn put(history: &mut HistoryBuilder, push: Push) -> MessageId {
    history.put(Call::Push(vec![push]))
}

fn dropped_after(limit: u64) -> Push {
    Push::new("a").with_time_to_live(TimeToLive::drop_after(ms(limit)))
}

fn buried_after(limit: u64) -> Push {
    Push::new("a").with_time_to_live(TimeToLive::bury_after(ms(limit)))
}

fn letters() -> Call {
    Call::DeadLetters(Page::first(9))
}

/// The dead letters of a queue whose message was to be buried after this time, 50 ms later.
fn of_another(limit: u64) -> Answer {
    let mut other = HistoryBuilder::reliable();
    put(&mut other, buried_after(limit));
    other.after(50).call(letters())
}

#[test]
fn outdated_messages_are_dropped_or_buried_and_others_go_on() {
    let mut history = HistoryBuilder::reliable();
    let first = put(&mut history, dropped_after(20));
    let second = put(&mut history, buried_after(30));
    let third = put(&mut history, buried_after(30));
    let fourth = history.push("b");
    history.after(10);
    let held = history.take();
    assert_eq!(held.id(), first);
    history.after(20);
    // The second message was never leased, and a cancel is still too late.
    let answer = history.call(Call::Cancel(vec![first, second]));
    assert_eq!(
        answer,
        Answer::Cancelled(vec![Cancelled::TooLate, Cancelled::TooLate])
    );
    history.call(letters());
    for place in [Place::Ready, Place::Delayed, Place::Leased] {
        history.call(Call::Peek(place, Page::first(9)));
    }
    history.call(Call::Revive(vec![third]));
    assert_eq!(history.take().id(), fourth);
    history.settle(Settlement::release(held.receipt));
    let revived = history.take();
    assert_eq!(revived.id(), third);
    history.settle(Settlement::ack(revived.receipt));
    history.call(Call::Discard(vec![second]));
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn a_holder_may_finish_what_is_outdated() {
    let mut history = HistoryBuilder::reliable();
    put(&mut history, buried_after(20));
    let held = history.take();
    history.after(50);
    assert_eq!(
        history.settle(Settlement::ack(held.receipt)),
        Answer::Settled(vec![Settled::Done])
    );
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn a_key_is_free_when_its_message_is_outdated() {
    let mut history = HistoryBuilder::reliable();
    let unique = |push: Push| push.with_unique("key", ms(500));
    let first = put(&mut history, unique(dropped_after(20)));
    history.after(20);
    let second = put(&mut history, unique(dropped_after(20)));
    assert_ne!(first, second);
    history.holds();
}

#[test]
fn a_message_that_was_buried_and_revived_has_a_new_place() {
    let mut history = HistoryBuilder::bounded(3);
    let offer = |push: Push| Call::Push(vec![push.with_overflow(Overflow::DropOldest)]);
    history.call(offer(buried_after(20)));
    history.call(offer(Push::new("b")));
    history.after(20).call(Call::Depth);
    history.call(Call::Revive(vec![MessageId::new(1)]));
    history.call(Call::Recent(5));
    history.call(offer(Push::new("c")));
    history.call(offer(Push::new("d")));
    for body in ["a", "c", "d"] {
        assert_eq!(history.take().body, body);
    }
    history.call(Call::Resize(NonZeroUsize::MIN));
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn l17_an_outdated_message_comes() {
    let mut history = HistoryBuilder::reliable();
    put(&mut history, dropped_after(20));
    let mut other = HistoryBuilder::reliable();
    other.push("a");
    let late = other.after(50).take();
    history.after(50).says(lease(1), leased(&late));
    history.breaks("L17");
}

#[test]
fn l17_a_message_comes_back_outdated() {
    let mut history = HistoryBuilder::reliable();
    put(&mut history, buried_after(30));
    let first = history.take();
    history.after(10);
    history.settle(Settlement::retry(first.receipt, ms(5)));
    let mut second = again(&first, 50);
    second.attempt = 2;
    history.after(40).says(lease(1), leased(&second));
    history.breaks("L17");
}

#[test]
fn l17_a_message_to_be_dropped_is_buried() {
    let letter = of_another(20);
    for push in [dropped_after(20), Push::new("a")] {
        let mut history = HistoryBuilder::reliable();
        put(&mut history, push);
        history.after(50).says(letters(), letter.clone());
        history.breaks("L17");
    }
}

#[test]
fn l17_a_message_dies_before_its_end() {
    let letter = of_another(20);
    let mut history = HistoryBuilder::reliable();
    put(&mut history, buried_after(100));
    history.after(50).says(letters(), letter);
    history.breaks("L17");
}

#[test]
fn l17_a_leased_message_ends() {
    let letter = of_another(20);
    let mut history = HistoryBuilder::reliable();
    put(&mut history, buried_after(20));
    history.take();
    history.after(50).says(letters(), letter);
    history.breaks("L17");
}

#[test]
fn l17_a_revived_message_is_outdated_again() {
    let letter = of_another(20);
    let mut history = HistoryBuilder::reliable();
    let id = put(&mut history, buried_after(20));
    history.after(50).call(Call::Revive(vec![id]));
    history.says(letters(), letter);
    history.breaks("L17");
}

#[test]
fn l17_more_are_counted_than_were_to_be_dropped() {
    for push in [Push::new("a"), buried_after(20), dropped_after(100)] {
        let mut history = HistoryBuilder::reliable();
        put(&mut history, push);
        history
            .after(50)
            .says_counted(|counters| counters.outdated = 1);
        history.breaks("L17");
    }
}
