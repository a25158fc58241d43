//! Q1 and Q2: the limits of a whole queue.

use queue_core::*;

use super::handing_over::next_delivery;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// Leases up to `max` messages, and returns how many there were, and the time until the next.
async fn taken(queue: &dyn Leasing, max: usize) -> (usize, Option<u64>) {
    let leased = queue.lease(count(max), LONG).await.expect("leases");
    let next = leased.next.map(|next| next.as_millis() as u64);
    (leased.deliveries.len(), next)
}

pub(crate) async fn q1_no_more_are_leased_than_the_limit_at_once(stage: &Stage<'_>) {
    let three = |config: &mut LeasingConfig| config.at_once = Some(3);
    let queue = stage.leasing_with(three).await;
    queue.put_numbered(9).await;
    let held = take_for(&*queue, 2, ms(50)).await;
    assert_eq!(taken(&*queue, 5).await.0, 1, "up to the limit");
    assert_eq!(taken(&*queue, 5).await, (0, Some(50)), "until a lease ends");
    let same = stage.leasing_with(three).await;
    assert_eq!(taken(&*same, 1).await.0, 0, "for every client");
    assert_eq!(depth(&*queue).await, [6, 0, 3, 0]);
    settle_live(&*queue, Settlement::ack(held[0].receipt)).await;
    assert_eq!(taken(&*same, 5).await.0, 1, "an ack frees a place");
    let retry = Settlement::retry(held[1].receipt, ms(20));
    let answer = queue.settle_and_lease(&[retry], count(5), LONG, None).await;
    let leased = answer.expect("settled and leased").1;
    assert_eq!(
        leased.deliveries.len(),
        1,
        "so does a retry, in the same call"
    );
    let bury = Settlement::bury(leased.deliveries[0].receipt, "dead");
    settle_live(&*queue, bury).await;
    assert_eq!(taken(&*queue, 5).await.0, 1, "and a death");
}

pub(crate) async fn q1_an_expired_lease_frees_its_place(stage: &Stage<'_>) {
    let limit = |config: &mut LeasingConfig| (config.at_once, config.max_attempts) = (Some(2), 1);
    let queue = stage.leasing_with(limit).await;
    queue.put_numbered(4).await;
    take_for(&*queue, 2, ms(30)).await;
    stage.advance(29).await;
    assert_eq!(taken(&*queue, 4).await, (0, Some(1)));
    stage.advance(1).await;
    assert_eq!(
        taken(&*queue, 4).await.0,
        2,
        "both died of their last attempt"
    );
}

pub(crate) async fn q1_a_lowered_limit_ends_no_lease(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.at_once = Some(4)).await;
    queue.put_numbered(9).await;
    let held = take(&*queue, 4).await;
    let limit = async |most| {
        stage
            .reconfigure_leasing(|config| config.at_once = most)
            .await;
    };
    limit(Some(2)).await;
    extend(&*queue, held[0].receipt, LONG).await;
    ack_all(&*queue, &held[..2]).await;
    assert_eq!(taken(&*queue, 9).await.0, 0, "two are left");
    ack(&*queue, &held[2]).await;
    assert_eq!(taken(&*queue, 9).await.0, 1);
    limit(Some(3)).await;
    assert_eq!(taken(&*queue, 9).await.0, 1, "a raised one holds at once");
    limit(None).await;
    assert_eq!(taken(&*queue, 9).await.0, 3, "all that are left");
}

pub(crate) async fn q1_batches_of_one_call_count_each_message(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(40).await;
    // Before there is a limit, a backend may keep one lease for many messages.
    let held = take(&*queue, 20).await;
    stage
        .reconfigure_leasing(|config| config.at_once = Some(20))
        .await;
    assert_eq!(taken(&*queue, 20).await.0, 0);
    ack_all(&*queue, &held[3..7]).await;
    assert_eq!(taken(&*queue, 20).await.0, 4);
    ack_all(&*queue, &held[..3]).await;
    ack_all(&*queue, &held[7..]).await;
    assert_eq!(taken(&*queue, 40).await.0, 16);
}

