use queue_core::*;
use tokio::task::JoinHandle;

use super::*;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// A producer that waits for room, for much longer than the case lasts.
pub(super) async fn producer(
    stage: &Stage<'_>,
    queue: &Arc<dyn BoundedQueue>,
) -> JoinHandle<Pushed> {
    let queue = queue.clone();
    let offer = async move { queue.push_or_wait("x", LONG).await.expect("pushes") };
    stage.start(offer).await
}

pub(crate) async fn b4_an_ack_makes_room(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    fill(&queue, 1).await;
    for number in 2..=4 {
        let held = take_one(&*queue).await;
        let waiting = producer(stage, &queue).await;
        ack(&*queue, &held).await;
        let answer = stage.prompt("an offer after an ack", waiting).await;
        assert_eq!(answer, accepted(number));
    }
}

pub(crate) async fn b4_acks_of_a_batch_make_room_for_as_many(stage: &Stage<'_>) {
    let queue = stage.bounded(4).await;
    fill(&queue, 4).await;
    let held = take(&*queue, 4).await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(producer(stage, &queue).await);
    }
    let acks = settlements(&held, Settlement::ack);
    let settled = queue.settle(&acks).await.expect("settles");
    assert_eq!(settled, [Settled::Done; 4]);
    for task in waiting {
        let offered = stage.prompt("an offer after the acks", task).await;
        assert!(matches!(offered, Pushed::Accepted(_)), "{offered:?}");
    }
    assert_eq!(drain(&*queue).await, [5, 6, 7, 8]);
}

pub(crate) async fn b4_whatever_makes_room_wakes_a_producer(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    fill(&queue, 1).await;
    let held = take_one(&*queue).await;
    let waiting = producer(stage, &queue).await;
    settle_live(&*queue, Settlement::bury(held.receipt, "dead")).await;
    let answer = stage.prompt("an offer after a burial", waiting).await;
    assert_eq!(answer, accepted(2));

    let waiting = producer(stage, &queue).await;
    queue.purge(count(1)).await.expect("purges");
    let answer = stage.prompt("an offer after a purge", waiting).await;
    assert_eq!(answer, accepted(3));

    let waiting = producer(stage, &queue).await;
    queue.resize(count(2)).await.expect("resizes");
    let answer = stage.prompt("an offer after a resize", waiting).await;
    assert_eq!(answer, accepted(4));
}

pub(crate) async fn b4_a_cancel_makes_room(stage: &Stage<'_>) {
    let queue = stage.bounded(3).await;
    fill(&queue, 2).await;
    let later = Push::new("x").with_due(FAR);
    assert_eq!(pushed(&*queue, later).await, accepted(3));
    let waiting = [producer(stage, &queue).await, producer(stage, &queue).await];
    let gone = [Cancelled::Cancelled; 2];
    assert_eq!(cancel(&*queue, &[1, 3]).await, gone, "ready, and delayed");
    for task in waiting {
        let offered = stage.prompt("an offer after a cancel", task).await;
        assert!(matches!(offered, Pushed::Accepted(_)), "{offered:?}");
    }
    assert_eq!(drain(&*queue).await, [2, 4, 5]);
}

pub(crate) async fn b4_a_death_by_retry_makes_room(stage: &Stage<'_>) {
    let queue = stage
        .bounded_with(BoundedConfig::new(1).with_max_attempts(1))
        .await;
    fill(&queue, 1).await;
    let held = take_one(&*queue).await;
    let waiting = producer(stage, &queue).await;
    settle_live(&*queue, Settlement::retry(held.receipt, ms(0))).await;
    let answer = stage.prompt("an offer after a death", waiting).await;
    assert_eq!(answer, accepted(2));
}

pub(crate) async fn b4_a_woken_producer_that_leaves_room_wakes_the_next(stage: &Stage<'_>) {
    let queue = stage.bounded(4).await;
    fill(&queue, 4).await;
    let deliveries = take(&*queue, 4).await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(producer(stage, &queue).await);
    }
    let acks = settlements(&deliveries, Settlement::ack);
    queue.settle(&acks).await.expect("settles");
    for task in waiting {
        let offered = stage.prompt("one of four offers", task).await;
        assert!(matches!(offered, Pushed::Accepted(_)), "{offered:?}");
    }
    assert_eq!(depth(&*queue).await, [4, 0, 0, 0]);
}

