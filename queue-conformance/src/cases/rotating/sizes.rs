use std::sync::Arc;

use queue_core::*;

use crate::{
    stage::Stage,
    steps::{count, id},
};

const KIB_16: usize = 16 * 1024;

/// Sizes at which a backend may keep bodies in another way.
const SIZES: [usize; 6] = [
    1,
    KIB_16 - 1,
    KIB_16,
    KIB_16 + 1,
    limits::DEFAULT_MAX_BODY,
    2,
];

/// An item of the given size, which no other item equals. Headers are a part of every second item.
fn item(number: usize, size: usize) -> Insert {
    let bytes = |size: usize| Bytes::from_iter((0..size).map(|at| (at * at / 7 + number) as u8));
    match size > 100 && number % 2 == 1 {
        true => Insert::new(bytes(size - 5)).with_headers(Headers::new().with("he", "ad!")),
        false => Insert::new(bytes(size)),
    }
}

fn items() -> Vec<Insert> {
    let sizes = SIZES.into_iter().enumerate();
    sizes.map(|(number, size)| item(number, size)).collect()
}

/// The same items in the same order. An assertion of equality would print all of their bytes.
fn assert_same(shown: &[Message], items: &[&Insert], what: &str) {
    let sizes = shown
        .iter()
        .map(|message| message.body.len() + message.headers.size());
    let sizes: Vec<usize> = sizes.collect();
    let expected: Vec<usize> = items.iter().map(|item| item.size()).collect();
    assert_eq!(sizes, expected, "{what}");
    for (message, item) in shown.iter().zip(items) {
        let same = message.body == item.body && message.headers == item.headers;
        assert!(same, "{what}: item {} has other bytes", message.id);
    }
}

async fn assert_ring(ring: &Arc<dyn RotatingQueue>, items: &[&Insert]) {
    let page = ring.list(Page::first(100)).await.expect("lists");
    assert_same(&page.entries, items, "listed");
    assert_eq!(page.next, None);
    for visited in [items.len(), 1] {
        for some in items.chunks(visited) {
            let rotated = ring.rotate(count(visited)).await.expect("rotates");
            assert_same(&rotated.items, some, "visited");
        }
    }
}

pub(crate) async fn t1_items_of_any_size_come_round_unchanged(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let items = items();
    let added = ring.insert(&items).await.expect("is inserted");
    let expected: Vec<_> = (1..=6).map(|number| Inserted::Added(id(number))).collect();
    assert_eq!(added, expected, "a batch of all sizes");
    let all: Vec<&Insert> = items.iter().collect();
    assert_ring(&ring, &all).await;
    for size in [KIB_16, 3] {
        ring.insert_one(item(9, size)).await.expect("is inserted");
    }
    let more = [item(9, KIB_16), item(9, 3)];
    let all: Vec<&Insert> = items.iter().chain(&more).collect();
    assert_ring(&ring, &all).await;
}

pub(crate) async fn t2_items_of_any_size_are_removed_for_good(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let items = items();
    ring.insert(&items).await.expect("is inserted");
    let gone = [id(1), id(3), id(5)];
    assert_eq!(ring.remove(&gone).await.expect("removes"), 3);
    assert_ring(&ring, &[&items[1], &items[3], &items[5]]).await;
    assert_eq!(ring.remove(&gone).await.expect("removes"), 0);
    assert_eq!(ring.len().await.expect("len"), 3);
    let rest = [id(2), id(4), id(6)];
    assert_eq!(ring.remove(&rest).await.expect("removes"), 3);
    let rotated = ring.rotate(count(3)).await.expect("rotates");
    assert_eq!(rotated, Rotated::default());
}

pub(crate) async fn t2_a_present_key_keeps_the_first_item_whatever_the_sizes(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let (large, small) = (item(0, KIB_16), item(1, 10));
    let keyed = |item: &Insert, key: &'static str| item.clone().with_key(key);
    let batch = [
        keyed(&large, "a"),
        keyed(&small, "a"),
        keyed(&small, "b"),
        keyed(&large, "b"),
        large.clone(),
    ];
    let (added, present) = (Inserted::Added, Inserted::Present);
    let inserted = ring.insert(&batch).await.expect("is inserted");
    let expected = [
        added(id(1)),
        present(id(1)),
        added(id(2)),
        present(id(2)),
        added(id(3)),
    ];
    assert_eq!(inserted, expected);
    // A restarted program inserts its whole list again.
    let again = ring.insert(&batch[..4]).await.expect("is inserted");
    let all = [1, 1, 2, 2].map(|number| present(id(number)));
    assert_eq!(again, all);
    assert_ring(&ring, &[&large, &small, &large]).await;

    assert_eq!(ring.remove(&[id(1), id(2)]).await.expect("removes"), 2);
    let swapped = [keyed(&small, "a"), keyed(&large, "b")];
    let back = ring.insert(&swapped).await.expect("is inserted");
    assert_eq!(back, [added(id(4)), added(id(5))], "their keys are free");
    assert_ring(&ring, &[&large, &small, &large]).await;
}