pub(crate) async fn q1_a_place_that_becomes_free_is_an_arrival(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.at_once = Some(1)).await;
    queue.put_numbered(6).await;
    let mut held = take_one(&*queue).await;
    let ends: [fn(Receipt) -> Settlement; 4] = [
        Settlement::ack,
        |receipt| Settlement::bury(receipt, "dead"),
        |receipt| Settlement::retry(receipt, LONG),
        |receipt| Settlement::defer(receipt, LONG),
    ];
    for end in ends {
        let waiting = stage.receiver(&queue).await;
        settle_live(&*queue, end(held.receipt)).await;
        held = stage.prompt("a receive after a settlement", waiting).await;
    }
    let waiting = stage.receiver(&queue).await;
    stage
        .reconfigure_leasing(|config| config.at_once = Some(2))
        .await;
    stage
        .prompt("a receive after the limit was raised", waiting)
        .await;
}

pub(crate) async fn q1_a_waiting_caller_gets_no_message_beyond_it(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.at_once = Some(1)).await;
    queue.put_numbered(1).await;
    let held = take_one(&*queue).await;
    let waiting = stage.start(next_delivery(queue.clone(), None)).await;
    queue.put_numbered(2).await;
    assert_eq!(depth(&*queue).await, [2, 0, 1, 0], "nothing is handed over");
    ack(&*queue, &held).await;
    stage.prompt("a wait for a place", waiting).await;
    assert_eq!(depth(&*queue).await, [1, 0, 1, 0]);
}

/// Sets a rate of three in 60 ms: a token each 20 ms.
fn three_in_60(config: &mut LeasingConfig) {
    config.rate = Some(LeaseRate::new(3, ms(60)));
}

pub(crate) async fn q2_no_more_are_handed_out_than_the_rate_allows(stage: &Stage<'_>) {
    let queue = stage.leasing_with(three_in_60).await;
    queue.put_numbered(9).await;
    assert_eq!(counted(&*queue).await.next_token, None);
    assert_eq!(taken(&*queue, 9).await.0, 3, "the bucket is full at first");
    assert_eq!(taken(&*queue, 9).await, (0, Some(20)));
    assert_eq!(counted(&*queue).await.next_token, Some(ms(20)));
    stage.advance(19).await;
    let same = stage.leasing_with(three_in_60).await;
    assert_eq!(taken(&*same, 9).await, (0, Some(1)), "for every client");
    stage.advance(1).await;
    assert_eq!(taken(&*queue, 9).await.0, 1);
    stage.advance(50).await;
    assert_eq!(taken(&*queue, 1).await.0, 1);
    assert_eq!(taken(&*queue, 9).await.0, 1, "of two and a half tokens");
    assert_eq!(taken(&*queue, 9).await, (0, Some(10)));
    stage.advance(1_000).await;
    assert_eq!(taken(&*queue, 9).await.0, 3, "it holds three at most");
}

pub(crate) async fn q2_a_redelivery_takes_a_token_and_no_settlement_gives_one_back(
    stage: &Stage<'_>,
) {
    let queue = stage.leasing_with(three_in_60).await;
    queue.put_numbered(2).await;
    for end in [Settlement::release, Settlement::ack, Settlement::release] {
        let held = take_one(&*queue).await;
        settle_live(&*queue, end(held.receipt)).await;
    }
    assert_eq!(taken(&*queue, 1).await, (0, Some(20)));
    stage.advance(20).await;
    let held = take_one(&*queue).await;
    ack(&*queue, &held).await;
    assert_eq!(
        taken(&*queue, 1).await,
        (0, None),
        "nothing waits for a token"
    );
}

