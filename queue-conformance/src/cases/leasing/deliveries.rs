//! L20: what a delivery says of its message.

use std::collections::BTreeMap;

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn l20_a_delivery_says_whether_it_is_the_last(stage: &Stage<'_>) {
    stage.needs_rule("L6");
    let queue = stage.leasing_with(|config| config.max_attempts = 3).await;
    queue.put_numbered(1).await;
    for attempt in 1..=3 {
        let delivery = take_one(&*queue).await;
        assert_eq!(delivery.last_attempt, attempt == 3, "attempt {attempt}");
        let settled = settle(&*queue, Settlement::release(delivery.receipt)).await;
        assert_eq!(settled, Settled::Done);
        let again = take_one(&*queue).await;
        assert_eq!(again.last_attempt, attempt == 3, "the attempt was refunded");
        let settled = settle(&*queue, Settlement::retry(again.receipt, ms(0))).await;
        assert_eq!(settled == Settled::Dead, again.last_attempt);
    }
}

pub(crate) async fn l20_the_last_attempt_is_that_of_the_stored_configuration(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    queue.put_numbered(40).await;
    for (stored, is_last) in [(1, true), (3, false), (2, false), (1, true)] {
        let reconfigured = stage.reconfigure_leasing(|config| config.max_attempts = stored);
        reconfigured.await;
        // One message, a few that some backends lease together, and a few that come back.
        for several in [1, 6, 6] {
            let deliveries = take(&*queue, several).await;
            let last: Vec<bool> = deliveries.iter().map(|one| one.last_attempt).collect();
            assert_eq!(last, vec![is_last; several], "{stored} are stored");
            let releases = settlements(&deliveries, Settlement::release);
            let settled = queue.settle(&releases).await.expect("settles");
            assert_eq!(settled, vec![Settled::Done; several]);
        }
    }
}

/// The ages of all leased messages by their id, as a peek shows them.
async fn shown_ages(queue: &dyn Leasing) -> BTreeMap<MessageId, Option<std::time::Duration>> {
    let page = queue.peek(Place::Leased, Page::first(limits::MAX_PAGE));
    let shown = page.await.expect("peeks").entries;
    let ages = shown.iter().map(|each| (each.message.id, Some(each.age)));
    ages.collect()
}

pub(crate) async fn l20_an_age_counts_from_the_push(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    stage.advance(30).await;
    let first = take_one(&*queue).await;
    assert_eq!(shown_ages(&*queue).await, [(first.id(), first.age)].into());
    assert_eq!(first.age, Some(ms(30)));
    settle_live(&*queue, Settlement::retry(first.receipt, ms(5))).await;
    stage.advance(7).await;
    let second = take_one_for(&*queue, ms(10)).await;
    assert_eq!(second.age, Some(ms(37)), "after a retry");
    stage.advance(10).await;
    assert_eq!(
        take_one(&*queue).await.age,
        Some(ms(47)),
        "after an expiry, not reclaimed before"
    );
}

pub(crate) async fn l20_a_revival_does_not_begin_the_age_again(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(1).await;
    stage.advance(10).await;
    let dead = bury_next(&*queue, "no use").await;
    stage.advance(10).await;
    let revived = queue
        .revive(&[dead], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(revived, [Revived::Revived]);
    stage.advance(10).await;
    assert_eq!(take_one(&*queue).await.age, Some(ms(30)));
}

pub(crate) async fn l20_each_message_of_a_batch_has_its_age(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    stage.advance(20).await;
    queue.put_numbered(40).await;
    stage.advance(5).await;
    let deliveries = take(&*queue, 128).await;
    let ages: BTreeMap<_, _> = deliveries.iter().map(|one| (one.id(), one.age)).collect();
    assert_eq!(ages, shown_ages(&*queue).await);
    let of_age = |age| ages.values().filter(|own| **own == Some(ms(age))).count();
    assert_eq!((of_age(25), of_age(5)), (3, 40));
}
