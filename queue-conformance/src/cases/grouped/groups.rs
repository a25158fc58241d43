//! G1, G5: the places of a group, and its end; keys and configurations.

use std::time::Duration;

use queue_core::*;

use super::{push, sorted};
use crate::{
    stage::{QUEUE, Stage, ms},
    steps::*,
};

pub(crate) async fn l20_a_delivery_says_its_group(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(2)).await;
    let long = "k".repeat(256);
    push(&*queue, &["a", &long]).await;
    for _ in 0..2 {
        let deliveries = sorted(take(&*queue, 2).await);
        let groups = deliveries.iter().map(|one| one.group.as_deref());
        let groups: Vec<_> = groups.collect();
        assert_eq!(groups, [Some("a".as_bytes()), Some(long.as_bytes())]);
        for delivery in &deliveries {
            settle_live(&*queue, Settlement::release(delivery.receipt)).await;
        }
    }
}

pub(crate) async fn g1_a_group_has_no_more_leases_than_its_limit(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(2)).await;
    push(&*queue, &["a", "a", "a", "a", "a"]).await;
    let first = sorted(take(&*queue, 10).await);
    assert_eq!(ids(&first), [1, 2]);
    take_nothing(&*queue).await;
    ack(&*queue, &first[1]).await;
    let next = sorted(take(&*queue, 10).await);
    assert_eq!(ids(&next), [3], "one has left its place");
    settle_live(&*queue, Settlement::bury(first[0].receipt, "dead")).await;
    settle_live(&*queue, Settlement::retry(next[0].receipt, ms(1_000_000))).await;
    let last = sorted(take(&*queue, 10).await);
    assert_eq!(ids(&last), [4, 5], "the dead and the delayed have, too");
    take_nothing(&*queue).await;
    ack_all(&*queue, &last).await;
}

pub(crate) async fn g1_an_expired_lease_gives_its_place_back(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(1)).await;
    push(&*queue, &["a", "a"]).await;
    for _ in 0..2 {
        let held = take_one_for(&*queue, ms(20)).await;
        assert_eq!(held.id(), id(1));
        let left = take_nothing(&*queue).await;
        assert_eq!(left, Some(ms(20)), "until the lease ends");
        stage.advance(20).await;
    }
    let last = take_one_for(&*queue, ms(20)).await;
    assert_eq!(last.attempt, 3);
    ack(&*queue, &last).await;
    assert_eq!(drain(&*queue).await, [2]);
}

pub(crate) async fn g1_a_lost_receipt_frees_no_place(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["a", "a"]).await;
    let stale = take_one_for(&*queue, ms(20)).await;
    stage.advance(20).await;
    let held = take_one(&*queue).await;
    assert_eq!(held.id(), id(1));
    let lost = settle(&*queue, Settlement::ack(stale.receipt)).await;
    assert_eq!(lost, Settled::LeaseLost);
    take_nothing(&*queue).await;
    ack(&*queue, &held).await;
    let twice = settle(&*queue, Settlement::ack(held.receipt)).await;
    assert_eq!(twice, Settled::LeaseLost);
    assert_eq!(take_one(&*queue).await.id(), id(2));
    take_nothing(&*queue).await;
}

pub(crate) async fn g5_a_group_that_was_empty_begins_anew(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(1)).await;
    for round in 0..3 {
        push(&*queue, &["a", "b"]).await;
        let both = sorted(take(&*queue, 10).await);
        assert_eq!(both.len(), 2, "round {round}");
        let ends = match round {
            0 => both
                .iter()
                .map(|one| Settlement::ack(one.receipt))
                .collect(),
            1 => both
                .iter()
                .map(|one| Settlement::bury(one.receipt, "dead"))
                .collect(),
            _ => Vec::new(),
        };
        if !ends.is_empty() {
            queue.settle(&ends).await.expect("settles");
        }
    }
    assert_eq!(depth(&*queue).await, [0, 0, 2, 2]);
}

pub(crate) async fn l13_a_revived_message_is_in_its_group_again(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["a", "a", "a"]).await;
    let first = bury_next(&*queue, "dead").await;
    assert_eq!(first, id(1));
    queue
        .revive(&[first], Revival::WithState)
        .await
        .expect("revives");
    let held = take_one(&*queue).await;
    assert_eq!(held.id(), id(2));
    take_nothing(&*queue).await;
    ack(&*queue, &held).await;
    assert_eq!(drain(&*queue).await, [3, 1], "at the tail of its group");
}

pub(crate) async fn l16_ready_messages_are_shown_by_group(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["b", "a", "aa", "b", "a"]).await;
    let held = take_one(&*queue).await;
    assert_eq!(held.id(), id(2));
    assert_eq!(shown(&*queue, Place::Ready).await, [5, 1, 4, 3]);
    let groups = |peeked: Vec<Peeked>| -> Vec<Option<Bytes>> {
        peeked.into_iter().map(|one| one.group).collect()
    };
    let ready = groups(peek(&*queue, Place::Ready).await);
    assert_eq!(ready, ["a", "b", "b", "aa"].map(|key| Some(key.into())));
    let leased = groups(peek(&*queue, Place::Leased).await);
    assert_eq!(leased, [Some("a".into())]);
    settle_live(&*queue, Settlement::defer(held.receipt, ms(1_000_000))).await;
    let delayed = groups(peek(&*queue, Place::Delayed).await);
    assert_eq!(delayed, [Some("a".into())]);
    let [one, two] = [1, 2].map(count);
    assert_eq!(queue.purge(one).await.expect("purges"), 1);
    assert_eq!(shown(&*queue, Place::Ready).await, [1, 4, 3]);
    assert_eq!(queue.purge(two).await.expect("purges"), 2);
    assert_eq!(drain(&*queue).await, [3]);
}

