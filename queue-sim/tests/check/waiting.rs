use std::num::NonZeroUsize;

use queue_core::{
    BoundedConfig, Disposition, Insert, MessageId, Offer, Overflow, QueueConfig, RotatingConfig,
    Scheduled, Settlement,
    call::{Answer, Call},
};
use queue_sim::{
    engine::End,
    history::{CallEnd, Ended},
    plan::Process,
};

use crate::story::{LEASE_TIME, Story, lease, ms, push};

/// A client on another process waits, until the end of the story.
fn waits(story: &mut Story, call: Call) -> usize {
    story.slack = Some(ms(20));
    story.record(call, None, false);
    story.last().process = Process(2);
    story.calls() - 1
}

/// The waiter gets its hint now.
fn is_told(story: &mut Story, wait: usize) {
    let at = story.moment();
    story.nth(wait).ended = Some(Ended {
        at,
        outcome: CallEnd::Ok(Answer::Nothing),
    });
}

#[test]
fn a_wait_notified_in_time_passes() {
    let mut story = Story::reliable();
    let wait = waits(&mut story, Call::WaitForArrival(ms(5000)));
    story.after(50).call(push("a"));
    story.after(19);
    is_told(&mut story, wait);
    story.after(50).call(lease(1));
    story.holds();
}

#[test]
fn a_push_that_notifies_nobody() {
    let mut story = Story::reliable();
    let wait = waits(&mut story, Call::WaitForArrival(ms(5000)));
    story.after(50).call(push("a"));
    story.after(25);
    is_told(&mut story, wait);
    story.call(lease(1));
    story.breaks_first("waiting");
}

#[test]
fn a_wait_that_never_ends() {
    let mut story = Story::reliable();
    waits(&mut story, Call::WaitForArrival(ms(5000)));
    story.after(50).call(push("a"));
    story.end = End::Hung(vec![Process(2)]);
    story.breaks_first("waiting");
}

#[test]
fn d5_a_sooner_message_while_one_sleeps() {
    let mut story = Story::delay();
    story.call(Call::Schedule(vec![Scheduled::new("late", ms(500))]));
    let wait = waits(&mut story, Call::WaitForArrival(ms(500)));
    story.after(10);
    story.call(Call::Schedule(vec![Scheduled::new("soon", ms(50))]));
    story.after(490);
    is_told(&mut story, wait);
    story.call(lease(1));
    story.breaks_first("D5");
}

#[test]
fn d5_a_sooner_message_while_two_sleep() {
    let mut story = Story::delay();
    story.call(Call::Schedule(vec![Scheduled::new("late", ms(500))]));
    let first = waits(&mut story, Call::WaitForArrival(ms(500)));
    let second = waits(&mut story, Call::WaitForArrival(ms(600)));
    story.after(10);
    story.call(Call::Schedule(vec![Scheduled::new("soon", ms(50))]));
    story.after(490);
    is_told(&mut story, first);
    story.call(lease(1));
    // The other waiter's hint at that time is no excuse.
    story.after(100);
    is_told(&mut story, second);
    story.breaks_first("D5");
}

#[test]
fn a_call_that_adds_nothing_need_not_notify_of_later_messages() {
    let mut story = Story::reliable();
    let wait = waits(&mut story, Call::WaitForArrival(ms(5000)));
    story.call(push("a"));
    story.take();
    story.after(10).call(Call::Revive(vec![MessageId::new(9)]));
    story.after(LEASE_TIME + 50).call(lease(1));
    is_told(&mut story, wait);
    story.holds();
}

#[test]
fn b4_room_that_nobody_is_told_of() {
    let mut story = Story::bounded(1);
    story.call(Call::Offer(vec![Offer::new("a")], Overflow::Reject));
    let delivery = story.take();
    waits(&mut story, Call::WaitForRoom(ms(5000)));
    story.settle(queue_core::Settlement::ack(delivery.receipt));
    story.after(30).call(Call::Depth);
    story.breaks_first("B4");
}

#[test]
fn b4_a_lease_that_expires_makes_no_room_until_it_is_reclaimed() {
    let story = || {
        let config = BoundedConfig::new(1).with_max_attempts(1);
        let mut story = Story::of(QueueConfig::Bounded(config));
        story.call(Call::Offer(vec![Offer::new("a")], Overflow::Reject));
        story.lease();
        waits(&mut story, Call::WaitForRoom(ms(5000)));
        story.after(LEASE_TIME);
        story
    };
    // Reading the capacity reclaims nothing.
    let mut silent = story();
    silent.call(Call::Capacity);
    silent.after(30).call(Call::Capacity);
    silent.holds();
    let mut told = story();
    told.call(Call::Depth);
    told.after(30).call(Call::Depth);
    told.breaks_first("B4");
}

#[test]
fn reading_the_capacity_need_not_notify_of_an_expired_lease() {
    let story = |call: Call| {
        let mut story = Story::bounded(1);
        story.call(Call::Offer(vec![Offer::new("a")], Overflow::Reject));
        story.lease();
        waits(&mut story, Call::WaitForArrival(ms(5000)));
        story.after(LEASE_TIME + 500).call(call);
        story.after(50).call(Call::Depth);
        story
    };
    story(Call::Capacity).holds();
    story(Call::Depth).breaks_first("waiting");
}

#[test]
fn a_lease_must_notify_of_messages_due_later_that_it_leaves() {
    let mut story = Story::reliable();
    story.call(push("a"));
    story.call(push("b"));
    let later = story.take();
    let wait = waits(&mut story, Call::WaitForArrival(ms(5000)));
    let delay = ms(60);
    story.settle(Settlement::new(later.receipt, Disposition::Defer { delay }));
    // On a third process: one waiter gets a hint, takes the ready message, and does not learn of the
    // other.
    story.after(10).call(lease(1));
    story.after(85);
    is_told(&mut story, wait);
    story.call(lease(1));
    story.breaks_first("waiting");
}

#[test]
fn a_rotation_must_notify_of_due_items_that_it_leaves() {
    let mut story = Story::of(QueueConfig::Rotating(
        RotatingConfig::default().with_pace(ms(50)),
    ));
    let wait = waits(&mut story, Call::WaitForTurn(ms(5000)));
    story.call(Call::Insert(vec![Insert::new("a"), Insert::new("b")]));
    story.call(Call::Rotate(NonZeroUsize::MIN));
    story.after(25);
    is_told(&mut story, wait);
    story.call(Call::Rotate(NonZeroUsize::MIN));
    story.breaks_first("waiting");
}

#[test]
fn items_that_become_due_again_notify_nobody() {
    let mut story = Story::of(QueueConfig::Rotating(
        RotatingConfig::default().with_pace(ms(50)),
    ));
    story.call(Call::Insert(vec![Insert::new("a"), Insert::new("b")]));
    let wait = waits(&mut story, Call::WaitForTurn(ms(5000)));
    story.call(Call::Rotate(NonZeroUsize::new(2).unwrap()));
    story.after(200);
    is_told(&mut story, wait);
    story.call(Call::Rotate(NonZeroUsize::MIN));
    story.holds();
}
