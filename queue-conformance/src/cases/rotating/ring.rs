use std::collections::BTreeMap;

use queue_core::*;

use super::{insert_numbered, listed, numbers, visited};
use crate::{
    stage::Stage,
    steps::{count, cut, id, pages},
};

pub(crate) async fn t1_a_rotation_takes_from_the_head_and_puts_at_the_tail(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 4).await;
    assert_eq!(visited(&ring, 1).await, [1]);
    assert_eq!(listed(&ring).await, [2, 3, 4, 1]);
    assert_eq!(visited(&ring, 2).await, [2, 3]);
    let listed_items = listed(&ring).await;
    assert_eq!(listed_items, [4, 1, 2, 3], "in the order of the visit");
    assert_eq!(ring.len().await.expect("len"), 4);
}

pub(crate) async fn t1_a_call_returns_each_item_at_most_once(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 3).await;
    assert_eq!(visited(&ring, 128).await, [1, 2, 3]);
    assert_eq!(visited(&ring, 4).await, [1, 2, 3]);
    assert_eq!(visited(&ring, 2).await, [1, 2]);
    assert_eq!(visited(&ring, 3).await, [3, 1, 2]);
}

pub(crate) async fn t1_a_rotation_dropped_at_any_await_loses_no_item(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 5).await;
    for polls in 0..1_000 {
        let done = cut(ring.rotate(count(2)), polls).await.is_some();
        let mut members = listed(&ring).await;
        members.sort_unstable();
        assert_eq!(members, [1, 2, 3, 4, 5], "cut after {polls} polls");
        if done {
            return;
        }
    }
    panic!("a rotation needs more than 1,000 polls");
}

pub(crate) async fn t1_bodies_and_headers_come_round_unchanged(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let body = Bytes::from((0..=255).collect::<Vec<u8>>());
    let headers = Headers::new().with("tenant", "ümlaut").with("empty", "");
    let items = [
        Insert::new(body.clone()).with_headers(headers.clone()),
        Insert::new(Bytes::new()),
    ];
    ring.insert(&items).await.expect("is inserted");
    for _ in 0..3 {
        let rotated = ring.rotate(count(2)).await.expect("rotates").items;
        assert_eq!(rotated[0].body, body);
        assert_eq!(rotated[0].headers, headers);
        assert!(rotated[1].body.is_empty() && rotated[1].headers.is_empty());
        let page = ring.list(Page::first(2)).await.expect("lists");
        assert_eq!(page.entries, rotated, "`list` shows the same");
    }
}

pub(crate) async fn t1_one_call_hands_out_no_more_than_8_mib(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    // Headers count as bodies do.
    let half = limits::DEFAULT_MAX_BODY / 2;
    let headers = Headers::new().with("h", "x".repeat(half - 1));
    let big = Insert::new(vec![7_u8; half]).with_headers(headers);
    for _ in 0..9 {
        ring.insert_one(big.clone()).await.expect("is inserted");
    }
    assert_eq!(visited(&ring, 128).await, [1, 2, 3, 4, 5, 6, 7, 8]);
    let visits = visited(&ring, 1).await;
    assert_eq!(visits, [9], "what did not fit was not moved");
    let page = ring.list(Page::first(9)).await.expect("lists");
    assert_eq!(numbers(&page.entries), [1, 2, 3, 4, 5, 6, 7, 8]);
    let rest = Page::after(page.next.expect("there is more"), 9);
    let page = ring.list(rest).await.expect("lists");
    assert_eq!((numbers(&page.entries), page.next), (vec![9], None));
}

pub(crate) async fn t2_a_batch_joins_at_the_tail_in_its_order(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 2).await;
    assert_eq!(visited(&ring, 1).await, [1]);
    let added = ring
        .insert(&["a".into(), "b".into()])
        .await
        .expect("is inserted");
    assert_eq!(added, [Inserted::Added(id(3)), Inserted::Added(id(4))]);
    assert_eq!(listed(&ring).await, [2, 1, 3, 4]);
}

pub(crate) async fn t2_a_removed_item_is_never_seen_again(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 5).await;
    assert_eq!(visited(&ring, 2).await, [1, 2]);
    let gone = [id(1), id(4), id(4), id(99)];
    let removed = ring.remove(&gone).await.expect("removes");
    assert_eq!(removed, 2, "each counted once");
    assert_eq!(ring.len().await.expect("len"), 3);
    assert_eq!(listed(&ring).await, [3, 5, 2]);
    for _ in 0..3 {
        assert_eq!(visited(&ring, 5).await, [3, 5, 2]);
    }
    assert_eq!(ring.remove(&[id(1)]).await.expect("removes"), 0);
    let back = ring.insert_one("again").await.expect("is inserted");
    assert_eq!(back, Inserted::Added(id(6)), "ids are not used again");
}

