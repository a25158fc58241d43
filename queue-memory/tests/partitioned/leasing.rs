//! Leases rotate over the partitions, and settlements go to their message's partition.

use queue_core::{
    Cancelled, Due, ErrorKind, Extended, Leasing, LeasingExt, MessageId, Outcome, Push, Receipt,
    Rescheduled, Revival, Revived, Settled, Settlement, Token,
};

use crate::{HOUR, LEASE, count, counted::Refusing, delay, ms, reliable_behind};

#[tokio::test]
async fn an_id_of_no_partition_is_of_no_message() {
    let queue = delay(3).await;
    let there = queue
        .push_one(Push::from("x").with_due(HOUR))
        .await
        .unwrap()
        .id()
        .unwrap();
    for partition in [3, 4, 63, 255] {
        let id = MessageId::new(partition << 56 | 1);
        let receipt = Receipt::new(id, Token::new(1));
        let lost = queue.settle(&[Settlement::ack(receipt)]).await.unwrap();
        assert_eq!(lost, [Settled::LeaseLost]);
        let (settled, _) = queue
            .settle_and_lease(&[Settlement::ack(receipt)], count(1), LEASE, None)
            .await
            .unwrap();
        assert_eq!(settled, [Settled::LeaseLost]);
        assert_eq!(
            queue.extend(&[receipt.into()], LEASE).await.unwrap(),
            [Extended::LeaseLost]
        );
        assert_eq!(queue.cancel(&[id]).await.unwrap(), [Cancelled::NeverWas]);
        assert_eq!(
            queue.revive(&[id], Revival::WithState).await.unwrap(),
            [Revived::NotFound]
        );
        assert_eq!(queue.discard(&[id]).await.unwrap(), 0);
        let moved = queue.reschedule(&[id], Due::After(LEASE)).await.unwrap();
        assert_eq!(moved, [Rescheduled::TooLate]);
    }
    let both = [MessageId::new(200 << 56 | 1), there];
    let cancelled = queue.cancel(&both).await.unwrap();
    assert_eq!(cancelled, [Cancelled::NeverWas, Cancelled::Cancelled]);
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_is_down_hides_no_message_of_the_others() {
    let refusing = Refusing::default();
    let jobs = reliable_behind(refusing.clone(), 3).await;
    for n in 0..30 {
        jobs.push_one(n.to_string()).await.unwrap().id().unwrap();
    }
    refusing.refuse("1of3");
    let mut got = Vec::new();
    while got.len() < 20 {
        let leased = jobs
            .lease(count(3), LEASE)
            .await
            .expect("the others answer");
        assert!(!leased.is_empty());
        got.extend(leased.deliveries);
    }
    // It is unknown whether there are more messages.
    let error = jobs.lease(count(3), LEASE).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("1of3"), "{error}");
    let waited = jobs.receive(1, LEASE, ms(500)).await;
    assert!(waited.is_err(), "{waited:?}");

    refusing.refuse("0of3");
    let acks: Vec<_> = got
        .iter()
        .map(|delivery| Settlement::ack(delivery.receipt))
        .collect();
    let error = jobs.settle(&acks).await.unwrap_err();
    assert_eq!(
        error.outcome(),
        Outcome::Unknown,
        "partition 2 has settled its own: {error}"
    );
    let error = jobs
        .settle_and_lease(&acks, count(1), LEASE, None)
        .await
        .unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    refusing.refuse("nothing");
    let settled = jobs.settle(&acks).await.unwrap();
    let done = settled
        .iter()
        .filter(|settled| **settled == Settled::Done)
        .count();
    assert_eq!(
        done, 10,
        "those of partition 0; the others were done before"
    );
    let counters = jobs.counters().await.unwrap();
    assert_eq!(
        (counters.acked, counters.depth.ready, counters.depth.leased),
        (20, 10, 0)
    );
}

#[tokio::test]
async fn a_settle_and_lease_whose_settlement_fails_leases_nothing() {
    let refusing = Refusing::default();
    let jobs = reliable_behind(refusing.clone(), 3).await;
    for n in 0..30 {
        jobs.push_one(n.to_string()).await.unwrap().id().unwrap();
    }
    let held = jobs.lease(count(25), LEASE).await.unwrap().deliveries;
    for partition in ["0of3", "1of3", "2of3"] {
        refusing.refuse(partition);
        for _ in 0..10 {
            let acks: Vec<_> = held
                .iter()
                .map(|one| Settlement::ack(one.receipt))
                .collect();
            jobs.settle_and_lease(&acks, count(1), LEASE, None)
                .await
                .unwrap_err();
        }
        refusing.refuse("nothing");
    }
    assert_eq!(
        jobs.depth().await.unwrap().leased,
        0,
        "all are settled, and none was leased"
    );
}
