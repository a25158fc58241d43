//! L4: only the live lease settles.

use std::time::Duration;

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// Every way to end a lease, with `delay` where the message comes back.
fn every_settlement(receipt: Receipt, delay: Duration) -> [Settlement; 5] {
    [
        Settlement::ack(receipt),
        Settlement::retry(receipt, delay),
        Settlement::defer(receipt, delay),
        Settlement::release(receipt),
        Settlement::bury(receipt, "no use"),
    ]
}

/// Fails if the receipt settles or extends anything, or leaves a trace.
async fn is_refused(queue: &dyn Leasing, receipt: Receipt) {
    let before = counted(queue).await;
    for settlement in every_settlement(receipt, LONG) {
        let settled = settle(queue, settlement.clone()).await;
        assert_eq!(settled, Settled::LeaseLost, "{settlement:?}");
        let error = queue.settle_one(settlement).await.expect_err("is lost");
        assert_eq!(error.kind(), ErrorKind::LeaseLost);
        assert_eq!(error.outcome(), Outcome::NotApplied);
    }
    let extended = queue
        .extend(&[receipt.into()], LONG)
        .await
        .expect("extends");
    assert_eq!(extended, [Extended::LeaseLost]);
    assert_eq!(counted(queue).await, before, "nothing changed");
}

pub(crate) async fn l4_a_stale_receipt_changes_nothing(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let stale = take_one_for(&*queue, ms(100)).await;
    stage.advance(100).await;
    let live = take_one_for(&*queue, ms(100)).await;
    assert_eq!((live.id(), live.attempt), (stale.id(), 2));
    assert!(live.receipt.token > stale.receipt.token, "strictly greater");
    is_refused(&*queue, stale.receipt).await;
    stage.advance(99).await;
    is_refused(&*queue, stale.receipt).await;
    ack(&*queue, &live).await;
    is_refused(&*queue, stale.receipt).await;
}

pub(crate) async fn l4_a_receipt_is_stale_from_its_deadline_on(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for settlement in 0..5 {
        let id = queue.put("x").await;
        let delivery = take_one_for(&*queue, ms(100)).await;
        stage.advance(99).await;
        let in_time = every_settlement(delivery.receipt, ms(7))[settlement].clone();
        let settled = settle(&*queue, in_time).await;
        assert_ne!(settled, Settled::LeaseLost, "1 ms before the deadline");
        stage.advance(7).await;
        for delivery in take(&*queue, 1).await {
            ack(&*queue, &delivery).await;
        }

        let next = queue.put("x").await;
        assert!(next > id);
        let delivery = take_one_for(&*queue, ms(100)).await;
        stage.advance(100).await;
        let late = every_settlement(delivery.receipt, ms(7))[settlement].clone();
        let settled = settle(&*queue, late).await;
        assert_eq!(
            settled,
            Settled::LeaseLost,
            "at the deadline, though nobody else has it"
        );
        let again = take_one(&*queue).await;
        assert_eq!((again.id(), again.attempt), (next, 2));
        ack(&*queue, &again).await;
    }
}

pub(crate) async fn l4_a_lease_is_stale_before_anybody_takes_it_back(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(300).await;
    let mut deliveries = Vec::new();
    for _ in 0..3 {
        deliveries.extend(take_for(&*queue, 100, ms(100)).await);
    }
    stage.advance(100).await;
    // Each call reclaims 128 leases; these are the last.
    let last = deliveries[299].receipt;
    let settled = settle(&*queue, Settlement::ack(last)).await;
    assert_eq!(settled, Settled::LeaseLost);
    let extended = queue.extend(&[last.into()], LONG).await.expect("extends");
    assert_eq!(extended, [Extended::LeaseLost]);
    assert_eq!(depth(&*queue).await, [300, 0, 0, 0]);
}

pub(crate) async fn l4_extend_does_not_revive_an_expired_lease(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    let delivery = take_one_for(&*queue, ms(100)).await;
    stage.advance(100).await;
    let extended = queue
        .extend(&[delivery.receipt.into()], LONG)
        .await
        .expect("extends");
    assert_eq!(extended, [Extended::LeaseLost]);
    assert_eq!(take_one(&*queue).await.attempt, 2);
}

