//! Waits for a message that may be handed over. A backend need not hand any over: its caller then polls.

use queue_core::*;

use crate::{
    stage::{LeasingQueue, Stage, ms},
    steps::*,
};

/// A caller that waits for a message, for much longer than the case lasts, and polls whenever it is notified instead.
pub(super) async fn next_delivery(queue: LeasingQueue, holder: Option<Holder>) -> Delivery {
    loop {
        let waited = queue.wait_to_lease(LONG, holder.clone(), LONG).await;
        let waited = waited.expect("waits");
        assert_eq!(waited.next, None, "it is no look");
        let mut leased = waited;
        if leased.is_empty() {
            let answer = queue
                .settle_and_lease(&[], count(1), LONG, holder.clone())
                .await;
            leased = answer.expect("settled and leased").1;
        }
        if let Some(delivery) = leased.deliveries.pop() {
            return delivery;
        }
    }
}

pub(crate) async fn waiting_for_a_message_brings_it_or_a_hint(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for number in 1..=3 {
        take_nothing(&*queue).await;
        let waiting = stage.start(next_delivery(queue.clone(), None)).await;
        queue.put_numbered(1).await;
        let delivery = stage.prompt("a wait for a message", waiting).await;
        assert_eq!((delivery.id(), delivery.attempt), (id(number), 1));
        assert_eq!(depth(&*queue).await, [0, 0, 1, 0]);
        settle_live(&*queue, Settlement::ack(delivery.receipt)).await;
        assert_eq!(depth(&*queue).await, [0; 4]);
    }
}

pub(crate) async fn waiting_for_a_message_takes_none_out_of_turn(stage: &Stage<'_>) {
    for order in ["L11", "D2"] {
        stage.needs_rule(order);
    }
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let held = take_one(&*queue).await;
    let waiting = stage.start(next_delivery(queue.clone(), None)).await;
    settle_live(&*queue, Settlement::release(held.receipt)).await;
    queue.put_numbered(1).await;
    let got = stage.prompt("a wait for a message", waiting).await;
    assert_eq!(got.id(), id(1));
}

pub(crate) async fn waiting_for_a_message_of_a_paused_queue_brings_none(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.pause().await.expect("pauses");
    let waiter = queue.clone();
    let wait = async move { waiter.wait_to_lease(LONG, None, ms(100)).await };
    let waiting = stage.start(wait).await;
    queue.put_numbered(1).await;
    let waited = waiting.await.expect("ends");
    assert_eq!(waited.expect("waits").deliveries, []);
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0]);
}

pub(crate) async fn l16_who_is_handed_a_message_is_its_holder(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mailer = Holder::new("mailer").expect("a good name");
    let waiting = stage
        .start(next_delivery(queue.clone(), Some(mailer.clone())))
        .await;
    queue.put_numbered(1).await;
    let got = stage.prompt("a wait for a message", waiting).await;
    let expected = (got.receipt, Some(mailer));
    assert_eq!(holders(&*queue).await, [expected]);
}

/// The server may still know the caller that waited, and hand the message over to it.
pub(crate) async fn l8_a_dropped_handle_that_waited_holds_up_no_message(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let dropped = stage.another_leasing().await;
    let waited = dropped.wait_to_lease(LONG, None, ms(100)).await;
    assert_eq!(waited.expect("waits").deliveries, []);
    drop(dropped);
    queue.put_numbered(1).await;
    let waiting = stage.start(next_delivery(queue.clone(), None)).await;
    let got = stage.prompt("a wait for a message", waiting).await;
    assert_eq!(got.attempt, 1);
}