pub(crate) async fn t2_an_empty_ring_answers_nothing(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let nothing = Rotated::default();
    assert_eq!(ring.rotate(count(3)).await.expect("rotates"), nothing);
    insert_numbered(&ring, 1).await;
    ring.remove(&[id(1)]).await.expect("removes");
    assert_eq!(ring.rotate(count(3)).await.expect("rotates"), nothing);
    assert_eq!(ring.len().await.expect("len"), 0);
    assert_eq!(listed(&ring).await, Vec::<u64>::new());
}

pub(crate) async fn t2_a_key_that_is_present_changes_nothing(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let list = ["a", "b", "a"].map(|key| Insert::new(format!("{key}1")).with_key(key));
    let inserted = ring.insert(&list).await.expect("is inserted");
    let (a, b) = (id(1), id(2));
    let expected = [Inserted::Added(a), Inserted::Added(b), Inserted::Present(a)];
    assert_eq!(inserted, expected, "within a batch too");
    assert_eq!(visited(&ring, 1).await, [1]);

    let list = ["a", "b", "c"].map(|key| Insert::new(format!("{key}2")).with_key(key));
    let inserted = ring.insert(&list).await.expect("is inserted");
    let expected = [
        Inserted::Present(a),
        Inserted::Present(b),
        Inserted::Added(id(3)),
    ];
    assert_eq!(inserted, expected, "a present one uses no id");
    let page = ring.list(Page::first(10)).await.expect("lists");
    let bodies: Vec<&[u8]> = page.entries.iter().map(|item| &item.body[..]).collect();
    assert_eq!(
        bodies,
        [b"b1", b"a1", b"c2"],
        "neither body nor place changed"
    );
}

pub(crate) async fn t2_a_removed_items_key_is_free(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let keyed = || Insert::new("x").with_key("x");
    let inserted = ring.insert_one(keyed()).await.expect("inserts");
    assert_eq!(inserted, Inserted::Added(id(1)));
    ring.remove(&[id(1)]).await.expect("removes");
    let inserted = ring.insert_one(keyed()).await.expect("inserts");
    assert_eq!(inserted, Inserted::Added(id(2)));
    let inserted = ring.insert_one(keyed()).await.expect("inserts");
    assert_eq!(inserted, Inserted::Present(id(2)));
    ring.insert_one("x")
        .await
        .expect("an item without a key has none");
    assert_eq!(listed(&ring).await, [2, 3]);
}

pub(crate) async fn t2_list_pages_through_the_ring(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 25).await;
    assert_eq!(visited(&ring, 3).await, [1, 2, 3]);
    let expected: Vec<u64> = (4..=25).chain(1..=3).collect();
    for limit in [1, 7, 24, 25, 1_000] {
        let items = pages(limit, |page| ring.list(page)).await.concat();
        assert_eq!(numbers(&items), expected, "in pages of {limit}");
    }
    assert_eq!(visited(&ring, 1).await, [4], "listing moved nothing");
}

pub(crate) async fn t3_an_item_recurs_after_exactly_n_rotations(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 7).await;
    let mut last: BTreeMap<u64, usize> = BTreeMap::new();
    let mut rotations = 0;
    for max in [1, 2, 3, 4, 5, 6, 7].into_iter().cycle().take(50) {
        for item in visited(&ring, max).await {
            rotations += 1;
            if let Some(before) = last.insert(item, rotations) {
                assert_eq!(rotations - before, 7, "item {item} at rotation {rotations}");
            }
        }
    }
    assert_eq!(last.len(), 7, "every item was visited");
}

pub(crate) async fn t3_concurrent_clients_visit_every_item_equally_often(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 9).await;
    let mut clients = Vec::new();
    for _ in 0..6 {
        let ring = ring.clone();
        clients.push(tokio::spawn(async move {
            let mut seen = Vec::new();
            for _ in 0..30 {
                seen.extend(visited(&ring, 1).await);
                tokio::task::yield_now().await;
            }
            seen
        }));
    }
    let mut visits: BTreeMap<u64, usize> = BTreeMap::new();
    for client in clients {
        for item in client.await.expect("runs") {
            *visits.entry(item).or_default() += 1;
        }
    }
    let expected: BTreeMap<u64, usize> = (1..=9).map(|item| (item, 20)).collect();
    assert_eq!(visits, expected, "180 rotations of 9 items");
}
