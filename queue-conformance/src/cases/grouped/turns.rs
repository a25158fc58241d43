//! G3, G4: the turns of the groups.

use queue_core::*;

use super::{next, push};
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn g3_groups_take_turns(stage: &Stage<'_>) {
    for config in [GroupedConfig::default(), GroupedConfig::loose(9)] {
        let name = config.order.to_string();
        let queue = stage.try_grouped(&name, &config).await.expect("opens");
        push(&*queue, &["busy"; 100]).await;
        push(&*queue, &["a", "b", "a", "b", "c"]).await;
        assert_eq!(
            next(&*queue, 6).await,
            [101, 102, 105, 1, 103, 104],
            "{name}"
        );
        assert_eq!(
            next(&*queue, 2).await,
            [2, 3],
            "{name}: the rest of the busy group"
        );
    }
}

pub(crate) async fn g3_one_call_takes_from_groups_in_turn(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(3)).await;
    push(&*queue, &["b", "b", "b", "b", "a", "a", "c"]).await;
    let held = take(&*queue, 5).await;
    assert_eq!(ids(&held), [5, 1, 7, 6, 2]);
    assert_eq!(
        ids(&take(&*queue, 5).await),
        [3],
        "a group has no more than three"
    );
}

/// Keys in the order of their turns: shorter ones first, then by their bytes. Each length has another order in most
/// locales.
fn keys_by_bytes() -> Vec<Vec<u8>> {
    let long = |last: u8| [vec![7; limits::MAX_KEY - 1], vec![last]].concat();
    let short: [&[u8]; 18] = [
        b"\0",
        b"-",
        b"A",
        b"B",
        b"_",
        b"a",
        b"b",
        b"\xff", // one byte
        b"\0B",
        b"\0a",
        b"-b",
        b"Aa",
        b"a-",
        b"aA",
        b"ab",
        b"z\0",
        "\u{e9}".as_bytes(),
        b"\xff\xfe",
    ];
    let short = short.into_iter().map(<[u8]>::to_vec);
    short.chain([long(b'B'), long(b'a')]).collect()
}

pub(crate) async fn g3_equal_turns_go_by_the_bytes_of_keys(stage: &Stage<'_>) {
    const ROUNDS: usize = 3;
    let keys = keys_by_bytes();
    let batch: Vec<Push> = keys
        .iter()
        .rev()
        .flat_map(|key| vec![Push::new("x").with_group(key.clone()); ROUNDS])
        .collect();
    // The messages of the first key were pushed last.
    let count_of = keys.len() as u64;
    let first = |nth: u64| (count_of - 1 - nth) * ROUNDS as u64 + 1;
    let expected: Vec<u64> = (0..ROUNDS as u64)
        .flat_map(|round| (0..count_of).map(move |nth| first(nth) + round))
        .collect();

    let queue = stage.grouped_with(GroupedConfig::loose(9)).await;
    queue.push(&batch).await.expect("is accepted");
    let held = take(&*queue, batch.len()).await;
    assert_eq!(ids(&held), expected, "in one call");

    let strict = GroupedConfig::default();
    let queue = stage.try_grouped("strict", &strict).await.expect("opens");
    queue.push(&batch).await.expect("is accepted");
    let (mut acks, mut delivered) = (Vec::new(), Vec::new());
    for _ in 0..batch.len() {
        let answer = queue.settle_and_lease(&acks, count(1), LONG, None).await;
        let leased = answer.expect("settles and leases").1.deliveries;
        acks = settlements(&leased, Settlement::ack);
        delivered.extend(ids(&leased));
    }
    assert_eq!(delivered, expected, "one by one");

    // The last group of a round is compared with the first one.
    let queue = stage.try_grouped("two", &strict).await.expect("opens");
    push(&*queue, &["a", "a", "a", "B", "B", "B"]).await;
    let (mut acks, mut delivered) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let answer = queue.settle_and_lease(&acks, count(1), LONG, None).await;
        let leased = answer.expect("settles and leases").1.deliveries;
        acks = settlements(&leased, Settlement::ack);
        delivered.extend(ids(&leased));
    }
    assert_eq!(delivered, [4, 1, 5, 2, 6, 3], "of two groups");
}

pub(crate) async fn g3_a_new_group_neither_waits_nor_catches_up(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["busy"; 50]).await;
    assert_eq!(next(&*queue, 20).await, (1..=20).collect::<Vec<u64>>());
    push(&*queue, &["new"; 3]).await;
    // From here on the groups alternate: the first group does not make up for the twenty deliveries that the other had.
    assert_eq!(next(&*queue, 7).await, [51, 21, 52, 22, 53, 23, 24]);
}

pub(crate) async fn g3_a_busy_group_delays_no_quiet_one(stage: &Stage<'_>) {
    const BUSY: usize = 20_000;
    let queue = stage.grouped_with(GroupedConfig::loose(50)).await;
    let busy = vec![Push::new("x").with_group("busy"); BUSY];
    queue.push_all(&busy).await.expect("is accepted");
    for tenant in 0..100 {
        push(&*queue, &[&*format!("quiet-{tenant}"); 10]).await;
    }
    let (mut delivered, mut last_quiet, mut quiet) = (0, 0, 0);
    while quiet < 1_000 {
        let deliveries = take(&*queue, 128).await;
        for id in ids(&deliveries) {
            delivered += 1;
            if id > BUSY as u64 {
                quiet += 1;
                last_quiet = delivered;
            }
        }
        ack_all(&*queue, &deliveries).await;
    }
    assert!(last_quiet <= 1_200, "after {last_quiet} deliveries");
}

pub(crate) async fn g3_a_group_that_comes_and_goes_starves_no_other(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["busy"; 10]).await;
    let mut of_busy = 0;
    for _ in 0..10 {
        push(&*queue, &["a"]).await;
        let delivery = take_one(&*queue).await;
        of_busy += u64::from(delivery.id().get() <= 10);
        ack(&*queue, &delivery).await;
    }
    assert_eq!(of_busy, 5, "every other turn");
}

pub(crate) async fn g4_a_group_that_may_not_run_holds_up_no_other(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["a", "b", "a", "a", "c", "c"]).await;
    let held = take(&*queue, 2).await;
    assert_eq!(held.len(), 2);
    settle_live(&*queue, Settlement::retry(held[0].receipt, ms(1_000_000))).await;
    // A leased group and a waiting group do not hold up the third.
    assert_eq!(ids(&take(&*queue, 9).await).len(), 1);
    take_nothing(&*queue).await;
}
