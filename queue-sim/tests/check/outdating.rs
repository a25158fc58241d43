use std::num::NonZeroUsize;

use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::story::{Story, again, lease, leased, ms};

fn put(story: &mut Story, push: Push) -> MessageId {
    story.put(Call::Push(vec![push]))
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
    let mut other = Story::reliable();
    put(&mut other, buried_after(limit));
    other.after(50).call(letters())
}

#[test]
fn outdated_messages_are_dropped_or_buried_and_others_go_on() {
    let mut story = Story::reliable();
    let first = put(&mut story, dropped_after(20));
    let second = put(&mut story, buried_after(30));
    let third = put(&mut story, buried_after(30));
    let fourth = story.push("b");
    story.after(10);
    let held = story.take();
    assert_eq!(held.id(), first);
    story.after(20);
    // The second message was never leased, and a cancel is still too late.
    let answer = story.call(Call::Cancel(vec![first, second]));
    assert_eq!(
        answer,
        Answer::Cancelled(vec![Cancelled::TooLate, Cancelled::TooLate])
    );
    story.call(letters());
    for place in [Place::Ready, Place::Delayed, Place::Leased] {
        story.call(Call::Peek(place, Page::first(9)));
    }
    story.call(Call::Revive(vec![third]));
    assert_eq!(story.take().id(), fourth);
    story.settle(Settlement::release(held.receipt));
    let revived = story.take();
    assert_eq!(revived.id(), third);
    story.settle(Settlement::ack(revived.receipt));
    story.call(Call::Discard(vec![second]));
    story.call(Call::Counters);
    story.holds();
}

#[test]
fn a_holder_may_finish_what_is_outdated() {
    let mut story = Story::reliable();
    put(&mut story, buried_after(20));
    let held = story.take();
    story.after(50);
    assert_eq!(
        story.settle(Settlement::ack(held.receipt)),
        Answer::Settled(vec![Settled::Done])
    );
    story.call(Call::Counters);
    story.holds();
}

#[test]
fn a_key_is_free_when_its_message_is_outdated() {
    let mut story = Story::reliable();
    let unique = |push: Push| push.with_unique("key", ms(500));
    let first = put(&mut story, unique(dropped_after(20)));
    story.after(20);
    let second = put(&mut story, unique(dropped_after(20)));
    assert_ne!(first, second);
    story.holds();
}

#[test]
fn a_message_that_was_buried_and_revived_has_a_new_place() {
    let mut story = Story::bounded(3);
    let offer = |push: Push| Call::Offer(vec![Offer::new(push)], Overflow::DropOldest);
    story.call(offer(buried_after(20)));
    story.call(offer(Push::new("b")));
    story.after(20).call(Call::Depth);
    story.call(Call::Revive(vec![MessageId::new(1)]));
    story.call(Call::Recent(5));
    story.call(offer(Push::new("c")));
    story.call(offer(Push::new("d")));
    for body in ["a", "c", "d"] {
        assert_eq!(story.take().body, body);
    }
    story.call(Call::Resize(NonZeroUsize::MIN));
    story.call(Call::Counters);
    story.holds();
}

#[test]
fn l17_an_outdated_message_comes() {
    let mut story = Story::reliable();
    put(&mut story, dropped_after(20));
    let mut other = Story::reliable();
    other.push("a");
    let late = other.after(50).take();
    story.after(50).says(lease(1), leased(&late));
    story.breaks("L17");
}

#[test]
fn l17_a_message_comes_back_outdated() {
    let mut story = Story::reliable();
    put(&mut story, buried_after(30));
    let first = story.take();
    story.after(10);
    story.settle(Settlement::retry(first.receipt, ms(5)));
    let mut second = again(&first, 50);
    second.attempt = 2;
    story.after(40).says(lease(1), leased(&second));
    story.breaks("L17");
}

#[test]
fn l17_what_was_to_be_dropped_is_buried() {
    let letter = of_another(20);
    for push in [dropped_after(20), Push::new("a")] {
        let mut story = Story::reliable();
        put(&mut story, push);
        story.after(50).says(letters(), letter.clone());
        story.breaks("L17");
    }
}

#[test]
fn l17_a_message_dies_before_its_end() {
    let letter = of_another(20);
    let mut story = Story::reliable();
    put(&mut story, buried_after(100));
    story.after(50).says(letters(), letter);
    story.breaks("L17");
}

#[test]
fn l17_a_leased_message_ends() {
    let letter = of_another(20);
    let mut story = Story::reliable();
    put(&mut story, buried_after(20));
    story.take();
    story.after(50).says(letters(), letter);
    story.breaks("L17");
}

#[test]
fn l17_a_revived_message_is_outdated_again() {
    let letter = of_another(20);
    let mut story = Story::reliable();
    let id = put(&mut story, buried_after(20));
    story.after(50).call(Call::Revive(vec![id]));
    story.says(letters(), letter);
    story.breaks("L17");
}

#[test]
fn l17_more_are_counted_than_were_to_be_dropped() {
    for push in [Push::new("a"), buried_after(20), dropped_after(100)] {
        let mut story = Story::reliable();
        put(&mut story, push);
        story
            .after(50)
            .says_counted(|counters| counters.outdated = 1);
        story.breaks("L17");
    }
}
