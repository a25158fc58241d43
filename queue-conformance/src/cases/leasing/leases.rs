//! L1, L2, L3, L10 and R1: leases, their holders and their length.

use std::collections::BTreeSet;

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn l1_a_leased_message_is_not_handed_out_again(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    assert_eq!(ids(&take(&*queue, 2).await), [1, 2]);
    assert_eq!(ids(&take(&*queue, 128).await), [3]);
    let same = stage.leasing().await;
    let next = take_nothing(&*same).await;
    assert_eq!(next, Some(LONG), "another handle, the same queue");
    assert_eq!(depth(&*queue).await, [0, 0, 3, 0]);
}

pub(crate) async fn l1_a_lease_is_live_until_its_deadline(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    for (attempt, lease_time) in [(1, 1), (2, 2), (3, 1_000)] {
        let delivery = take_one_for(&*queue, ms(lease_time)).await;
        assert_eq!(delivery.attempt, attempt);
        stage.advance(lease_time - 1).await;
        let next = take_nothing(&*queue).await;
        assert_eq!(next, Some(ms(1)), "1 ms before the deadline");
        assert_eq!(depth(&*queue).await, [0, 0, 1, 0]);
        stage.advance(1).await;
        let places = depth(&*queue).await;
        assert_eq!(places, [1, 0, 0, 0], "from the deadline on it is ready");
    }
}

pub(crate) async fn l1_concurrent_consumers_share_no_message(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let put = queue.put_numbered(300).await;
    let mut consumers = Vec::new();
    for _ in 0..8 {
        let queue = queue.clone();
        consumers.push(tokio::spawn(async move {
            let mut seen = Vec::new();
            loop {
                let deliveries = take(&*queue, 3).await;
                if deliveries.is_empty() {
                    return seen;
                }
                seen.extend(ids(&deliveries));
                tokio::task::yield_now().await;
                ack_all(&*queue, &deliveries).await;
            }
        }));
    }
    let mut seen = Vec::new();
    for consumer in consumers {
        seen.extend(consumer.await.expect("runs"));
    }
    seen.sort_unstable();
    assert_eq!(seen, numbers(&put), "each exactly once");
    assert_eq!(depth(&*queue).await, [0; 4]);
}

pub(crate) async fn l1_producers_and_consumers_at_once_meet_each_message_once(stage: &Stage<'_>) {
    // The last word has to come last.
    stage.needs_order();
    let queue = stage.leasing().await;
    let mut producers = Vec::new();
    for producer in 0..4 {
        let queue = queue.clone();
        producers.push(tokio::spawn(async move {
            for number in 0..50 {
                queue.put(format!("{producer}:{number}")).await;
                tokio::task::yield_now().await;
            }
        }));
    }
    let mut consumers = Vec::new();
    for _ in 0..4 {
        let queue = queue.clone();
        let consumer = async move {
            let mut seen = Vec::new();
            loop {
                let deliveries = queue.receive(4, LONG, LONG).await.expect("receives");
                ack_all(&*queue, &deliveries).await;
                let over = deliveries.iter().any(|delivery| delivery.body == "over");
                seen.extend(deliveries.into_iter().map(|delivery| delivery.body));
                if over {
                    queue.put("over").await;
                    return seen;
                }
            }
        };
        consumers.push(stage.start(consumer).await);
    }
    for producer in producers {
        stage.prompt("a producer", producer).await;
    }
    queue.put("over").await;
    let mut seen = BTreeSet::new();
    for consumer in consumers {
        for body in stage.prompt("a consumer", consumer).await {
            assert!(
                body == "over" || seen.insert(body.clone()),
                "{body:?} came twice"
            );
        }
    }
    assert_eq!(seen.len(), 200, "each came");
    assert_eq!(drain(&*queue).await.len(), 1, "the last word is left");
}

pub(crate) async fn l2_redelivery_has_a_cause(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 100).await;
    queue.put_numbered(1).await;
    let causes: [fn(Receipt) -> Settlement; 3] = [
        |receipt| Settlement::retry(receipt, ms(5)),
        |receipt| Settlement::defer(receipt, ms(5)),
        Settlement::release,
    ];
    for cause in causes {
        let delivery = take_one(&*queue).await;
        stage.advance(50_000).await;
        assert_eq!(take_nothing(&*queue).await, Some(LONG - ms(50_000)));
        let settlement = cause(delivery.receipt);
        assert_eq!(settle(&*queue, settlement.clone()).await, Settled::Done);
        if settlement.disposition != Disposition::Release {
            assert_eq!(take_nothing(&*queue).await, Some(ms(5)), "{settlement:?}");
            stage.advance(4).await;
            assert_eq!(take_nothing(&*queue).await, Some(ms(1)), "{settlement:?}");
            stage.advance(1).await;
        }
        assert_eq!(depth(&*queue).await, [1, 0, 0, 0], "{settlement:?}");
    }
}

