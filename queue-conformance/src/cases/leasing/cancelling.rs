//! L15: cancelling takes undelivered messages out for good, or says why not.

use queue_core::{
    Cancelled::{Cancelled as Gone, NeverWas, TooLate},
    *,
};

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn l15_what_is_ready_or_delayed_is_cancelled(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(4).await;
    queue.put_due("pushed for later", FAR).await;
    let retried = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(retried.receipt, FAR)).await;
    assert_eq!(depth(&*queue).await, [3, 2, 0, 0]);
    assert_eq!(cancel(&*queue, &[5, 1, 3]).await, [Gone; 3]);
    assert_eq!(depth(&*queue).await, [2, 0, 0, 0]);
    let alone = queue.cancel_one(id(2)).await.expect("cancels");
    assert_eq!(alone, Gone);
    assert_eq!(drain(&*queue).await, [4], "nobody receives the others");
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.accepted, counters.cancelled), (5, 4));
}

pub(crate) async fn l15_what_has_come_back_is_cancelled(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(5).await;
    let deliveries = take_for(&*queue, 5, ms(100)).await;
    let receipt = |index: usize| deliveries[index].receipt;
    let batch = [
        Settlement::retry(receipt(0), LONG),
        Settlement::defer(receipt(1), LONG),
        Settlement::release(receipt(2)),
        Settlement::bury(receipt(3), "dead"),
    ];
    queue.settle(&batch).await.expect("settles");
    let cancelled = cancel(&*queue, &[1, 2, 3, 4, 5]).await;
    assert_eq!(cancelled, [Gone, Gone, Gone, TooLate, TooLate]);
    stage.advance(100).await;
    let cancelled = cancel(&*queue, &[5]).await;
    assert_eq!(cancelled, [Gone], "from its deadline on it is not leased");
    let settled = settle(&*queue, Settlement::ack(receipt(4))).await;
    assert_eq!(settled, Settled::LeaseLost);
    assert_eq!(depth(&*queue).await, [0, 0, 0, 1]);
}

pub(crate) async fn l15_it_is_too_late_for_what_is_leased_dead_or_gone(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(6).await;
    let deliveries = take(&*queue, 4).await;
    let receipt = |index: usize| deliveries[index].receipt;
    let batch = [
        Settlement::ack(receipt(0)),
        Settlement::bury(receipt(1), "dead"),
        Settlement::bury(receipt(2), "discarded"),
    ];
    queue.settle(&batch).await.expect("settles");
    queue.discard(&[id(3)]).await.expect("discards");
    assert_eq!(queue.purge(count(1)).await.expect("purges"), 1);
    assert_eq!(cancel(&*queue, &[6]).await, [Gone]);
    let before = counted(&*queue).await;
    assert_eq!(
        cancel(&*queue, &[1, 2, 3, 4, 5, 6]).await,
        [TooLate; 6],
        "acked, dead, discarded, leased, purged, cancelled"
    );
    assert_eq!(counted(&*queue).await, before, "nothing changed");
    assert_eq!(dead(&*queue).await.len(), 1);
    ack(&*queue, &deliveries[3]).await;
}

pub(crate) async fn l15_an_id_that_no_message_had_is_told_apart(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    assert_eq!(cancel(&*queue, &[0, 1]).await, [NeverWas; 2], "none yet");
    let marked = || Push::new("x").with_dedup("key", LONG);
    queue.put(marked()).await;
    assert_eq!(queue.pushed(marked()).await, duplicate(1));
    let made_up = [0, 2, 1 << 53, (1 << 53) + 1, u64::MAX];
    let cancelled = cancel(&*queue, &made_up).await;
    assert_eq!(cancelled, [NeverWas; 5], "a duplicate has no id of its own");
    let cancelled = cancel(&*queue, &[2, 1, 0]).await;
    assert_eq!(cancelled, [NeverWas, Gone, NeverWas]);
    assert_eq!(cancel(&*queue, &[1]).await, [TooLate], "once it was there");
    queue.put("x").await;
    assert_eq!(drain(&*queue).await, [2], "no id was used up");
    assert_eq!(queue.counters().await.expect("counters").cancelled, 1);
}

pub(crate) async fn l15_the_second_of_two_equal_ids_is_too_late(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    let cancelled = cancel(&*queue, &[2, 2, 1, 2]).await;
    assert_eq!(cancelled, [Gone, TooLate, Gone, TooLate]);
    assert_eq!(queue.counters().await.expect("counters").cancelled, 2);
    assert_eq!(drain(&*queue).await, [3]);
}

pub(crate) async fn l15_a_dedup_mark_outlives_a_cancelled_message(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let marked = |key| Push::new("x").with_dedup(key, LONG);
    queue.put(marked("ready")).await;
    queue.put_due(marked("delayed"), FAR).await;
    assert_eq!(cancel(&*queue, &[1, 2]).await, [Gone; 2]);
    for (number, key) in (1..).zip(["ready", "delayed"]) {
        let again = queue.pushed(marked(key)).await;
        assert_eq!(again, duplicate(number));
    }
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.accepted, counters.dedup_marks), (2, 2));
}

