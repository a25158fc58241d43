//! The order of priority queues, and their limits.

use std::{sync::Arc, time::Duration};

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(super) async fn enqueue(queue: &Arc<dyn PriorityQueue>, priorities: &[i16]) {
    let push = |priority: &i16| Push::new(format!("x{priority}")).with_priority(*priority);
    let batch: Vec<Push> = priorities.iter().map(push).collect();
    queue.push(&batch).await.expect("is accepted");
}

/// Enqueues a message that is due the given number of milliseconds later.
async fn enqueue_later(queue: &Arc<dyn PriorityQueue>, priority: i16, millis: u64) {
    let push = Push::new(format!("x{priority}")).with_due(ms(millis));
    put(&**queue, push.with_priority(priority)).await;
}

pub(super) async fn ageing(stage: &Stage<'_>, per_step: u64) -> Arc<dyn PriorityQueue> {
    let config = PriorityConfig::default().with_ageing(ms(per_step));
    stage.priority_with(config.with_max_attempts(20)).await
}

pub(crate) async fn p1_the_most_urgent_ready_message_comes_first(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    enqueue(&queue, &[0, -1, 10, 9, i16::MIN, 100, i16::MAX, 2, -10]).await;
    assert_eq!(ids(&take(&*queue, 3).await), [7, 6, 3]);
    enqueue(&queue, &[50]).await;
    assert_eq!(drain(&*queue).await, [10, 4, 8, 1, 2, 9, 5]);
}

pub(crate) async fn l20_a_delivery_says_its_priority(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    enqueue(&queue, &[0, i16::MIN, i16::MAX, -1]).await;
    for delivery in take(&*queue, 4).await {
        let body = String::from_utf8_lossy(&delivery.body).into_owned();
        assert_eq!(delivery.priority.map(|own| format!("x{own}")), Some(body));
        settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    }
    let returned = take_one(&*queue).await;
    assert_eq!(returned.priority, Some(i16::MAX), "when it comes back, too");
}

pub(crate) async fn p2_equal_priorities_come_in_order_of_arrival(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    for _ in 0..10 {
        enqueue(&queue, &[1, 0, 1]).await;
    }
    let urgent = (1..=30).filter(|number| number % 3 != 2);
    let ordinary = (1..=30).filter(|number| number % 3 == 2);
    let drained = drain(&*queue).await;
    assert_eq!(drained, urgent.chain(ordinary).collect::<Vec<u64>>());
}

pub(crate) async fn p2_what_returns_is_ordered_within_its_priority(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    enqueue(&queue, &[5, 5, 5, 1, 1, 1]).await;
    let deliveries = take(&*queue, 5).await;
    let receipt = |index: usize| deliveries[index].receipt;
    let batch = [
        Settlement::release(receipt(4)),
        Settlement::release(receipt(3)),
        Settlement::release(receipt(1)),
        Settlement::retry(receipt(0), ms(10)),
        Settlement::defer(receipt(2), ms(5)),
    ];
    queue.settle(&batch).await.expect("settles");
    enqueue(&queue, &[5, 1, 9]).await;
    stage.advance(10).await;
    // First 9; of priority 5 the released 2, then 7, and the delayed 3 and 1 by due; of priority 1
    // the released 4 and 5, then 6 and 8.
    assert_eq!(drain(&*queue).await, [9, 2, 7, 3, 1, 4, 5, 6, 8]);
}

