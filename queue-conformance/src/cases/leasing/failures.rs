//! L14: a message carries the reason of its last retry.

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

async fn fail(queue: &dyn Leasing, delivery: &Delivery, reason: &str) {
    let retry = Settlement::retry_because(delivery.receipt, ms(0), reason);
    settle_live(queue, retry).await;
}

pub(crate) async fn l14_a_delivery_tells_why_the_last_retry_failed(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 9).await;
    queue.put_numbered(1).await;
    let delivery = take_one(&*queue).await;
    assert_eq!(delivery.failure, None, "it never failed");
    fail(&*queue, &delivery, "no paper").await;
    let delivery = take_one(&*queue).await;
    assert_eq!(delivery.failure.as_deref(), Some("no paper"));
    fail(&*queue, &delivery, "no ink").await;
    let delivery = take_one(&*queue).await;
    assert_eq!(delivery.failure.as_deref(), Some("no ink"), "the last one");
    settle_live(&*queue, Settlement::retry(delivery.receipt, ms(0))).await;
    let delivery = take_one(&*queue).await;
    assert_eq!(delivery.failure, None, "the last retry gave no reason");
    fail(&*queue, &delivery, "no paper").await;
    let delivery = take_one(&*queue).await;
    fail(&*queue, &delivery, "").await;
    let delivery = take_one(&*queue).await;
    assert_eq!(delivery.failure, None, "an empty reason is none");
    assert_eq!(delivery.attempt, 6);
}

pub(crate) async fn l14_only_a_retry_changes_the_reason(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let body = Bytes::from_static(b"\xff\x00");
    let headers = Headers::new().with("tenant", "acme");
    let push = Push::new(body.clone()).with_headers(headers.clone());
    queue.put(push).await;
    fail(&*queue, &take_one(&*queue).await, "no paper").await;
    let other_endings = [
        |receipt| Settlement::release(receipt),
        |receipt| Settlement::defer(receipt, ms(0)),
    ];
    for end in other_endings {
        let delivery = take_one(&*queue).await;
        assert_eq!(delivery.failure.as_deref(), Some("no paper"));
        settle_live(&*queue, end(delivery.receipt)).await;
    }
    take_one_for(&*queue, ms(10)).await;
    stage.advance(10).await;
    let delivery = take_one(&*queue).await;
    assert_eq!(delivery.failure.as_deref(), Some("no paper"), "expired");
    assert_eq!((delivery.attempt, &delivery.body), (3, &body));
    assert_eq!(delivery.headers, headers);
    settle_live(&*queue, Settlement::bury(delivery.receipt, "enough")).await;
    let letter = one_dead(&*queue).await;
    assert_eq!(letter.reason, DeathReason::Buried("enough".into()));
    assert_eq!(letter.failure.as_deref(), Some("no paper"));
    assert_eq!((&letter.body, &letter.headers), (&body, &headers));
}

pub(crate) async fn l14_a_dead_letter_tells_why_it_failed_and_when_it_was_pushed(
    stage: &Stage<'_>,
) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    queue.put_numbered(1).await;
    let first = take_one(&*queue).await;
    stage.advance(100).await;
    fail(&*queue, &first, "no paper").await;
    let second = take_one(&*queue).await;
    stage.advance(20).await;
    fail(&*queue, &second, "no ink").await;
    let letter = one_dead(&*queue).await;
    assert_eq!(letter.reason, DeathReason::Retried);
    assert_eq!(letter.failure.as_deref(), Some("no ink"));
    assert_eq!(
        letter.why(),
        "died after 2 attempts: retried on its last attempt: no ink"
    );
    // A token begins with the time of its lease.
    let pushed_at = first.receipt.token.get() / Token::PER_MILLI;
    assert_eq!(letter.pushed_at.as_millis(), pushed_at);
    assert_eq!(letter.died_at.since(letter.pushed_at), ms(120));
}

pub(crate) async fn l14_a_long_reason_is_cut_between_characters(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let whole = "x".repeat(limits::MAX_REASON);
    let umlauts = format!("x{}", "ü".repeat(limits::MAX_REASON));
    for (reason, kept) in [
        (&whole, whole.clone()),
        (&umlauts, format!("x{}", "ü".repeat(511))),
    ] {
        queue.put_numbered(1).await;
        fail(&*queue, &take_one(&*queue).await, reason).await;
        let delivery = take_one(&*queue).await;
        assert_eq!(delivery.failure, Some(kept));
        ack(&*queue, &delivery).await;
    }
}

pub(crate) async fn l14_a_revived_message_has_no_reason_and_was_pushed_when_it_was(
    stage: &Stage<'_>,
) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    queue.put_numbered(1).await;
    let pushed = take_one(&*queue).await;
    stage.advance(50).await;
    fail(&*queue, &pushed, "no paper").await;
    queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    stage.advance(50).await;
    let delivery = take_one(&*queue).await;
    assert_eq!((delivery.attempt, &delivery.failure), (1, &None));
    settle_live(&*queue, Settlement::retry(delivery.receipt, ms(0))).await;
    let letter = one_dead(&*queue).await;
    assert_eq!(letter.failure, None);
    let pushed_at = pushed.receipt.token.get() / Token::PER_MILLI;
    assert_eq!(letter.pushed_at.as_millis(), pushed_at, "not when revived");
}
