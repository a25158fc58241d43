use queue_core::{QueueConfig, call::Call, *};

use crate::history_builder::{HistoryBuilder, LEASE_TIME, lease, ms, push};

/// The message that is second to lease comes first, then the first.
fn swapped(history: &mut HistoryBuilder) {
    let both = [history.take(), history.take()];
    history.swap_last_two(&both);
}

#[test]
fn f1_the_second_comes_first() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.push("b");
    swapped(&mut history);
    history.breaks("F1");
}

#[test]
fn f2_a_batch_comes_in_another_order() {
    let mut history = HistoryBuilder::reliable();
    history.call(Call::Push(vec![Push::new("a"), Push::new("b")]));
    swapped(&mut history);
    history.breaks("F2");
}

#[test]
fn l11_a_released_message_comes_last() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.push("b");
    let first = history.take();
    history.settle(Settlement::release(first.receipt));
    swapped(&mut history);
    history.breaks("L11");
}

/// Without the backend's own order, only the tokens show which of two overlapping calls came first.
#[test]
fn l11_a_call_that_began_first_and_leased_last_is_no_alarm() {
    let mut history = HistoryBuilder::reliable();
    history.call(Call::Push(vec![Push::new("a").with_due(ms(10))]));
    history.push("b");
    let second = history.take();
    assert_eq!(second.body, "b");
    history.settle(Settlement::release(second.receipt));
    history.after(10);
    let began = history.moment();
    let both = [history.take(), history.take()];
    assert_eq!(both[0].body, "b");
    history.call(Call::Settle(
        both.iter()
            .map(|delivery| Settlement::release(delivery.receipt))
            .collect(),
    ));
    history.call(lease(2));
    history.last().began = began;
    history.holds();
}

fn priority(config: PriorityConfig, first: i16, second: i16) -> HistoryBuilder {
    let mut history = HistoryBuilder::of(QueueConfig::Priority(config));
    history.call(Call::Push(vec![Push::new("a").with_priority(first)]));
    history.call(Call::Push(vec![Push::new("b").with_priority(second)]));
    history
}

#[test]
fn p1_the_less_urgent_comes_first() {
    let mut history = priority(PriorityConfig::default(), 1, 2);
    swapped(&mut history);
    history.breaks("P1");
}

#[test]
fn p2_the_later_comes_first() {
    let mut history = priority(PriorityConfig::default(), 1, 1);
    swapped(&mut history);
    history.breaks("P2");
}

#[test]
fn p3_a_release_forgets_the_priority() {
    let mut history = priority(PriorityConfig::default(), 1, 2);
    let urgent = history.take();
    assert_eq!(urgent.body, "b");
    history.settle(Settlement::release(urgent.receipt));
    swapped(&mut history);
    history.breaks("P3");
}

#[test]
fn p4_ageing_is_forgotten() {
    let config = PriorityConfig::default().with_ageing(ms(10));
    let mut history = HistoryBuilder::of(QueueConfig::Priority(config));
    history.call(Call::Push(vec![Push::new("a").with_priority(1)]));
    history.after(LEASE_TIME);
    history.call(Call::Push(vec![Push::new("b").with_priority(2)]));
    swapped(&mut history);
    history.breaks("P4");
}

#[test]
fn calls_that_overlap_come_in_any_order() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.loses(push("b"), true);
    history.loses(lease(1), true);
    let second = history.take();
    assert_eq!(second.body, "b");
    history.after(LEASE_TIME);
    let first = history.take();
    assert_eq!((&first.body[..], first.attempt), (&b"a"[..], 2));
    history.holds();
}
