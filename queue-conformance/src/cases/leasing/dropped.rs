//! L8 and L12: a future dropped at any await loses nothing.

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// More polls than any call needs.
const POLLS: usize = 1_000;

pub(crate) async fn l8_a_receive_dropped_at_any_await_loses_no_message(stage: &Stage<'_>) {
    let queue = stage
        .leasing_with(|config| config.max_attempts = 100_000)
        .await;
    for polls in 0..POLLS {
        queue.put("x").await;
        let received = cut(queue.receive_one(ms(100), LONG), polls).await;
        if settles_the_message(stage, &*queue, received, polls).await {
            return;
        }
    }
    panic!("never done");
}

pub(crate) async fn l8_a_waiting_receive_dropped_at_any_await_loses_no_message(stage: &Stage<'_>) {
    let queue = stage
        .leasing_with(|config| config.max_attempts = 100_000)
        .await;
    for polls in 0..POLLS {
        let receiver = queue.clone();
        let receive = async move { cut(receiver.receive_one(ms(100), ms(3_000)), polls).await };
        let waiting = stage.start(receive).await;
        queue.put("x").await;
        let received = stage.prompt("a receive, or its drop", waiting).await;
        if settles_the_message(stage, &*queue, received, polls).await {
            return;
        }
    }
    panic!("never done");
}

/// Acks the one message: the received message, or the message that must still be there after the drop. Returns true if
/// the call ended before the cut.
async fn settles_the_message(
    stage: &Stage<'_>,
    queue: &dyn Leasing,
    received: Option<Result<Option<Delivery>>>,
    polls: usize,
) -> bool {
    if received.is_none() {
        stage.advance(100).await;
    }
    let done = received.is_some();
    let delivery = match received {
        Some(delivery) => delivery.expect("receives").expect("one is ready"),
        None => take_one(queue).await,
    };
    ack(queue, &delivery).await;
    assert_eq!(depth(queue).await, [0; 4], "cut after {polls} polls");
    done
}

pub(crate) async fn l8_a_dropped_wait_passes_its_hint_on(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let queue = queue.clone();
        tasks.push(
            stage
                .start(async move { queue.receive_one(ms(200), LONG).await })
                .await,
        );
    }
    queue.put("x").await;
    // On a server, a receive dropped with its lease under way costs that lease's time. The hint may have woken any of
    // the callers: the case drops two before they run.
    let last = tasks.pop().expect("three tasks");
    for task in tasks {
        task.abort();
        if let Ok(Ok(Some(delivery))) = task.await {
            // On a slow machine the lease is over by now, and the message comes back without it.
            let settled = settle(&*queue, Settlement::release(delivery.receipt)).await;
            assert_ne!(settled, Settled::Dead);
        }
    }
    let delivery = stage.prompt("the receive that was kept", last).await;
    assert_eq!(delivery.expect("receives").expect("a message").id(), id(1));
}

pub(crate) async fn l8_a_dropped_push_can_be_repeated_with_its_dedup_key(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for polls in 0..POLLS {
        let push = Push::new("x").with_dedup(polls.to_be_bytes().to_vec(), LONG);
        let batch = [push.clone(), push.clone()];
        let done = cut(queue.try_put(&batch), polls).await.is_some();
        queue.try_put(&[push]).await.expect("pushes");
        let drained = drain(&*queue).await;
        assert_eq!(drained.len(), 1, "cut after {polls} polls: {drained:?}");
        if done {
            return;
        }
    }
    panic!("never done");
}

pub(crate) async fn l12_a_settlement_dropped_at_any_await_leaves_each_message_in_one_place(
    stage: &Stage<'_>,
) {
    let queue = stage
        .leasing_with(|config| config.max_attempts = 100_000)
        .await;
    for polls in 0..POLLS {
        queue.put_numbered(5).await;
        let deliveries = take_for(&*queue, 5, ms(100)).await;
        let receipt = |index: usize| deliveries[index].receipt;
        let batch = [
            Settlement::ack(receipt(0)),
            Settlement::retry(receipt(1), ms(50)),
            Settlement::defer(receipt(2), ms(50)),
            Settlement::release(receipt(3)),
            Settlement::bury(receipt(4), "dead"),
        ];
        let done = cut(
            queue.settle_and_lease(&batch, count(1), ms(100), None),
            polls,
        )
        .await
        .is_some();
        let counters = queue.counters().await.expect("counters");
        assert!(counters.balance(), "cut after {polls} polls: {counters:?}");
        stage.advance(200).await;
        drain(&*queue).await;
        let left = depth(&*queue).await;
        assert_eq!(left[..3], [0; 3], "cut after {polls} polls");
        if done {
            return;
        }
    }
    panic!("never done");
}

pub(crate) async fn l12_a_refused_batch_changes_nothing(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let delivery = take_one(&*queue).await;
    let before = counted(&*queue).await;
    let too_long = limits::MAX_DELAY + ms(1);
    let batch = [
        Settlement::ack(delivery.receipt),
        Settlement::retry(delivery.receipt, too_long),
    ];
    refused(queue.settle(&batch).await, "too long");
    refused(
        queue.settle_and_lease(&batch, count(1), LONG, None).await,
        "too long",
    );
    refused(
        queue
            .settle_and_lease(&batch[..1], count(129), LONG, None)
            .await,
        "129",
    );
    refused(
        queue
            .settle_and_lease(&batch[..1], count(1), ms(0), None)
            .await,
        "of 0 ms",
    );
    let big = [
        Push::new("good"),
        Push::new(vec![0; limits::DEFAULT_MAX_BODY + 1]),
    ];
    refused(queue.try_put(&big).await, "1048577 bytes");
    assert_eq!(counted(&*queue).await, before);
    ack(&*queue, &delivery).await;
}
