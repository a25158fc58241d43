//! L7: every verb first reclaims expired leases and promotes due messages, 128 of each.

use queue_core::*;

use crate::{
    stage::LeasingQueue,
    stage::{Stage, ms},
    steps::*,
};

/// A queue whose messages die when their leases expire, with the given number of expired leases.
async fn expired(stage: &Stage<'_>, count: u64) -> LeasingQueue {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    queue.put_numbered(count).await;
    let mut leased = 0;
    while leased < count {
        leased += take_for(&*queue, 128, ms(100)).await.len() as u64;
    }
    stage.advance(100).await;
    queue
}

pub(crate) async fn l7_one_call_reclaims_128_expired_leases(stage: &Stage<'_>) {
    let queue = expired(stage, 300).await;
    die_in_order(&queue).await;
}

pub(crate) async fn l7_batches_of_one_deadline_are_reclaimed_by_id(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    stage.put_mixed(&queue, 300).await;
    for max in [70, 3, 100, 127] {
        assert_eq!(take_for(&*queue, max, ms(100)).await.len(), max);
    }
    stage.advance(100).await;
    die_in_order(&queue).await;
}

async fn die_in_order(queue: &LeasingQueue) {
    for dead_by_now in [128, 256, 300, 300] {
        let expected: Vec<u64> = (1..=dead_by_now).collect();
        let died: Vec<u64> = dead(&**queue)
            .await
            .iter()
            .map(|letter| letter.id.get())
            .collect();
        assert_eq!(died, expected, "by (deadline, id)");
    }
}

pub(crate) async fn l7_what_is_expired_beyond_that_counts_as_ready(stage: &Stage<'_>) {
    let queue = expired(stage, 300).await;
    assert_eq!(depth(&*queue).await, [172, 0, 0, 128]);
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.depth.ready, counters.depth.dead), (44, 256));
    assert!(counters.balance());
    assert_eq!(depth(&*queue).await, [0, 0, 0, 300]);
}

pub(crate) async fn l7_of_batches_beyond_that_only_the_expired_count_as_ready(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(300).await;
    take_for(&*queue, 128, ms(100)).await;
    let half_done = take_for(&*queue, 100, ms(100)).await;
    take_for(&*queue, 64, LONG).await;
    let acks = settlements(&half_done[..28], Settlement::ack);
    assert_eq!(
        queue.settle(&acks).await.expect("settles"),
        [Settled::Done; 28]
    );
    stage.advance(100).await;
    for _ in 0..2 {
        let counters = queue.counters().await.expect("counters");
        let Depth { ready, leased, .. } = counters.depth;
        assert_eq!((ready, leased), (208, 64), "8 others, 128 and 72 expired");
        assert!(counters.balance(), "{counters:?}");
    }
}

pub(crate) async fn l7_a_lease_call_reclaims(stage: &Stage<'_>) {
    let queue = expired(stage, 129).await;
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(0)), "one more has expired already");
    assert_eq!(take_nothing(&*queue).await, None);
}

pub(crate) async fn l7_settle_and_lease_reclaims_twice(stage: &Stage<'_>) {
    let queue = expired(stage, 257).await;
    let made_up = Settlement::ack(Receipt::new(id(1), Token::new(1)));
    let (_, leased) = queue
        .settle_and_lease(&[made_up], count(1), LONG, None)
        .await
        .expect("settled and leased");
    assert_eq!(leased, Leased::nothing(Some(ms(0))), "256 of 257");
    assert_eq!(take_nothing(&*queue).await, None);
}

pub(crate) async fn l7_a_lease_that_settles_nothing_reclaims_once(stage: &Stage<'_>) {
    let queue = expired(stage, 129).await;
    let (_, leased) = queue
        .settle_and_lease(&[], count(1), LONG, None)
        .await
        .expect("settled and leased");
    assert_eq!(leased, Leased::nothing(Some(ms(0))), "128 of 129");
    assert_eq!(take_nothing(&*queue).await, None);
}