pub(crate) async fn l4_a_settled_lease_settles_no_more(stage: &Stage<'_>) {
    for settlement in 0..5 {
        let queue = stage.leasing_named(&format!("q{settlement}"), |_| {}).await;
        queue.put_numbered(1).await;
        let receipt = take_one(&*queue).await.receipt;
        let first = every_settlement(receipt, LONG)[settlement].clone();
        assert_ne!(settle(&*queue, first).await, Settled::LeaseLost);
        is_refused(&*queue, receipt).await;
    }
}

pub(crate) async fn l4_a_made_up_receipt_matches_nothing(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let live = take_one(&*queue).await;
    let Receipt { id: leased, token } = live.receipt;
    let made_up = [
        Receipt::new(leased, Token::new(token.get() + 1)),
        Receipt::new(leased, Token::new(token.get() - 1)),
        Receipt::new(leased, Token::new(0)),
        Receipt::new(leased, Token::new(u64::MAX)),
        Receipt::new(id(2), token),
        Receipt::new(id(3), token),
        Receipt::new(id(0), Token::new(0)),
        Receipt::new(id(u64::MAX), Token::new(u64::MAX)),
    ];
    for receipt in made_up {
        is_refused(&*queue, receipt).await;
    }
    let rebuilt = Receipt::new(id(leased.get()), Token::new(token.get()));
    let settled = settle(&*queue, Settlement::ack(rebuilt)).await;
    assert_eq!(
        settled,
        Settled::Done,
        "a receipt can be stored and built again"
    );
}

pub(crate) async fn l4_equal_receipts_in_a_batch_act_once(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    let deliveries = take(&*queue, 3).await;
    let receipt = |index: usize| deliveries[index].receipt;
    let batch = [
        Settlement::ack(receipt(0)),
        Settlement::release(receipt(1)),
        Settlement::ack(receipt(0)),
        Settlement::ack(receipt(1)),
        Settlement::bury(receipt(2), "dead"),
        Settlement::retry(receipt(2), ms(1)),
    ];
    use Settled::{Dead, Done, LeaseLost};
    let settled = queue.settle(&batch).await.expect("settles");
    assert_eq!(settled, [Done, Done, LeaseLost, LeaseLost, Dead, LeaseLost]);
    assert_eq!(depth(&*queue).await, [1, 0, 0, 1]);

    let extended = queue
        .extend(&[receipt(0).into(), receipt(0).into()], LONG)
        .await
        .expect("extends");
    assert_eq!(extended, [Extended::LeaseLost, Extended::LeaseLost]);
    let live = take_one(&*queue).await.receipt;
    let extended = queue
        .extend(&[live.into(), live.into()], LONG)
        .await
        .expect("extends");
    assert_eq!(
        extended,
        [Extended::Extended, Extended::Extended],
        "extending ends nothing"
    );
}

pub(crate) async fn l4_settle_and_lease_is_settle_and_then_lease(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    queue.put_numbered(3).await;
    let (settled, leased) = queue
        .settle_and_lease(&[], count(1), LONG, None)
        .await
        .expect("settled and leased");
    assert_eq!((settled, ids(&leased.deliveries)), (vec![], vec![1]));
    let first = leased.deliveries[0].receipt;

    let release = [Settlement::release(first), Settlement::ack(first)];
    let (settled, leased) = queue
        .settle_and_lease(&release, count(3), LONG, None)
        .await
        .expect("settled and leased");
    assert_eq!(settled, [Settled::Done, Settled::LeaseLost]);
    let mut got = ids(&leased.deliveries);
    got.sort_unstable();
    assert_eq!(got, [1, 2, 3], "what was released just now is leased again");
    assert!(
        leased
            .deliveries
            .iter()
            .all(|delivery| delivery.attempt == 1)
    );

    let acks = settlements(&leased.deliveries, Settlement::ack);
    let (settled, leased) = queue
        .settle_and_lease(&acks, count(1), LONG, None)
        .await
        .expect("settled and leased");
    assert_eq!(
        (settled, leased),
        (vec![Settled::Done; 3], Leased::nothing(None))
    );
}
