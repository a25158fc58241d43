use std::sync::Arc;

use queue_core::*;
use tokio::task::JoinHandle;

use super::{insert_numbered, numbers, visited};
use crate::{
    stage::{Stage, ms},
    steps::LONG,
};

/// A caller that visits one item, and waits for it for much longer than the case lasts.
async fn visitor(stage: &Stage<'_>, ring: &Arc<dyn RotatingQueue>) -> JoinHandle<Vec<u64>> {
    let ring = ring.clone();
    let visit = async move { numbers(&ring.visit(1, LONG).await.expect("visits")) };
    stage.start(visit).await
}

pub(crate) async fn waiting_an_insert_wakes_a_visitor(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let visit = visitor(stage, &ring).await;
    insert_numbered(&ring, 1).await;
    let items = stage.prompt("a visit after an insert", visit).await;
    assert_eq!(items, [1]);
}

pub(crate) async fn waiting_one_insert_of_many_wakes_as_many_visitors(stage: &Stage<'_>) {
    let ring = stage
        .rotating_with(RotatingConfig::default().with_pace(LONG))
        .await;
    let mut visits = Vec::new();
    for _ in 0..4 {
        visits.push(visitor(stage, &ring).await);
    }
    insert_numbered(&ring, 4).await;
    let mut seen = Vec::new();
    for visit in visits {
        seen.extend(stage.prompt("a visit after an insert", visit).await);
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3, 4], "each wakes the next");
}

pub(crate) async fn waiting_a_visitor_has_an_item_when_it_is_due(stage: &Stage<'_>) {
    let ring = stage
        .rotating_with(RotatingConfig::default().with_pace(ms(80)))
        .await;
    insert_numbered(&ring, 1).await;
    assert_eq!(visited(&ring, 1).await, [1]);
    let visit = visitor(stage, &ring).await;
    let items = stage.within("a paced visit", ms(80), visit).await;
    assert_eq!(items, [1]);
}

pub(crate) async fn waiting_a_sooner_item_wakes_who_sleeps_towards_a_later(stage: &Stage<'_>) {
    let ring = stage
        .rotating_with(RotatingConfig::default().with_pace(LONG))
        .await;
    insert_numbered(&ring, 1).await;
    assert_eq!(visited(&ring, 1).await, [1]);
    let visit = visitor(stage, &ring).await;
    insert_numbered(&ring, 1).await;
    let items = stage.prompt("a visit of a new item", visit).await;
    assert_eq!(items, [2]);
}

pub(crate) async fn waiting_ends_at_its_timeout(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let visitor = ring.clone();
    let visit = stage
        .start(async move { visitor.visit(1, ms(30)).await })
        .await;
    let items = stage.within("a visit of nothing", ms(30), visit).await;
    assert_eq!(stage.in_vain(items).unwrap_or_default(), []);
    let visitor = ring.clone();
    let wait = stage
        .start(async move { visitor.wait_for_turn(ms(30)).await })
        .await;
    stage
        .within("a wait for nothing", ms(30), wait)
        .await
        .expect("waits");
}

pub(crate) async fn waiting_a_dropped_visit_passes_its_hint_on(stage: &Stage<'_>) {
    let ring = stage.rotating().await;
    let dropped = visitor(stage, &ring).await;
    let kept = visitor(stage, &ring).await;
    insert_numbered(&ring, 1).await;
    dropped.abort();
    let items = stage.prompt("the visit that was kept", kept).await;
    assert_eq!(items, [1]);
}

/// With another pace, each item is due at once.
pub(crate) async fn waiting_another_pace_wakes_as_many_as_there_are_items(stage: &Stage<'_>) {
    let paced = |pace| RotatingConfig::default().with_pace(pace);
    let ring = stage.rotating_with(paced(LONG)).await;
    insert_numbered(&ring, 2).await;
    assert_eq!(visited(&ring, 2).await, [1, 2]);
    for other in [paced(LONG / 2), RotatingConfig::default()] {
        let visits = [visitor(stage, &ring).await, visitor(stage, &ring).await];
        let changed = stage.reconfigure(other.into()).await;
        assert!(changed.expect("changes"));
        let mut seen = Vec::new();
        for visit in visits {
            seen.extend(stage.prompt("a visit after another pace", visit).await);
        }
        seen.sort_unstable();
        assert_eq!(seen, [1, 2], "each wakes the next");
    }
}
