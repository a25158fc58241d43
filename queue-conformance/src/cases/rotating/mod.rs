//! Rotating queues: T1 to T4.

mod bad_input;
mod pace;
mod ring;
mod sizes;
mod waiting;

use std::sync::Arc;

pub(super) use self::{bad_input::*, pace::*, ring::*, sizes::*, waiting::*};
use crate::steps::count;
use queue_core::*;

/// Inserts the given number of items: in a fresh ring, body `m1` under id 1, and so on.
async fn insert_numbered(ring: &Arc<dyn RotatingQueue>, number: u64) {
    let first = ring.len().await.expect("len") + 1;
    let items = (first..first + number).map(|number| Insert::new(format!("m{number}")));
    let items: Vec<Insert> = items.collect();
    for chunk in items.chunks(limits::MAX_BATCH) {
        ring.insert(chunk).await.expect("is inserted");
    }
}

/// Visits up to `max` items. Returns their ids, in the order of the visit.
async fn visited(ring: &Arc<dyn RotatingQueue>, max: usize) -> Vec<u64> {
    let rotated = ring.rotate(count(max)).await.expect("rotates");
    assert!(
        rotated.items.is_empty() || rotated.next.is_none(),
        "`next` is answered only when nothing is due: {rotated:?}"
    );
    numbers(&rotated.items)
}

/// The ids in the ring, from the head on.
async fn listed(ring: &Arc<dyn RotatingQueue>) -> Vec<u64> {
    let page = ring
        .list(Page::first(limits::MAX_PAGE))
        .await
        .expect("lists");
    assert_eq!(page.next, None, "the whole ring fits one page");
    numbers(&page.entries)
}

fn numbers(items: &[Message]) -> Vec<u64> {
    items.iter().map(|item| item.id.get()).collect()
}