pub(crate) async fn b4_a_dropped_wait_for_room_passes_its_hint_on(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    fill(&queue, 1).await;
    let held = take_one(&*queue).await;
    let first = producer(stage, &queue).await;
    let second = producer(stage, &queue).await;
    ack(&*queue, &held).await;
    first.abort();
    if let Ok(offered) = first.await {
        assert_eq!(offered, accepted(2), "it was served before it was dropped");
    }
    // The producer may have taken the room: its offer succeeded, or it was dropped with its offer under way (L8).
    if depth(&*queue).await == [1, 0, 0, 0] {
        ack(&*queue, &take_one(&*queue).await).await;
    }
    let offered = stage.prompt("the offer that was kept", second).await;
    assert!(matches!(offered, Pushed::Accepted(_)), "{offered:?}");
}

/// Two producers wait for room and are notified one after the other. The first producer's message is in the queue
/// already.
pub(crate) async fn b4_a_duplicate_leaves_its_room_to_the_next(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    let marked = || Push::new("x").with_dedup("key", LONG);
    put(&*queue, marked()).await;
    let held = take_one(&*queue).await;
    // On several threads, either producer may be notified first.
    let mut producers = Vec::new();
    for _ in 0..2 {
        let producer = queue.clone();
        let offer = async move {
            producer.wait_for_room(LONG).await?;
            producer.push_one(marked()).await
        };
        producers.push(stage.start(offer).await);
    }
    ack(&*queue, &held).await;
    for producer in producers {
        let offered = stage.prompt("each of two producers", producer).await;
        let offered = offered.expect("pushes");
        assert!(matches!(offered, Pushed::Duplicate(_)), "{offered:?}");
    }
}

pub(crate) async fn b4_an_offer_that_waits_in_vain_answers_full(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    fill(&queue, 1).await;
    let producer = queue.clone();
    let offer = async move { producer.push_or_wait("x", ms(50)).await };
    let waiting = stage.start(offer).await;
    let offered = stage.within("an offer in vain", ms(50), waiting).await;
    assert_eq!(stage.in_vain(offered).unwrap_or(Pushed::Full), Pushed::Full);
    let at_once = queue.push_or_wait("x", ms(0)).await.expect("pushes");
    assert_eq!(at_once, Pushed::Full, "no timeout, no wait");
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0]);
}

pub(crate) async fn b4_an_offer_reclaims_what_dead_consumers_hold(stage: &Stage<'_>) {
    let queue = stage
        .bounded_with(BoundedConfig::new(1).with_max_attempts(1))
        .await;
    fill(&queue, 1).await;
    take_for(&*queue, 1, ms(10)).await;
    stage.advance(10).await;
    let offered = queue.push_or_wait("x", LONG).await.expect("pushes");
    assert_eq!(offered, accepted(2));
}

pub(crate) async fn b4_an_offer_dropped_at_any_await_is_in_once_or_not_at_all(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    for polls in 0..1_000 {
        fill(&queue, 1).await;
        let held = take_one(&*queue).await;
        let producer = queue.clone();
        let offer = async move { cut(producer.push_or_wait("x", LONG), polls).await };
        let waiting = stage.start(offer).await;
        ack(&*queue, &held).await;
        let offered = stage.prompt("an offer, or its drop", waiting).await;
        let counters = queue.counters().await.expect("counters");
        assert!(
            counters.balance() && counters.depth.occupied() <= 1,
            "{counters:?}"
        );
        let there = drain(&*queue).await.len();
        if let Some(offered) = offered {
            assert!(matches!(offered, Ok(Pushed::Accepted(_))), "{offered:?}");
            assert_eq!(there, 1, "cut after {polls} polls");
            return;
        }
    }
    panic!("never done");
}

pub(crate) async fn b4_blocked_producers_all_get_through(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    let mut producers = Vec::new();
    for _ in 0..5 {
        let queue = queue.clone();
        producers.push(tokio::spawn(async move {
            for _ in 0..20 {
                let offered = queue.push_or_wait("x", LONG).await.expect("pushes");
                assert!(matches!(offered, Pushed::Accepted(_)));
            }
        }));
    }
    let consumer = queue.clone();
    let consume = tokio::spawn(async move {
        let mut seen = Vec::new();
        while seen.len() < 100 {
            let deliveries = consumer.receive(2, LONG, LONG).await.expect("receives");
            ack_all(&*consumer, &deliveries).await;
            seen.extend(ids(&deliveries));
        }
        seen
    });
    for producer in producers {
        stage.prompt("a blocked producer", producer).await;
    }
    let seen = stage.prompt("the consumer", consume).await;
    assert_eq!(seen, (1..=100).collect::<Vec<u64>>());
}
