//! Operators' calls: pausing, purging, and reading the counters.

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn operators_a_paused_queue_hands_out_nothing(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let held = take_one(&*queue).await;
    queue.pause().await.expect("pauses");
    queue.pause().await.expect("pauses again");
    assert!(queue.counters().await.expect("counters").paused);
    let next = take_nothing(&*queue).await;
    assert_eq!(next, None, "nothing changes by itself");
    let same = stage.leasing().await;
    assert_eq!(take_nothing(&*same).await, None, "for every client");
    let (_, leased) = queue
        .settle_and_lease(&[], count(1), LONG, None)
        .await
        .expect("settled and leased");
    assert_eq!(leased, Leased::nothing(None));

    queue.put_numbered(1).await;
    extend(&*queue, held.receipt, LONG).await;
    ack(&*queue, &held).await;
    let places = depth(&*queue).await;
    assert_eq!(
        places,
        [2, 0, 0, 0],
        "pushing, extending and settling go on"
    );
    same.resume().await.expect("resumes");
    assert!(!queue.counters().await.expect("counters").paused);
    assert_eq!(stage.ordered(drain(&*queue).await), [2, 3]);
}

pub(crate) async fn operators_leases_expire_while_paused(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    queue.put_numbered(1).await;
    take_for(&*queue, 1, ms(10)).await;
    queue.pause().await.expect("pauses");
    stage.advance(10).await;
    assert_eq!(depth(&*queue).await, [0, 0, 0, 1]);
    queue.resume().await.expect("resumes");
}

pub(crate) async fn operators_purge_takes_what_is_ready_then_what_is_delayed(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(6).await;
    let deliveries = take(&*queue, 3).await;
    for (delivery, delay) in deliveries.iter().zip([90, 30]) {
        settle_live(&*queue, Settlement::retry(delivery.receipt, ms(delay))).await;
    }
    assert_eq!(depth(&*queue).await, [3, 2, 1, 0]);
    assert_eq!(queue.purge(count(2)).await.expect("purges"), 2);
    assert_eq!(depth(&*queue).await, [1, 2, 1, 0]);
    assert_eq!(queue.purge(count(2)).await.expect("purges"), 2);
    assert_eq!(depth(&*queue).await, [0, 1, 1, 0]);
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(90)), "the later one is left");
    assert_eq!(queue.purge(count(1_000)).await.expect("purges"), 1);
    assert_eq!(queue.purge(count(1_000)).await.expect("purges"), 0);
    ack(&*queue, &deliveries[2]).await;
}

pub(crate) async fn operators_purge_goes_in_delivery_order(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(5).await;
    assert_eq!(queue.purge(count(2)).await.expect("purges"), 2);
    assert_eq!(drain(&*queue).await, [3, 4, 5]);
}

pub(crate) async fn operators_a_purge_removes_any_number_of_bytes(stage: &Stage<'_>) {
    const LARGE: usize = 1024 * 1024;
    let queue = stage.leasing().await;
    for _ in 0..12 {
        queue.put(vec![b'x'; LARGE]).await;
    }
    assert_eq!(queue.purge(count(12)).await.expect("purges"), 12);
    assert_eq!(depth(&*queue).await, [0; 4]);
}

pub(crate) async fn operators_purge_leaves_leases_dead_letters_and_marks(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(Push::new("x").with_dedup("key", LONG)).await;
    queue.put_numbered(4).await;
    bury_next(&*queue, "dead").await;
    let leased = take_one(&*queue).await;
    assert_eq!(queue.purge_all().await.expect("purges"), 3);
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.purged, counters.dedup_marks), (3, 1));
    assert_eq!(depth(&*queue).await, [0, 0, 1, 1]);
    let again = queue.pushed(Push::new("x").with_dedup("key", LONG)).await;
    assert_eq!(again, duplicate(1));
    ack(&*queue, &leased).await;
}

pub(crate) async fn operators_purge_all_goes_on_past_one_chunk(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2_500).await;
    assert_eq!(queue.purge(count(1_000)).await.expect("purges"), 1_000);
    assert_eq!(queue.purge_all().await.expect("purges"), 1_500);
    assert_eq!(depth(&*queue).await, [0; 4]);
}

