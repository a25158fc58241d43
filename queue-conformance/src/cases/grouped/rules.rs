//! G1, G3, G5, G6: rules and pauses of single groups.

use std::{sync::Arc, time::Duration};

use queue_core::*;

use super::{groups, next, push, sorted};
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn g3_weights_are_shares(stage: &Stage<'_>) {
    const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    const WEIGHTS: [(&str, u32); 3] = [("a", 1), ("b", 2), ("c", 4)];
    let queue = stage.grouped().await;
    for (key, weight) in WEIGHTS {
        let rule = GroupRule::lasting(MONTH).with_weight(weight);
        queue.set_rule(key, rule).await.expect("changes");
        push(&*queue, &[key; 120]).await;
    }
    let mut delivered = [0_u32; 3];
    for round in 1..=25 {
        for id in next(&*queue, 7).await {
            delivered[(id as usize - 1) / 120] += 1;
        }
        for ((key, weight), count) in WEIGHTS.into_iter().zip(delivered) {
            let share = round * weight;
            assert!(
                count.abs_diff(share) <= 1,
                "{key} has {count} of {delivered:?} in round {round}"
            );
        }
    }
    let rest = GroupRule::lasting(MONTH).with_weight(1);
    queue.set_rule("c", rest).await.expect("changes");
    queue.end_rule("b").await.expect("changes");
    let before = delivered;
    for id in next(&*queue, 30).await {
        delivered[(id as usize - 1) / 120] += 1;
    }
    for (after, before) in delivered.into_iter().zip(before) {
        assert!((after - before).abs_diff(10) <= 1, "{before} to {after}");
    }
}

pub(crate) async fn g1_a_rule_changes_the_limit_of_its_group(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(1)).await;
    push(&*queue, &["a", "a", "a", "a", "b", "b"]).await;
    let two = GroupRule::lasting(ms(100)).with_at_once(2);
    queue.set_rule("a", two).await.expect("changes");
    let held = sorted(take(&*queue, 10).await);
    assert_eq!(ids(&held), [1, 2, 5]);
    stage.advance(99).await;
    ack(&*queue, &held[0]).await;
    let third = take_one(&*queue).await;
    assert_eq!(third.id(), id(3), "up to the end of the rule");
    stage.advance(1).await;
    ack(&*queue, &third).await;
    take_nothing(&*queue).await;
    ack(&*queue, &held[1]).await;
    assert_eq!(take_one(&*queue).await.id(), id(4), "by the usual limit");
}

pub(crate) async fn g1_a_lowered_limit_lets_leases_go_on(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(3)).await;
    push(&*queue, &["a"; 5]).await;
    let held = sorted(take(&*queue, 10).await);
    let one = GroupRule::lasting(ms(1_000_000)).with_at_once(1);
    queue.set_rule("a", one).await.expect("changes");
    ack(&*queue, &held[0]).await;
    ack(&*queue, &held[1]).await;
    take_nothing(&*queue).await;
    ack(&*queue, &held[2]).await;
    assert_eq!(ids(&take(&*queue, 10).await), [4]);
}

pub(crate) async fn g1_a_paused_group_waits_for_the_end_of_its_pause(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["a", "a"]).await;
    let held = take_one(&*queue).await;
    queue.pause_group("a", ms(60)).await.expect("pauses");
    ack(&*queue, &held).await; // A lease goes on.
    push(&*queue, &["b"]).await;
    assert_eq!(drain(&*queue).await, [3], "the other group goes on");
    assert_eq!(take_nothing(&*queue).await, Some(ms(60)));
    let waits = Arc::clone(&queue);
    let waiting = stage
        .start(async move { waits.receive_one(ms(1_000_000), ms(1_000_000)).await })
        .await;
    let came = stage.within("the paused message", ms(60), waiting).await;
    let came = came.expect("receives").expect("a message");
    assert_eq!(came.id(), id(2));
}

pub(crate) async fn g6_a_waiter_learns_of_the_end_of_a_later_pause(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    let waits = Arc::clone(&queue);
    let waiting = stage
        .start(async move { waits.receive_one(ms(1_000_000), ms(2_000_000)).await })
        .await;
    queue.pause_group("a", ms(60)).await.expect("pauses");
    push(&*queue, &["a"]).await;
    let came = stage.within("the paused message", ms(60), waiting).await;
    let came = came.expect("receives").expect("a message");
    assert_eq!(came.id(), id(1));
}

