use queue_core::{QueueConfig, call::Call, *};

use crate::story::{LEASE_TIME, Story, lease, ms, push};

/// The message that is second to lease comes first, then the first.
fn swapped(story: &mut Story) {
    let both = [story.take(), story.take()];
    story.swap_last_two(&both);
}

#[test]
fn f1_the_second_comes_first() {
    let mut story = Story::reliable();
    story.push("a");
    story.push("b");
    swapped(&mut story);
    story.breaks("F1");
}

#[test]
fn f2_a_batch_comes_in_another_order() {
    let mut story = Story::reliable();
    story.call(Call::Push(vec![Push::new("a"), Push::new("b")]));
    swapped(&mut story);
    story.breaks("F2");
}

#[test]
fn l11_what_was_released_comes_last() {
    let mut story = Story::reliable();
    story.push("a");
    story.push("b");
    let first = story.take();
    story.settle(Settlement::release(first.receipt));
    swapped(&mut story);
    story.breaks("L11");
}

/// Without the backend's own order, only the tokens show which of two overlapping calls came first.
#[test]
fn l11_a_call_that_began_first_and_leased_last_is_no_alarm() {
    let mut story = Story::reliable();
    story.call(Call::Push(vec![Push::new("a").with_due(ms(10))]));
    story.push("b");
    let second = story.take();
    assert_eq!(second.body, "b");
    story.settle(Settlement::release(second.receipt));
    story.after(10);
    let began = story.moment();
    let both = [story.take(), story.take()];
    assert_eq!(both[0].body, "b");
    story.call(Call::Settle(
        both.iter()
            .map(|delivery| Settlement::release(delivery.receipt))
            .collect(),
    ));
    story.call(lease(2));
    story.last().began = began;
    story.holds();
}

fn priority(config: PriorityConfig, first: i16, second: i16) -> Story {
    let mut story = Story::of(QueueConfig::Priority(config));
    story.call(Call::Enqueue(vec![Prioritized::new("a", first)]));
    story.call(Call::Enqueue(vec![Prioritized::new("b", second)]));
    story
}

#[test]
fn p1_the_less_urgent_comes_first() {
    let mut story = priority(PriorityConfig::default(), 1, 2);
    swapped(&mut story);
    story.breaks("P1");
}

#[test]
fn p2_the_later_comes_first() {
    let mut story = priority(PriorityConfig::default(), 1, 1);
    swapped(&mut story);
    story.breaks("P2");
}

#[test]
fn p3_a_release_forgets_the_priority() {
    let mut story = priority(PriorityConfig::default(), 1, 2);
    let urgent = story.take();
    assert_eq!(urgent.body, "b");
    story.settle(Settlement::release(urgent.receipt));
    swapped(&mut story);
    story.breaks("P3");
}

#[test]
fn p4_ageing_is_forgotten() {
    let config = PriorityConfig::default().with_ageing(ms(10));
    let mut story = Story::of(QueueConfig::Priority(config));
    story.call(Call::Enqueue(vec![Prioritized::new("a", 1)]));
    story.after(LEASE_TIME);
    story.call(Call::Enqueue(vec![Prioritized::new("b", 2)]));
    swapped(&mut story);
    story.breaks("P4");
}

#[test]
fn calls_that_overlap_come_in_any_order() {
    let mut story = Story::reliable();
    story.push("a");
    story.loses(push("b"), true);
    story.loses(lease(1), true);
    let second = story.take();
    assert_eq!(second.body, "b");
    story.after(LEASE_TIME);
    let first = story.take();
    assert_eq!((&first.body[..], first.attempt), (&b"a"[..], 2));
    story.holds();
}