pub(crate) async fn p3_a_returned_message_keeps_its_priority(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    enqueue(&queue, &[7, 6, 8, 5, 9]).await;
    let deliveries = take_for(&*queue, 5, ms(100)).await;
    assert_eq!(ids(&deliveries), [5, 3, 1, 2, 4]);
    let receipt = |index: usize| deliveries[index].receipt;
    let batch = [
        Settlement::bury(receipt(0), "dead"),
        Settlement::retry(receipt(1), ms(10)),
        Settlement::defer(receipt(2), ms(20)),
        Settlement::release(receipt(3)),
    ];
    queue.settle(&batch).await.expect("settles");
    stage.advance(100).await;
    queue
        .revive(&[id(5)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(drain(&*queue).await, [5, 3, 1, 2, 4], "as at first");
}

pub(crate) async fn p3_a_delayed_push_keeps_its_priority(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    enqueue(&queue, &[5, 0]).await;
    for (priority, delay) in [(5, 10), (5, 5), (9, 20), (0, 1)] {
        enqueue_later(&queue, priority, delay).await;
    }
    stage.advance(10).await;
    // Of priority 5 first the ready message, then 4 and 3 by due time; 5 is not due.
    assert_eq!(drain(&*queue).await, [1, 4, 3, 2, 6]);
    stage.advance(10).await;
    assert_eq!(drain(&*queue).await, [5]);
}

pub(crate) async fn p4_a_delayed_push_arrives_when_it_is_due(stage: &Stage<'_>) {
    let queue = ageing(stage, 100).await;
    enqueue(&queue, &[-1]).await;
    stage.advance(45).await;
    enqueue_later(&queue, 0, 50).await;
    stage.advance(5).await;
    enqueue(&queue, &[0]).await;
    stage.advance(55).await;
    // 1 arrived at 0 and is a step less urgent: it counts as arrived at 100. 2 is due at 95, but nobody promotes it
    // before 105; 3 arrived at 50.
    assert_eq!(drain(&*queue).await, [3, 2, 1]);
}

pub(crate) async fn l16_the_most_urgent_is_shown_first(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    enqueue(&queue, &[5, 5, 5, -1, i16::MAX]).await;
    let deliveries = take(&*queue, 3).await;
    assert_eq!(ids(&deliveries), [5, 1, 2]);
    settle_live(&*queue, Settlement::release(deliveries[2].receipt)).await;
    settle_live(&*queue, Settlement::release(deliveries[0].receipt)).await;
    enqueue(&queue, &[5, -1, i16::MIN]).await;
    let order = shown(&*queue, Place::Ready).await;
    assert_eq!(order, [5, 2, 3, 6, 4, 7, 8]);
    let priorities = async |place| {
        let peeked = peek(&*queue, place).await.into_iter();
        peeked.map(|one| one.priority).collect::<Vec<_>>()
    };
    let ready = priorities(Place::Ready).await;
    assert_eq!(ready, [i16::MAX, 5, 5, 5, -1, -1, i16::MIN]);
    assert_eq!(priorities(Place::Leased).await, [5]);
    assert_eq!(cancel(&*queue, &[3, 7]).await, [Cancelled::Cancelled; 2]);
    assert_eq!(shown(&*queue, Place::Ready).await, [5, 2, 6, 4, 8]);
    assert_eq!(drain(&*queue).await, [5, 2, 6, 4, 8]);
    ack(&*queue, &deliveries[1]).await;
}

pub(crate) async fn l16_ageing_orders_what_is_shown(stage: &Stage<'_>) {
    let queue = ageing(stage, 100).await;
    enqueue(&queue, &[0]).await;
    stage.advance(150).await;
    enqueue(&queue, &[1, 2, 0]).await;
    let order = shown(&*queue, Place::Ready).await;
    assert_eq!(order, [3, 1, 2, 4]);
    assert_eq!(drain(&*queue).await, order);
}

pub(crate) async fn p4_a_step_of_priority_is_worth_its_waiting_time(stage: &Stage<'_>) {
    let queue = ageing(stage, 100).await;
    for (later, order) in [(99, [2, 1]), (100, [3, 4]), (101, [5, 6])] {
        enqueue(&queue, &[0]).await;
        stage.advance(later).await;
        enqueue(&queue, &[1]).await;
        let drained = drain(&*queue).await;
        assert_eq!(drained, order, "one more urgent, {later} ms later");
    }
    enqueue(&queue, &[-3]).await;
    stage.advance(499).await;
    enqueue(&queue, &[2]).await;
    stage.advance(1).await;
    enqueue(&queue, &[2]).await;
    stage.advance(1).await;
    enqueue(&queue, &[2]).await;
    assert_eq!(
        drain(&*queue).await,
        [8, 7, 9, 10],
        "five steps are 500 ms; a tie goes by id"
    );
}

pub(crate) async fn p4_the_far_ends_of_priority_and_ageing_do_not_overflow(stage: &Stage<'_>) {
    let config = PriorityConfig::default().with_ageing(Duration::from_secs(86_400));
    let queue = stage.priority_with(config).await;
    enqueue(&queue, &[i16::MIN, 0, i16::MAX, i16::MAX, i16::MIN]).await;
    assert_eq!(drain(&*queue).await, [3, 4, 2, 1, 5]);
}

pub(crate) async fn p4_nothing_starves(stage: &Stage<'_>) {
    let queue = ageing(stage, 50).await;
    enqueue(&queue, &[0]).await;
    let mut rounds = 0;
    loop {
        enqueue(&queue, &[4]).await;
        let delivery = take_one(&*queue).await;
        ack(&*queue, &delivery).await;
        if delivery.id() == id(1) {
            break;
        }
        rounds += 1;
        assert!(rounds < 100, "starved by what is 4 more urgent");
        stage.advance(10).await;
    }
    assert_eq!(rounds, 20, "4 steps of 50 ms are 20 rounds of 10 ms");
}

pub(crate) async fn p4_release_defer_and_expiry_keep_the_arrival(stage: &Stage<'_>) {
    let queue = ageing(stage, 100).await;
    enqueue(&queue, &[0]).await;
    stage.advance(10).await;
    enqueue(&queue, &[0]).await;
    for round in 0..3 {
        let delivery = take_one_for(&*queue, ms(20)).await;
        assert_eq!(delivery.id(), id(1), "back in its old place, round {round}");
        match round {
            0 => settle_live(&*queue, Settlement::release(delivery.receipt)).await,
            1 => settle_live(&*queue, Settlement::defer(delivery.receipt, ms(20))).await,
            _ => {}
        }
        stage.advance(20).await;
        enqueue(&queue, &[0]).await;
    }
    assert_eq!(drain(&*queue).await, [1, 2, 3, 4, 5]);
}

pub(crate) async fn p4_a_release_does_not_jump_the_line(stage: &Stage<'_>) {
    let queue = ageing(stage, 3_600_000).await;
    enqueue(&queue, &[0, 0, 1]).await;
    let deliveries = take(&*queue, 2).await;
    assert_eq!(ids(&deliveries), [3, 1]);
    settle_live(&*queue, Settlement::release(deliveries[1].receipt)).await;
    enqueue(&queue, &[1]).await;
    let drained = drain(&*queue).await;
    assert_eq!(drained, [4, 1, 2], "one line, whatever came back");
    ack(&*queue, &deliveries[0]).await;
}

pub(crate) async fn p4_a_retry_and_a_revival_arrive_anew(stage: &Stage<'_>) {
    let queue = ageing(stage, 100).await;
    enqueue(&queue, &[0, 0]).await;
    let deliveries = take(&*queue, 2).await;
    settle_live(&*queue, Settlement::retry(deliveries[0].receipt, ms(50))).await;
    settle_live(&*queue, Settlement::bury(deliveries[1].receipt, "dead")).await;
    stage.advance(40).await;
    enqueue(&queue, &[0]).await;
    stage.advance(20).await;
    enqueue(&queue, &[0]).await;
    queue
        .revive(&[id(2)], Revival::WithState)
        .await
        .expect("revives");
    stage.advance(1).await;
    enqueue(&queue, &[0]).await;
    // 3 arrived at 40, 1 when its delay was over at 50, 2 and 4 at 60, 5 at 61.
    assert_eq!(drain(&*queue).await, [3, 1, 2, 4, 5]);
}

pub(crate) async fn limits_priorities_and_ageing_have_a_range(stage: &Stage<'_>) {
    refused(limits::priority(32_768), "32768");
    refused(limits::priority(-32_769), "-32769");
    let zero = PriorityConfig::default().with_ageing(Duration::ZERO);
    refused(
        stage.try_priority("queue", &zero).await.map(drop),
        "ageing of 0 ms",
    );
    let over = PriorityConfig::default().with_ageing(ms(86_400_001));
    refused(
        stage.try_priority("queue", &over).await.map(drop),
        "of 86400001 ms",
    );
}

pub(crate) async fn p1_purge_and_counters_go_by_priority(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    enqueue(&queue, &[0, 9]).await;
    stage.advance(30).await;
    enqueue(&queue, &[5]).await;
    let oldest = queue.counters().await.expect("counters").oldest_ready;
    assert_eq!(oldest, Some(ms(30)), "the longest of the heads");
    assert_eq!(queue.purge(count(2)).await.expect("purges"), 2);
    assert_eq!(drain(&*queue).await, [1], "the most urgent were purged");
}

pub(crate) async fn l13_a_dead_letter_keeps_its_priority(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    enqueue(&queue, &[-7, i16::MAX, i16::MIN]).await;
    let late = buried_after(1_000_000).with_header("tenant", "acme");
    put(&*queue, late.with_priority(4)).await;
    for _ in 0..2 {
        bury_next(&*queue, "dead").await;
    }
    let held = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(held.receipt, ms(0))).await;
    bury_next(&*queue, "dead").await;
    bury_next(&*queue, "dead").await;
    let letters = dead(&*queue).await.into_iter();
    let mut priorities: Vec<_> = letters.map(|one| one.priority).collect();
    priorities.sort_unstable();
    assert_eq!(priorities, [i16::MIN, -7, 4, i16::MAX]);
}

pub(crate) async fn b7_a_replacement_has_a_priority_of_its_own(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    put(&*queue, keyed("x").with_priority(1)).await;
    enqueue(&queue, &[5]).await;
    let urgent = keyed("x").with_priority(9);
    assert_eq!(pushed(&*queue, urgent).await, replacing(3, 1));
    assert_eq!(shown(&*queue, Place::Ready).await, [3, 2]);
    assert_eq!(pushed(&*queue, keyed("x")).await, replacing(4, 3));
    assert_eq!(drain(&*queue).await, [2, 4]);
}

pub(crate) async fn d4_a_rescheduled_message_keeps_its_priority(stage: &Stage<'_>) {
    let queue = stage.priority().await;
    enqueue_later(&queue, 5, 3_600_000).await;
    enqueue(&queue, &[9, 1]).await;
    let moved = reschedule(&*queue, &[1], ms(0)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    assert_eq!(drain(&*queue).await, [2, 1, 3]);
}

pub(crate) async fn p4_a_rescheduled_message_arrives_when_it_is_due(stage: &Stage<'_>) {
    let queue = ageing(stage, 10).await;
    enqueue_later(&queue, 0, 5).await;
    enqueue_later(&queue, 0, 500).await;
    let moved = reschedule(&*queue, &[1], ms(30)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    let moved = reschedule(&*queue, &[2], ms(10)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    stage.advance(20).await;
    enqueue(&queue, &[0]).await;
    stage.advance(10).await;
    assert_eq!(drain(&*queue).await, [2, 3, 1]);
}