pub(crate) async fn l15_a_long_line_keeps_its_order(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(300).await;
    let third: Vec<u64> = (3..=300).step_by(3).collect();
    assert_eq!(cancel(&*queue, &third).await, [Gone; 100]);
    assert_eq!(depth(&*queue).await, [200, 0, 0, 0]);
    // One message in the middle, the last, and the first, each in a call of its own.
    for number in [151, 299, 1] {
        assert_eq!(cancel(&*queue, &[number]).await, [Gone]);
    }
    queue.put_numbered(1).await;
    let gone = |number: &u64| third.contains(number) || [151, 299, 1].contains(number);
    let rest: Vec<u64> = (1..=300).filter(|number| !gone(number)).collect();
    assert_eq!(drain(&*queue).await, [rest, vec![301]].concat());
}

pub(crate) async fn l15_no_call_counts_what_was_cancelled(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(8).await;
    assert_eq!(cancel(&*queue, &[1, 2, 4, 6, 8]).await, [Gone; 5]);
    assert_eq!(depth(&*queue).await, [3, 0, 0, 0]);
    assert_eq!(queue.purge(count(1)).await.expect("purges"), 1);
    assert_eq!(ids(&take(&*queue, 2).await), [5, 7], "as many as asked for");
    assert_eq!(queue.purge(count(1_000)).await.expect("purges"), 0);
}

pub(crate) async fn l15_each_message_of_a_batch_is_cancelled_once(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mut left: Vec<MessageId> = Vec::new();
    let drains = async |mut expected: Vec<MessageId>| {
        let mut drained = drain(&*queue).await;
        drained.sort_unstable();
        expected.sort_unstable();
        assert_eq!(drained, numbers(&expected), "the others come");
    };
    for order in [[2, 0, 4, 1, 3], [0, 1, 2, 3, 4], [4, 3, 2, 1, 0]] {
        drains(std::mem::take(&mut left)).await;
        // There is a message before the batch, and another batch behind it.
        left.extend(queue.put_numbered(1).await);
        let batch = queue.put_numbered(5).await;
        left.extend(queue.put_numbered(5).await);
        for (done, place) in order.into_iter().enumerate() {
            for expected in [Gone, TooLate] {
                let cancelled = queue.cancel_one(batch[place]).await;
                assert_eq!(
                    cancelled.expect("cancels"),
                    expected,
                    "{place} of {order:?}"
                );
                assert_eq!(depth(&*queue).await, [10 - done as u64, 0, 0, 0]);
            }
        }
    }
}

pub(crate) async fn l15_a_message_is_cancelled_or_delivered_never_both(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(120).await;
    let canceller = queue.clone();
    let cancel = tokio::spawn(async move {
        let mut gone = Vec::new();
        for number in (1..=120).rev() {
            if canceller.cancel_one(id(number)).await.expect("cancels") == Gone {
                gone.push(number);
            }
            tokio::task::yield_now().await;
        }
        gone
    });
    let consumer = queue.clone();
    let consume = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(delivery) = take(&*consumer, 1).await.pop() {
            seen.push(delivery.id().get());
            tokio::task::yield_now().await;
            ack(&*consumer, &delivery).await;
        }
        seen
    });
    let mut all = cancel.await.expect("runs");
    all.extend(consume.await.expect("runs"));
    all.sort_unstable();
    assert_eq!(all, (1..=120).collect::<Vec<u64>>(), "each has one fate");
}

pub(crate) async fn l15_a_cancel_dropped_at_any_await_never_half_happens(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let cancelled = cancel(&*queue, &[1]).await;
    assert_eq!(cancelled, [NeverWas], "nothing was pushed");
    for polls in 0..1_000 {
        let pushed = queue.put_numbered(3).await;
        let done = cut(queue.cancel(&pushed[..2]), polls).await.is_some();
        let left = drain(&*queue).await;
        let whole = numbers(&pushed);
        assert!(
            (left == whole && !done) || left == whole[2..],
            "cut after {polls} polls: {left:?} of {whole:?} are left"
        );
        if done {
            return;
        }
    }
    panic!("never done");
}

pub(crate) async fn l15_who_sleeps_towards_a_cancelled_message_is_not_stuck(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_due("x", ms(50)).await;
    let waiting = stage.receiver(&queue).await;
    assert_eq!(cancel(&*queue, &[1]).await, [Gone]);
    queue.put_due("x", ms(90)).await;
    let delivery = stage
        .within("a receive of the other", ms(90), waiting)
        .await;
    assert_eq!(delivery.id(), id(2));
}

pub(crate) async fn counters_the_oldest_is_none_that_was_cancelled(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let oldest = async || queue.counters().await.expect("counters").oldest_ready;
    queue.put_numbered(1).await;
    stage.advance(100).await;
    queue.put_numbered(1).await;
    stage.advance(10).await;
    assert_eq!(cancel(&*queue, &[1]).await, [Gone]);
    assert_eq!(oldest().await, Some(ms(10)));
    assert_eq!(cancel(&*queue, &[2]).await, [Gone]);
    assert_eq!(oldest().await, None);
}
