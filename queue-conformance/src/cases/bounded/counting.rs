//! Messages count towards a capacity one by one, however a backend keeps them.

use queue_core::*;

use super::*;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// Holds `messages` messages that one call leased, and has acked another message of that call.
async fn hold(queue: &Arc<dyn BoundedQueue>, messages: usize) -> Vec<Settlement> {
    let mut acks = settlements(&take(&**queue, messages + 1).await, Settlement::ack);
    assert_eq!(acks.len(), messages + 1);
    let settled = settle(&**queue, acks.remove(0)).await;
    assert_eq!(settled, Settled::Done);
    acks
}

pub(crate) async fn b5_a_resize_counts_each_message_that_one_call_leased(stage: &Stage<'_>) {
    let queue = stage.bounded(10).await;
    fill(&queue, 10).await;
    let acks = hold(&queue, 5).await;
    for (capacity, dropped) in [(7, [7, 8]), (3, [9, 10])] {
        let ids = queue.resize(count(capacity)).await.expect("resizes");
        assert_eq!(numbers(&ids), dropped);
        assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
    }
    assert_eq!(depth(&*queue).await, [0, 0, 5, 0]);
    queue.settle(&acks[..3]).await.expect("settles");
    assert_eq!(pushed(&*queue, "x").await, accepted(11));
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
}

pub(crate) async fn b5_a_resize_drops_any_number_of_bytes(stage: &Stage<'_>) {
    const LARGE: usize = 1024 * 1024;
    let queue = stage.bounded(12).await;
    for number in 1..=12 {
        assert_eq!(pushed(&*queue, vec![b'x'; LARGE]).await, accepted(number));
    }
    let dropped = queue.resize(count(1)).await.expect("resizes");
    assert_eq!(numbers(&dropped), (1..12).collect::<Vec<_>>());
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0]);
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
}

pub(crate) async fn l13_a_revival_counts_each_message_that_one_call_leased(stage: &Stage<'_>) {
    let queue = stage.bounded(7).await;
    fill(&queue, 7).await;
    let letter = bury_next(&*queue, "dead").await;
    let acks = hold(&queue, 5).await;
    fill(&queue, 2).await;
    let revive = async || {
        queue
            .revive(&[letter], Revival::WithState)
            .await
            .expect("revives")
    };
    assert_eq!(revive().await, [Revived::Full]);
    settle_live(&*queue, acks[0].clone()).await;
    assert_eq!(revive().await, [Revived::Revived]);
    assert_eq!(depth(&*queue).await, [3, 0, 4, 0]);
}

pub(crate) async fn l9_a_batch_that_evicts_an_older_message_leaves_a_new_mark_alone(
    stage: &Stage<'_>,
) {
    let queue = stage.bounded(1).await;
    let unique = || Push::new("x").with_unique("key", ms(1_000));
    assert_eq!(pushed(&*queue, unique()).await, accepted(1));
    stage.advance(1_000).await;
    let batch = [unique(), unique()];
    let offered = cram_all(&queue, &batch).await;
    let expected = [evicting(2, 1), duplicate(2)];
    assert_eq!(offered, expected);
    assert_eq!(pushed(&*queue, unique()).await, duplicate(2));
}
