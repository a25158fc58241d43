//! B7, *at latest*: the time for which replacements may postpone a message.

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// A message that is due `due` milliseconds later, and that replacements postpone for `longest` at most.
fn edit(due: u64, longest: u64) -> Push {
    let distinct = Distinct::new("key").at_latest(ms(longest));
    Push::new("x").with_due(ms(due)).with_distinct(distinct)
}

pub(crate) async fn b7_a_chain_of_replacements_ends_by_its_longest_wait(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(edit(60, 100)).await;
    for (number, after, waits) in [(2, 30, 60), (3, 20, 50), (4, 49, 1)] {
        stage.advance(after).await;
        let pushed = queue.pushed(edit(60, 100)).await;
        assert_eq!(pushed, replacing(number, number - 1));
        assert_eq!(take_nothing(&*queue).await, Some(ms(waits)));
    }
    stage.advance(1).await;
    assert_eq!(drain(&*queue).await, [4]);
}

pub(crate) async fn b7_the_longest_wait_is_that_of_the_last_push(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(edit(500, 1_000)).await;
    stage.advance(50).await;
    queue.put(edit(500, 80)).await;
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(30)), "80 ms after the first push");
    queue.put(edit(500, 50)).await;
    assert_eq!(drain(&*queue).await, [3], "over already: due now");
}

pub(crate) async fn b7_a_message_alone_waits_no_longer_either(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(edit(500, 100)).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(100)));
    stage.advance(100).await;
    assert_eq!(drain(&*queue).await, [1]);
}

pub(crate) async fn b7_a_push_without_a_longest_wait_ends_the_chain(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(edit(60, 100)).await;
    stage.advance(50).await;
    queue.put(keyed("x").with_due(ms(80))).await;
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(80)), "it has no longest wait");
    stage.advance(70).await;
    queue.put(edit(80, 100)).await;
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(80)), "a chain begins anew");
    stage.advance(50).await;
    queue.put(edit(80, 100)).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(50)));
}

pub(crate) async fn b7_a_lease_ends_the_chain(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(edit(10, 100)).await;
    stage.advance(10).await;
    let held = take_one(&*queue).await;
    stage.advance(50).await;
    assert_eq!(queue.pushed(edit(80, 100)).await, accepted(2));
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(80)), "beyond the wait of the first");
    ack(&*queue, &held).await;
}

pub(crate) async fn b7_a_due_time_is_a_point_in_time_for_a_chain_too(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let distinct = || Distinct::new("key").at_latest(ms(100));
    let never = || Push::new("x").with_due(NEVER).with_distinct(distinct());
    queue.put(never()).await;
    stage.advance(40).await;
    queue.put(never()).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(60)));
}

pub(crate) async fn b7_a_reschedule_is_not_bound_by_the_longest_wait(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(edit(60, 100)).await;
    let moved = reschedule(&*queue, &[1], ms(500)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    assert_eq!(take_nothing(&*queue).await, Some(ms(500)));
    stage.advance(70).await;
    queue.put(edit(60, 100)).await;
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(30)), "the chain goes on");
}

pub(crate) async fn limits_distinct_keys_and_waits_have_limits(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let key = |bytes| Push::new("x").with_distinct(vec![b'k'; bytes]);
    let batch = |bad| [Push::new("good"), bad];
    refused(queue.try_put(&batch(key(0))).await, "0 bytes");
    refused(queue.try_put(&batch(key(257))).await, "257 bytes");
    refused(queue.try_put(&batch(edit(1, 0))).await, "0 ms");
    let over = Distinct::new("key").at_latest(limits::MAX_DELAY + ms(1));
    let over = Push::new("x").with_distinct(over);
    refused(queue.try_put(&batch(over)).await, "140737488355329 ms");
    assert_eq!(depth(&*queue).await, [0; 4]);
    queue.put(key(256)).await;
    let longest = Distinct::new("key").at_latest(limits::MAX_DELAY);
    queue.put(Push::new("x").with_distinct(longest)).await;
}
