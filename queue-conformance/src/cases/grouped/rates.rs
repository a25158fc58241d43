//! Q3: rates of groups.

use std::sync::Arc;

use queue_core::*;

use super::{groups, push, sorted};
use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// Two in 60 ms for each group: a token each 30 ms.
fn two_in_60() -> GroupedConfig {
    GroupedConfig::loose(100).with_group_rate(2, ms(60))
}

/// Leases all that may be leased, and returns the ids, and the ms until the next.
async fn taken(queue: &dyn Leasing) -> (Vec<u64>, Option<u64>) {
    let leased = queue.lease(count(50), LONG).await.expect("leases");
    let next = leased.next.map(|next| next.as_millis() as u64);
    (ids(&sorted(leased.deliveries)), next)
}

/// The time until the next token of the group with this key.
async fn next_token(queue: &dyn GroupedQueue, key: &str) -> Option<u64> {
    let groups = groups(queue).await;
    let group = groups.into_iter().find(|group| group.key == key);
    let next = group.expect("is shown").next_token;
    next.map(|next| next.as_millis() as u64)
}

pub(crate) async fn q3_a_group_waits_for_its_token_and_holds_up_no_other(stage: &Stage<'_>) {
    let queue = stage.grouped_with(two_in_60()).await;
    push(&*queue, &["a", "a", "a", "a", "b"]).await;
    assert_eq!(taken(&*queue).await.0, [1, 2, 5], "a bucket for each group");
    assert_eq!(taken(&*queue).await, (vec![], Some(30)));
    let shown = groups(&*queue).await;
    let (a, b) = (&shown[0], &shown[1]);
    assert_eq!(a.rate, Some(LeaseRate::new(2, ms(60))));
    assert_eq!((a.next_token, b.next_token), (Some(ms(30)), None));
    assert!(a.waits_for_token() && !a.may_run && !b.waits_for_token());
    stage.advance(29).await;
    let same = stage.grouped_with(two_in_60()).await;
    assert_eq!(taken(&*same).await, (vec![], Some(1)), "for every client");
    push(&*queue, &["b", "c"]).await;
    assert_eq!(taken(&*same).await.0, [6, 7], "the other groups go on");
    stage.advance(1).await;
    assert_eq!(taken(&*queue).await.0, [3]);
    assert_eq!(taken(&*queue).await, (vec![], Some(30)));
    stage.advance(1_000).await;
    push(&*queue, &["a", "a", "a"]).await;
    assert_eq!(taken(&*queue).await.0, [4, 8], "it holds two at most");
}

pub(crate) async fn q3_a_redelivery_takes_a_token_and_no_settlement_gives_one_back(
    stage: &Stage<'_>,
) {
    let config = GroupedConfig::default().with_group_rate(3, ms(60));
    let queue = stage.grouped_with(config).await;
    push(&*queue, &["a", "a"]).await;
    for end in [Settlement::release, Settlement::ack, Settlement::release] {
        let held = take_one(&*queue).await;
        settle_live(&*queue, end(held.receipt)).await;
    }
    assert_eq!(taken(&*queue).await, (vec![], Some(20)));
    stage.advance(20).await;
    let held = take_one(&*queue).await;
    ack(&*queue, &held).await;
    assert_eq!(taken(&*queue).await, (vec![], None), "no group waits");
}

pub(crate) async fn q3_a_rule_gives_one_group_a_rate_of_its_own(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(100)).await;
    push(&*queue, &["a", "a", "a", "b", "b", "b"]).await;
    let rule = GroupRule::lasting(ms(100)).with_rate(1, ms(80));
    queue.set_rule("a", rule).await.expect("changes");
    assert_eq!(taken(&*queue).await.0, [1, 4, 5, 6]);
    assert_eq!(taken(&*queue).await, (vec![], Some(80)));
    // The same rate, and so the same bucket.
    queue
        .set_rule("a", rule.with_weight(2))
        .await
        .expect("changes");
    assert_eq!(taken(&*queue).await, (vec![], Some(80)));
    stage.advance(80).await;
    assert_eq!(taken(&*queue).await.0, [2]);
    assert_eq!(taken(&*queue).await, (vec![], Some(20)), "the rule's end");
    stage.advance(20).await;
    assert_eq!(taken(&*queue).await.0, [3]);
    push(&*queue, &["a"; 5]).await;
    assert_eq!(taken(&*queue).await.0, [7, 8, 9, 10, 11], "without a rate");
}

