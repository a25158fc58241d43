use queue_core::*;

use super::{insert_numbered, listed, visited};
use crate::{
    stage::{Stage, ms},
    steps::{count, refused},
};

fn paced(pace: u64) -> RotatingConfig {
    RotatingConfig::default().with_pace(ms(pace))
}

pub(crate) async fn t4_an_item_is_due_a_pace_after_its_last_visit(stage: &Stage<'_>) {
    let ring = stage.rotating_with(paced(100)).await;
    insert_numbered(&ring, 2).await;
    assert_eq!(visited(&ring, 2).await, [1, 2], "due at once");
    for _ in 0..3 {
        stage.advance(99).await;
        let early = ring.rotate(count(2)).await.expect("rotates");
        assert_eq!(
            (early.items, early.next),
            (vec![], Some(ms(1))),
            "one ms early"
        );
        stage.advance(1).await;
        assert_eq!(visited(&ring, 2).await, [1, 2]);
    }
    stage.advance(101).await;
    assert_eq!(visited(&ring, 1).await, [1], "a visit that is late");
    stage.advance(99).await;
    let visits = visited(&ring, 2).await;
    assert_eq!(visits, [2], "counts from the visit, not from the due time");
    stage.advance(1).await;
    assert_eq!(visited(&ring, 2).await, [1]);
}

pub(crate) async fn t4_nothing_due_answers_the_time_until_next(stage: &Stage<'_>) {
    let ring = stage.rotating_with(paced(100)).await;
    insert_numbered(&ring, 2).await;
    assert_eq!(visited(&ring, 1).await, [1]);
    stage.advance(30).await;
    assert_eq!(visited(&ring, 2).await, [2]);
    let nothing = ring.rotate(count(2)).await.expect("rotates");
    assert_eq!(
        (nothing.items, nothing.next),
        (vec![], Some(ms(70))),
        "item 1 is next"
    );
    stage.advance(70).await;
    assert_eq!(visited(&ring, 2).await, [1]);
    let nothing = ring.rotate(count(2)).await.expect("rotates");
    assert_eq!(nothing.next, Some(ms(30)), "now item 2 is");
}

pub(crate) async fn t4_the_order_stays_the_rings_and_skips_what_is_not_due(stage: &Stage<'_>) {
    let ring = stage.rotating_with(paced(100)).await;
    insert_numbered(&ring, 3).await;
    assert_eq!(visited(&ring, 2).await, [1, 2]);
    stage.advance(50).await;
    assert_eq!(visited(&ring, 3).await, [3]);
    assert_eq!(listed(&ring).await, [1, 2, 3]);
    insert_numbered(&ring, 1).await;
    let visits = visited(&ring, 4).await;
    assert_eq!(visits, [4], "1 to 3 are skipped, and keep their places");
    assert_eq!(listed(&ring).await, [1, 2, 3, 4]);
    stage.advance(50).await;
    assert_eq!(visited(&ring, 1).await, [1]);
    assert_eq!(listed(&ring).await, [2, 3, 4, 1]);
    stage.advance(50).await;
    let visits = visited(&ring, 4).await;
    assert_eq!(visits, [2, 3, 4], "in the ring's order, not by due time");
    assert_eq!(listed(&ring).await, [1, 2, 3, 4]);
}

pub(crate) async fn t4_a_skipped_head_hides_nothing_behind_it(stage: &Stage<'_>) {
    let ring = stage.rotating_with(paced(3_600_000)).await;
    insert_numbered(&ring, 300).await;
    for from in [1, 101, 201] {
        let expected: Vec<u64> = (from..from + 100).collect();
        assert_eq!(visited(&ring, 100).await, expected);
    }
    insert_numbered(&ring, 1).await;
    let visits = visited(&ring, 128).await;
    assert_eq!(visits, [301], "behind 300 that are not due");
}

pub(crate) async fn t4_a_present_key_does_not_make_an_item_due(stage: &Stage<'_>) {
    let ring = stage.rotating_with(paced(100)).await;
    let keyed = || Insert::new("x").with_key("x");
    ring.insert_one(keyed()).await.expect("is inserted");
    assert_eq!(visited(&ring, 1).await, [1]);
    stage.advance(40).await;
    ring.insert_one(keyed()).await.expect("is present");
    let early = ring.rotate(count(1)).await.expect("rotates");
    assert_eq!((early.items, early.next), (vec![], Some(ms(60))));
}

pub(crate) async fn t4_removal_and_listing_keep_to_the_pace(stage: &Stage<'_>) {
    let ring = stage.rotating_with(paced(100)).await;
    insert_numbered(&ring, 3).await;
    assert_eq!(visited(&ring, 1).await, [1]);
    stage.advance(10).await;
    assert_eq!(visited(&ring, 2).await, [2, 3]);
    let listed_items = listed(&ring).await;
    assert_eq!(listed_items, [1, 2, 3], "`list` shows what is not due, too");
    ring.remove(&[MessageId::new(1)]).await.expect("removes");
    let nothing = ring.rotate(count(1)).await.expect("rotates");
    assert_eq!(
        nothing.next,
        Some(ms(100)),
        "the removed one is not waited for"
    );
    stage.advance(100).await;
    assert_eq!(visited(&ring, 3).await, [2, 3]);
}

pub(crate) async fn t4_with_another_pace_each_item_is_due_in_its_place(stage: &Stage<'_>) {
    let ring = stage.rotating_with(paced(100)).await;
    insert_numbered(&ring, 3).await;
    assert_eq!(visited(&ring, 2).await, [1, 2]);
    let same = stage.reconfigure(paced(100).into()).await;
    assert!(same.expect("changes nothing"));
    assert_eq!(visited(&ring, 3).await, [3], "the same pace makes none due");
    let other = stage.reconfigure(paced(40).into()).await;
    assert!(other.expect("changes"));
    assert_eq!(listed(&ring).await, [1, 2, 3]);
    assert_eq!(visited(&ring, 2).await, [1, 2]);
    assert_eq!(visited(&ring, 2).await, [3]);
    let nothing = ring.rotate(count(1)).await.expect("rotates");
    assert_eq!(
        (nothing.items, nothing.next),
        (vec![], Some(ms(40))),
        "by the new pace from then on"
    );
}

pub(crate) async fn limits_the_pace_of_at_most_10_000_items_changes(stage: &Stage<'_>) {
    let ring = stage.rotating_with(paced(100)).await;
    insert_numbered(&ring, limits::MAX_REPACED).await;
    let changed = stage.reconfigure(paced(50).into()).await;
    assert!(changed.expect("changes"));
    insert_numbered(&ring, 1).await;
    refused(stage.reconfigure(paced(40).into()).await, "10000");
    let same = stage.reconfigure(paced(50).into()).await;
    assert!(same.expect("changes nothing, however many there are"));
}

pub(crate) async fn t4_without_a_pace_everything_is_always_due(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    insert_numbered(&ring, 1).await;
    for _ in 0..5 {
        assert_eq!(visited(&ring, 1).await, [1]);
    }
}