pub(crate) async fn l5_every_way_in_and_out_is_counted(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    queue.put_numbered(9).await;
    let deliveries = take_for(&*queue, 7, ms(100)).await;
    let receipt = |index: usize| deliveries[index].receipt;
    let batch = [
        Settlement::ack(receipt(0)),
        Settlement::retry(receipt(1), ms(1_000)),
        Settlement::defer(receipt(2), ms(1_000)),
        Settlement::release(receipt(3)),
        Settlement::bury(receipt(4), "dead"),
        Settlement::bury(receipt(5), "dead"),
    ];
    queue.settle(&batch).await.expect("settles");
    assert_eq!(depth(&*queue).await, [3, 2, 1, 2]);
    stage.advance(100).await;
    queue.discard(&[id(5)]).await.expect("discards");
    queue
        .revive(&[id(6)], Revival::WithState)
        .await
        .expect("revives");
    queue.purge(count(1)).await.expect("purges");
    let cancelled = queue.cancel_one(id(9)).await.expect("cancels");
    assert_eq!(cancelled, Cancelled::Cancelled);
    let counters = queue.counters().await.expect("counters");
    assert!(counters.balance());
    let gone = [
        counters.acked,
        counters.discarded,
        counters.purged,
        counters.cancelled,
        counters.trimmed,
        counters.outdated,
    ];
    assert_eq!(gone, [1, 1, 1, 1, 0, 0]);
    let moved = [
        counters.retried,
        counters.deferred,
        counters.released,
        counters.revived,
    ];
    assert_eq!(moved, [1; 4]);
    assert_eq!(
        (counters.accepted, counters.expired, counters.died),
        (9, 1, 2)
    );
    let Depth {
        ready,
        delayed,
        leased,
        dead,
        ..
    } = counters.depth;
    assert_eq!([ready, delayed, leased, dead], [3, 2, 0, 0]);
    assert_eq!(
        queue.depth().await.expect("depth"),
        counters.depth,
        "the two agree"
    );
}

pub(crate) async fn l5_what_goes_in_comes_out_and_nothing_else(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let every_byte = Bytes::from((0..=255).collect::<Vec<u8>>());
    let headers = Headers::new()
        .with("tenant", "ümlaut")
        .with("", "")
        .with("a:b", "\0\r\n");
    let messages = [
        Push::new(every_byte).with_headers(headers),
        Push::new(Bytes::new()),
        Push::new("same"),
        Push::new("same"),
        Push::new("1e400"),
        Push::new("\r\n$-1\r\n*0\r\n"),
    ];
    queue.try_put(&messages).await.expect("is accepted");
    for round in 0..2 {
        let deliveries = take(&*queue, 128).await;
        assert_eq!(ids(&deliveries), [1, 2, 3, 4, 5, 6]);
        for (delivery, message) in deliveries.iter().zip(&messages) {
            assert_eq!(delivery.body, message.body, "round {round}");
            assert_eq!(delivery.headers, message.headers, "round {round}");
        }
        let back = settlements(&deliveries, Settlement::release);
        queue.settle(&back).await.expect("settles");
    }
}

pub(crate) async fn counters_tell_how_long_the_oldest_has_been_ready(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let oldest = async || queue.counters().await.expect("counters").oldest_ready;
    assert_eq!(oldest().await, None);
    queue.put_numbered(1).await;
    assert_eq!(oldest().await, Some(ms(0)));
    stage.advance(300).await;
    queue.put_numbered(1).await;
    stage.advance(50).await;
    assert_eq!(oldest().await, Some(ms(350)), "since its push");
    let first = take_one(&*queue).await;
    assert_eq!(oldest().await, Some(ms(50)), "a leased one is not ready");
    let second = take_one(&*queue).await;
    assert_eq!(oldest().await, None);
    settle_live(&*queue, Settlement::retry(first.receipt, ms(100))).await;
    assert_eq!(oldest().await, None, "a delayed one is not ready");
    stage.advance(130).await;
    assert_eq!(oldest().await, Some(ms(30)), "since the end of its delay");
    ack(&*queue, &take_one(&*queue).await).await;
    settle_live(&*queue, Settlement::bury(second.receipt, "dead")).await;
    queue
        .revive(&[second.id()], Revival::WithState)
        .await
        .expect("revives");
    stage.advance(20).await;
    assert_eq!(oldest().await, Some(ms(20)), "since its revival");
}
