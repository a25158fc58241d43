//! L11: the place of a message that comes back. A delay queue orders by due time alone.

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn l11_what_is_released_goes_before_all_others_by_id(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(6).await;
    let deliveries = take(&*queue, 4).await;
    for index in [3, 0, 2] {
        settle_live(&*queue, Settlement::release(deliveries[index].receipt)).await;
    }
    assert_eq!(ids(&take(&*queue, 128).await), [1, 3, 4, 5, 6]);
}

pub(crate) async fn l11_what_expired_goes_before_all_others_by_id(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(6).await;
    take_for(&*queue, 2, ms(30)).await;
    take_for(&*queue, 1, ms(10)).await;
    let released = take_one(&*queue).await;
    stage.advance(30).await;
    settle_live(&*queue, Settlement::release(released.receipt)).await;
    let taken = ids(&take(&*queue, 128).await);
    assert_eq!(taken, [1, 2, 3, 4, 5, 6], "with what was released");
}

pub(crate) async fn l16_what_came_back_is_shown_in_its_place(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(6).await;
    let deliveries = take(&*queue, 4).await;
    let receipt = |index: usize| deliveries[index].receipt;
    let batch = [
        Settlement::release(receipt(2)),
        Settlement::retry(receipt(1), ms(0)),
        Settlement::release(receipt(0)),
    ];
    queue.settle(&batch).await.expect("settles");
    assert_eq!(cancel(&*queue, &[5]).await, [Cancelled::Cancelled]);
    let order = shown(&*queue, Place::Ready).await;
    assert_eq!(order, [1, 3, 6, 2]);
    assert_eq!(shown(&*queue, Place::Leased).await, [4]);
    assert_eq!(drain(&*queue).await, order);
}

pub(crate) async fn l15_what_came_back_is_cancelled_out_of_its_line(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(8).await;
    for delivery in take(&*queue, 5).await {
        settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    }
    let asked = [1, 3, 5, 6, 8];
    assert_eq!(cancel(&*queue, &asked).await, [Cancelled::Cancelled; 5]);
    assert_eq!(drain(&*queue).await, [2, 4, 7]);
}

pub(crate) async fn l11_what_was_retried_or_deferred_goes_behind_what_is_ready(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(6).await;
    let deliveries = take(&*queue, 4).await;
    let receipt = |index: usize| deliveries[index].receipt;
    let batch = [
        Settlement::retry(receipt(3), ms(20)),
        Settlement::defer(receipt(2), ms(20)),
        Settlement::retry(receipt(1), ms(10)),
        Settlement::defer(receipt(0), ms(30)),
    ];
    queue.settle(&batch).await.expect("settles");
    queue.put_numbered(1).await;
    assert_eq!(depth(&*queue).await, [3, 4, 0, 0]);
    stage.advance(30).await;
    assert_eq!(drain(&*queue).await, [5, 6, 7, 2, 3, 4, 1], "by (due, id)");
}

pub(crate) async fn l11_it_is_the_moment_of_promotion_that_counts(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let delivery = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(delivery.receipt, ms(20))).await;
    stage.advance(20).await;
    queue.put_numbered(2).await;
    assert_eq!(
        drain(&*queue).await,
        [1, 2, 3],
        "a push promotes what is due before it acts"
    );
}

pub(crate) async fn l11_no_delay_is_due_now_behind_what_is_ready(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(4).await;
    let deliveries = take(&*queue, 2).await;
    let batch = [
        Settlement::defer(deliveries[1].receipt, ms(0)),
        Settlement::retry(deliveries[0].receipt, ms(0)),
    ];
    queue.settle(&batch).await.expect("settles");
    queue.put_numbered(1).await;
    let drained = drain(&*queue).await;
    assert_eq!(drained, [3, 4, 1, 2, 5], "promoted by the next call");
}

pub(crate) async fn l11_a_revived_message_goes_to_the_tail(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(4).await;
    bury_next(&*queue, "dead").await;
    bury_next(&*queue, "dead").await;
    queue
        .revive(&[id(2), id(1)], Revival::WithState)
        .await
        .expect("revives");
    queue.put_numbered(1).await;
    let drained = drain(&*queue).await;
    assert_eq!(drained, [3, 4, 2, 1, 5], "in the order asked for");
}

pub(crate) async fn l11_one_call_takes_back_128_before_it_hands_out(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(200).await;
    take_for(&*queue, 100, ms(20)).await;
    take_for(&*queue, 100, ms(10)).await;
    stage.advance(20).await;
    let expected: Vec<u64> = (1..=28).chain(101..=200).collect();
    let taken = ids(&take(&*queue, 128).await);
    assert_eq!(taken, expected, "taken back by (deadline, id)");
    let rest: Vec<u64> = (29..=100).collect();
    assert_eq!(ids(&take(&*queue, 128).await), rest);
}

pub(crate) async fn l11_one_call_promotes_128_before_it_acts(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(300).await;
    for chunk in 0..3 {
        let deliveries = take(&*queue, 100).await;
        let later = |one: &Delivery| Settlement::defer(one.receipt, ms(30 - 10 * chunk));
        let batch: Vec<Settlement> = deliveries.iter().map(later).collect();
        queue.settle(&batch).await.expect("settles");
    }
    stage.advance(30).await;
    // The read promotes 128, the push another 128 before it acts, and the next call 44.
    let places = depth(&*queue).await;
    assert_eq!(places, [300, 0, 0, 0], "due beyond the 128 counts as ready");
    queue.put("behind 256").await;
    let by_due: Vec<u64> = (201..=300).chain(101..=200).chain(1..=100).collect();
    let mut expected = by_due;
    expected.insert(256, 301);
    assert_eq!(drain(&*queue).await, expected);
}

pub(crate) async fn counters_what_returns_is_as_old_as_before(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let oldest = async || queue.counters().await.expect("counters").oldest_ready;
    queue.put_numbered(1).await;
    stage.advance(100).await;
    queue.put_numbered(1).await;
    let delivery = take_one(&*queue).await;
    stage.advance(10).await;
    assert_eq!(oldest().await, Some(ms(10)));
    settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    let age = oldest().await;
    assert_eq!(age, Some(ms(110)), "a release does not start it anew");
    take_one_for(&*queue, ms(40)).await;
    stage.advance(40).await;
    assert_eq!(oldest().await, Some(ms(150)), "nor does an expiry");
}