pub(crate) async fn q3_with_another_rate_the_bucket_is_as_full_as_before(stage: &Stage<'_>) {
    let queue = stage.grouped_with(two_in_60()).await;
    let reconfigure = async |most, per| {
        let config = GroupedConfig::loose(100).with_group_rate(most, ms(per));
        stage.reconfigure(config.into()).await.expect("changes");
    };
    let rule = async |most, per| {
        let rule = GroupRule::lasting(ms(1_000_000)).with_rate(most, ms(per));
        queue.set_rule("a", rule).await.expect("changes");
    };
    push(&*queue, &["a"; 20]).await;
    push(&*queue, &["b"]).await;
    assert_eq!(taken(&*queue).await.0, [1, 2, 21]);
    for _ in 0..3 {
        reconfigure(5, 200).await;
        assert_eq!(taken(&*queue).await, (vec![], Some(40)), "as empty");
        rule(1, 70).await;
        assert_eq!(taken(&*queue).await, (vec![], Some(70)), "by its rule");
        reconfigure(2, 60).await;
        assert_eq!(taken(&*queue).await, (vec![], Some(70)), "its own rate");
        queue.end_rule("a").await.expect("changes");
        assert_eq!(taken(&*queue).await, (vec![], Some(30)), "and back");
    }
    stage.advance(15).await;
    // A quarter of the bucket is there, of 20 tokens.
    reconfigure(20, 200).await;
    assert_eq!(taken(&*queue).await.0, [3, 4, 5, 6, 7]);
    assert_eq!(taken(&*queue).await, (vec![], Some(10)));
    stage
        .reconfigure(GroupedConfig::loose(100).into())
        .await
        .expect("changes");
    assert_eq!(taken(&*queue).await.0.len(), 13, "without a rate");
    push(&*queue, &["a"; 5]).await;
    reconfigure(2, 60).await;
    assert_eq!(taken(&*queue).await.0, [22, 23], "a new rate begins full");
}

/// A backend may give the buckets of many groups another rate in steps.
pub(crate) async fn q3_another_rate_reaches_many_groups(stage: &Stage<'_>) {
    const GROUPS: usize = 1_200;
    let slow = GroupedConfig::default().with_group_rate(1, ms(60_000));
    let queue = stage.grouped_with(slow).await;
    let keys: Vec<String> = (0..GROUPS).map(|key| key.to_string()).collect();
    let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
    for keys in keys.chunks(limits::MAX_BATCH) {
        push(&*queue, keys).await;
        push(&*queue, keys).await;
    }
    let take_all = async || {
        let mut taken = 0;
        loop {
            let leased = queue.lease(count(limits::MAX_BATCH), LONG).await;
            let deliveries = leased.expect("leases").deliveries;
            if deliveries.is_empty() {
                return taken;
            }
            taken += deliveries.len();
            let acks: Vec<_> = deliveries
                .iter()
                .map(|each| Settlement::ack(each.receipt))
                .collect();
            let settled = queue.settle(&acks).await.expect("settles");
            assert!(settled.iter().all(|settled| *settled == Settled::Done));
        }
    };
    assert_eq!(take_all().await, GROUPS);
    let quick = GroupedConfig::default().with_group_rate(1, ms(100));
    stage.reconfigure(quick.into()).await.expect("changes");
    assert_eq!(take_all().await, 0, "as empty as before");
    stage.advance(99).await;
    assert_eq!(take_all().await, 0);
    stage.advance(1).await;
    assert_eq!(take_all().await, GROUPS);
}

pub(crate) async fn q3_a_bucket_outlives_its_group_until_it_is_full(stage: &Stage<'_>) {
    let queue = stage.grouped_with(two_in_60()).await;
    for _ in 0..2 {
        push(&*queue, &["a"]).await;
        let held = take_one(&*queue).await;
        ack(&*queue, &held).await;
    }
    assert_eq!(groups(&*queue).await, [], "no messages, no group (G5)");
    assert_eq!(counted(&*queue).await.groups, 0);
    push(&*queue, &["a"]).await;
    assert_eq!(taken(&*queue).await, (vec![], Some(30)));
    assert_eq!(next_token(&*queue, "a").await, Some(30));
    stage.advance(30).await;
    let held = take_one(&*queue).await;
    ack(&*queue, &held).await;
    // 60 ms, not 30: the message has taken the token of these 30 ms.
    stage.advance(59).await;
    push(&*queue, &["a", "a"]).await;
    assert_eq!(taken(&*queue).await.0, [4]);
    assert_eq!(taken(&*queue).await, (vec![], Some(1)));
}

pub(crate) async fn q3_turns_are_of_the_groups_with_tokens(stage: &Stage<'_>) {
    let config = GroupedConfig::loose(100).with_group_rate(4, ms(40));
    let queue = stage.grouped_with(config).await;
    let heavy = GroupRule::lasting(ms(1_000_000)).with_weight(2);
    queue.set_rule("a", heavy).await.expect("changes");
    push(&*queue, &["a"; 8]).await;
    push(&*queue, &["b"; 8]).await;
    let keys = |delivered: Vec<Delivery>| {
        let keys = delivered.into_iter().filter_map(|each| each.group);
        keys.map(|key| String::from_utf8_lossy(&key).into_owned())
            .collect::<String>()
    };
    assert_eq!(keys(take(&*queue, 6).await), "abaaba");
    assert_eq!(keys(take(&*queue, 6).await), "bb", "a has no token left");
    stage.advance(20).await;
    assert_eq!(keys(take(&*queue, 6).await), "aabb", "two tokens each");
}

