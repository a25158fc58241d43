use queue_core::{Bytes, GroupedQueue, GroupedQueueExt, Keyed, Page, Paged};

use super::actor::Actor;

pub(super) async fn put(actor: &Actor, queue: &dyn GroupedQueue) {
    let one = |_| Keyed::new(actor.message(), group(actor));
    let batch: Vec<_> = (0..actor.batch()).map(one).collect();
    if let Some(pushed) = actor.insist(|| queue.push_keyed_all(&batch)).await {
        actor.put_in(batch.iter().map(|each| &each.push));
        actor.pool.add_pushed(&pushed);
    }
}

/// Shows the groups, a page or two.
pub(super) async fn particular(actor: &Actor, queue: &dyn GroupedQueue) {
    let limit = 1 + actor.choose(3) as usize;
    let first = queue.groups(Page::first(limit)).await;
    if let Ok(Paged {
        next: Some(next), ..
    }) = first
    {
        let _ = queue.groups(Page::after(next, limit)).await;
    }
}

/// The key of a group: mostly a busy one or one of a few, so that messages wait for each other. Of the others many are
/// alone in their group. Keys are any bytes, and one begins as another.
fn group(actor: &Actor) -> Bytes {
    const KEYS: [&[u8]; 6] = [b"a", b"b", b"ba", b"\0", b"\xff\xff", &[7; 256]];
    match actor.weigh(&[40, 20, 15, 5, 5, 3, 12]) as usize {
        lonely if lonely == KEYS.len() => Bytes::from(format!("lonely-{}", actor.pool.next_body())),
        known => Bytes::from_static(KEYS[known]),
    }
}