pub(crate) async fn l3_an_acked_message_is_never_delivered_again(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let deliveries = take_for(&*queue, 2, ms(100)).await;
    ack(&*queue, &deliveries[0]).await;
    stage.advance(99).await;
    ack(&*queue, &deliveries[1]).await;
    for _ in 0..3 {
        stage.advance(100).await;
        let next = take_nothing(&*queue).await;
        assert_eq!(next, None, "nothing changes by itself any more");
        let again = Settlement::release(deliveries[0].receipt);
        assert_eq!(settle(&*queue, again).await, Settled::LeaseLost);
    }
    assert_eq!(depth(&*queue).await, [0; 4]);
}

pub(crate) async fn l10_extend_sets_the_deadline_from_now(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let delivery = take_one_for(&*queue, ms(1_000)).await;
    stage.advance(600).await;
    extend(&*queue, delivery.receipt, ms(700)).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(700)));
    stage.advance(699).await;
    let places = depth(&*queue).await;
    assert_eq!(places, [0, 0, 1, 0], "past the first deadline");
    stage.advance(1).await;
    assert_eq!(take_one(&*queue).await.attempt, 2);
}

pub(crate) async fn l10_extend_may_bring_the_deadline_nearer(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let deliveries = take_for(&*queue, 2, ms(1_000)).await;
    extend(&*queue, deliveries[0].receipt, ms(10)).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(10)));
    stage.advance(10).await;
    assert_eq!(ids(&take(&*queue, 2).await), [1]);
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(990)), "the other keeps its own");
    ack(&*queue, &deliveries[1]).await;
}

pub(crate) async fn l10_a_batch_is_extended_one_by_one(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    let deliveries = take_for(&*queue, 3, ms(100)).await;
    ack(&*queue, &deliveries[1]).await;
    let receipts: Vec<Receipt> = deliveries.iter().map(|delivery| delivery.receipt).collect();
    let extended = queue
        .extend(&Extension::all(&receipts), ms(500))
        .await
        .expect("extends");
    let expected = [Extended::Extended, Extended::LeaseLost, Extended::Extended];
    assert_eq!(extended, expected);
    stage.advance(499).await;
    assert_eq!(depth(&*queue).await, [0, 0, 2, 0]);
    let lost = queue
        .extend_one(receipts[1], ms(1))
        .await
        .expect_err("is lost");
    assert_eq!(lost.kind(), ErrorKind::LeaseLost);
    assert!(lost.to_string().contains("message 2"), "{lost}");
}

pub(crate) async fn l10_a_lease_is_timed_from_the_claim_not_from_the_push(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    stage.advance(10_000).await;
    let first = take_one_for(&*queue, ms(100)).await;
    stage.advance(99).await;
    ack(&*queue, &first).await;
}

pub(crate) async fn r1_a_token_grows_and_is_never_below_the_time(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1_200).await;
    let tokens = |deliveries: Vec<Delivery>| -> Vec<u64> {
        let tokens = deliveries
            .iter()
            .map(|delivery| delivery.receipt.token.get());
        tokens.collect()
    };
    let first = tokens(take(&*queue, 3).await);
    let start = first[0];
    assert_eq!(start % Token::PER_MILLI, 0, "a whole millisecond");
    assert_eq!(
        first,
        [start, start + 1, start + 2],
        "one for each delivery, in delivery order"
    );
    let handed_out = tokens(take(&*queue, 1).await);
    assert_eq!(handed_out, [start + 3], "the same millisecond");
    stage.advance(1).await;
    let next = start + Token::PER_MILLI;
    assert_eq!(tokens(take(&*queue, 1).await), [next], "the next one");
    for _ in 0..8 {
        take(&*queue, 128).await;
    }
    stage.advance(1).await;
    let after = next + 8 * 128 + 1;
    assert_eq!(
        tokens(take(&*queue, 1).await),
        [after],
        "so many in one that the clock is still behind"
    );
    stage.advance(5_000).await;
    let last = take_one(&*queue).await;
    let time = start / Token::PER_MILLI + 5_002;
    assert_eq!(last.receipt.token.get(), time * Token::PER_MILLI);
    settle_live(&*queue, Settlement::bury(last.receipt, "to see the time")).await;
    assert_eq!(dead(&*queue).await[0].died_at.as_millis(), time);
}

pub(crate) async fn r1_a_receipt_of_another_history_matches_nothing(stage: &Stage<'_>) {
    let lost = stage.leasing_named("lost", |_| {}).await;
    lost.put_numbered(1).await;
    let stale = take_one(&*lost).await;
    stage.advance(1).await;
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let live = take_one(&*queue).await;
    assert_eq!(live.id(), stale.id(), "the same message number");
    assert_ne!(live.receipt, stale.receipt);
    let settled = settle(&*queue, Settlement::ack(stale.receipt)).await;
    assert_eq!(settled, Settled::LeaseLost);
    let extended = queue
        .extend(&[stale.receipt.into()], ms(1))
        .await
        .expect("extends");
    assert_eq!(extended, [Extended::LeaseLost]);
    ack(&*queue, &live).await;
}