pub(crate) async fn q3_both_rates_hold_together(stage: &Stage<'_>) {
    let queue = stage.grouped_with(two_in_60().with_rate(3, ms(30))).await;
    push(&*queue, &["a", "a", "a", "b", "b", "b"]).await;
    assert_eq!(taken(&*queue).await.0.len(), 3, "of the queue's bucket");
    assert_eq!(taken(&*queue).await, (vec![], Some(10)));
    stage.advance(10).await;
    assert_eq!(taken(&*queue).await.0.len(), 1, "the last token of a group");
    stage.advance(10).await;
    assert_eq!(taken(&*queue).await, (vec![], Some(10)), "of the groups");
}

/// Ways in which a waiting caller gets a message by a token that comes.
const WAYS: [&str; 6] = ["take", "push", "ack", "resume", "faster", "no-rate"];

pub(crate) async fn q3_a_token_that_comes_wakes_who_waits(stage: &Stage<'_>) {
    let (soon, late) = (ms(60), ms(1_000_000));
    for way in WAYS {
        let per = match way {
            "faster" | "no-rate" => late,
            _ => soon,
        };
        let config = GroupedConfig::default().with_group_rate(1, per);
        let opened = stage.try_grouped(way, &config).await;
        let queue = opened.expect("opens");
        let waits = Arc::clone(&queue);
        let wait = async move { waits.receive_one(late, ms(2_000_000)).await };
        push(&*queue, &["a"]).await;
        let first = take_one(&*queue).await;
        let name = QueueName::new(way).expect("a name");
        let change = async |config: GroupedConfig| {
            let backend = stage.connect().await;
            let changed = backend.reconfigure(&name, &config.into()).await;
            assert!(changed.expect("changes"));
        };
        if way != "ack" {
            ack(&*queue, &first).await;
        }
        if way != "push" {
            push(&*queue, &["a"]).await;
        }
        if way == "resume" {
            queue.pause_group("a", late).await.expect("pauses");
        }
        // The caller begins to wait before the change.
        let waiting = stage.start(wait).await;
        let after = match way {
            "push" => {
                push(&*queue, &["a"]).await;
                soon
            }
            "ack" => {
                ack(&*queue, &first).await;
                soon
            }
            "resume" => {
                queue.resume_group("a").await.expect("resumes");
                soon
            }
            "faster" => {
                change(GroupedConfig::default().with_group_rate(1, soon)).await;
                soon
            }
            "no-rate" => {
                change(GroupedConfig::default()).await;
                ms(0)
            }
            _ => soon,
        };
        let came = stage.within(way, after, waiting).await;
        let came = came.expect("receives").expect("a message");
        assert_eq!(came.id(), id(2), "{way}");
    }
}

/// The caller that gets the first message may be the only one that knew the time of the next token.
pub(crate) async fn q3_another_caller_learns_of_the_next_token(stage: &Stage<'_>) {
    let (soon, late) = (ms(60), ms(1_000_000));
    let config = GroupedConfig::loose(100).with_group_rate(1, soon);
    let queue = stage.grouped_with(config).await;
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let waits = Arc::clone(&queue);
        let wait = async move { waits.receive_one(late, ms(2_000_000)).await };
        waiting.push(stage.start(wait).await);
    }
    push(&*queue, &["a", "a"]).await;
    let mut came = Vec::new();
    for task in waiting {
        let delivery = stage.within("a message by its token", soon, task).await;
        came.extend(delivery.expect("receives"));
    }
    assert_eq!(ids(&sorted(came)), [1, 2]);
}

pub(crate) async fn limits_rates_of_groups_have_bounds(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    let wrong = [
        (0, ms(1), "a group's rate of 0 messages"),
        (1_000_001, ms(1), "1000001"),
        (1, ms(0), "a group's rate's time of 0 ms"),
        (1, ms(86_400_001), "86400001 ms"),
    ];
    for (most, per, named) in wrong {
        let config = GroupedConfig::default().with_group_rate(most, per);
        refused(stage.try_grouped("wrong", &config).await.map(drop), named);
        refused(stage.reconfigure(config.into()).await, named);
        let rule = GroupRule::lasting(ms(1)).with_rate(most, per);
        refused(queue.set_rule("a", rule).await, named);
    }
    assert_eq!(groups(&*queue).await, []);
    let widest = GroupedConfig::default().with_group_rate(1_000_000, ms(86_400_000));
    stage
        .try_grouped("widest", &widest)
        .await
        .expect("within its bounds");
    push(&*queue, &["a"]).await;
    let rule = GroupRule::lasting(ms(1_000)).with_rate(1_000_000, ms(86_400_000));
    queue.set_rule("a", rule).await.expect("changes");
    assert_eq!(take(&*queue, 10).await.len(), 1);
}
