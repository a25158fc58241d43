//! Waiting: every cause wakes promptly, and no wait lasts for ever.

use std::time::Duration;

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn waiting_a_push_wakes_a_consumer(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for number in 1..=3 {
        let waiting = stage.receiver(&queue).await;
        queue.put_numbered(1).await;
        let delivery = stage.prompt("a receive after a push", waiting).await;
        assert_eq!(delivery.id(), id(number));
    }
}

pub(crate) async fn waiting_a_push_through_another_client_wakes_too(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let waiting = stage.receiver(&queue).await;
    let same = stage.leasing().await;
    same.put_numbered(1).await;
    stage.prompt("a receive after a push", waiting).await;
}

pub(crate) async fn waiting_a_push_before_the_wait_is_not_missed(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let next = take_nothing(&*queue).await;
    // A queue that polls returns the time until its next poll.
    assert!(
        next.is_none() || !stage.has_all(),
        "nothing changes by itself"
    );
    queue.put_numbered(1).await;
    let waiting = stage.waiter(&queue, LONG).await;
    stage.prompt("a wait after a push", waiting).await;
}

pub(crate) async fn waiting_one_batch_wakes_as_many_as_it_serves(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mut waiting = Vec::new();
    for _ in 0..5 {
        waiting.push(stage.receiver(&queue).await);
    }
    let batch = vec![Push::new("x"); 5];
    queue.try_put(&batch).await.expect("is accepted");
    let mut seen = Vec::new();
    for task in waiting {
        seen.push(stage.prompt("one of five", task).await.id().get());
    }
    seen.sort_unstable();
    assert_eq!(
        seen,
        [1, 2, 3, 4, 5],
        "who leaves some behind wakes the next"
    );
}

pub(crate) async fn waiting_a_release_wakes(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let held = take_one(&*queue).await;
    let waiting = stage.receiver(&queue).await;
    settle_live(&*queue, Settlement::release(held.receipt)).await;
    stage.prompt("a receive after a release", waiting).await;
}

pub(crate) async fn waiting_a_retry_without_delay_wakes(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    for delivery_of in [Settlement::retry, Settlement::defer] {
        let held = take_one(&*queue).await;
        let waiting = stage.receiver(&queue).await;
        settle_live(&*queue, delivery_of(held.receipt, ms(0))).await;
        let again = stage.prompt("a receive after a retry", waiting).await;
        settle_live(&*queue, Settlement::release(again.receipt)).await;
    }
}

pub(crate) async fn waiting_a_retry_delay_that_ends_sooner_wakes_in_time(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    for delivery_of in [Settlement::retry, Settlement::defer] {
        let held = take_one(&*queue).await;
        let waiting = stage.receiver(&queue).await;
        settle_live(&*queue, delivery_of(held.receipt, ms(60))).await;
        let again = stage
            .within("a receive after a delay", ms(60), waiting)
            .await;
        settle_live(&*queue, Settlement::release(again.receipt)).await;
    }
}

pub(crate) async fn waiting_the_expiry_of_anothers_lease_ends_it(stage: &Stage<'_>) {
    stage.needs_rule("L7");
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    take_for(&*queue, 1, ms(60)).await;
    let waiting = stage.receiver(&queue).await;
    let delivery = stage
        .within("a receive after an expiry", ms(60), waiting)
        .await;
    assert!(delivery.attempt == 2 || !stage.keeps("L6"), "{delivery:?}");
}

pub(crate) async fn waiting_a_deadline_brought_nearer_ends_it_sooner(stage: &Stage<'_>) {
    stage.needs_rule("L7");
    stage.needs_rule("L10");
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let held = take_one(&*queue).await;
    let waiting = stage.receiver(&queue).await;
    extend(&*queue, held.receipt, ms(60)).await;
    let delivery = stage
        .within("a receive after an expiry", ms(60), waiting)
        .await;
    assert!(delivery.attempt == 2 || !stage.keeps("L6"), "{delivery:?}");
}

pub(crate) async fn waiting_a_revival_wakes(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let dead = bury_next(&*queue, "dead").await;
    let waiting = stage.receiver(&queue).await;
    queue
        .revive(&[dead], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(
        stage
            .prompt("a receive after a revival", waiting)
            .await
            .attempt,
        1
    );
}

pub(crate) async fn waiting_resume_wakes_who_waits(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    queue.pause().await.expect("pauses");
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(stage.receiver(&queue).await);
    }
    queue.resume().await.expect("resumes");
    for task in waiting {
        stage.prompt("a receive after resume", task).await;
    }
}

pub(crate) async fn waiting_a_paused_queue_wakes_nobody_to_no_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.pause().await.expect("pauses");
    let waiter = queue.clone();
    let receive = async move { waiter.receive_one(LONG, ms(100)).await };
    let waiting = stage.start(receive).await;
    queue.put_numbered(1).await;
    let received = stage.within("a receive of nothing", ms(100), waiting).await;
    assert_eq!(stage.in_vain(received).flatten(), None);
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0]);
}

pub(crate) async fn waiting_ends_at_its_timeout(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let waiter = queue.clone();
    let waiting = stage
        .start(async move { waiter.receive(3, LONG, ms(40)).await })
        .await;
    let received = stage.within("a receive of nothing", ms(40), waiting).await;
    assert_eq!(stage.in_vain(received).unwrap_or_default(), []);
    let waiting = stage.waiter(&queue, ms(40)).await;
    stage.within("a wait for nothing", ms(40), waiting).await;
    let at_once = queue.receive_one(LONG, ms(0)).await.expect("receives");
    assert_eq!(at_once, None, "no timeout, no wait");
}

pub(crate) async fn waiting_without_end_ends_with_a_push(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let waiter = queue.clone();
    let receive = async move { waiter.receive_one(LONG, Duration::MAX).await };
    let waiting = stage.start(receive).await;
    queue.put_numbered(1).await;
    let received = stage.prompt("a receive after a push", waiting).await;
    assert!(received.expect("receives").is_some());
}

pub(crate) async fn waiting_moves_nothing(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let before = queue.counters().await.expect("counters");
    for _ in 0..3 {
        let waiting = stage.waiter(&queue, ms(0)).await;
        stage.prompt("a wait of no length", waiting).await;
    }
    assert_eq!(
        queue.counters().await.expect("counters").depth,
        before.depth
    );
    assert_eq!(drain(&*queue).await, [1, 2]);
}