pub(crate) async fn q2_with_another_rate_the_bucket_is_as_full_as_before(stage: &Stage<'_>) {
    let queue = stage.leasing_with(three_in_60).await;
    queue.put_numbered(20).await;
    assert_eq!(taken(&*queue, 9).await.0, 3);
    let change = |config: &mut LeasingConfig| {
        three_in_60(config);
        config.max_attempts = 9;
    };
    stage.reconfigure_leasing(change).await;
    assert_eq!(taken(&*queue, 9).await, (0, Some(20)), "the same rate");
    let slower = |config: &mut LeasingConfig| config.rate = Some(LeaseRate::new(2, ms(100)));
    for _ in 0..3 {
        stage.reconfigure_leasing(slower).await;
        assert_eq!(taken(&*queue, 9).await, (0, Some(50)), "as empty as before");
        stage.reconfigure_leasing(three_in_60).await;
        assert_eq!(taken(&*queue, 9).await, (0, Some(20)), "and back");
    }
    stage.advance(40).await;
    stage.reconfigure_leasing(slower).await;
    assert_eq!(taken(&*queue, 9).await.0, 1, "two thirds of two tokens");
    assert_eq!(taken(&*queue, 9).await, (0, Some(34)), "a third is left");
    stage.reconfigure_leasing(|_| {}).await;
    assert_eq!(taken(&*queue, 9).await.0, 9, "no rate at all");
    stage.reconfigure_leasing(three_in_60).await;
    assert_eq!(taken(&*queue, 9).await.0, 3, "a new rate begins full");
}

pub(crate) async fn q2_a_waiter_gets_the_next_token_in_time(stage: &Stage<'_>) {
    let rate = |config: &mut LeasingConfig| config.rate = Some(LeaseRate::new(1, ms(60)));
    let queue = stage.leasing_with(rate).await;
    queue.put_numbered(3).await;
    take_one(&*queue).await;
    let waiting = stage.receiver(&queue).await;
    stage
        .within("a receive of the next token", ms(60), waiting)
        .await;
    let waiting = stage.receiver(&queue).await;
    stage.reconfigure_leasing(|_| {}).await;
    stage.prompt("a receive after the rate went", waiting).await;
}

pub(crate) async fn q2_both_limits_hold_together(stage: &Stage<'_>) {
    let both = |config: &mut LeasingConfig| {
        three_in_60(config);
        config.at_once = Some(2);
    };
    let queue = stage.leasing_with(both).await;
    queue.put_numbered(9).await;
    let held = take(&*queue, 9).await;
    assert_eq!(held.len(), 2, "at once");
    ack_all(&*queue, &held).await;
    assert_eq!(taken(&*queue, 9).await.0, 1, "of the last token");
    assert_eq!(taken(&*queue, 9).await, (0, Some(20)));
    stage.advance(40).await;
    assert_eq!(
        taken(&*queue, 9).await.0,
        1,
        "beside the one that is leased"
    );
}

pub(crate) async fn limits_of_a_queue_have_bounds(stage: &Stage<'_>) {
    type Set = fn(&mut LeasingConfig);
    let wrong: [(Set, &str); 5] = [
        (|config| config.at_once = Some(0), "an at_once of 0"),
        (
            |config| config.rate = Some(LeaseRate::new(0, ms(1))),
            "a rate of 0",
        ),
        (
            |config| config.rate = Some(LeaseRate::new(1_000_001, ms(1))),
            "1000001",
        ),
        (
            |config| config.rate = Some(LeaseRate::new(1, ms(0))),
            "a rate's time of 0 ms",
        ),
        (
            |config| config.rate = Some(LeaseRate::new(1, ms(86_400_001))),
            "86400001",
        ),
    ];
    for (set, named) in wrong {
        refused(stage.try_leasing("wrong", set).await.map(drop), named);
    }
    let most: [(Set, &str); 2] = [
        (|config| config.at_once = Some(u32::MAX), "at-once"),
        (
            |config| config.rate = Some(LeaseRate::new(1_000_000, ms(86_400_000))),
            "rate",
        ),
    ];
    for (set, named) in most {
        let opened = stage.try_leasing(named, set).await;
        opened.expect("within its bounds");
    }
}
