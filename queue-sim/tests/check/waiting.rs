use std::num::NonZeroUsize;

use queue_core::{
    BoundedConfig, Disposition, Insert, MessageId, Push, QueueConfig, RotatingConfig, Settlement,
    call::{Answer, Call},
};
use queue_sim::{
    engine::End,
    history::{CallEnd, Ended},
    plan::Process,
};

use crate::history_builder::{HistoryBuilder, LEASE_TIME, lease, ms, push};

/// A client on another process waits, until the end of the history.
fn waits(history: &mut HistoryBuilder, call: Call) -> usize {
    history.slack = Some(ms(20));
    history.record(call, None, false);
    history.last().process = Process(2);
    history.calls() - 1
}

/// The waiter gets its hint now.
fn ends_wait(history: &mut HistoryBuilder, wait: usize) {
    let at = history.moment();
    history.nth(wait).ended = Some(Ended {
        at,
        outcome: CallEnd::Ok(Answer::Nothing),
    });
}

#[test]
fn a_wait_notified_in_time_passes() {
    let mut history = HistoryBuilder::reliable();
    let wait = waits(&mut history, Call::WaitForArrival(ms(5000)));
    history.after(50).call(push("a"));
    history.after(19);
    ends_wait(&mut history, wait);
    history.after(50).call(lease(1));
    history.holds();
}

#[test]
fn a_push_that_notifies_nobody() {
    let mut history = HistoryBuilder::reliable();
    let wait = waits(&mut history, Call::WaitForArrival(ms(5000)));
    history.after(50).call(push("a"));
    history.after(25);
    ends_wait(&mut history, wait);
    history.call(lease(1));
    history.breaks_first("waiting");
}

#[test]
fn a_wait_that_never_ends() {
    let mut history = HistoryBuilder::reliable();
    waits(&mut history, Call::WaitForArrival(ms(5000)));
    history.after(50).call(push("a"));
    history.end = End::Hung(vec![Process(2)]);
    history.breaks_first("waiting");
}

fn later(body: &'static str, after: u64) -> Call {
    Call::Push(vec![Push::new(body).with_due(ms(after))])
}

#[test]
fn d5_a_sooner_message_while_one_sleeps() {
    let mut history = HistoryBuilder::delay();
    history.call(later("late", 500));
    let wait = waits(&mut history, Call::WaitForArrival(ms(500)));
    history.after(10);
    history.call(later("soon", 50));
    history.after(490);
    ends_wait(&mut history, wait);
    history.call(lease(1));
    history.breaks_first("D5");
}

#[test]
fn d5_a_sooner_message_while_two_sleep() {
    let mut history = HistoryBuilder::delay();
    history.call(later("late", 500));
    let first = waits(&mut history, Call::WaitForArrival(ms(500)));
    let second = waits(&mut history, Call::WaitForArrival(ms(600)));
    history.after(10);
    history.call(later("soon", 50));
    history.after(490);
    ends_wait(&mut history, first);
    history.call(lease(1));
    // The other waiter's hint at that time is no excuse.
    history.after(100);
    ends_wait(&mut history, second);
    history.breaks_first("D5");
}

#[test]
fn a_call_that_adds_nothing_need_not_notify_of_later_messages() {
    let mut history = HistoryBuilder::reliable();
    let wait = waits(&mut history, Call::WaitForArrival(ms(5000)));
    history.call(push("a"));
    history.take();
    history
        .after(10)
        .call(Call::Revive(vec![MessageId::new(9)]));
    history.after(LEASE_TIME + 50).call(lease(1));
    ends_wait(&mut history, wait);
    history.holds();
}

#[test]
fn b4_room_that_nobody_is_told_of() {
    let mut history = HistoryBuilder::bounded(1);
    history.call(push("a"));
    let delivery = history.take();
    waits(&mut history, Call::WaitForRoom(ms(5000)));
    history.settle(queue_core::Settlement::ack(delivery.receipt));
    history.after(30).call(Call::Depth);
    history.breaks_first("B4");
}

#[test]
fn b4_a_lease_that_expires_makes_no_room_until_it_is_reclaimed() {
    let history = || {
        let config = BoundedConfig::new(1).with_max_attempts(1);
        let mut history = HistoryBuilder::of(QueueConfig::Bounded(config));
        history.call(push("a"));
        history.lease();
        waits(&mut history, Call::WaitForRoom(ms(5000)));
        history.after(LEASE_TIME);
        history
    };
    // Reading the capacity reclaims nothing.
    let mut silent = history();
    silent.call(Call::Capacity);
    silent.after(30).call(Call::Capacity);
    silent.holds();
    let mut history_of_depths = history();
    history_of_depths.call(Call::Depth);
    history_of_depths.after(30).call(Call::Depth);
    history_of_depths.breaks_first("B4");
}

#[test]
fn reading_the_capacity_need_not_notify_of_an_expired_lease() {
    let history = |call: Call| {
        let mut history = HistoryBuilder::bounded(1);
        history.call(push("a"));
        history.lease();
        waits(&mut history, Call::WaitForArrival(ms(5000)));
        history.after(LEASE_TIME + 500).call(call);
        history.after(50).call(Call::Depth);
        history
    };
    history(Call::Capacity).holds();
    history(Call::Depth).breaks_first("waiting");
}

#[test]
fn a_lease_must_notify_of_messages_due_later_that_it_leaves() {
    let mut history = HistoryBuilder::reliable();
    history.call(push("a"));
    history.call(push("b"));
    let later = history.take();
    let wait = waits(&mut history, Call::WaitForArrival(ms(5000)));
    let delay = ms(60);
    history.settle(Settlement::new(later.receipt, Disposition::Defer { delay }));
    // On a third process: one waiter gets a hint, takes the ready message, and does not learn of the
    // other.
    history.after(10).call(lease(1));
    history.after(85);
    ends_wait(&mut history, wait);
    history.call(lease(1));
    history.breaks_first("waiting");
}

#[test]
fn a_rotation_must_notify_of_due_items_that_it_leaves() {
    let mut history = HistoryBuilder::of(QueueConfig::Rotating(
        RotatingConfig::default().with_pace(ms(50)),
    ));
    let wait = waits(&mut history, Call::WaitForTurn(ms(5000)));
    history.call(Call::Insert(vec![Insert::new("a"), Insert::new("b")]));
    history.call(Call::Rotate(NonZeroUsize::MIN));
    history.after(25);
    ends_wait(&mut history, wait);
    history.call(Call::Rotate(NonZeroUsize::MIN));
    history.breaks_first("waiting");
}

#[test]
fn items_that_become_due_again_notify_nobody() {
    let mut history = HistoryBuilder::of(QueueConfig::Rotating(
        RotatingConfig::default().with_pace(ms(50)),
    ));
    history.call(Call::Insert(vec![Insert::new("a"), Insert::new("b")]));
    let wait = waits(&mut history, Call::WaitForTurn(ms(5000)));
    history.call(Call::Rotate(NonZeroUsize::new(2).unwrap()));
    history.after(200);
    ends_wait(&mut history, wait);
    history.call(Call::Rotate(NonZeroUsize::MIN));
    history.holds();
}