pub(crate) async fn operators_groups_are_shown_with_who_holds_them(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["b", "a", "a", "cc"]).await;
    let held = take(&*queue, 2).await;
    assert_eq!(ids(&held), [2, 1]);
    stage.advance(40).await;
    settle_live(&*queue, Settlement::retry(held[1].receipt, ms(100))).await;
    let group = |key: &str, ready: u64, held_by: Option<u64>| {
        let mut group = Group::new(Bytes::from(key.to_owned()), 1);
        group.ready = ready;
        group.held = held_by.iter().count() as u32;
        group.oldest_ready = (ready > 0).then_some(ms(40));
        group.may_run = held_by.is_none();
        group.held_by = held_by.map(id);
        group
    };
    let mut waiting = group("b", 0, Some(1));
    waiting.waits = Some(ms(100));
    let all = [group("cc", 1, None), group("a", 1, Some(2)), waiting];
    let shown = pages(2, |page| queue.groups(page)).await;
    assert_eq!(shown.concat(), all);
    assert_eq!(shown.len(), 2);
    refused(queue.groups(Page::first(0)).await, "0");
    refused(queue.groups(Page::first(1_001)).await, "1001");
    ack(&*queue, &held[0]).await;
    cancel(&*queue, &[1]).await;
    assert_eq!(drain(&*queue).await.len(), 2);
    let none = queue.groups(Page::first(10)).await.expect("shows");
    assert_eq!(none.entries, [], "an empty group leaves nothing (G5)");
}

pub(crate) async fn limits_keys_and_places_have_a_range(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    let of = |key: Vec<u8>| Push::new("x").with_group(key);
    refused(queue.push_one(of(Vec::new())).await, "of 0 bytes");
    refused(queue.push_one(of(vec![7; 257])).await, "of 257 bytes");
    let whole = [
        Push::new("x").with_group("a"),
        Push::new("y").with_group(""),
    ];
    refused(queue.push(&whole).await, "of 0 bytes");
    for key in [vec![7; 256], vec![0], vec![255, 0, 255]] {
        queue
            .push(&[of(key.clone()), of(key)])
            .await
            .expect("is accepted");
    }
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(take_one(&*queue).await);
    }
    take_nothing(&*queue).await;
    ack_all(&*queue, &held).await;
    assert_eq!(drain(&*queue).await.len(), 3);
    let none = stage.try_grouped("other", &GroupedConfig::loose(0)).await;
    refused(none.map(drop), "per_group of 0");
    let mut strict = GroupedConfig::default();
    strict.per_group = 2;
    let two = stage.try_grouped("other", &strict).await;
    refused(two.map(drop), "per_group of 2");
}

pub(crate) async fn g2_the_order_is_stored_and_changes_while_the_queue_is_empty(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    let loose = GroupedConfig::loose(2);
    let other = stage.try_grouped(QUEUE, &loose).await;
    refused_as(
        ErrorKind::ConfigMismatch,
        other.map(drop),
        &["strict", "loose", "reconfigure"],
    );
    push(&*queue, &["a", "a"]).await;
    let change = || stage.reconfigure(loose.clone().into());
    refused(change().await, "2 messages");
    let held = take_one(&*queue).await;
    refused(change().await, "2 messages");
    settle_live(&*queue, Settlement::defer(held.receipt, ms(1_000_000))).await;
    refused(change().await, "2 messages");
    queue.purge(count(5)).await.expect("purges");
    assert!(change().await.expect("changes"));
    push(&*queue, &["a", "a", "a"]).await;
    let two = take_for(&*queue, 5, Duration::from_secs(60)).await;
    assert_eq!(two.len(), 2, "by the other order");
}

pub(crate) async fn l18_messages_are_found_whatever_their_key(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(1)).await;
    for length in [1, 2, 10, limits::MAX_KEY] {
        let key = vec![b'k'; length];
        let first = put(&*queue, Push::new("m").with_group(key.clone())).await;
        let leased = take_one(&*queue).await;
        let found = queue.find_one(first).await.expect("finds");
        let Found::Present {
            standing: Standing::Leased { .. },
            ..
        } = found
        else {
            panic!("a key of {length} bytes: {found:?}")
        };
        let retry = Settlement::retry_because(leased.receipt, ms(3_600_000), "no paper");
        settle_live(&*queue, retry).await;
        let found = queue.find_one(first).await.expect("finds");
        let Found::Present { failure, .. } = found else {
            panic!("{found:?}")
        };
        assert_eq!(failure.as_deref(), Some("no paper"));
        let other = put(&*queue, Push::new("m").with_group(key)).await;
        settle_live(
            &*queue,
            Settlement::bury(take_one(&*queue).await.receipt, "dead"),
        )
        .await;
        let found = queue.find_one(other).await.expect("finds");
        assert!(matches!(found, Found::Dead { .. }), "{found:?}");
        assert_eq!(
            queue.cancel_one(first).await.expect("cancels"),
            Cancelled::Cancelled
        );
    }
}

pub(crate) async fn l13_a_dead_letter_keeps_its_group(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["b", "a"]).await;
    let odd = Bytes::from_static(b"\xff\0");
    put(&*queue, Push::new("m").with_group(odd.clone())).await;
    for _ in 0..3 {
        let held = take_one(&*queue).await;
        settle_live(&*queue, Settlement::retry(held.receipt, ms(0))).await;
        bury_next(&*queue, "dead").await;
    }
    let mut letters = dead(&*queue).await;
    letters.sort_by_key(|letter| letter.id);
    let groups: Vec<_> = letters.into_iter().map(|one| one.group).collect();
    assert_eq!(groups, [Some("b".into()), Some("a".into()), Some(odd)]);
}
