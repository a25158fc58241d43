//! L6: attempts, their charges, and their end.

use std::collections::BTreeMap;

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn l6_retry_and_expiry_charge_an_attempt(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let first = take_one(&*queue).await;
    assert_eq!(first.attempt, 1, "the first delivery");
    settle_live(&*queue, Settlement::retry(first.receipt, ms(0))).await;
    let second = take_one_for(&*queue, ms(10)).await;
    assert_eq!(second.attempt, 2, "after a retry");
    stage.advance(10).await;
    assert_eq!(take_one(&*queue).await.attempt, 3, "after an expiry");
}

pub(crate) async fn l6_defer_and_release_refund_the_attempt(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    queue.put_numbered(1).await;
    for round in 0..10 {
        let delivery = take_one(&*queue).await;
        assert_eq!(delivery.attempt, 1, "round {round}");
        let refund = if round % 2 == 0 {
            Settlement::release(delivery.receipt)
        } else {
            Settlement::defer(delivery.receipt, ms(0))
        };
        assert_eq!(settle(&*queue, refund).await, Settled::Done);
    }
    let delivery = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(delivery.receipt, ms(0))).await;
    for _ in 0..5 {
        let delivery = take_one(&*queue).await;
        assert_eq!(delivery.attempt, 2, "the retry stays charged");
        let settled = settle(&*queue, Settlement::release(delivery.receipt)).await;
        assert_eq!(settled, Settled::Done, "on the last attempt, too");
    }
    assert_eq!(dead(&*queue).await, []);
}

pub(crate) async fn l6_a_retry_on_the_last_attempt_answers_dead(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 3).await;
    queue.put_numbered(1).await;
    for attempt in 1..=3 {
        let delivery = take_one(&*queue).await;
        assert_eq!(delivery.attempt, attempt);
        let settled = settle(&*queue, Settlement::retry(delivery.receipt, ms(0))).await;
        let expected = if attempt < 3 {
            Settled::Done
        } else {
            Settled::Dead
        };
        assert_eq!(settled, expected, "attempt {attempt}");
    }
    assert_eq!(take_nothing(&*queue).await, None);
    let letter = one_dead(&*queue).await;
    assert_eq!(
        (&letter.reason, letter.attempts),
        (&DeathReason::Retried, 3)
    );
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.retried, counters.died), (2, 1));
}

pub(crate) async fn l6_a_lease_that_expires_on_the_last_attempt_ends_dead(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    queue.put_numbered(1).await;
    take_one_for(&*queue, ms(10)).await;
    stage.advance(10).await;
    assert_eq!(dead(&*queue).await, [], "the first attempt's");
    let last = take_one_for(&*queue, ms(10)).await;
    stage.advance(9).await;
    assert_eq!(dead(&*queue).await, []);
    stage.advance(1).await;
    assert_eq!(take_nothing(&*queue).await, None);
    let letter = one_dead(&*queue).await;
    assert_eq!(
        (&letter.reason, letter.attempts),
        (&DeathReason::Expired, 2)
    );
    let settled = settle(&*queue, Settlement::ack(last.receipt)).await;
    assert_eq!(settled, Settled::LeaseLost);
    let counters = queue.counters().await.expect("counters");
    assert_eq!(
        (counters.expired, counters.died),
        (2, 1),
        "both expiries are counted"
    );
}

pub(crate) async fn l6_one_attempt_is_one_delivery(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    queue.put_numbered(2).await;
    let deliveries = take_for(&*queue, 2, ms(10)).await;
    let retried = Settlement::retry(deliveries[0].receipt, ms(1));
    assert_eq!(settle(&*queue, retried).await, Settled::Dead);
    stage.advance(10).await;
    assert_eq!(depth(&*queue).await, [0, 0, 0, 2]);
}

pub(crate) async fn l6_a_crashing_consumers_message_does_not_circle_for_ever(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put("poison").await;
    let mut deliveries = 0;
    for _ in 0..20 {
        deliveries += take_for(&*queue, 1, ms(10)).await.len();
        stage.advance(10).await;
    }
    assert_eq!(deliveries, 5, "the default max_attempts");
    assert_eq!(depth(&*queue).await, [0, 0, 0, 1]);
}

pub(crate) async fn l6_a_burial_on_any_attempt_answers_dead(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let delivery = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(delivery.receipt, ms(0))).await;
    bury_next(&*queue, "hopeless").await;
    let letter = one_dead(&*queue).await;
    assert_eq!(letter.attempts, 2);
    assert_eq!(letter.reason, DeathReason::Buried("hopeless".into()));
}

pub(crate) async fn l6_max_attempts_is_the_queues_for_every_client(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    queue.put_numbered(1).await;
    let same = stage.leasing_with(|config| config.max_attempts = 1).await;
    let delivery = take_one(&*same).await;
    let settled = settle(&*same, Settlement::retry(delivery.receipt, ms(0))).await;
    assert_eq!(settled, Settled::Dead);
}

/// The ends of a message's leases, one after another.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LeaseEnd {
    Expires,
    Retried,
    Released,
    Deferred,
}

/// More attempts than fit in a byte, charged in every way.
pub(crate) async fn l6_any_number_of_attempts_is_counted(stage: &Stage<'_>) {
    use LeaseEnd::*;
    const LAST: u32 = 260;
    let ways: [&[LeaseEnd]; 5] = [
        &[Expires],
        &[Retried],
        &[Expires, Retried],
        &[Released, Expires],
        &[Deferred, Expires, Retried, Released],
    ];
    let queue = stage
        .leasing_with(|config| config.max_attempts = LAST)
        .await;
    let mut messages = BTreeMap::new();
    for (way, ends) in ways.into_iter().enumerate() {
        for headers in [0, 1, 3] {
            let push = Push::new(format!("way {way} with {headers} headers"));
            let named = (0..headers).map(|number| format!("header {number}"));
            let push = named.fold(push, |push, name| push.with_header(name, "value"));
            queue.put(push.clone()).await;
            messages.insert(push.body.clone(), (push, ends.iter().cycle(), 1));
        }
    }
    let mut ended = 0;
    while ended < messages.len() {
        let (mut held, mut settlements) = (0, Vec::new());
        while held + ended < messages.len() {
            let leased = take_for(&*queue, 128, ms(10)).await;
            assert_ne!(
                leased,
                [],
                "{held} are leased and {ended} dead: the others are ready"
            );
            held += leased.len();
            for delivery in leased {
                let (push, ends, attempt) = messages.get_mut(&delivery.body).expect("a message");
                let delivered = (delivery.attempt, &delivery.headers);
                assert_eq!(delivered, (*attempt, &push.headers), "{:?}", push.body);
                let receipt = delivery.receipt;
                let end = *ends.next().expect("it has no end");
                settlements.extend(match end {
                    Expires => None,
                    Retried => Some(Settlement::retry(receipt, ms(0))),
                    Released => Some(Settlement::release(receipt)),
                    Deferred => Some(Settlement::defer(receipt, ms(0))),
                });
                let charges = matches!(end, Expires | Retried);
                ended += usize::from(charges && *attempt == LAST);
                *attempt += u32::from(charges);
            }
        }
        if !settlements.is_empty() {
            queue.settle(&settlements).await.expect("settles");
        }
        stage.advance(10).await;
    }
    let letters = dead(&*queue).await;
    assert_eq!(letters.len(), messages.len());
    for letter in letters {
        let (push, ..) = &messages[&letter.body];
        assert_eq!((letter.attempts, &letter.headers), (LAST, &push.headers));
    }
}