pub(crate) async fn g5_a_rule_without_messages_ends_and_leaves_nothing(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    let rule = GroupRule::lasting(ms(100)).with_weight(4);
    queue.set_rule("a", rule).await.expect("changes");
    queue.pause_group("a", ms(40)).await.expect("pauses");
    queue.pause_group("b", ms(40)).await.expect("pauses");
    queue.resume_group("b").await.expect("resumes");
    let mut expected = {
        let mut group = Group::new(Bytes::from("a"), 1);
        group.weight = 4;
        group.rule_ends = Some(ms(100));
        group.paused = Some(ms(40));
        group
    };
    assert_eq!(groups(&*queue).await, [expected.clone()]);
    stage.advance(40).await;
    (expected.rule_ends, expected.paused) = (Some(ms(60)), None);
    assert_eq!(groups(&*queue).await, [expected.clone()]);
    push(&*queue, &["a"]).await;
    assert_eq!(next(&*queue, 1).await, [1]);
    assert_eq!(groups(&*queue).await, [expected]);
    stage.advance(60).await;
    assert_eq!(groups(&*queue).await, []);
}

pub(crate) async fn g2_a_death_parks_its_group(stage: &Stage<'_>) {
    const WAYS: [&str; 4] = ["bury", "retry", "expire", "end"];
    let config = GroupedConfig::default().with_max_attempts(1);
    let config = config.with_on_death(OnDeath::Park);
    let queue = stage.grouped_with(config).await;
    for way in WAYS {
        if way == "end" {
            put(&*queue, buried_after(20).with_group(way)).await;
            push(&*queue, &[way]).await;
            continue;
        }
        push(&*queue, &[way]).await;
        let first = take_one_for(&*queue, ms(30)).await;
        push(&*queue, &[way]).await;
        queue.pause_group(way, ms(1)).await.expect("pauses");
        let death = match way {
            "bury" => Settlement::bury(first.receipt, "no"),
            "retry" => Settlement::retry(first.receipt, ms(1)),
            _ => continue,
        };
        assert_eq!(settle(&*queue, death).await, Settled::Dead);
    }
    queue.pause_group("end", ms(25)).await.expect("pauses");
    stage.advance(30).await;
    assert_eq!(take_nothing(&*queue).await, None);
    // A pause changes nothing, also when it is over.
    queue.pause_group("bury", ms(1)).await.expect("pauses");
    stage.advance(1).await;
    assert_eq!(take_nothing(&*queue).await, None);
    let shown = groups(&*queue).await;
    assert_eq!(shown.len(), 4);
    for group in shown {
        let state = (group.parked, group.paused, group.may_run, group.ready);
        assert_eq!(state, (true, None, false, 1), "{:?}", group.key);
        queue.resume_group(group.key).await.expect("resumes");
    }
    assert_eq!(next(&*queue, 4).await.len(), 4);
    assert_eq!(groups(&*queue).await, []);
}

pub(crate) async fn limits_rules_have_a_range(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    let rule = GroupRule::lasting(ms(1));
    let set = |key: &'static str, rule| queue.set_rule(key, rule);
    refused(set("", rule).await, "of 0 bytes");
    refused(set("a", rule.with_weight(0)).await, "weight of 0");
    refused(set("a", rule.with_weight(1_001)).await, "weight of 1001");
    refused(set("a", rule.with_at_once(0)).await, "pause the group");
    refused(set("a", GroupRule::lasting(Duration::ZERO)).await, "pause");
    refused(
        queue.pause_group("a", Duration::MAX).await,
        "140737488355328 ms",
    );
    assert_eq!(groups(&*queue).await, []);
    let rule = GroupRule::lasting(limits::MAX_RULE).with_weight(1_000);
    set("a", rule.with_at_once(u32::MAX))
        .await
        .expect("changes");
    push(&*queue, &["a", "a"]).await;
    assert_eq!(take(&*queue, 10).await.len(), 1, "in strict order");
}