pub(crate) async fn l7_settle_and_extend_reclaim(stage: &Stage<'_>) {
    let queue = expired(stage, 384).await;
    let made_up = Receipt::new(id(1), Token::new(1));
    let settled = settle(&*queue, Settlement::ack(made_up)).await;
    assert_eq!(settled, Settled::LeaseLost);
    let extended = queue.extend(&[made_up.into()], LONG).await;
    assert_eq!(extended.expect("extends"), [Extended::LeaseLost]);
    assert_eq!(dead(&*queue).await.len(), 384);
}

pub(crate) async fn l7_a_push_reclaims(stage: &Stage<'_>) {
    let queue = expired(stage, 256).await;
    queue.put("x").await;
    assert_eq!(dead(&*queue).await.len(), 256);
}

pub(crate) async fn l7_revive_and_discard_reclaim(stage: &Stage<'_>) {
    let queue = expired(stage, 256).await;
    assert_eq!(queue.discard(&[id(1), id(200)]).await.expect("discards"), 1);
    let revived = queue
        .revive(&[id(2), id(200)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(
        revived,
        [Revived::Revived, Revived::Revived],
        "200 died before it acted"
    );
}

pub(crate) async fn l7_a_purge_reclaims(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(200).await;
    take_for(&*queue, 128, ms(100)).await;
    take_for(&*queue, 128, ms(100)).await;
    stage.advance(100).await;
    assert_eq!(queue.purge(count(1_000)).await.expect("purges"), 128);
    assert_eq!(queue.purge(count(1_000)).await.expect("purges"), 72);
}

/// A queue whose 130 leases have expired, none of them on a last attempt.
async fn lapsed(stage: &Stage<'_>) -> LeasingQueue {
    let queue = stage.leasing().await;
    queue.put_numbered(130).await;
    take_for(&*queue, 128, ms(100)).await;
    take_for(&*queue, 128, ms(100)).await;
    stage.advance(100).await;
    queue
}

pub(crate) async fn l7_a_cancel_reclaims(stage: &Stage<'_>) {
    let queue = lapsed(stage).await;
    assert_eq!(
        cancel(&*queue, &[128, 129]).await,
        [Cancelled::Cancelled, Cancelled::TooLate],
        "the first 128 by (deadline, id)"
    );
    assert_eq!(cancel(&*queue, &[129]).await, [Cancelled::Cancelled]);
    assert_eq!(depth(&*queue).await, [128, 0, 0, 0]);
}

pub(crate) async fn l7_a_peek_reclaims(stage: &Stage<'_>) {
    let queue = lapsed(stage).await;
    let leased = leases(&*queue).await.into_iter();
    let left = leased.map(|(receipt, time_left, _)| (receipt.id, time_left));
    let left: Vec<_> = left.collect();
    let expected = [129, 130].map(|number| (id(number), ms(0)));
    assert_eq!(left, expected, "leased still, though expired");
    let all: Vec<u64> = (1..=130).collect();
    assert_eq!(shown(&*queue, Place::Ready).await, all);
    assert_eq!(shown(&*queue, Place::Leased).await, Vec::<u64>::new());
}

pub(crate) async fn l7_everything_ends_acked_or_dead(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 3).await;
    queue.put_numbered(60).await;
    // Handlers fail, crash and succeed in turn; nobody else does anything.
    for round in 0.. {
        let deliveries = take_for(&*queue, 7, ms(40)).await;
        for delivery in &deliveries {
            match (delivery.id().get() + round) % 4 {
                0 => ack(&*queue, delivery).await,
                1 => {
                    let retry = Settlement::retry(delivery.receipt, ms(25));
                    settle_live(&*queue, retry).await;
                }
                _ => {}
            }
        }
        stage.advance(10).await;
        if depth(&*queue).await[..3] == [0; 3] {
            break;
        }
        assert!(
            round < 60,
            "3 attempts of 60 messages, 7 at a time, take no longer"
        );
    }
    let counters = queue.counters().await.expect("counters");
    assert_eq!(counters.acked + counters.died, 60);
    assert!(
        counters.acked > 0 && counters.died > 0,
        "both happened: {counters:?}"
    );
}
